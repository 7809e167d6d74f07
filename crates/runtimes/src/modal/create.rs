//! Making and joining sandboxes.
//!
//! Making goes on in a task of its own: who gives it up, by the token or by dropping the future, gets a task that cleans
//! up. The one call that costs money is never torn off: its answer is waited for, and what came of it is ended.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use sandbook_jupyter::bridge::Kind;
use sandbook_sandbox::{AttachHandle, CreateRequest, Sandbox, SandboxError, SandboxInfo};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{
    ModalRuntime, VARIANT, capability,
    control::Control,
    credential::Account,
    host::{ModalHost, Terms, handle},
    image,
    line::{explain, is_passing},
    made::{self, Wanted},
    name::SandboxName,
    place::Place,
    plain::PlainPython,
    price::Prices,
    remote::{Remote, terminate},
    router::access,
    settings::{Handle, ModalSettings},
};
use crate::{
    driven::DrivenSandbox,
    jupyter::{Host as _, JupyterSandbox},
};

/// How often what may have come of a lost answer is looked for, and how long after each other.
const LOOKS: u32 = 4;
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);

impl ModalRuntime {
    pub(super) fn control(
        &self,
        settings: &ModalSettings,
        credential: Option<&secrecy::SecretString>,
    ) -> Result<Arc<Control>, SandboxError> {
        Control::new(Account::find(settings, credential, &self.sources)?)
    }

    /// Makes a sandbox and begins Python in it.
    pub(super) async fn make(&self, request: CreateRequest) -> Result<Arc<dyn Sandbox>, SandboxError> {
        let settings = ModalSettings::read(&request.settings)?;
        let control = self.control(&settings, request.credential.as_ref())?;
        let cancel = request.cancel.child_token();
        let _given_up_with_this_future = cancel.clone().drop_guard();
        let made = tokio::spawn(async move { Making { control, settings, request, cancel }.make().await });
        made.await.map_err(|error| SandboxError::Failed(error.to_string()))?
    }

    /// Joins a sandbox and its kernel. Starts nothing.
    pub(super) async fn join(
        &self,
        handle: AttachHandle,
        request: CreateRequest,
    ) -> Result<Arc<dyn Sandbox>, SandboxError> {
        let handle = Handle::read(&handle)?;
        let settings = ModalSettings::read(&request.settings)?;
        let Some(command) = handle.command.clone().filter(|_| !handle.plain) else {
            let reason = "Plain Python at Modal ends with whoever started it, so there is none to join.";
            return Err(SandboxError::Unsupported { reason: reason.into() });
        };
        let control = self.control(&settings, request.credential.as_ref())?;
        if super::remote::result(&control, &handle.sandbox).await?.is_some() {
            return Err(SandboxError::Gone { what: format!("the sandbox {} at Modal", handle.sandbox) });
        }
        let name = SandboxName { sandbox: handle.sandbox.clone(), task: handle.task.clone() };
        let access = access(&control, &name).await;
        let access = access.map_err(|status| explain(&status, control.address()))?;
        let remote = Remote::new(control, name, access)?;
        // what is joined and not reached may be reached by the next
        remote.let_stay();
        let place = Place {
            python: handle.python.clone(),
            folder: handle.folder.clone(),
            idle: handle.idle,
            ..place(&remote, &settings, &request)
        };
        let (running, busy) = place.join(command, handle.read).await?;
        let (kernel, connected) = running.connect();
        let host = ModalHost::new(place, kernel, Terms::of(&handle));
        let info = info(&request, &remote, handle.folder.clone(), host.handle());
        let sandbox = JupyterSandbox::new(info, capability::of(&settings), Box::new(host), connected);
        Ok(Arc::new(if busy { sandbox.found_busy() } else { sandbox }))
    }
}

/// A sandbox on its way.
struct Making {
    control: Arc<Control>,
    settings: ModalSettings,
    request: CreateRequest,
    cancel: CancellationToken,
}

