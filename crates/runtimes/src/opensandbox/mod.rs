//! OpenSandbox: sandboxes of a server that a person or a team runs, each a container with a Jupyter server in it.
//!
//! Two doors. The server's life cycle API makes, finds and ends sandboxes, and takes a key where it has one ([`api`]). In
//! each sandbox runs execd, whose proxy leads to the Jupyter server on the sandbox's own loopback ([`reach`]); so a kernel
//! is one of `jupyter`'s, with rich output, input and replay. execd's own way to run code is not used: it drops every
//! picture and says that code has ended before its output came. A sandbox is reached by its own address or, where this
//! computer does not reach that, through the server.
//!
//! Neither door is well guarded by itself: execd asks for nothing, the image's Jupyter server for a token that everybody
//! knows, and the server's proxy for no key. So each sandbox gets two tokens that were made for it alone, and what lays a
//! server open is said ([`place`]).
//!
//! A sandbox ends by itself when its time is over, which is its lease; that can be put off. It carries our own id from the
//! first, so that one whose making failed or was given up is found and ended ([`create`], [`reap`]).
//!
//! Deliberately absent: execd's files, commands and metrics, which come with their own contract; network policies, which
//! a server keeps to by names alone; snapshots, volumes, and servers on Kubernetes, which were not seen.

mod api;
mod capability;
mod create;
mod host;
mod model;
mod place;
mod reach;
mod reap;
mod settings;
mod survey;

use std::sync::Arc;

use sandbook_sandbox::{
    AttachHandle, BoxFuture, Capabilities, CreateRequest, Listed, Readiness, Runtime, Sandbox, SandboxError,
    SandboxSettings, Survey,
};
use secrecy::SecretString;

use self::{api::Lifecycle, place::Place};
pub use self::{
    place::Defaults,
    settings::{Handle, IMAGE, MINUTES, OpenSandboxSettings},
    survey::COMMANDS,
};

const VARIANT: &str = "opensandbox";
/// What it is called, in errors.
const NAME: &str = "an OpenSandbox server";

/// The runtime.
#[derive(Debug, Clone, Default)]
pub struct OpenSandboxRuntime {
    defaults: Arc<Defaults>,
}

impl OpenSandboxRuntime {
    /// A runtime that follows `OPEN_SANDBOX_DOMAIN`, `OPEN_SANDBOX_API_KEY` and `~/.sandbox.toml` where the settings say
    /// nothing.
    pub fn of_process() -> Self {
        Self::with(Defaults::of_process())
    }

    /// A runtime with these defaults.
    pub fn with(defaults: Defaults) -> Self {
        Self { defaults: Arc::new(defaults) }
    }

    /// The server of a sandbox that is known: its own, whatever the settings say by now.
    fn place_of(
        &self,
        handle: &Handle,
        settings: &OpenSandboxSettings,
        credential: Option<&SecretString>,
    ) -> Result<Place, SandboxError> {
        let settings = OpenSandboxSettings { domain: Some(handle.server.clone()), ..settings.clone() };
        self.defaults.place(&settings, credential)
    }
}

impl Runtime for OpenSandboxRuntime {
    fn variant(&self) -> &'static str {
        VARIANT
    }

    fn readiness<'a>(
        &'a self,
        settings: &'a SandboxSettings,
        credential: Option<&'a SecretString>,
    ) -> BoxFuture<'a, Readiness> {
        Box::pin(async move { self.look(settings, credential).await.readiness })
    }

    fn survey<'a>(
        &'a self,
        settings: &'a SandboxSettings,
        credential: Option<&'a SecretString>,
    ) -> BoxFuture<'a, Survey> {
        Box::pin(self.look(settings, credential))
    }

    fn capabilities(&self, settings: &SandboxSettings) -> Result<Capabilities, SandboxError> {
        OpenSandboxSettings::read(settings).map(|_| capability::of_sandbox())
    }

    fn create(&self, request: CreateRequest) -> BoxFuture<'_, Result<Arc<dyn Sandbox>, SandboxError>> {
        Box::pin(self.make(request))
    }

    fn attach(
        &self,
        handle: AttachHandle,
        request: CreateRequest,
    ) -> BoxFuture<'_, Result<Arc<dyn Sandbox>, SandboxError>> {
        Box::pin(self.rejoin(handle, request))
    }

    fn remove<'a>(
        &'a self,
        settings: &'a SandboxSettings,
        credential: Option<&'a SecretString>,
        handle: &'a AttachHandle,
    ) -> BoxFuture<'a, Result<(), SandboxError>> {
        Box::pin(async move {
            let handle = Handle::read(handle)?;
            let settings = OpenSandboxSettings::read(settings)?;
            let lifecycle = Lifecycle::new(&self.place_of(&handle, &settings, credential)?)?;
            if lifecycle.sandbox(&handle.sandbox).await?.our_id().is_none() {
                let reason = format!("The sandbox {} was not made by Sandbook.", handle.sandbox);
                return Err(SandboxError::Unsupported { reason });
            }
            lifecycle.remove(&handle.sandbox).await.map(drop)
        })
    }

    fn list<'a>(
        &'a self,
        settings: &'a SandboxSettings,
        credential: Option<&'a SecretString>,
    ) -> BoxFuture<'a, Result<Vec<Listed>, SandboxError>> {
        Box::pin(async move {
            let settings = OpenSandboxSettings::read(settings)?;
            let lifecycle = Lifecycle::new(&self.defaults.place(&settings, credential)?)?;
            let ours = lifecycle.ours(None).await?;
            let listed = ours.iter().map(|model| model.listed(lifecycle.address(), settings.through_server));
            Ok(listed.collect())
        })
    }
}
