//! Making sandboxes, each once, and joining them.
//!
//! Our id is in the order, and on record before: whatever happens, what was made is found by it. Making goes on in a task
//! of its own: who gives it up, by the token or by dropping the future, gets a task that ends what was made, not one that
//! was torn off between question and answer. The order itself is always heard to its end, since only then it is known
//! whether there is something to end.

use std::{sync::Arc, time::Duration};

use sandbook_sandbox::{AttachHandle, CreateRequest, Sandbox, SandboxError, SandboxInfo, SandboxSettings};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{
    OpenSandboxRuntime, VARIANT,
    api::{Lifecycle, Order},
    capability,
    host::SandboxHost,
    model::{Model, OURS},
    reach::{ANSWERS, EXECD_LABEL, JUPYTER_LABEL, Reach, Tokens, WARM_UP},
    reap::Asked,
    settings::{Handle, OpenSandboxSettings},
};
use crate::{
    jupyter::{Host as _, JupyterSandbox, OnServer, Server, ServerHost, WhenRefused},
    reap::reap,
};

/// How long somebody who gave up waits for the server's word on what was ordered, before a task waits instead.
const LAST_WORD: Duration = Duration::from_secs(5);

impl OpenSandboxRuntime {
    /// Makes a sandbox and a kernel in it.
    pub(super) async fn make(&self, request: CreateRequest) -> Result<Arc<dyn Sandbox>, SandboxError> {
        let (this, cancel) = (self.clone(), request.cancel.child_token());
        let _given_up_with_this_future = cancel.clone().drop_guard();
        let made = tokio::spawn(async move { this.make_or_reap(request, cancel).await });
        made.await.map_err(|error| SandboxError::Failed(error.to_string()))?
    }

    async fn make_or_reap(
        self,
        request: CreateRequest,
        cancel: CancellationToken,
    ) -> Result<Arc<dyn Sandbox>, SandboxError> {
        let settings = OpenSandboxSettings::read(&request.settings)?;
        let place = self.defaults.place(&settings, request.credential.as_ref())?;
        let lifecycle = Lifecycle::new(&place)?;
        // until the order leaves, giving up costs nothing and needs no cleaning
        let checking = async {
            request.progress.report(format!("Asking the OpenSandbox server {}", place.domain()), None);
            lifecycle.check().await.map_err(|error| self.nobody_there(&place, error))?;
            for said in place.exposures(lifecycle.is_open().await) {
                tracing::warn!("{said}");
                request.progress.report(said, None);
            }
            Ok::<_, SandboxError>(())
        };
        tokio::select! {
            checked = checking => checked?,
            () = cancel.cancelled() => return Err(SandboxError::Cancelled),
        }
        let id = request.settings.id.clone().unwrap_or_else(|| Uuid::new_v4().simple().to_string());
        let tokens = Tokens::random();
        let order = order(&settings, &request.settings, &id, &tokens, lifecycle.shows_a_key());
        request.progress.report(format!("Asking for a sandbox of {}", settings.image()), None);
        let model = ordered(&lifecycle, order, &id, &cancel).await?;
        let reach = Reach {
            lifecycle: lifecycle.clone(),
            sandbox: model.id.clone(),
            through_server: settings.through_server,
            tokens,
        };
        let joined = tokio::select! {
            joined = begin(reach, &model, &settings, &request) => joined,
            () = cancel.cancelled() => Err(SandboxError::Cancelled),
        };
        match joined {
            Ok(sandbox) if !cancel.is_cancelled() => Ok(sandbox),
            joined => {
                let error = joined.err().unwrap_or(SandboxError::Cancelled);
                reap(Asked { lifecycle, id }, false, &error).await?;
                Err(error)
            }
        }
    }

    /// Joins a sandbox and its kernel again. Starts nothing.
    pub(super) async fn rejoin(
        &self,
        handle: AttachHandle,
        request: CreateRequest,
    ) -> Result<Arc<dyn Sandbox>, SandboxError> {
        let handle = Handle::read(&handle)?;
        let settings = OpenSandboxSettings::read(&request.settings)?;
        let place = self.place_of(&handle, &settings, request.credential.as_ref())?;
        let joining = async {
            let lifecycle = Lifecycle::new(&place)?;
            let model = lifecycle.sandbox(&handle.sandbox).await?;
            if let Some(why) = model.ended() {
                return Err(SandboxError::Gone { what: format!("the sandbox {} ({why})", handle.sandbox) });
            }
            if model.is_paused() {
                return Err(SandboxError::NotReady {
                    what: format!("the sandbox {}", handle.sandbox),
                    reason: "it is paused".into(),
                    next: "Resume it at its server. What ran goes on then.".into(),
                });
            }
            let tokens = Tokens::of(&model).ok_or_else(|| SandboxError::Unsupported {
                reason: "This sandbox was made at a server without a key, so only its maker could reach it."
                    .into(),
            })?;
            let through_server = handle.through_server;
            let reach = Reach { lifecycle, sandbox: model.id.clone(), through_server, tokens };
            let server = reach.answering(ANSWERS).await?;
            let gone = || SandboxError::Gone { what: "the kernel in the sandbox".into() };
            let kernel = match handle.kernel.clone() {
                Some(kernel) => kernel,
                None => server.kernels().await?.into_iter().next().ok_or_else(gone)?.id,
            };
            let on_server = ServerHost::rejoin(server, &kernel, true, handle.session.clone()).await?;
            Ok(sandbox(reach, &model, &settings, request.settings.name.clone(), on_server))
        };
        tokio::select! {
            joined = joining => joined,
            () = request.cancel.cancelled() => Err(SandboxError::Cancelled),
        }
    }
}

