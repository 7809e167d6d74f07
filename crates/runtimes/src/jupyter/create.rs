//! Making and joining sandboxes: who keeps the kernel, and what the sandbox is called.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use sandbook_sandbox::{AttachHandle, CreateRequest, Sandbox, SandboxError, SandboxInfo};

use super::{
    JupyterRuntime, VARIANT, capability, host,
    joined::JoinedHost,
    launch::Plan,
    local::LocalHost,
    managed::{ManagedHost, ServerPlan},
    rest::Server,
    sandbox::JupyterSandbox,
    server::{OnServer, ServerHost, WhenRefused},
    settings::{Handle, JupyterSettings, LocalSettings, ManagedServerSettings, ServerSettings},
};
use crate::{
    process::make_private,
    python::{self, Interpreter},
};

impl JupyterRuntime {
    pub(super) fn home(&self) -> Option<&Path> {
        self.surrounding.pythons.home.as_deref()
    }

    pub(super) async fn start_local(
        &self,
        settings: LocalSettings,
        request: CreateRequest,
    ) -> Result<Arc<dyn Sandbox>, SandboxError> {
        let folder = request.settings.working_directory.clone();
        is_there(folder.as_deref())?;
        make_private(&self.surrounding.run_folder)?;
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
        let (host, connected) = LocalHost::start(plan, &request.cancel).await?;
        let info = SandboxInfo {
            variant: VARIANT,
            title: request.settings.name.unwrap_or(title),
            subtitle: "this computer".into(),
            working_directory: folder.map(|folder| folder.display().to_string()),
            owned: true,
            handle: host_handle(&host),
        };
        Ok(Arc::new(JupyterSandbox::new(info, capability::local(), Box::new(host), connected)))
    }

    pub(super) async fn start_on_server(
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
            if let Some(kernel_id) = &settings.kernel_id {
                return ServerHost::join(server, kernel_id, settings.share).await;
            }
            let kernel = settings.kernel.as_deref();
            ServerHost::start(server, kernel, folder.as_deref(), WhenRefused::End).await
        };
        let on_server = tokio::select! {
            on_server = start => on_server?,
            () = cancel.cancelled() => return Err(SandboxError::Cancelled),
        };
        Ok(server_sandbox(on_server, address, request.settings.name, folder))
    }

    pub(super) async fn start_server(
        &self,
        settings: ManagedServerSettings,
        request: CreateRequest,
    ) -> Result<Arc<dyn Sandbox>, SandboxError> {
        is_there(request.settings.working_directory.as_deref())?;
        let root = request
            .settings
            .working_directory
            .clone()
            .or_else(|| self.home().map(Path::to_owned))
            .unwrap_or_else(|| "/".into());
        let python = self.python_with_server(&settings, &root)?;
        make_private(&self.surrounding.run_folder)?;
        let plan = ServerPlan {
            python,
            root: root.clone(),
            environment: request.settings.environment.clone(),
            run_folder: self.surrounding.run_folder.clone(),
            supervisor: self.surrounding.supervisor.clone(),
        };
        let managed = plan.start(&request.progress, &request.cancel).await?;
        let server = Server::new(&ServerSettings::new(managed.url.clone()), Some(managed.token.clone()))?;
        let start = ServerHost::start(server, settings.kernel.as_deref(), None, WhenRefused::End);
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
        Ok(Arc::new(JupyterSandbox::new(info, capability::managed(), Box::new(host), connected)))
    }

    pub(super) fn python_with_server(
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

    /// Joins the kernel of a handle. Starts nothing.
    pub(super) async fn join(
        &self,
        handle: AttachHandle,
        request: CreateRequest,
    ) -> Result<Arc<dyn Sandbox>, SandboxError> {
        match (Handle::read(&handle)?, JupyterSettings::read(&request.settings)?) {
            (Handle::Local { connection_file }, _) => {
                let (host, connected, name) =
                    JoinedHost::join(connection_file, self.surrounding.run_folder.clone()).await?;
                let info = SandboxInfo {
                    variant: VARIANT,
                    title: request.settings.name.unwrap_or(name),
                    subtitle: "this computer".into(),
                    working_directory: None,
                    owned: false,
                    handle: host_handle(&host),
                };
                let sandbox = JupyterSandbox::new(info, capability::local(), Box::new(host), connected);
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
                let reason =
                    "A server that was started for one sandbox ends with it, so its kernel cannot be joined.";
                Err(SandboxError::Unsupported { reason: reason.into() })
            }
        }
    }
}

/// A folder in which a program of this computer shall start.
fn is_there(folder: Option<&Path>) -> Result<(), SandboxError> {
    match folder.filter(|folder| !folder.is_dir()) {
        Some(folder) => Err(SandboxError::FolderMissing { folder: folder.display().to_string() }),
        None => Ok(()),
    }
}

fn host_handle(host: &dyn host::Host) -> AttachHandle {
    host.handle()
}

fn server_sandbox(
    on_server: OnServer,
    address: String,
    name: Option<String>,
    folder: Option<String>,
) -> Arc<dyn Sandbox> {
    let OnServer { host, connected, model } = on_server;
    let busy = model.state == "busy";
    let info = SandboxInfo {
        variant: VARIANT,
        title: name.unwrap_or(model.name),
        subtitle: address,
        working_directory: folder,
        owned: host.owned(),
        handle: host_handle(&*host),
    };
    let sandbox = JupyterSandbox::new(info, capability::server(), Box::new(host), connected);
    Arc::new(if busy { sandbox.found_busy() } else { sandbox })
}
