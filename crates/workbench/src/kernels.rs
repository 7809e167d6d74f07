//! The jupyter runtime, as the owner uses it: what is found, what a choice means, what a page sees.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, RwLock},
};

use sandbook_protocol::{
    ConnectionId, ErrorCode, KernelChoice, ProtocolError, Readiness, RuntimeKind, SandboxChoice,
};
use sandbook_runtimes::jupyter::{
    self, JupyterRuntime, JupyterSettings, LocalKernels, LocalSettings, ManagedServerSettings,
    ServerSettings, environment,
};
use sandbook_sandbox::{KernelInfo, Progress, Runtime, SandboxSettings};
use sandbook_store::config::Rule;
use secrecy::SecretString;
use tokio_util::sync::CancellationToken;

use crate::{connections::Connection, disk::Disk, error::sandbox_error, own, sandboxes::LiveSandbox};

/// What names an interpreter in place of a kernelspec.
const PYTHON: &str = "python:";

/// What a runtime has to be asked for.
pub(crate) struct Plan {
    pub(crate) runtime: Arc<dyn Runtime>,
    pub(crate) settings: SandboxSettings,
    pub(crate) credential: Option<SecretString>,
    pub(crate) display_name: String,
    pub(crate) connection: Option<ConnectionId>,
    pub(crate) kept: bool,
}

/// The runtime and what was found out about it.
pub(crate) struct Kernels {
    pub(crate) runtime: Arc<JupyterRuntime>,
    /// Where the person's policies are.
    pub(crate) disk: Arc<Disk>,
    /// Where the private environment is, or would be.
    private: PathBuf,
    found: RwLock<Option<Vec<KernelChoice>>>,
    pub(crate) servers: Mutex<HashMap<ConnectionId, Readiness>>,
}

impl Kernels {
    pub(crate) fn new(supervisor: Option<PathBuf>, disk: Arc<Disk>) -> Self {
        Self {
            runtime: Arc::new(own::jupyter_runtime(&disk.folders, supervisor)),
            private: own::private_environment(&disk.folders),
            disk,
            found: RwLock::new(None),
            servers: Mutex::default(),
        }
    }