/// What the server is asked for.
fn order(
    settings: &OpenSandboxSettings,
    general: &SandboxSettings,
    id: &str,
    tokens: &Tokens,
    is_guarded: bool,
) -> Value {
    let mut environment = json!(general.environment);
    environment["EXECD_ACCESS_TOKEN"] = tokens.execd.expose_secret().into();
    environment["JUPYTER_TOKEN"] = tokens.jupyter.expose_secret().into();
    let mut metadata = json!({ OURS: id });
    // A later owner has to learn them from somewhere. What a server without a key tells, it tells everybody.
    if is_guarded {
        metadata[EXECD_LABEL] = tokens.execd.expose_secret().into();
        metadata[JUPYTER_LABEL] = tokens.jupyter.expose_secret().into();
    }
    json!({
        "image": { "uri": settings.image() },
        "entrypoint": settings.entrypoint(),
        "timeout": settings.life().as_secs(),
        "resourceLimits": settings.limits(),
        "env": environment,
        "metadata": metadata,
    })
}

/// Gives the order and hears the answer, also for somebody who gave up meanwhile: then what was made is ended.
async fn ordered(
    lifecycle: &Lifecycle,
    order: Value,
    id: &str,
    cancel: &CancellationToken,
) -> Result<Model, SandboxError> {
    let asked = lifecycle.clone();
    let mut answer = tokio::spawn(async move { asked.make(&order).await });
    let answered = tokio::select! {
        answered = &mut answer => answered,
        () = cancel.cancelled() => {
            let Ok(answered) = tokio::time::timeout(LAST_WORD, &mut answer).await else {
                let asked = Asked { lifecycle: lifecycle.clone(), id: id.to_owned() };
                tokio::spawn(async move {
                    drop(answer.await);
                    drop(reap(asked, true, &SandboxError::Cancelled).await);
                });
                return Err(SandboxError::Cancelled);
            };
            answered
        }
    };
    let asked = || Asked { lifecycle: lifecycle.clone(), id: id.to_owned() };
    match answered.map_err(|error| SandboxError::Failed(error.to_string()))? {
        Order::Made(model) if !cancel.is_cancelled() => Ok(*model),
        Order::Made(_) => {
            reap(asked(), false, &SandboxError::Cancelled).await?;
            Err(SandboxError::Cancelled)
        }
        Order::Refused(error) => Err(error),
        Order::Lost(error) => {
            let error = if cancel.is_cancelled() { SandboxError::Cancelled } else { error };
            reap(asked(), true, &error).await?;
            Err(error)
        }
    }
}

/// Waits for the Jupyter server in a new sandbox and starts a kernel there.
async fn begin(
    reach: Reach,
    model: &Model,
    settings: &OpenSandboxSettings,
    request: &CreateRequest,
) -> Result<Arc<dyn Sandbox>, SandboxError> {
    request.progress.report("Waiting for its Jupyter server", None);
    let server = reach.answering(WARM_UP).await?;
    request.progress.report("Starting a kernel", None);
    let kernel = match &settings.kernel {
        Some(kernel) => Some(kernel.clone()),
        None => best_kernel(&server).await?,
    };
    let on_server = ServerHost::start(server, kernel.as_deref(), None, WhenRefused::End).await?;
    Ok(sandbox(reach, model, settings, request.settings.name.clone(), on_server))
}

/// The server's default where it has that kernel, else its Python, else its first.
async fn best_kernel(server: &Server) -> Result<Option<String>, SandboxError> {
    let specs = server.kernelspecs().await?;
    if specs.iter().any(|spec| spec.default) {
        return Ok(None);
    }
    let python = specs.iter().find(|spec| spec.language.eq_ignore_ascii_case("python"));
    Ok(python.or(specs.first()).map(|spec| spec.name.clone()))
}

fn sandbox(
    reach: Reach,
    model: &Model,
    settings: &OpenSandboxSettings,
    name: Option<String>,
    OnServer { host, connected, model: kernel }: OnServer,
) -> Arc<dyn Sandbox> {
    let host = SandboxHost::new(reach, model, host);
    let info = SandboxInfo {
        variant: VARIANT,
        title: name.unwrap_or_else(|| "OpenSandbox".into()),
        subtitle: settings.image().to_owned(),
        working_directory: None,
        owned: true,
        handle: host.handle(),
    };
    let sandbox = JupyterSandbox::new(info, capability::of_sandbox(), Box::new(host), connected);
    Arc::new(if kernel.state == "busy" { sandbox.found_busy() } else { sandbox })
}
