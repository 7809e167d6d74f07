//! x
use crate::{connections::Connection, sandboxes::LiveSandbox};
use sandbook_protocol::*;
use sandbook_sandbox::{AttachHandle, KernelInfo, Runtime, SandboxSettings};
use sandbook_store::folders::Folders;
use secrecy::SecretString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
pub(crate) struct Plan {
    pub(crate) settings: SandboxSettings,
    pub(crate) credential: Option<SecretString>,
    pub(crate) attach: Option<AttachHandle>,
    pub(crate) display_name: String,
    pub(crate) connection: Option<ConnectionId>,
    pub(crate) kept: bool,
}
pub(crate) struct Kernels;
impl Kernels {
    pub(crate) fn new(_: Option<PathBuf>, _: &Folders) -> Self {
        Self
    }
    pub(crate) fn runtime(&self) -> Arc<dyn Runtime> {
        std::process::abort()
    }
    pub(crate) async fn default_for(&self, _: Option<String>, _: &str, _: &Path) -> Option<String> {
        None
    }
    pub(crate) fn plan(
        &self,
        _: SandboxChoice,
        _: &Path,
        _: Option<Connection>,
        _: Option<SecretString>,
        _: bool,
    ) -> Result<Plan, ProtocolError> {
        Err(ProtocolError::not_found("x"))
    }
    pub(crate) fn kernelspec(&self, _: &LiveSandbox, _: &KernelInfo) -> serde_json::Value {
        serde_json::Value::Null
    }
    pub(crate) fn keyring(&self) -> Readiness {
        Readiness { state: ReadinessState::Checking, reason: String::new() }
    }
    pub(crate) fn set_keyring(&self, _: Readiness) {}
    pub(crate) async fn discover(&self, _: &Path) {}
    pub(crate) fn found(&self) -> Option<Vec<KernelChoice>> {
        None
    }
    pub(crate) async fn server_readiness(&self, _: &Connection, _: Option<&SecretString>) -> Readiness {
        Readiness { state: ReadinessState::Checking, reason: String::new() }
    }
    pub(crate) fn remember_readiness(&self, _: &ConnectionId, _: Readiness) {}
    pub(crate) fn connection_view(&self, _: &Connection) -> ConnectionView {
        std::process::abort()
    }
}
