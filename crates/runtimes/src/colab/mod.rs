//! Google Colab: a kernel of a notebook that is open in a browser, reached through the proxy of its machine.
//!
//! What the tab itself uses is pasted: the address of the kernel's WebSocket, with a token that is good for an hour. The
//! proxy has a Jupyter server behind it, so the kernel is one of `jupyter`'s; its own are the way the token travels, its
//! end ([`expiry`]), and requests to the tab that nobody else can meet ([`requests`]). Nothing is ever started here: an
//! id that the machine does not know is an error.
//!
//! Deliberately absent: signing in, assigning a machine, and the session of the pasted address, which is the tab's.

mod capability;
mod expiry;
mod host;
mod link;
mod requests;

use std::sync::Arc;

use sandbook_sandbox::{
    AttachHandle, BoxFuture, Capabilities, Check, Checks, CreateRequest, Listed, Readiness, Runtime, Sandbox,
    SandboxError, SandboxInfo, SandboxSettings,
};
use secrecy::SecretString;

pub use self::link::ColabSettings;
use self::{host::ColabHost, link::Link};
use crate::jupyter::{
    Handle,
    contact::{Notes, look},
    host::Host,
    sandbox::JupyterSandbox,
    server::ServerHost,
};

const VARIANT: &str = "colab";

/// How a wrong token is refused is a guess.
const NOTES: Notes = Notes { what: "the proxy of a Colab machine", refusals: &[401], api_is_certain: true };

/// The runtime.
#[derive(Debug, Clone, Copy, Default)]
pub struct ColabRuntime;

impl ColabRuntime {
    async fn join(
        request: CreateRequest,
        session: Option<String>,
        kernel_id: Option<String>,
    ) -> Result<Arc<dyn Sandbox>, SandboxError> {
        let link = Link::of(&request.settings, request.credential.as_ref(), kernel_id)?;
        let server = link.server()?;
        let address = server.address().to_owned();
        request.progress.report(format!("Connecting to {address}"), None);
        let joined = tokio::select! {
            joined = ServerHost::join_shared(server, &link.kernel_id, session, false) => joined?,
            () = request.cancel.cancelled() => return Err(SandboxError::Cancelled),
        };
        let busy = joined.model.state == "busy";
        let host = ColabHost::new(joined.host, link);
        let info = SandboxInfo {
            variant: VARIANT,
            title: request.settings.name.unwrap_or_else(|| "Google Colab".into()),
            subtitle: address,
            working_directory: Some("/content".into()),
            owned: false,
            handle: host.handle(),
        };
        let sandbox = JupyterSandbox::new(info, capability::of_link(), Box::new(host), joined.connected);
        Ok(Arc::new(if busy { sandbox.found_busy() } else { sandbox }))
    }
}

impl Runtime for ColabRuntime {
    fn variant(&self) -> &'static str {
        VARIANT
    }

    fn readiness<'a>(
        &'a self,
        settings: &'a SandboxSettings,
        credential: Option<&'a SecretString>,
    ) -> BoxFuture<'a, Readiness> {
        Box::pin(async move {
            let link = match Link::of(settings, credential, None) {
                Ok(link) => link,
                Err(error @ SandboxError::CredentialMissing { .. }) => {
                    return Readiness::NeedsCredential(error.to_string());
                }
                Err(_) => return Readiness::NeedsSetup("Paste a channels link of an open Colab tab".into()),
            };
            let asked = async { link.server()?.kernel(&link.kernel_id).await };
            match asked.await {
                Ok(kernel) => Readiness::Ready(format!("The kernel of the Colab tab is {}", kernel.state)),
                Err(error @ (SandboxError::Refused { .. } | SandboxError::CredentialMissing { .. })) => {
                    Readiness::NeedsCredential(error.to_string())
                }
                Err(error) => Readiness::NotReachable(error.to_string()),
            }
        })
    }

    fn joins(&self, _: &SandboxSettings, _: Option<&SecretString>) -> bool {
        true
    }

    fn contact<'a>(
        &'a self,
        settings: &'a SandboxSettings,
        credential: Option<&'a SecretString>,
        checks: Checks,
    ) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let link = Link::of(settings, credential, None).and_then(|link| Ok((link.server()?, link)));
            match link {
                Ok((server, link)) => look(&server, Some(&link.kernel_id), NOTES, &checks).await,
                Err(error) => checks.take(Check::failed("link", "a channels link of an open page", error)),
            }
        })
    }

    fn capabilities(&self, _: &SandboxSettings) -> Result<Capabilities, SandboxError> {
        Ok(capability::of_link())
    }

    fn create(&self, request: CreateRequest) -> BoxFuture<'_, Result<Arc<dyn Sandbox>, SandboxError>> {
        Box::pin(Self::join(request, None, None))
    }

    fn attach(
        &self,
        handle: AttachHandle,
        request: CreateRequest,
    ) -> BoxFuture<'_, Result<Arc<dyn Sandbox>, SandboxError>> {
        Box::pin(async move {
            match Handle::read(&handle)? {
                Handle::Server { kernel_id, session, .. } => {
                    Self::join(request, session, Some(kernel_id)).await
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
