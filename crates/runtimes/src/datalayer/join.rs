//! From a runtime that was made to the kernel in it: waiting until its server answers, and taking the kernel that waits.

use std::{sync::Arc, time::Duration};

use sandbook_sandbox::{AttachHandle, CreateRequest, Progress, Sandbox, SandboxError, SandboxInfo};

use super::{
    DatalayerRuntime, NAME, VARIANT,
    api::Platform,
    capability,
    host::RuntimeHost,
    model::Model,
    settings::{DatalayerSettings, Handle},
};
use crate::{
    jupyter::{
        Host as _, JupyterSandbox, OnServer, Server, ServerHost, ServerSettings, WhenRefused, is_warming_up,
        manner::Manner, server_kernels::KernelModel,
    },
    paste::is_plain_http_elsewhere,
};

/// How long a new runtime may take until its server answers.
const WARM_UP: Duration = Duration::from_mins(5);
/// How long a runtime that is known may take.
const ANSWER: Duration = Duration::from_secs(20);
/// How often it is asked.
const EVERY: Duration = Duration::from_millis(500);
/// How long the kernel that waits may take to answer.
const READY: Duration = Duration::from_mins(1);

/// Joins the kernel that waits in a new runtime.
pub(super) async fn new(
    platform: Platform,
    model: Model,
    name: Option<String>,
    progress: &Progress,
) -> Result<Arc<dyn Sandbox>, SandboxError> {
    progress.report("Waiting for the runtime to warm up", None);
    let server = server(&platform, &model)?;
    let kernels = answering(&server, WARM_UP).await?;
    progress.report("Joining its kernel", None);
    let on_server = match waiting(&kernels) {
        Some(kernel) => ServerHost::rejoin(server, &kernel.id, true, None).await?,
        None => ServerHost::start(server, None, None, WhenRefused::End).await?,
    };
    let ready = on_server.connected.client.ready(READY).await;
    ready.map_err(|error| SandboxError::StartFailed {
        what: on_server.model.name.clone(),
        detail: error.to_string(),
    })?;
    Ok(sandbox(platform, model, name, on_server))
}

impl DatalayerRuntime {
    /// Joins a runtime again. Starts nothing.
    pub(super) async fn rejoin(
        &self,
        handle: AttachHandle,
        request: CreateRequest,
    ) -> Result<Arc<dyn Sandbox>, SandboxError> {
        let handle = Handle::read(&handle)?;
        let settings = DatalayerSettings::read(&request.settings)?;
        let platform = self.platform(&settings, request.credential.as_ref())?;
        let joining = async {
            let model = platform.runtime(&handle.runtime).await?;
            let server = server(&platform, &model)?;
            let kernels = answering(&server, ANSWER).await?;
            let of_handle = handle.kernel.clone();
            let gone = || SandboxError::Gone { what: "the kernel of the Datalayer runtime".into() };
            let kernel =
                of_handle.or_else(|| waiting(&kernels).map(|kernel| kernel.id.clone())).ok_or_else(gone)?;
            let on_server = ServerHost::rejoin(server, &kernel, true, handle.session.clone()).await?;
            Ok::<_, SandboxError>((model, on_server))
        };
        let (model, on_server) = tokio::select! {
            joined = joining => joined?,
            () = request.cancel.cancelled() => return Err(SandboxError::Cancelled),
        };
        Ok(sandbox(platform.clone(), model, request.settings.name, on_server))
    }
}

fn sandbox(
    platform: Platform,
    model: Model,
    name: Option<String>,
    OnServer { host, connected, model: kernel }: OnServer,
) -> Arc<dyn Sandbox> {
    let title = name.unwrap_or_else(|| NAME.into());
    let subtitle = model.environment.clone();
    let host = RuntimeHost::new(platform, model, host);
    let info = SandboxInfo {
        variant: VARIANT,
        title,
        subtitle,
        working_directory: None,
        owned: true,
        handle: host.handle(),
    };
    let sandbox = JupyterSandbox::new(info, capability::of_runtime(), Box::new(host), connected);
    Arc::new(if kernel.state == "busy" { sandbox.found_busy() } else { sandbox })
}

/// The kernel that came with a runtime and that nobody uses, else the first.
fn waiting(kernels: &[KernelModel]) -> Option<&KernelModel> {
    kernels.iter().find(|kernel| kernel.connections == Some(0)).or(kernels.first())
}

/// The Jupyter server of a runtime, with the token that the platform told.
fn server(platform: &Platform, model: &Model) -> Result<Server, SandboxError> {
    let bad = |detail: &str| SandboxError::WrongPeer {
        address: platform.address().to_owned(),
        expected: NAME.into(),
        detail: detail.into(),
    };
    let url = model.ingress.clone().ok_or_else(|| bad("it told no address for the runtime"))?;
    if is_plain_http_elsewhere(&url) && !platform.is_plain_http() {
        return Err(bad("the address that it told for the runtime is not encrypted"));
    }
    Server::with(&ServerSettings::new(url), model.token.clone(), Manner::bearer())
}

/// The kernels of a server, once it answers. While a runtime warms up there is something else in its place.
pub(super) async fn answering(server: &Server, patience: Duration) -> Result<Vec<KernelModel>, SandboxError> {
    let asking = async {
        loop {
            match server.kernels().await {
                Err(error) if is_warming_up(&error) => tokio::time::sleep(EVERY).await,
                answered => return answered,
            }
        }
    };
    let what = || "the warm-up of the Datalayer runtime".to_owned();
    let timed_out = |_| SandboxError::TimedOut { what: what(), limit: patience };
    tokio::time::timeout(patience, asking).await.map_err(timed_out)?
}
