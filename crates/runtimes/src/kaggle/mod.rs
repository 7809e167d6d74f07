//! Kaggle, interactively: the kernel of a session that is open in a browser, reached through the session's proxy.
//!
//! The secret is a segment of the proxy's path, `/k/NUMBER/SECRET/proxy/`, so the address itself is one. Settings hold
//! it with `***` in that place, and the secret is the credential ([`address`]). Behind the proxy is a Jupyter server,
//! of which the WebSocket alone is certain: where nothing else answers, everything goes over it. A server that takes an
//! API token can be named as well; without a kernel one is started there, and removed on stop.
//!
//! Deliberately absent: runs of whole notebooks as Kaggle's API has them, which are another runtime's business.

mod address;
mod capability;
mod host;
mod link;

use std::sync::Arc;

use sandbook_sandbox::{
    AttachHandle, BoxFuture, Capabilities, Check, Checks, CreateRequest, Listed, Readiness, Runtime, Sandbox,
    SandboxError, SandboxInfo, SandboxSettings,
};
use secrecy::SecretString;

pub use self::{address::separated, link::KaggleSettings};
use self::{host::KaggleHost, link::Link};
use crate::jupyter::{
    Handle,
    contact::{Notes, look},
    host::Host,
    sandbox::JupyterSandbox,
    server::{OnServer, ServerHost, WhenRefused},
};

const VARIANT: &str = "kaggle";

/// How a wrong secret is refused, and whether the API is served, are guesses.
const NOTES: Notes =
    Notes { what: "the proxy of a Kaggle session", refusals: &[401, 403], api_is_certain: false };

/// The runtime.
#[derive(Debug, Clone, Copy, Default)]
pub struct KaggleRuntime;

impl KaggleRuntime {
    async fn join(
        request: CreateRequest,
        known: Option<(String, Option<String>, bool)>,
    ) -> Result<Arc<dyn Sandbox>, SandboxError> {
        let link = Link::of(&request.settings, request.credential.as_ref())?;
        let server = link.server()?;
        let address = server.address().to_owned();
        request.progress.report(format!("Connecting to {address}"), None);
        let joining = async {
            match (&known, &link.kernel_id) {
                (Some((kernel, session, owned)), _) => {
                    ServerHost::join_shared(server, kernel, session.clone(), *owned).await
                }
                (None, Some(kernel)) => ServerHost::join_shared(server, kernel, None, false).await,
                (None, None) => {
                    ServerHost::start(server, link.kernel.as_deref(), None, WhenRefused::Wait).await
                }
            }
        };
        let OnServer { host, connected, model } = tokio::select! {
            joined = joining => joined?,
            () = request.cancel.cancelled() => return Err(SandboxError::Cancelled),
        };
        let owned = host.owned();
        let host = KaggleHost::new(host, link);
        let info = SandboxInfo {
            variant: VARIANT,
            title: request.settings.name.unwrap_or_else(|| "Kaggle".into()),
            subtitle: address,
            working_directory: Some("/kaggle/working".into()),
            owned,
            handle: host.handle(),
        };
        let sandbox = JupyterSandbox::new(info, capability::interactive(), Box::new(host), connected);
        Ok(Arc::new(if model.state == "busy" { sandbox.found_busy() } else { sandbox }))
    }
}

impl Runtime for KaggleRuntime {
    fn variant(&self) -> &'static str {
        VARIANT
    }

    fn readiness<'a>(
        &'a self,
        settings: &'a SandboxSettings,
        credential: Option<&'a SecretString>,
    ) -> BoxFuture<'a, Readiness> {
        Box::pin(async move {
            let link = match Link::of(settings, credential) {
                Ok(link) => link,
                Err(error @ SandboxError::CredentialMissing { .. }) => {
                    return Readiness::NeedsCredential(error.to_string());
                }
                Err(_) => {
                    return Readiness::NeedsSetup("Paste a channels link of an open Kaggle session".into());
                }
            };
            match link.check().await {
                Ok(said) => Readiness::Ready(said),
                Err(error @ (SandboxError::Refused { .. } | SandboxError::CredentialMissing { .. })) => {
                    Readiness::NeedsCredential(error.to_string())
                }
                Err(error) => Readiness::NotReachable(error.to_string()),
            }
        })
    }

    fn joins(&self, settings: &SandboxSettings, credential: Option<&SecretString>) -> bool {
        Link::of(settings, credential).is_ok_and(|link| link.kernel_id.is_some())
    }

    fn contact<'a>(
        &'a self,
        settings: &'a SandboxSettings,
        credential: Option<&'a SecretString>,
        checks: Checks,
    ) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let link = Link::of(settings, credential).and_then(|link| Ok((link.server()?, link)));
            match link {
                Ok((server, link)) => look(&server, link.kernel_id.as_deref(), NOTES, &checks).await,
                Err(error) => checks.take(Check::failed("link", "a channels link of an open page", error)),
            }
        })
    }

    fn capabilities(&self, _: &SandboxSettings) -> Result<Capabilities, SandboxError> {
        Ok(capability::interactive())
    }

    fn create(&self, request: CreateRequest) -> BoxFuture<'_, Result<Arc<dyn Sandbox>, SandboxError>> {
        Box::pin(Self::join(request, None))
    }

    fn attach(
        &self,
        handle: AttachHandle,
        request: CreateRequest,
    ) -> BoxFuture<'_, Result<Arc<dyn Sandbox>, SandboxError>> {
        Box::pin(async move {
            match Handle::read(&handle)? {
                Handle::Server { kernel_id, session, owned } => {
                    Self::join(request, Some((kernel_id, session, owned))).await
                }
                Handle::Local { .. } => {
                    Err(SandboxError::Gone { what: "the kernel on this computer".into() })
                }
            }
        })
    }

    fn list<'a>(
        &'a self,
        _: &'a SandboxSettings,
        _: Option<&'a SecretString>,
    ) -> BoxFuture<'a, Result<Vec<Listed>, SandboxError>> {
        Box::pin(async { Ok(Vec::new()) })
    }
}
