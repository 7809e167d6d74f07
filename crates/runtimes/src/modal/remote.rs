//! A sandbox that exists and costs something: it is ended when nobody holds it any more, unless somebody said that it
//! stays.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use sandbook_sandbox::SandboxError;

use super::{
    control::Control,
    line::explain,
    name::{SandboxName, call},
    router::{Access, Router},
    wire::control::{
        GenericResult, SandboxTerminateRequest, SandboxTerminateResponse, SandboxWaitRequest,
        SandboxWaitResponse, generic_result::GenericStatus,
    },
};

const PATIENCE: Duration = Duration::from_secs(20);
/// How long after its commands a sandbox may take to end.
const ENDING: Duration = Duration::from_secs(2);

/// A sandbox at Modal.
#[derive(Debug)]
pub(super) struct Remote {
    pub(super) control: Arc<Control>,
    pub(super) router: Arc<Router>,
    /// Whether it goes on when nobody holds this any more.
    stays: AtomicBool,
}

impl Remote {
    pub(super) fn new(
        control: Arc<Control>,
        name: SandboxName,
        access: Access,
    ) -> Result<Arc<Self>, SandboxError> {
        let router = Arc::new(Router::new(control.clone(), name, access)?);
        Ok(Arc::new(Self { control, router, stays: AtomicBool::new(false) }))
    }

    pub(super) fn name(&self) -> &SandboxName {
        self.router.name()
    }

    /// It goes on when nobody holds it any more, or has ended already.
    pub(super) fn let_stay(&self) {
        self.stays.store(true, Ordering::SeqCst);
    }

    /// It is ended when nobody holds it any more.
    pub(super) fn let_end(&self) {
        self.stays.store(false, Ordering::SeqCst);
    }

    /// How it ended, if it did.
    pub(super) async fn result(&self) -> Result<Option<GenericResult>, SandboxError> {
        result(&self.control, &self.name().sandbox).await
    }

    /// Why it ended, in words; nothing while it lives or nobody can be asked.
    pub(super) async fn why_ended(&self) -> Option<String> {
        match self.result().await {
            Ok(result) => result.map(|result| words(&result)),
            Err(SandboxError::Gone { .. }) => Some("Modal does not know it any more".into()),
            Err(_) => None,
        }
    }

    /// Why it ends, where it does so just now.
    pub(super) async fn why_ending(&self) -> Option<String> {
        let result = result_within(&self.control, &self.name().sandbox, ENDING).await;
        result.ok().flatten().map(|result| words(&result))
    }

    /// Ends it. Says whether it had ended before.
    pub(super) async fn terminate(&self) -> Result<bool, SandboxError> {
        let ended = terminate(&self.control, &self.name().sandbox).await?;
        self.let_stay();
        Ok(ended)
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        if self.stays.load(Ordering::SeqCst) {
            return;
        }
        let (control, sandbox) = (self.control.clone(), self.name().sandbox.clone());
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                if let Err(error) = terminate(&control, &sandbox).await {
                    tracing::warn!(%error, sandbox, "a sandbox at Modal that nobody holds could not be ended");
                }
            });
        }
    }
}

/// How a sandbox ended, if it did.
pub(super) async fn result(control: &Control, sandbox: &str) -> Result<Option<GenericResult>, SandboxError> {
    result_within(control, sandbox, Duration::ZERO).await
}

async fn result_within(
    control: &Control,
    sandbox: &str,
    wait: Duration,
) -> Result<Option<GenericResult>, SandboxError> {
    let question = SandboxWaitRequest { sandbox_id: sandbox.to_owned(), timeout: wait.as_secs_f32() };
    let answer = control.ask_for(&call("SandboxWait", sandbox), question, PATIENCE).await;
    let SandboxWaitResponse { result } = answer.map_err(|status| explain(&status, control.address()))?;
    Ok(result.filter(|result| result.status() != GenericStatus::Unspecified))
}

/// Ends a sandbox. Says whether it had ended before; one that Modal does not know has.
pub(super) async fn terminate(control: &Control, sandbox: &str) -> Result<bool, SandboxError> {
    let question = SandboxTerminateRequest { sandbox_id: sandbox.to_owned() };
    let answer = control.ask_for(&call("SandboxTerminate", sandbox), question, PATIENCE).await;
    match answer.map_err(|status| explain(&status, control.address())) {
        Ok(SandboxTerminateResponse { existing_result }) => {
            Ok(existing_result.is_some_and(|result| result.status() != GenericStatus::Unspecified))
        }
        Err(SandboxError::Gone { .. }) => Ok(true),
        Err(error) => Err(error),
    }
}

/// How a sandbox ended, for a person.
pub(super) fn words(result: &GenericResult) -> String {
    let said = match result.exception.as_str() {
        "" => String::new(),
        said => format!(": {said}"),
    };
    match result.status() {
        GenericStatus::Timeout => "its longest life was over".into(),
        GenericStatus::IdleTimeout => "nobody used it, so Modal ended it".into(),
        GenericStatus::Terminated => "it was ended".into(),
        GenericStatus::MemoryManagerEviction
        | GenericStatus::MemoryThrashingEviction
        | GenericStatus::KernelOomKill => format!("it ran out of memory{said}"),
        GenericStatus::InitFailure => format!("it could not begin{said}"),
        GenericStatus::InternalFailure => format!("Modal failed{said}"),
        _ => format!("what kept it alive ended with exit code {}{said}", result.exitcode),
    }
}
