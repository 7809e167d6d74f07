//! Jupyter kernels: on this computer, on a server that runs already, or on a server started here.
//!
//! A kernel here is spoken to over its own ZeroMQ sockets (ipc files in a private folder for ipykernel, signed TCP on
//! the loopback for other kernels), with no server in between. A server is asked by HTTP for what concerns kernels as a
//! whole and spoken to by WebSocket for everything else. One sandbox is one kernel; [`Host`](host::Host) is who keeps
//! it, the rest is the same.
//!
//! Credentials: the token arrives beside the settings, goes into an `Authorization` header, and is in no record,
//! address or error. Deliberately absent: files, terminals and variables, which come with their own contract.

pub mod environment;
mod execution;
mod host;
mod kernels;
mod local;
mod managed;
mod paste;
mod python;
mod rest;
mod sandbox;
mod server;
mod settings;
mod tls;
mod translate;

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
};

use sandbook_sandbox::{
    AttachHandle, BoxFuture, Capabilities, Capability, CreateRequest, Listed, Readiness, Runtime, Sandbox,
    SandboxError, SandboxInfo, SandboxSettings, Support,
};
use secrecy::SecretString;

pub use self::{
    kernels::{LocalKernel, LocalKernels},
    paste::{NotRecognised, Provider, Recognised, is_loopback, parse_pasted},
    python::{Interpreter, Origin, Surroundings},
    rest::ServerKernelSpec,
    settings::{Handle, JupyterSettings, LocalSettings, ManagedServerSettings, ServerSettings},
};
use self::{
    local::{JoinedHost, Plan},
    managed::{ManagedHost, ServerPlan},
    rest::Server,
    sandbox::JupyterSandbox,
    server::{OnServer, ServerHost},
};

/// What this runtime needs of the program around it.
#[derive(Debug, Clone, Default)]
pub struct Surrounding {
    /// A short, private folder for sockets and connection files, as `/run/user/1000/sandbook`.
    pub run_folder: PathBuf,
    /// Program and first arguments of the supervisor, as `sandbook supervise`. Without one, kernels are started
    /// directly.
    pub supervisor: Option<Vec<OsString>>,
    /// Data folders to look for kernelspecs in before Jupyter's own.
    pub data_folders: Vec<PathBuf>,
    /// Where to look for Pythons.
    pub pythons: Surroundings,
}

/// The runtime.
#[derive(Debug, Clone)]
pub struct JupyterRuntime {
    surrounding: Arc<Surrounding>,
}

impl JupyterRuntime {
    /// A runtime in a surrounding.
    pub fn new(surrounding: Surrounding) -> Self {
        Self { surrounding: Arc::new(surrounding) }
    }

    /// The kernels that can be started here for a notebook in `folder`. Reads files; starts nothing.
    pub fn local_kernels(&self, folder: Option<&Path>) -> LocalKernels {
        LocalKernels::find(folder, &self.surrounding.pythons, &self.surrounding.data_folders)
    }

    /// The kernels that a server can start.
    pub async fn server_kernelspecs(
        &self,
        settings: &ServerSettings,
        credential: Option<&SecretString>,
    ) -> Result<Vec<ServerKernelSpec>, SandboxError> {
        Server::new(settings, credential.cloned())?.kernelspecs().await
    }

    /// Shuts down a kernel on a server without joining it, as one that was kept.
    pub async fn remove_kernel(
        &self,
        settings: &ServerSettings,
        credential: Option<&SecretString>,
        kernel_id: &str,
    ) -> Result<(), SandboxError> {
        Server::new(settings, credential.cloned())?.remove(kernel_id).await
    }

    fn home(&self) -> Option<&Path> {
        self.surrounding.pythons.home.as_deref()
    }