    /// The kernels that were found, once somebody looked.
    pub(crate) fn found(&self) -> Option<Vec<KernelChoice>> {
        self.found.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Looks for kernels on this computer.
    pub(crate) async fn discover(&self, folder: &Path) {
        let kernels = self.choices(folder).await;
        *self.found.write().unwrap_or_else(PoisonError::into_inner) = Some(kernels);
    }

    async fn choices(&self, folder: &Path) -> Vec<KernelChoice> {
        self.local(folder).await.kernels.iter().map(choice).collect()
    }

    /// What can be started on this computer for a folder.
    async fn local(&self, folder: &Path) -> LocalKernels {
        let (runtime, folder) = (self.runtime.clone(), folder.to_owned());
        tokio::task::spawn_blocking(move || runtime.local_kernels(Some(&folder))).await.unwrap_or_default()
    }

    /// What a notebook runs on where nobody chose: the kernel that it means, if it is on this computer, by name, else by
    /// language; Monty where there is no Python.
    pub(crate) async fn default_for(
        &self,
        name: Option<String>,
        language: &str,
        folder: &Path,
    ) -> Option<SandboxChoice> {
        let found = self.local(folder).await;
        let kernel = kernel_for(&found, name.as_deref(), language);
        let monty = || SandboxChoice::New {
            runtime: RuntimeKind::Monty,
            settings: serde_json::Value::Null,
            connection: None,
        };
        kernel
            .map(|kernel| SandboxChoice::KernelHere { kernel })
            .or_else(|| monty_stands_in(&found, language).then(monty))
    }

    /// What the runtime has to be asked for a choice.
    pub(crate) fn plan(
        &self,
        choice: SandboxChoice,
        folder: &Path,
        connection: Option<Connection>,
        credential: Option<SecretString>,
        keep_here: bool,
    ) -> Result<Plan, ProtocolError> {
        let (runtime, display_name, kept) = match choice {
            SandboxChoice::KernelHere { kernel } => {
                (JupyterSettings::Local(local_settings(&kernel)), self.display_name(&kernel), keep_here)
            }
            SandboxChoice::ManagedServer { kernel } => {
                let LocalSettings { kernel: name, python } = local_settings(&kernel);
                let settings = ManagedServerSettings { kernel: name, python };
                (JupyterSettings::ManagedServer(settings), "Server on this computer".into(), keep_here)
            }
            SandboxChoice::NewOnServer { kernel, keep, .. } => {
                let connection = connection.as_ref().ok_or_else(|| ProtocolError::not_found("connection"))?;
                let settings = ServerSettings { kernel, ..self.server_settings(connection)? };
                (JupyterSettings::Server(settings), connection.name.clone(), keep)
            }
            SandboxChoice::AttachOnServer { kernel, shared, .. } => {
                let connection = connection.as_ref().ok_or_else(|| ProtocolError::not_found("connection"))?;
                let share = match self.disk.policies().attach_to_busy {
                    Rule::Ask => shared,
                    Rule::Allow => true,
                    Rule::Refuse => false,
                };
                let settings =
                    ServerSettings { kernel_id: Some(kernel), share, ..self.server_settings(connection)? };
                (JupyterSettings::Server(settings), connection.name.clone(), false)
            }
            SandboxChoice::New { .. } | SandboxChoice::Existing { .. } => {
                return Err(ProtocolError::not_found("sandbox"));
            }
        };
        let local = !matches!(runtime, JupyterSettings::Server(_));
        let settings = SandboxSettings {
            id: None,
            name: None,
            working_directory: local.then(|| folder.to_owned()),
            environment: std::collections::BTreeMap::new(),
            runtime: runtime.to_value(),
        };
        Ok(Plan {
            runtime: self.runtime.clone(),
            settings,
            credential,
            display_name,
            connection: connection.map(|connection| connection.id),
            kept,
        })
    }

    fn display_name(&self, name: &str) -> String {
        let found = self.found().unwrap_or_default();
        let known = found.into_iter().find(|choice| choice.name == name).map(|choice| choice.display_name);
        known.unwrap_or_else(|| name.strip_prefix(PYTHON).map_or(name, |_| "Python").to_owned())
    }

    /// What a notebook's metadata says of the kernel.
    pub(crate) fn kernelspec(&self, live: &LiveSandbox, info: &KernelInfo) -> serde_json::Value {
        let python = info.language.eq_ignore_ascii_case("python");
        if python {
            // Interpreters have no kernelspec of their own; every Jupyter knows this one.
            return serde_json::json!({
                "display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"
            });
        }
        let named = self
            .found()
            .unwrap_or_default()
            .into_iter()
            .find(|choice| choice.display_name == live.display_name);
        named.map_or(serde_json::Value::Null, |choice| {
            serde_json::json!({
                "display_name": choice.display_name, "language": choice.language, "name": choice.name
            })
        })
    }

    /// Makes a private environment with ipykernel.
    pub(crate) async fn create_environment(
        &self,
        python: Option<String>,
        progress: Progress,
        cancel: CancellationToken,
    ) -> Result<KernelChoice, ProtocolError> {
        let found = self.local(Path::new("/")).await.interpreters;
        let base = found
            .iter()
            .find(|found| python.as_ref().is_none_or(|python| found.program == Path::new(python)));
        let Some(base) = base else {
            return Err(ProtocolError::new(
                ErrorCode::NoKernelFound,
                "There is no Python on this computer that an environment could be made from.",
                "Install Python 3.10 or newer, or connect to a Jupyter server.",
            ));
        };
        progress.report(environment::describe(base, &self.private), None);
        environment::make(base, &self.private, &progress, &cancel)
            .await
            .map_err(|error| sandbox_error(&error))?;
        let kernels = self.local(Path::new("/")).await.kernels;
        let made = kernels
            .iter()
            .find(|kernel| kernel.program().is_some_and(|program| program.starts_with(&self.private)));
        made.map(choice)
            .ok_or_else(|| ProtocolError::internal("The environment was made, but has no kernel."))
    }
}

/// A kernel as a page chooses it.
fn choice(kernel: &jupyter::LocalKernel) -> KernelChoice {
    let name = kernel
        .program()
        .map_or_else(|| kernel.spec.name.clone(), |program| format!("{PYTHON}{}", program.display()));
    let origin = kernel.program().unwrap_or(&kernel.spec.folder).display().to_string();
    KernelChoice {
        name,
        display_name: kernel.spec.display_name.clone(),
        language: kernel.spec.language.clone(),
        origin,
    }
}

/// The kernel that a notebook means by a name and a language, if it is among those that were found: by name, else by
/// language. Its name, as [`local_settings`] takes it.
pub fn kernel_for(found: &LocalKernels, name: Option<&str>, language: &str) -> Option<String> {
    let choices: Vec<KernelChoice> = found.kernels.iter().map(choice).collect();
    let python = is_python(language);
    let generic = |name: &str| name == "python3" || name == "python";
    let named = name.filter(|name| !(python && generic(name)));
    let by_name = named.and_then(|name| choices.iter().find(|choice| choice.name == name));
    let by_language = || choices.iter().find(|choice| choice.language.eq_ignore_ascii_case(language));
    by_name.or_else(by_language).map(|choice| choice.name.clone())
}

/// Whether code of a language has no Python here to run on, so that Monty, which needs none, takes its place.
pub fn monty_stands_in(found: &LocalKernels, language: &str) -> bool {
    let runs_python = found.kernels.iter().any(|kernel| is_python(&kernel.spec.language.to_lowercase()));
    is_python(language) && found.interpreters.is_empty() && !runs_python
}

fn is_python(language: &str) -> bool {
    language == "python" || language == "ipython"
}

/// What a kernel's name asks the runtime for: a kernelspec, or an interpreter as `python:PATH`.
pub fn local_settings(kernel: &str) -> LocalSettings {
    match kernel.strip_prefix(PYTHON) {
        Some(program) => LocalSettings { kernel: None, python: Some(program.into()) },
        None => LocalSettings { kernel: Some(kernel.to_owned()), python: None },
    }
}
