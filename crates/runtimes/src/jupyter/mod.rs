//! Jupyter kernels: on this computer, on a server that runs already, or on a server started here.
//!
//! A kernel here is spoken to over its own ZeroMQ sockets (ipc files in a private folder for ipykernel, signed TCP on
//! the loopback for other kernels), with no server in between. A server is asked by HTTP for what concerns kernels as a
//! whole and spoken to by WebSocket for everything else. One sandbox is one kernel; [`Host`](host::Host) is who keeps
//! it, the rest is the same.
//!
//! A provider's proxy in front of a server is a runtime of its own: it brings a [`Manner`](manner::Manner) of showing
//! its token, and a host that knows when that ends.
//!
//! Credentials: the token arrives beside the settings, goes into an `Authorization` header, and is in no record,
//! address or error. Deliberately absent: files, terminals and variables, which come with their own contract.

pub(crate) mod capability;
pub(crate) mod contact;
mod contract;
mod create;
pub mod environment;
mod execution;
mod explain;
mod follow;
pub(crate) mod host;
mod joined;
mod kernels;
mod launch;
mod local;
mod managed;
pub(crate) mod manner;
mod pause;
pub(crate) mod rest;
pub(crate) mod sandbox;
pub(crate) mod server;
pub(crate) mod server_kernels;
mod settings;
mod tls;
mod translate;

use std::{path::Path, sync::Arc};

use sandbook_sandbox::{
    AttachHandle, BoxFuture, Capabilities, Check, Checks, CreateRequest, Listed, Readiness, Runtime, Sandbox,
    SandboxError, SandboxSettings,
};
use secrecy::SecretString;

use self::contact::Notes;
#[cfg(feature = "datalayer")]
pub(crate) use self::explain::{is_warming_up, said};
pub(crate) use self::rest::Server;
#[cfg(any(feature = "datalayer", feature = "docker", feature = "opensandbox"))]
pub(crate) use self::server::{OnServer, ServerHost, WhenRefused};
#[cfg(any(feature = "datalayer", feature = "docker", feature = "modal", feature = "opensandbox"))]
pub(crate) use self::{
    host::{Connected, Host, Presence},
    sandbox::JupyterSandbox,
};
pub use self::{
    kernels::{LocalKernel, LocalKernels},
    server_kernels::ServerKernelSpec,
    settings::{Handle, JupyterSettings, LocalSettings, ManagedServerSettings, ServerSettings},
};
use crate::Surrounding;

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
}

const VARIANT: &str = "jupyter";

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

    fn joins(&self, settings: &SandboxSettings, _: Option<&SecretString>) -> bool {
        let read = JupyterSettings::read(settings);
        matches!(read, Ok(JupyterSettings::Server(server)) if server.kernel_id.is_some())
    }

    fn contact<'a>(
        &'a self,
        settings: &'a SandboxSettings,
        credential: Option<&'a SecretString>,
        checks: Checks,
    ) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let Ok(JupyterSettings::Server(at)) = JupyterSettings::read(settings) else {
                return checks.take(Check::of_readiness(self.readiness(settings, credential).await));
            };
            match Server::new(&at, credential.cloned()) {
                Ok(server) => {
                    contact::look(&server, at.kernel_id.as_deref(), Notes::JUPYTER, &checks).await;
                }
                Err(error) => checks.take(Check::failed("address", "an address of a server", error)),
            }
        })
    }

    fn capabilities(&self, settings: &SandboxSettings) -> Result<Capabilities, SandboxError> {
        Ok(match JupyterSettings::read(settings)? {
            JupyterSettings::Local(_) => capability::local(),
            JupyterSettings::Server(_) => capability::server(),
            JupyterSettings::ManagedServer(_) => capability::managed(),
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
        Box::pin(self.join(handle, request))
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
            let listed = |kernel: server_kernels::KernelModel| {
                let document = documents.iter().find(|(id, _)| *id == kernel.id).map(|(_, path)| path);
                let handle = Handle::Server { kernel_id: kernel.id, owned: false, session: None };
                Listed {
                    handle: handle.keep(),
                    id: None,
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