    async fn start_local(
        &self,
        settings: LocalSettings,
        request: CreateRequest,
    ) -> Result<Arc<dyn Sandbox>, SandboxError> {
        let folder = request.settings.working_directory.clone();
        if let Some(folder) = folder.as_ref().filter(|folder| !folder.is_dir()) {
            let reason = format!("{} is no folder", folder.display());
            return Err(SandboxError::Setting { setting: "working_directory".into(), reason });
        }
        local::make_private(&self.surrounding.run_folder)?;
        let (this, for_search) = (self.clone(), folder.clone());
        let search = move || this.local_kernels(for_search.as_deref()).choose(&settings, this.home());
        let kernel = tokio::task::spawn_blocking(search)
            .await
            .map_err(|error| SandboxError::Failed(error.to_string()))??;
        let title = kernel.spec.display_name.clone();
        request.progress.report(format!("Starting {title}"), None);
        let plan = Plan {
            kernel,
            working_directory: folder.clone(),
            environment: request.settings.environment,
            run_folder: self.surrounding.run_folder.clone(),
            supervisor: self.surrounding.supervisor.clone(),
        };
        let (host, connected) = plan.start(&request.cancel).await?;
        let info = SandboxInfo {
            variant: VARIANT,
            title: request.settings.name.unwrap_or(title),
            subtitle: "this computer".into(),
            working_directory: folder.map(|folder| folder.display().to_string()),
            owned: true,
            handle: host_handle(&host),
        };
        Ok(Arc::new(JupyterSandbox::new(info, local_capabilities(), Box::new(host), connected)))
    }

    async fn start_on_server(
        &self,
        settings: ServerSettings,
        request: CreateRequest,
    ) -> Result<Arc<dyn Sandbox>, SandboxError> {
        let server = Server::new(&settings, request.credential.clone())?;
        request.progress.report(format!("Connecting to {}", server.address()), None);
        let (address, cancel) = (server.address().to_owned(), request.cancel.clone());
        let folder =
            request.settings.working_directory.as_ref().map(|folder| folder.to_string_lossy().into_owned());
        let start = async {
            match &settings.kernel_id {
                Some(kernel_id) => ServerHost::join(server, kernel_id, settings.share).await,
                None => ServerHost::start(server, &settings, folder.as_deref()).await,
            }
        };
        let on_server = tokio::select! {
            on_server = start => on_server?,
            () = cancel.cancelled() => return Err(SandboxError::Cancelled),
        };
        Ok(server_sandbox(on_server, address, request.settings.name, folder))
    }

    async fn start_server(
        &self,
        settings: ManagedServerSettings,
        request: CreateRequest,
    ) -> Result<Arc<dyn Sandbox>, SandboxError> {
        let root = request
            .settings
            .working_directory
            .clone()
            .or_else(|| self.home().map(Path::to_owned))
            .unwrap_or_else(|| "/".into());
        let python = self.python_with_server(&settings, &root)?;
        local::make_private(&self.surrounding.run_folder)?;
        let plan = ServerPlan {
            python,
            root: root.clone(),
            run_folder: self.surrounding.run_folder.clone(),
            supervisor: self.surrounding.supervisor.clone(),
        };
        let managed = plan.start(&request.progress, &request.cancel).await?;
        let server_settings =
            ServerSettings { kernel: settings.kernel, ..ServerSettings::new(managed.url.clone()) };
        let server = Server::new(&server_settings, Some(managed.token.clone()))?;
        let start = ServerHost::start(server, &server_settings, None);
        let on_server = tokio::select! {
            on_server = start => on_server?,
            () = request.cancel.cancelled() => return Err(SandboxError::Cancelled),
        };
        let OnServer { host, connected, model } = on_server;
        let host = ManagedHost { kernel: host, server: managed };
        let info = SandboxInfo {
            variant: VARIANT,
            title: request.settings.name.unwrap_or(model.name),
            subtitle: "a server started here".into(),
            working_directory: Some(root.display().to_string()),
            owned: true,
            handle: host_handle(&host),
        };
        Ok(Arc::new(JupyterSandbox::new(info, managed_capabilities(), Box::new(host), connected)))
    }

    fn python_with_server(
        &self,
        settings: &ManagedServerSettings,
        root: &Path,
    ) -> Result<PathBuf, SandboxError> {
        let not_found = |detail: String| SandboxError::NotInstalled { what: "jupyter_server".into(), detail };
        if let Some(program) = &settings.python {
            let python = Interpreter::at(program, self.home()).filter(|python| python.has_server);
            return python
                .map(|python| python.program)
                .ok_or_else(|| not_found(format!("{} does not have it", program.display())));
        }
        let pythons = python::find(Some(root), &self.surrounding.pythons);
        let found = pythons.into_iter().find(|python| python.has_server);
        found
            .map(|python| python.program)
            .ok_or_else(|| not_found("no Python on this computer has it".into()))
    }
}

