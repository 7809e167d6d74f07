//! The jupyter runtime, as the owner uses it: what is found, what a choice means, what a page sees.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, RwLock},
    time::SystemTime,
};

use sandbook_protocol::{
    ConnectionId, ConnectionView, ErrorCode, KernelChoice, ProtocolError, Readiness, ReadinessState, Reply,
    RuntimeKind, SandboxChoice, ServerKernel,
};
use sandbook_runtimes::jupyter::{
    self, Handle, JupyterRuntime, JupyterSettings, LocalKernels, LocalSettings, ManagedServerSettings,
    ServerSettings, Surrounding, Surroundings, environment,
};
use sandbook_sandbox::{AttachHandle, KernelInfo, Listed, Progress, Runtime, SandboxError, SandboxSettings};
use sandbook_store::{folders::Folders, records::KeptKernel};
use secrecy::SecretString;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::{connections::Connection, error::sandbox_error, owner::lock, sandboxes::LiveSandbox};

/// What names an interpreter in place of a kernelspec.
const PYTHON: &str = "python:";

/// What the runtime has to be asked for.
pub(crate) struct Plan {
    pub(crate) settings: SandboxSettings,
    pub(crate) credential: Option<SecretString>,
    /// To join instead of making one.
    pub(crate) attach: Option<AttachHandle>,
    pub(crate) display_name: String,
    pub(crate) connection: Option<ConnectionId>,
    pub(crate) kept: bool,
}

/// The runtime and what was found out about it.
pub(crate) struct Kernels {
    runtime: Arc<JupyterRuntime>,
    /// Where the private environment is, or would be.
    private: PathBuf,
    found: RwLock<Option<Vec<KernelChoice>>>,
    servers: Mutex<HashMap<ConnectionId, Readiness>>,
    keyring: Mutex<Readiness>,
}

impl Kernels {
    pub(crate) fn new(supervisor: Option<PathBuf>, folders: &Folders) -> Self {
        let private = folders.data.join("python");
        let runtime = JupyterRuntime::new(Surrounding {
            run_folder: folders.runtime.clone(),
            supervisor: supervisor.map(|program| vec![program.into(), "supervise".into()]),
            data_folders: Vec::new(),
            pythons: Surroundings::of_process(Some(private.clone())),
        });
        Self {
            runtime: Arc::new(runtime),
            private,
            found: RwLock::new(None),
            servers: Mutex::default(),
            keyring: Mutex::new(Readiness {
                state: ReadinessState::Checking,
                reason: "Asking the keyring".into(),
            }),
        }
    }

