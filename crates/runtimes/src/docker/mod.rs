//! Containers of a Docker or Podman engine on this computer.
//!
//! The engine is asked over its socket. A container runs a Jupyter server that only this computer reaches: by a port of
//! the loopback, or, where the container has no network, by a Unix socket in a folder that both see. Its kernel is then
//! a kernel on a server like any other. One sandbox is one container with one kernel, and the notebook's folder is its
//! working directory.
//!
//! Defaults are hardened: not root, no capabilities, no new privileges, a limit of processes. Each container carries
//! our label and a name that is known before it is asked for, so that whatever happens it can be found and removed. Its
//! token is made here, travels in the container's environment, and is read from there again by a later owner: it is in
//! no record of ours. Deliberately absent: files, terminals and snapshots, which come with their own contract, and
//! engines on other computers, whose containers cannot be reached by the loopback.

mod capability;
mod check;
mod container;
mod create;
mod engine;
mod folder;
mod host;
mod hosts;
mod image;
#[cfg_attr(not(unix), allow(dead_code, reason = "nobody listens there"))]
mod proxy;
mod relay;
mod search;
mod settings;
mod survey;
mod watch;

use std::{path::PathBuf, sync::Arc};

use sandbook_sandbox::{
    AttachHandle, BoxFuture, Capabilities, CreateRequest, Listed, Readiness, Runtime, Sandbox, SandboxError,
    SandboxSettings, Survey,
};
use secrecy::SecretString;

use self::engine::Engine;
pub use self::{
    image::{IMAGE, inputs},
    search::Surroundings,
    settings::{DockerSettings, Gpu, Handle, NetworkPolicy},
};
use crate::Surrounding;
pub use crate::{
    folders::{FolderAccess, Mount},
    memory::Memory,
};
pub use sandbook_sandbox::ImageState;

const VARIANT: &str = "docker";

/// The runtime.
#[derive(Debug, Clone)]
pub struct DockerRuntime {
    /// Where the sockets of containers without a network are.
    run_folder: PathBuf,
    engines: Arc<Surroundings>,
}

impl DockerRuntime {
    /// A runtime in a surrounding. Engines are looked for where this process would find them.
    pub fn new(surrounding: Surrounding) -> Self {
        Self { run_folder: surrounding.run_folder, engines: Arc::new(Surroundings::of_process()) }
    }

    /// The same, looking for engines elsewhere.
    pub fn looking_in(self, engines: Surroundings) -> Self {
        Self { engines: Arc::new(engines), ..self }
    }

    async fn engine(&self, settings: &DockerSettings) -> Result<Engine, SandboxError> {
        Engine::find(settings.engine.as_deref(), &self.engines).await
    }

    /// How the image of these settings is: there, missing, or made from other files than those of this program.
    pub async fn image(&self, settings: &SandboxSettings) -> Result<ImageState, SandboxError> {
        let settings = DockerSettings::read(settings)?;
        image::state(&self.engine(&settings).await?, settings.image()).await
    }
}

impl Runtime for DockerRuntime {
    fn variant(&self) -> &'static str {
        VARIANT
    }

    fn readiness<'a>(
        &'a self,
        settings: &'a SandboxSettings,
        _: Option<&'a SecretString>,
    ) -> BoxFuture<'a, Readiness> {
        Box::pin(async move {
            let ready = async {
                let settings = DockerSettings::read(settings)?;
                let engine = self.engine(&settings).await?;
                let state = image::state(&engine, settings.image()).await?;
                image::require(state, settings.image(), settings.obtain_image)?;
                let name = engine.facts().await?;
                Ok::<_, SandboxError>(if state == ImageState::Stale {
                    format!("{name}. The image is older than this version of Sandbook and can be built anew")
                } else {
                    name.to_string()
                })
            };
            ready.await.map_or_else(survey::unready, Readiness::Ready)
        })
    }

    fn survey<'a>(
        &'a self,
        settings: &'a SandboxSettings,
        _: Option<&'a SecretString>,
    ) -> BoxFuture<'a, Survey> {
        Box::pin(self.look(settings))
    }

    fn capabilities(&self, settings: &SandboxSettings) -> Result<Capabilities, SandboxError> {
        Ok(capability::of(&DockerSettings::read(settings)?))
    }

    fn create(&self, request: CreateRequest) -> BoxFuture<'_, Result<Arc<dyn Sandbox>, SandboxError>> {
        Box::pin(self.make(request))
    }

    fn attach(
        &self,
        handle: AttachHandle,
        request: CreateRequest,
    ) -> BoxFuture<'_, Result<Arc<dyn Sandbox>, SandboxError>> {
        Box::pin(self.join(handle, request))
    }

    fn remove<'a>(
        &'a self,
        _: &'a SandboxSettings,
        _: Option<&'a SecretString>,
        handle: &'a AttachHandle,
    ) -> BoxFuture<'a, Result<(), SandboxError>> {
        Box::pin(async move {
            let handle = Handle::read(handle)?;
            let engine = Engine::find(Some(&handle.engine), &self.engines).await?;
            engine.require_ours(&handle.container).await?;
            engine.remove(&handle.container).await?;
            drop(std::fs::remove_dir_all(self.run_folder.join(&handle.container)));
            Ok(())
        })
    }

    fn list<'a>(
        &'a self,
        settings: &'a SandboxSettings,
        _: Option<&'a SecretString>,
    ) -> BoxFuture<'a, Result<Vec<Listed>, SandboxError>> {
        Box::pin(async move { self.engine(&DockerSettings::read(settings)?).await?.list().await })
    }
}
