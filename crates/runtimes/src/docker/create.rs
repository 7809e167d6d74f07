//! Making and joining containers.
//!
//! The name is chosen first, so that a container can be removed whose creation was never confirmed. Making goes on in a
//! task of its own: who gives it up, by the token or by dropping the future, gets a task that cleans up, not one that
//! was torn off between two requests.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use sandbook_sandbox::{AttachHandle, CreateRequest, ImageState, Sandbox, SandboxError, SandboxInfo};
use secrecy::SecretString;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{
    DockerRuntime, VARIANT, capability,
    container::{HOSTS_LABEL, PROXY_SOCKET, Plan},
    engine::{Engine, container_name},
    folder::{self, Shared},
    host::{ContainerHost, Reach, Ways},
    hosts::Hosts,
    image,
    proxy::Proxy,
    settings::{DockerSettings, Handle, NetworkPolicy},
};
use crate::{
    folders::WORKING_DIRECTORY,
    jupyter::{JupyterSandbox, OnServer},
};

impl DockerRuntime {
    /// Makes a container and a kernel in it.
    pub(super) async fn make(&self, request: CreateRequest) -> Result<Arc<dyn Sandbox>, SandboxError> {
        let (this, cancel) = (self.clone(), request.cancel.child_token());
        let _given_up_with_this_future = cancel.clone().drop_guard();
        let made = tokio::spawn(async move { this.make_or_clean_up(request, cancel).await });
        made.await.map_err(|error| SandboxError::Failed(error.to_string()))?
    }

    async fn make_or_clean_up(
        self,
        request: CreateRequest,
        cancel: CancellationToken,
    ) -> Result<Arc<dyn Sandbox>, SandboxError> {
        let settings = DockerSettings::read(&request.settings)?;
        request.progress.report("Looking for a container engine", None);
        let engine = self.engine(&settings).await?;
        self.require_image(&engine, &settings, &request, &cancel).await?;
        let id = request.settings.id.clone().unwrap_or_else(|| Uuid::new_v4().simple().to_string());
        let name = container_name(&id);
        let made = self.steps(&engine, &settings, &request, &id, &cancel).await;
        let made = if cancel.is_cancelled() { made.and(Err(SandboxError::Cancelled)) } else { made };
        if made.is_err() {
            if let Err(error) = engine.remove(&name).await {
                tracing::warn!(%error, container = name, "a container that was made in vain is left");
            }
            drop(std::fs::remove_dir_all(self.socket_folder(&name)));
        }
        made
    }

    async fn require_image(
        &self,
        engine: &Engine,
        settings: &DockerSettings,
        request: &CreateRequest,
        cancel: &CancellationToken,
    ) -> Result<(), SandboxError> {
        let state = image::state(engine, settings.image()).await?;
        image::require(state, settings.image(), settings.obtain_image)?;
        if settings.obtain_image && state != ImageState::Present {
            return image::obtain(engine, settings.image(), &request.progress, cancel).await;
        }
        if state == ImageState::Stale {
            request.progress.report("The image is older than this version of Sandbook", None);
        }
        Ok(())
    }