    pub(crate) fn runtime(&self) -> Arc<dyn Runtime> {
        self.runtime.clone()
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

    /// The kernel that a notebook means, if it is on this computer: by name, else by language.
    pub(crate) async fn default_for(
        &self,
        name: Option<String>,
        language: &str,
        folder: &Path,
    ) -> Option<String> {
        let choices = self.choices(folder).await;
        let python = language == "python" || language == "ipython";
        let generic = |name: &String| name == "python3" || name == "python";
        let named = name.as_ref().filter(|name| !(python && generic(name)));
        let by_name = named.and_then(|name| choices.iter().find(|choice| choice.name == *name));
        let by_language = || choices.iter().find(|choice| choice.language.eq_ignore_ascii_case(language));
        by_name.or_else(by_language).map(|choice| choice.name.clone())
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
                let settings = ServerSettings { kernel, ..server_settings(connection)? };
                (JupyterSettings::Server(settings), connection.name.clone(), keep)
            }
            SandboxChoice::AttachOnServer { kernel, shared, .. } => {
                let connection = connection.as_ref().ok_or_else(|| ProtocolError::not_found("connection"))?;
                let settings =
                    ServerSettings { kernel_id: Some(kernel), share: shared, ..server_settings(connection)? };
                (JupyterSettings::Server(settings), connection.name.clone(), false)
            }
            SandboxChoice::Existing { .. } => return Err(ProtocolError::not_found("sandbox")),
        };
        let local = !matches!(runtime, JupyterSettings::Server(_));
        let settings = SandboxSettings {
            name: None,
            working_directory: local.then(|| folder.to_owned()),
            environment: std::collections::BTreeMap::new(),
            runtime: runtime.to_value(),
        };
        Ok(Plan {
            settings,
            credential,
            attach: None,
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

    pub(crate) fn keyring(&self) -> Readiness {
        lock(&self.keyring).clone()
    }

    pub(crate) fn set_keyring(&self, readiness: Readiness) {
        *lock(&self.keyring) = readiness;
    }

    /// Whether a server can be used now.
    pub(crate) async fn server_readiness(
        &self,
        connection: &Connection,
        credential: Option<&SecretString>,
    ) -> Readiness {
        let settings = match sandbox_settings(connection) {
            Ok(settings) => settings,
            Err(error) => return Readiness { state: ReadinessState::NeedsSetup, reason: error.message },
        };
        readiness(self.runtime.readiness(&settings, credential).await)
    }

    pub(crate) fn remember_readiness(&self, connection: &ConnectionId, readiness: Readiness) {
        lock(&self.servers).insert(connection.clone(), readiness);
    }

    /// What a page sees of a connection.
    pub(crate) fn connection_view(&self, connection: &Connection) -> ConnectionView {
        let url = Url::parse(&connection.server_url).ok();
        let known = lock(&self.servers).get(&connection.id).cloned();
        ConnectionView {
            id: connection.id.clone(),
            kind: RuntimeKind::Jupyter,
            name: connection.name.clone(),
            display_url: url.clone().map_or_else(
                || connection.server_url.clone(),
                |url| sandbook_sandbox::SecretUrl::new(url).masked(),
            ),
            readiness: known.unwrap_or_else(|| Readiness {
                state: ReadinessState::Checking,
                reason: "Asking the server".into(),
            }),
            has_credential: connection.credential.is_some(),
            plain_http: url.is_some_and(|url| url.scheme() == "http" && !jupyter::is_loopback(&url)),
            trusted_fingerprint: connection.trusted_fingerprint.clone(),
        }
    }

    /// Asks a server once; an error says what is wrong with address, certificate or credential.
    pub(crate) async fn check_server(
        &self,
        connection: &Connection,
        credential: Option<SecretString>,
    ) -> Result<(), ProtocolError> {
        let settings = server_settings(connection)?;
        let specs = self.runtime.server_kernelspecs(&settings, credential.as_ref()).await;
        let specs = specs.map_err(|error| sandbox_error(&error))?;
        let reason = match specs.as_slice() {
            [only] => format!("{} can be started", only.display_name),
            specs => format!("{} kinds of kernels can be started", specs.len()),
        };
        self.remember_readiness(&connection.id, Readiness { state: ReadinessState::Ready, reason });
        Ok(())
    }

    /// The kernels that run on a server, and those that can be started there.
    pub(crate) async fn server_kernels(
        &self,
        connection: &Connection,
        credential: Option<SecretString>,
        kept: &[KeptKernel],
    ) -> Result<Reply, ProtocolError> {
        let settings = server_settings(connection)?;
        let specs = self.runtime.server_kernelspecs(&settings, credential.as_ref()).await;
        let specs = specs.map_err(|error| sandbox_error(&error))?;
        let listed = self.runtime.list(&sandbox_settings(connection)?, credential.as_ref()).await;
        let (listed, listable) = match listed {
            Ok(listed) => (listed, true),
            Err(SandboxError::Unsupported { .. }) => (Vec::new(), false),
            Err(error) => return Err(sandbox_error(&error)),
        };
        let now = SystemTime::now();
        let startable = specs.into_iter().map(|spec| KernelChoice {
            name: spec.name,
            display_name: spec.display_name,
            language: spec.language,
            origin: connection.name.clone(),
        });
        Ok(Reply::ServerKernels {
            running: listed.into_iter().filter_map(|listed| server_kernel(listed, kept, now)).collect(),
            listable,
            startable: startable.collect(),
        })
    }

    /// Removes a kernel on a server.
    pub(crate) async fn delete_server_kernel(
        &self,
        connection: &Connection,
        credential: Option<SecretString>,
        kernel: &str,
    ) -> Result<(), ProtocolError> {
        let settings = server_settings(connection)?;
        let deleted = self.runtime.remove_kernel(&settings, credential.as_ref(), kernel).await;
        deleted.map_err(|error| sandbox_error(&error))
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

/// The kernel's id, where it is one on a server.
pub(crate) fn kernel_on_server(handle: &AttachHandle) -> Option<String> {
    match Handle::read(handle) {
        Ok(Handle::Server { kernel_id, .. }) => Some(kernel_id),
        _ => None,
    }
}

/// A kernel that runs on a server, as a page sees it.
fn server_kernel(listed: Listed, kept: &[KeptKernel], now: SystemTime) -> Option<ServerKernel> {
    let kernel_id = kernel_on_server(&listed.handle)?;
    let idle = listed.last_activity.and_then(|moment| now.duration_since(moment).ok());
    let (name, used_by) = match listed.title.split_once(" — ") {
        Some((name, document)) => (name.to_owned(), Some(document.to_owned())),
        None => (listed.title, None),
    };
    Some(ServerKernel {
        kept: kept.iter().any(|kept| kept.id == kernel_id),
        id: kernel_id,
        name,
        state: listed.state,
        connections: listed.connections,
        idle_seconds: idle.map(|idle| idle.as_secs()),
        used_by,
    })
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

fn local_settings(kernel: &str) -> LocalSettings {
    match kernel.strip_prefix(PYTHON) {
        Some(program) => LocalSettings { kernel: None, python: Some(program.into()) },
        None => LocalSettings { kernel: Some(kernel.to_owned()), python: None },
    }
}

fn server_settings(connection: &Connection) -> Result<ServerSettings, ProtocolError> {
    let url = Url::parse(&connection.server_url).map_err(|error| {
        ProtocolError::new(
            ErrorCode::BadSetting,
            format!("The address of {} cannot be read: {error}.", connection.name),
            "Remove the connection and add it again.",
        )
    })?;
    Ok(ServerSettings {
        trusted_certificate: connection.trusted_fingerprint.clone(),
        ..ServerSettings::new(url)
    })
}

pub(crate) fn sandbox_settings(connection: &Connection) -> Result<SandboxSettings, ProtocolError> {
    let runtime = JupyterSettings::Server(server_settings(connection)?).to_value();
    Ok(SandboxSettings { runtime, ..SandboxSettings::default() })
}

fn readiness(readiness: sandbook_sandbox::Readiness) -> Readiness {
    let (state, reason) = match readiness {
        sandbook_sandbox::Readiness::Ready(reason) => (ReadinessState::Ready, reason),
        sandbook_sandbox::Readiness::NeedsSetup(reason) => (ReadinessState::NeedsSetup, reason),
        sandbook_sandbox::Readiness::NeedsCredential(reason) => (ReadinessState::NeedsCredential, reason),
        sandbook_sandbox::Readiness::NotReachable(reason) => (ReadinessState::NotReachable, reason),
    };
    Readiness { state, reason }
}