const VARIANT: &str = "jupyter";

fn host_handle(host: &dyn host::Host) -> AttachHandle {
    host.handle().keep()
}

fn server_sandbox(
    on_server: OnServer,
    address: String,
    name: Option<String>,
    folder: Option<String>,
) -> Arc<dyn Sandbox> {
    let OnServer { host, connected, model } = on_server;
    let info = SandboxInfo {
        variant: VARIANT,
        title: name.unwrap_or(model.name),
        subtitle: address,
        working_directory: folder,
        owned: host.owned(),
        handle: host_handle(&host),
    };
    Arc::new(JupyterSandbox::new(info, server_capabilities(), Box::new(host), connected))
}

fn common() -> Capabilities {
    let yes = || Support::Yes(String::new());
    Capabilities::default()
        .with(Capability::Execute, yes())
        .with(Capability::RichOutput, yes())
        .with(Capability::Input, yes())
        .with(Capability::Interrupt, yes())
        .with(Capability::Restart, yes())
        .with(Capability::Completion, yes())
}

fn without_files(capabilities: Capabilities) -> Capabilities {
    let not_yet = |what: &str| Support::No(format!("{what} of Jupyter sandboxes are not offered yet."));
    capabilities
        .with(Capability::Files, not_yet("Files"))
        .with(Capability::Terminal, not_yet("Terminals"))
        .with(
            Capability::Snapshots,
            Support::No("A Jupyter kernel has no state that could be kept and restored.".into()),
        )
}

fn local_capabilities() -> Capabilities {
    let isolation = "None: the code can do what you can do on this computer.";
    without_files(
        common()
            .with(
                Capability::Replay,
                Support::Yes("The connection to a kernel on this computer is not lost.".into()),
            )
            .with(
                Capability::Survive,
                Support::Yes("The kernel can stay when its notebook is closed.".into()),
            )
            .with(Capability::Isolation, Support::No(isolation.into())),
    )
}

fn server_capabilities() -> Capabilities {
    let replay = "The server keeps output while nobody else is connected to the kernel.";
    without_files(
        common()
            .with(Capability::Replay, Support::Limited(replay.into()))
            .with(Capability::Survive, Support::Yes("The kernel can stay on the server.".into()))
            .with(Capability::Isolation, Support::No("As far as the server's machine is from yours.".into())),
    )
}

fn managed_capabilities() -> Capabilities {
    let isolation = "None: the code can do what you can do on this computer.";
    without_files(
        common()
            .with(Capability::Replay, Support::Yes(String::new()))
            .with(Capability::Survive, Support::No("The server ends with its sandbox.".into()))
            .with(Capability::Isolation, Support::No(isolation.into())),
    )
}

