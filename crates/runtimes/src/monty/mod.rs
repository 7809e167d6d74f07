//! Monty, a small Python of its own in a process without files, network or environment: nothing has to be installed.
//!
//! The interpreter runs in a worker program, the one of `pydantic-monty-runtime`, and `monty-pool` speaks to it over pipes.
//! Versions go in pairs: another worker refuses to serve. Before each run the session's state is taken as a dump. It is
//! what an interrupt, a run that takes too long and a run that needs too much memory come back to: the worker is
//! killed, and another one goes on from the dump, as if the run had not been.
//!
//! Code sees nothing of this computer but the folders that were granted, by absolute paths, and the functions that the
//! program around it registered: [`MontyRuntime::with_function`]. What it did to either is not undone with its run.
//!
//! Deliberately absent: everything that Monty's part of Python does not have, above all packages.

mod engine;
mod host;
mod session;
mod settings;
mod worker;

use std::sync::Arc;

use monty_pool::{MountSpec, MountSpecMode};
pub use monty_types::{ExcType, MontyException, MontyObject};
use sandbook_sandbox::{
    AttachHandle, BoxFuture, Capabilities, Capability, CreateRequest, Listed, Readiness, Runtime, Sandbox,
    SandboxError, SandboxInfo, SandboxSettings, Support,
};
use secrecy::SecretString;
use serde_json::json;

use self::{
    engine::MontyEngine,
    host::{Functions, Host},
};
pub use self::{
    host::{HostAnswer, HostCall, HostFunction},
    settings::MontySettings,
};
use crate::{Surrounding, driven::DrivenSandbox, folders::WORKING_DIRECTORY};
pub use crate::{
    folders::{FolderAccess, Mount},
    memory::Memory,
};

const VARIANT: &str = "monty";
const TITLE: &str = "Monty";

/// The runtime.
#[derive(Debug, Clone)]
pub struct MontyRuntime {
    surrounding: Arc<Surrounding>,
    functions: Functions,
}

impl MontyRuntime {
    /// A runtime in a surrounding.
    pub fn new(surrounding: Surrounding) -> Self {
        Self { surrounding: Arc::new(surrounding), functions: Functions::default() }
    }

    /// The same, with a function that the code of all its sandboxes can call; it takes the place of another one of its
    /// name. The command line and the window register none.
    #[must_use]
    pub fn with_function(mut self, function: HostFunction) -> Self {
        self.functions.add(function);
        self
    }

    async fn start(&self, request: CreateRequest) -> Result<Arc<dyn Sandbox>, SandboxError> {
        let settings = MontySettings::read(&request.settings)?;
        let worker = worker::find(&settings, &self.surrounding)?;
        request.progress.report("Starting Monty", None);
        let granted = settings.granted(&request.settings);
        let mounts = tokio::task::spawn_blocking(move || open(&granted))
            .await
            .map_err(|error| SandboxError::Failed(error.to_string()))??;
        let info = SandboxInfo {
            variant: VARIANT,
            title: request.settings.name.unwrap_or_else(|| TITLE.into()),
            subtitle: "this computer, isolated".into(),
            working_directory: request.settings.working_directory.map(|_| WORKING_DIRECTORY.into()),
            owned: true,
            handle: AttachHandle(json!({ "kind": "monty" })),
        };
        let host = Host { functions: self.functions.clone(), mounts };
        let engine =
            Box::new(MontyEngine { worker, settings, host, supervisor: self.surrounding.supervisor.clone() });
        Ok(Arc::new(DrivenSandbox::start(info, engine, &request.cancel).await?))
    }
}

/// Opens the folders that were granted; from then on they are these folders, whatever their paths come to name.
fn open(granted: &[Mount]) -> Result<Vec<MountSpec>, SandboxError> {
    let opened = granted.iter().map(|mount| {
        if !mount.source.is_dir() {
            return Err(SandboxError::FolderMissing { folder: mount.source.display().to_string() });
        }
        let mode = if mount.read_only { MountSpecMode::ReadOnly } else { MountSpecMode::ReadWrite };
        MountSpec::new(&mount.target, &mount.source, mode)
            .map_err(|error| SandboxError::Setting { setting: "mounts".into(), reason: error.to_string() })
    });
    opened.collect()
}

/// What a sandbox of this runtime can do, in words for a person.
fn capabilities(has_folders: bool) -> Capabilities {
    let no = |why: &str| Support::No(why.into());
    let isolation = if has_folders {
        "Only the folders that were granted: no other files, no network, environment or programs of this computer."
    } else {
        "No files, network, environment or programs of this computer."
    };
    Capabilities::default()
        .with(
            Capability::Execute,
            Support::Yes("An interrupted run leaves everything as it was before it.".into()),
        )
        .with(
            Capability::Language,
            Support::Limited("Monty runs a part of Python, without packages, threads and processes.".into()),
        )
        .with(Capability::RichOutput, no("Monty shows values as text only."))
        .with(Capability::Input, no("Monty cannot ask for input."))
        .with(Capability::Interrupt, Support::Yes("Variables are as they were before the run.".into()))
        .with(Capability::Restart, Support::Yes(String::new()))
        .with(Capability::Completion, no("Monty cannot be asked about names."))
        .with(Capability::Replay, Support::Yes("The connection to a process here is not lost.".into()))
        .with(Capability::Survive, no("Monty ends with its sandbox, so it cannot be kept or joined."))
        .with(Capability::Isolation, Support::Yes(isolation.into()))
        .with(
            Capability::Files,
            no("Files of Monty are those of granted folders, which are not browsed here."),
        )
        .with(Capability::Terminal, no("Monty has no terminal."))
        .with(Capability::Snapshots, no("Snapshots of Monty are not offered yet."))
}

impl Runtime for MontyRuntime {
    fn variant(&self) -> &'static str {
        VARIANT
    }

    fn readiness<'a>(
        &'a self,
        settings: &'a SandboxSettings,
        _credential: Option<&'a SecretString>,
    ) -> BoxFuture<'a, Readiness> {
        Box::pin(async move {
            let found = MontySettings::read(settings).and_then(|own| worker::find(&own, &self.surrounding));
            match found {
                Ok(_) => Readiness::Ready("A part of Python, with nothing installed".into()),
                Err(error) => Readiness::NeedsSetup(error.to_string()),
            }
        })
    }

    fn capabilities(&self, settings: &SandboxSettings) -> Result<Capabilities, SandboxError> {
        MontySettings::read(settings).map(|own| capabilities(!own.granted(settings).is_empty()))
    }

    fn create(&self, request: CreateRequest) -> BoxFuture<'_, Result<Arc<dyn Sandbox>, SandboxError>> {
        Box::pin(self.start(request))
    }

    fn attach(
        &self,
        _handle: AttachHandle,
        _request: CreateRequest,
    ) -> BoxFuture<'_, Result<Arc<dyn Sandbox>, SandboxError>> {
        Box::pin(async { Err(capabilities(false).refusal(Capability::Survive)) })
    }

    fn list<'a>(
        &'a self,
        _settings: &'a SandboxSettings,
        _credential: Option<&'a SecretString>,
    ) -> BoxFuture<'a, Result<Vec<Listed>, SandboxError>> {
        Box::pin(async { Ok(Vec::new()) })
    }
}
