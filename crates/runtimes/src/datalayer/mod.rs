//! Datalayer: machines of a cloud, or of one's own installation of it, that are paid for by the second.
//!
//! Two doors. The platform's API (account, environments, runtimes) takes the account's key as a bearer token ([`api`]). A
//! runtime that it made is a Jupyter server at an address of its own, its *ingress*, with a token of its own, so its kernel
//! is one of `jupyter`'s. It comes with a kernel that waits already: that one is used, and no second one is started.
//!
//! What is made costs something until it is ended, and the platform makes two where it is asked twice. So each is called
//! by our own id, is looked up by it before it is asked for and after every answer that got lost, and is ended by it
//! where making it fails or is given up ([`create`]). It ends by itself when its credits are spent, which is its lease.
//! Whatever is asked of the platform carries the key, the end of a runtime too.
//!
//! Deliberately absent: files, terminals, secrets of the account, making snapshots (one can be started from), and
//! signing in by a browser.

mod api;
mod capability;
mod create;
mod host;
mod join;
mod model;
mod origins;
mod reap;
mod settings;
mod survey;

use std::sync::Arc;

use sandbook_sandbox::{
    AttachHandle, BoxFuture, Capabilities, CreateRequest, Listed, Readiness, Runtime, Sandbox, SandboxError,
    SandboxSettings, Survey,
};
use secrecy::SecretString;

use self::api::Platform;
pub use self::{
    origins::{CLOUD, Defaults},
    settings::{DatalayerSettings, Handle},
};

const VARIANT: &str = "datalayer";
/// What it is called.
const NAME: &str = "Datalayer";

/// The runtime.
#[derive(Debug, Clone, Default)]
pub struct DatalayerRuntime {
    defaults: Arc<Defaults>,
}

impl DatalayerRuntime {
    /// A runtime that follows `DATALAYER_RUN_URL` and `DATALAYER_ENVIRONMENT` where the settings say nothing.
    pub fn of_process() -> Self {
        Self::with(Defaults::of_process())
    }

    /// A runtime with these defaults.
    pub fn with(defaults: Defaults) -> Self {
        Self { defaults: Arc::new(defaults) }
    }

    /// The platform of these settings, with the account's key.
    fn platform(
        &self,
        settings: &DatalayerSettings,
        credential: Option<&SecretString>,
    ) -> Result<Platform, SandboxError> {
        Platform::new(&self.defaults.origins(settings)?, credential)
    }
}

impl Runtime for DatalayerRuntime {
    fn variant(&self) -> &'static str {
        VARIANT
    }

    fn readiness<'a>(
        &'a self,
        settings: &'a SandboxSettings,
        credential: Option<&'a SecretString>,
    ) -> BoxFuture<'a, Readiness> {
        Box::pin(async move {
            let asked = async {
                let settings = DatalayerSettings::read(settings)?;
                self.platform(&settings, credential)?.available().await
            };
            survey::readiness(asked.await)
        })
    }

    fn survey<'a>(
        &'a self,
        settings: &'a SandboxSettings,
        credential: Option<&'a SecretString>,
    ) -> BoxFuture<'a, Survey> {
        Box::pin(self.look(settings, credential))
    }

    fn capabilities(&self, settings: &SandboxSettings) -> Result<Capabilities, SandboxError> {
        DatalayerSettings::read(settings).map(|_| capability::of_runtime())
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
            let settings = DatalayerSettings::read(settings)?;
            let platform = self.platform(&settings, credential)?;
            let name = Handle::read(handle)?.runtime;
            if platform.runtime(&name).await?.our_id().is_none() {
                let reason = format!("The Datalayer runtime {name} was not made by Sandbook.");
                return Err(SandboxError::Unsupported { reason });
            }
            platform.remove(&name).await.map(drop)
        })
    }

    fn list<'a>(
        &'a self,
        settings: &'a SandboxSettings,
        credential: Option<&'a SecretString>,
    ) -> BoxFuture<'a, Result<Vec<Listed>, SandboxError>> {
        Box::pin(async move {
            let settings = DatalayerSettings::read(settings)?;
            let runtimes = self.platform(&settings, credential)?.runtimes().await?;
            Ok(runtimes.iter().map(model::Model::listed).collect())
        })
    }
}