    async fn steps(
        &self,
        engine: &Engine,
        settings: &DockerSettings,
        request: &CreateRequest,
        id: &str,
        cancel: &CancellationToken,
    ) -> Result<Arc<dyn Sandbox>, SandboxError> {
        let name = container_name(id);
        let token = SecretString::from(format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple()));
        let socket_folder = settings.is_cut_off().then(|| self.make_socket_folder(&name)).transpose()?;
        let hosts = settings.allowed_hosts.iter().map(String::as_str);
        let proxy = proxy(settings.network, hosts, socket_folder.as_deref())?;
        let working_directory =
            self.create(engine, settings, request, id, &token, socket_folder.as_deref()).await?;
        given_up(cancel)?;
        request.progress.report("Starting the container", None);
        engine.start(&name).await?;
        given_up(cancel)?;
        request.progress.report("Waiting for its Jupyter server", None);
        let ways = Ways { socket_folder, proxy };
        let reach = Reach::new(engine.clone(), name, token, ways, settings.kernel.clone());
        let started = async {
            let (host, on_server) = ContainerHost::start(reach, &request.progress).await?;
            Ok(sandbox(host, on_server, settings, request.settings.name.clone(), working_directory))
        };
        tokio::select! {
            started = started => started,
            () = cancel.cancelled() => Err(SandboxError::Cancelled),
        }
    }

    /// Makes the container, not started yet. Says where its code will run.
    async fn create(
        &self,
        engine: &Engine,
        settings: &DockerSettings,
        request: &CreateRequest,
        id: &str,
        token: &SecretString,
        socket_folder: Option<&Path>,
    ) -> Result<String, SandboxError> {
        let found = image::inspect(engine, settings.image()).await?.unwrap_or_default();
        let is_our_image = image::is_ours(&found);
        let config = found.config.unwrap_or_default();
        let of_image =
            || config.working_dir.clone().filter(|folder| !folder.is_empty()).unwrap_or("/tmp".into());
        let Shared { folder, owner } = Shared::of(settings, &request.settings)?;
        let working_directory = match &settings.folder_at {
            Some(target) => target.clone(),
            None if is_our_image || folder.is_some() => WORKING_DIRECTORY.to_owned(),
            None => of_image(),
        };
        let mut settings = settings.clone();
        for mount in &mut settings.mounts {
            mount.source = folder::existing(&mount.source)?;
        }
        let plan = Plan {
            id,
            settings: &settings,
            environment: &request.settings.environment,
            token,
            working_directory: working_directory.clone(),
            is_our_image,
            image_user: config.user.unwrap_or_default(),
            folder_owner: owner.map(|owner| (owner.user, owner.group)),
            folder,
            socket_folder,
        };
        request.progress.report(format!("Creating a container from {}", settings.image()), None);
        engine.create(&container_name(id), plan.body()).await?;
        Ok(working_directory)
    }

    fn socket_folder(&self, name: &str) -> PathBuf {
        self.run_folder.join(name)
    }

    /// A folder that only we can enter, with one in it that the container's user can write to.
    fn make_socket_folder(&self, name: &str) -> Result<PathBuf, SandboxError> {
        let folder = self.socket_folder(name);
        let failed = |error| SandboxError::Failed(format!("{}: {error}", folder.display()));
        crate::process::make_private(&folder)?;
        let inner = folder.join("s");
        std::fs::create_dir(&inner).and_then(|()| folder::open_to_all(&inner)).map_err(failed)?;
        Ok(inner)
    }

    /// Joins a container and its kernel. Starts nothing.
    pub(super) async fn join(
        &self,
        handle: AttachHandle,
        request: CreateRequest,
    ) -> Result<Arc<dyn Sandbox>, SandboxError> {
        let handle = Handle::read(&handle)?;
        let mut settings = DockerSettings::read(&request.settings)?;
        let engine = Engine::find(Some(&handle.engine), &self.engines).await?;
        let container = engine.require_ours(&handle.container).await?;
        let gone = || SandboxError::Gone { what: format!("the container {}", handle.container) };
        if container.state.and_then(|state| state.running) != Some(true) {
            return Err(gone());
        }
        let config = container.config.unwrap_or_default();
        // what it was made with, whatever the settings are by now
        settings.image = config.image.or(settings.image);
        let network = container.host_config.and_then(|config| config.network_mode);
        let hosts = config.labels.as_ref().and_then(|labels| labels.get(HOSTS_LABEL));
        settings.network = match (network.as_deref(), hosts) {
            (Some("none"), Some(_)) => NetworkPolicy::Allowlist,
            (Some("none"), None) => NetworkPolicy::None,
            _ => settings.network,
        };
        let token = config.env.iter().flatten().find_map(|variable| variable.strip_prefix("TOKEN="));
        let token = SecretString::from(token.ok_or_else(gone)?.to_owned());
        let socket = self.socket_folder(&handle.container).join("s");
        let socket = socket.is_dir().then_some(socket);
        let hosts = hosts.map(String::as_str).unwrap_or_default().split(' ');
        let proxy = proxy(settings.network, hosts, socket.as_deref())?;
        let ways = Ways { socket_folder: socket, proxy };
        let reach = Reach::new(engine, handle.container, token, ways, settings.kernel.clone());
        let (host, on_server) = ContainerHost::join(reach, handle.kernel, handle.session).await?;
        let folder = config.working_dir.unwrap_or_default();
        Ok(sandbox(host, on_server, &settings, request.settings.name, folder))
    }
}

fn sandbox(
    host: ContainerHost,
    on_server: OnServer,
    settings: &DockerSettings,
    name: Option<String>,
    working_directory: String,
) -> Arc<dyn Sandbox> {
    use crate::jupyter::Host as _;
    let OnServer { connected, model, .. } = on_server;
    let info = SandboxInfo {
        variant: VARIANT,
        title: name.unwrap_or(model.name),
        subtitle: settings.image().to_owned(),
        working_directory: Some(working_directory),
        owned: true,
        handle: host.handle(),
    };
    let connected = host.watched(connected);
    let sandbox = JupyterSandbox::new(info, capability::of(settings), Box::new(host), connected);
    Arc::new(if model.state == "busy" { sandbox.found_busy() } else { sandbox })
}

/// The only way out, where the network is a list of hosts.
fn proxy<'a>(
    network: NetworkPolicy,
    hosts: impl IntoIterator<Item = &'a str>,
    folder: Option<&Path>,
) -> Result<Option<Proxy>, SandboxError> {
    let folder = folder.filter(|_| network == NetworkPolicy::Allowlist);
    folder.map(|folder| Proxy::start(&folder.join(PROXY_SOCKET), Hosts::read(hosts))).transpose()
}

fn given_up(cancel: &CancellationToken) -> Result<(), SandboxError> {
    if cancel.is_cancelled() { Err(SandboxError::Cancelled) } else { Ok(()) }
}
