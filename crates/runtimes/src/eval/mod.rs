//! A plain Python of this computer: no package has to be installed, and nothing is isolated.
//!
//! `driver.py` runs in the person's interpreter, started under the supervisor like a local kernel, and keeps the state
//! between runs. It is spoken to over a Unix socket in a private folder: frames of four bytes of length and JSON,
//! [`Order`](crate::driven::Order)s one way and what is [`Said`](crate::driven::Said) the other. What the code, C libraries and child
//! processes print goes through two FIFOs that are the process's descriptors 1 and 2, and is read here: it cannot
//! disturb a frame, does not wait for Python, and is not lost when the process dies. The driver waits before a frame
//! until its text has been read, and one task reads all three, so the order of what a run says is the order in which
//! it said it.
//!
//! Code runs in the driver's main thread, one piece after the other, and is interrupted by a signal. Questions
//! (completion, inspection) are answered while it runs.
//!
//! Deliberately absent: magics, which are IPython's; other languages; joining a process that somebody else started: it
//! ends with its sandbox. FIFOs are why this runtime is for Unix so far.

mod follow;
mod launch;
mod settings;
mod wire;

use std::sync::Arc;

use sandbook_sandbox::{
    AttachHandle, BoxFuture, Capabilities, Capability, CreateRequest, Listed, Readiness, Runtime, Sandbox,
    SandboxError, SandboxInfo, SandboxSettings, Support,
};
use secrecy::SecretString;
use serde_json::json;

use self::launch::Plan;
pub use self::settings::EvalSettings;
use crate::{
    Surrounding,
    capability::{NOT_ISOLATED, of_a_kernel},
    driven::DrivenSandbox,
    process::make_private,
};

const VARIANT: &str = "eval";

/// The runtime.
#[derive(Debug, Clone)]
pub struct EvalRuntime {
    surrounding: Arc<Surrounding>,
}

impl EvalRuntime {
    /// A runtime in a surrounding.
    pub fn new(surrounding: Surrounding) -> Self {
        Self { surrounding: Arc::new(surrounding) }
    }

    async fn start(&self, request: CreateRequest) -> Result<Arc<dyn Sandbox>, SandboxError> {
        let settings = EvalSettings::read(&request.settings)?;
        let folder = request.settings.working_directory.clone();
        if let Some(folder) = folder.as_ref().filter(|folder| !folder.is_dir()) {
            return Err(SandboxError::FolderMissing { folder: folder.display().to_string() });
        }
        make_private(&self.surrounding.run_folder)?;
        let (surrounding, for_search) = (self.surrounding.clone(), folder.clone());
        let search = move || settings.choose(for_search.as_deref(), &surrounding.pythons);
        let python = tokio::task::spawn_blocking(search)
            .await
            .map_err(|error| SandboxError::Failed(error.to_string()))??;
        let title = python.label();
        request.progress.report(format!("Starting {title}"), None);
        let plan = Plan {
            python,
            working_directory: folder.clone(),
            environment: request.settings.environment,
            run_folder: self.surrounding.run_folder.clone(),
            supervisor: self.surrounding.supervisor.clone(),
        };
        let info = SandboxInfo {
            variant: VARIANT,
            title: request.settings.name.unwrap_or(title),
            subtitle: "this computer, not isolated".into(),
            working_directory: folder.map(|folder| folder.display().to_string()),
            owned: true,
            handle: AttachHandle(json!({ "kind": "eval" })),
        };
        Ok(Arc::new(DrivenSandbox::start(info, Box::new(plan), &request.cancel).await?))
    }
}

/// What a sandbox of this runtime can do, in words for a person.
fn capabilities() -> Capabilities {
    let not_yet = |what: &str| Support::No(format!("{what} of a plain Python are not offered yet."));
    of_a_kernel()
        .with(Capability::Execute, Support::Yes("Without IPython's magics.".into()))
        .with(Capability::Completion, Support::Yes("Also while code runs.".into()))
        .with(Capability::Replay, Support::Yes("The connection to a process here is not lost.".into()))
        .with(Capability::Survive, Support::No("A plain Python ends with its sandbox.".into()))
        .with(Capability::Isolation, Support::No(NOT_ISOLATED.into()))
        .with(Capability::Files, not_yet("Files"))
        .with(Capability::Terminal, not_yet("Terminals"))
        .with(
            Capability::Snapshots,
            Support::No("A Python process has no state that could be kept and restored.".into()),
        )
}

impl Runtime for EvalRuntime {
    fn variant(&self) -> &'static str {
        VARIANT
    }

    fn readiness<'a>(
        &'a self,
        settings: &'a SandboxSettings,
        _credential: Option<&'a SecretString>,
    ) -> BoxFuture<'a, Readiness> {
        Box::pin(async move {
            let chosen = EvalSettings::read(settings)
                .and_then(|own| own.choose(settings.working_directory.as_deref(), &self.surrounding.pythons));
            match chosen {
                Ok(python) => Readiness::Ready(python.label()),
                Err(error) => Readiness::NeedsSetup(error.to_string()),
            }
        })
    }

    fn capabilities(&self, settings: &SandboxSettings) -> Result<Capabilities, SandboxError> {
        EvalSettings::read(settings).map(|_| capabilities())
    }

    fn create(&self, request: CreateRequest) -> BoxFuture<'_, Result<Arc<dyn Sandbox>, SandboxError>> {
        Box::pin(self.start(request))
    }

    fn attach(
        &self,
        _handle: AttachHandle,
        _request: CreateRequest,
    ) -> BoxFuture<'_, Result<Arc<dyn Sandbox>, SandboxError>> {
        let reason = "A plain Python ends with its sandbox, so there is none to join.";
        Box::pin(async { Err(SandboxError::Unsupported { reason: reason.into() }) })
    }

    fn list<'a>(
        &'a self,
        _settings: &'a SandboxSettings,
        _credential: Option<&'a SecretString>,
    ) -> BoxFuture<'a, Result<Vec<Listed>, SandboxError>> {
        Box::pin(async { Ok(Vec::new()) })
    }
}