impl Making {
    async fn make(self) -> Result<Arc<dyn Sandbox>, SandboxError> {
        let id = self.request.settings.id.clone().unwrap_or_else(|| Uuid::new_v4().simple().to_string());
        let (app, image) = self.unless_cancelled(self.prepare()).await?;
        let wanted = Wanted { control: &self.control, app, image, settings: &self.settings, id: &id };
        let resolved = self.unless_cancelled(wanted.resolve()).await?;
        self.request.progress.report("Creating the sandbox", None);
        let (sandbox, at_once) = match wanted.create(resolved).await {
            Ok(created) => created,
            Err(status) => {
                let error = explain(&status, self.control.address());
                let may_exist = is_passing(&status);
                return Err(if may_exist { self.end_lost(&wanted, error).await } else { error });
            }
        };
        let begun = async {
            let (name, access) = match at_once {
                Some((task, access)) => (SandboxName { sandbox: sandbox.clone(), task }, access),
                None => wanted.scheduled(sandbox.clone(), &self.request.progress).await?,
            };
            let remote = Remote::new(self.control.clone(), name, access)?;
            // whatever goes wrong from here on is cleaned up below
            remote.let_stay();
            self.begin(remote).await
        };
        match self.unless_cancelled(begun).await {
            Ok((made, remote)) => {
                remote.let_end();
                Ok(made)
            }
            Err(error) => Err(self.end(&sandbox, error).await),
        }
    }

    async fn unless_cancelled<T>(
        &self,
        step: impl Future<Output = Result<T, SandboxError>>,
    ) -> Result<T, SandboxError> {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(SandboxError::Cancelled),
            done = step => done,
        }
    }

    async fn prepare(&self) -> Result<(String, String), SandboxError> {
        let progress = &self.request.progress;
        progress.report(format!("Asking {}", self.control.address()), None);
        let app = made::app(&self.control, &self.settings.app).await?;
        let image = image::obtain(&self.control, &app, &self.settings, progress).await?;
        Ok((app, image))
    }

    /// Begins Python in a sandbox that runs.
    async fn begin(&self, remote: Arc<Remote>) -> Result<(Arc<dyn Sandbox>, Arc<Remote>), SandboxError> {
        self.request.progress.report("Starting Python", None);
        let place = place(&remote, &self.settings, &self.request);
        let (running, hello) = place.begin().await?;
        let life = Duration::from_secs(self.settings.longest_life.into());
        let price = Prices::read(self.settings.prices.as_deref())?.of(&self.settings);
        let terms = Terms::from_now(life, price);
        let folder = Some(hello.folder.clone());
        if hello.kind == Kind::Driver {
            let handle = handle(&place, &terms, None).keep();
            let info = info(&self.request, &remote, folder, handle);
            let capabilities = capability::of_plain_python(&self.settings);
            let engine = PlainPython { place, capabilities, terms, begun: Mutex::new(Some(running)) };
            let made = DrivenSandbox::start(info, Box::new(engine), &self.cancel).await?;
            return Ok((Arc::new(made), remote));
        }
        let (kernel, connected) = running.connect();
        let host = ModalHost::new(place, kernel, terms);
        let info = info(&self.request, &remote, folder, host.handle());
        let made = JupyterSandbox::new(info, capability::of(&self.settings), Box::new(host), connected);
        Ok((Arc::new(made), remote))
    }

    /// Ends a sandbox that was made in vain.
    async fn end(&self, sandbox: &str, error: SandboxError) -> SandboxError {
        match terminate(&self.control, sandbox).await {
            Ok(_) => error,
            Err(left) => SandboxError::LeftRunning {
                what: format!("the sandbox {sandbox} at Modal"),
                detail: format!("{error}; it was to be ended, and {left}"),
            },
        }
    }

    /// The answer was lost: looks for what came of it, and ends that.
    async fn end_lost(&self, wanted: &Wanted<'_>, error: SandboxError) -> SandboxError {
        for look in 0..LOOKS {
            if look > 0 {
                tokio::time::sleep(BETWEEN_LOOKS).await;
            }
            match wanted.found().await {
                Ok(Some(sandbox)) => return self.end(&sandbox, error).await,
                Ok(None) => {}
                Err(status) => tracing::debug!(%status, "it is not known what came of a lost answer"),
            }
        }
        error
    }
}

fn place(remote: &Arc<Remote>, settings: &ModalSettings, request: &CreateRequest) -> Place {
    Place {
        remote: remote.clone(),
        python: settings.python.clone(),
        folder: request.settings.working_directory.as_ref().map(|folder| folder.display().to_string()),
        environment: request.settings.environment.clone(),
        idle: (settings.idle_timeout != 0).then(|| settings.idle_timeout.into()),
        plain: settings.plain,
    }
}

fn info(
    request: &CreateRequest,
    remote: &Remote,
    folder: Option<String>,
    handle: AttachHandle,
) -> SandboxInfo {
    let asked = || request.settings.working_directory.as_ref().map(|folder| folder.display().to_string());
    SandboxInfo {
        variant: VARIANT,
        title: request.settings.name.clone().unwrap_or_else(|| "Modal".into()),
        subtitle: remote.name().sandbox.clone(),
        working_directory: folder.or_else(asked),
        owned: true,
        handle,
    }
}