impl Runtime for JupyterRuntime {
    fn variant(&self) -> &'static str {
        VARIANT
    }

    fn readiness<'a>(
        &'a self,
        settings: &'a SandboxSettings,
        credential: Option<&'a SecretString>,
    ) -> BoxFuture<'a, Readiness> {
        Box::pin(async move {
            let read = match JupyterSettings::read(settings) {
                Ok(read) => read,
                Err(error) => return Readiness::NeedsSetup(error.to_string()),
            };
            match read {
                JupyterSettings::Local(local) => {
                    let kernels = self.local_kernels(settings.working_directory.as_deref());
                    match kernels.choose(&local, self.home()) {
                        Ok(kernel) => Readiness::Ready(kernel.spec.display_name),
                        Err(error) => Readiness::NeedsSetup(error.to_string()),
                    }
                }
                JupyterSettings::ManagedServer(managed) => {
                    let root = settings.working_directory.clone().unwrap_or_else(|| "/".into());
                    match self.python_with_server(&managed, &root) {
                        Ok(python) => Readiness::Ready(python.display().to_string()),
                        Err(error) => Readiness::NeedsSetup(error.to_string()),
                    }
                }
                JupyterSettings::Server(server) => match self.server_kernelspecs(&server, credential).await {
                    Ok(specs) => Readiness::Ready(
                        specs.into_iter().map(|spec| spec.display_name).collect::<Vec<_>>().join(", "),
                    ),
                    Err(error @ (SandboxError::CredentialMissing { .. } | SandboxError::Refused { .. })) => {
                        Readiness::NeedsCredential(error.to_string())
                    }
                    Err(error) => Readiness::NotReachable(error.to_string()),
                },
            }
        })
    }

    fn capabilities(&self, settings: &SandboxSettings) -> Result<Capabilities, SandboxError> {
        Ok(match JupyterSettings::read(settings)? {
            JupyterSettings::Local(_) => local_capabilities(),
            JupyterSettings::Server(_) => server_capabilities(),
            JupyterSettings::ManagedServer(_) => managed_capabilities(),
        })
    }

    fn create(&self, request: CreateRequest) -> BoxFuture<'_, Result<Arc<dyn Sandbox>, SandboxError>> {
        Box::pin(async move {
            match JupyterSettings::read(&request.settings)? {
                JupyterSettings::Local(settings) => self.start_local(settings, request).await,
                JupyterSettings::Server(settings) => self.start_on_server(settings, request).await,
                JupyterSettings::ManagedServer(settings) => self.start_server(settings, request).await,
            }
        })
    }

    fn attach(
        &self,
        handle: AttachHandle,
        request: CreateRequest,
    ) -> BoxFuture<'_, Result<Arc<dyn Sandbox>, SandboxError>> {
        Box::pin(async move {
            match (Handle::read(&handle)?, JupyterSettings::read(&request.settings)?) {
                (Handle::Local { connection_file }, _) => {
                    let (host, connected, name) = JoinedHost::join(connection_file).await?;
                    let info = SandboxInfo {
                        variant: VARIANT,
                        title: request.settings.name.unwrap_or(name),
                        subtitle: "this computer".into(),
                        working_directory: None,
                        owned: false,
                        handle: host_handle(&host),
                    };
                    let sandbox = JupyterSandbox::new(info, local_capabilities(), Box::new(host), connected);
                    Ok(Arc::new(sandbox) as Arc<dyn Sandbox>)
                }
                (Handle::Server { kernel_id, owned, session }, JupyterSettings::Server(settings)) => {
                    let server = Server::new(&settings, request.credential.clone())?;
                    let address = server.address().to_owned();
                    let on_server = match session {
                        Some(session) => ServerHost::rejoin(server, &kernel_id, owned, Some(session)).await?,
                        None => ServerHost::join(server, &kernel_id, settings.share).await?,
                    };
                    Ok(server_sandbox(on_server, address, request.settings.name, None))
                }
                (Handle::Server { .. }, _) => {
                    Err(SandboxError::Gone { what: "the server that was started for this kernel".into() })
                }
            }
        })
    }

    fn list<'a>(
        &'a self,
        settings: &'a SandboxSettings,
        credential: Option<&'a SecretString>,
    ) -> BoxFuture<'a, Result<Vec<Listed>, SandboxError>> {
        Box::pin(async move {
            let JupyterSettings::Server(settings) = JupyterSettings::read(settings)? else {
                return Ok(Vec::new());
            };
            let server = Server::new(&settings, credential.cloned())?;
            let kernels = server.kernels().await?;
            let documents = server.documents().await;
            let listed = |kernel: rest::KernelModel| {
                let document = documents.iter().find(|(id, _)| *id == kernel.id).map(|(_, path)| path);
                let handle = Handle::Server { kernel_id: kernel.id, owned: false, session: None };
                Listed {
                    handle: handle.keep(),
                    title: document
                        .map_or_else(|| kernel.name.clone(), |path| format!("{} — {path}", kernel.name)),
                    state: kernel.state,
                    connections: kernel.connections,
                    last_activity: kernel.last_activity,
                }
            };
            Ok(kernels.into_iter().map(listed).collect())
        })
    }
}
