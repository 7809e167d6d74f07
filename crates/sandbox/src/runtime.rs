//! A kind of place where code runs, and what it takes to get a sandbox there.

use std::{future::Future, pin::Pin, sync::Arc, time::SystemTime};

use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::{Capabilities, Check, Checks, Sandbox, SandboxError, SandboxSettings, Survey};

/// A future behind a pointer, so that traits are object-safe.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Takes in how far a long call has come: a sentence, and a share from 0 to 1 where it is known. It never blocks.
#[derive(Clone)]
pub struct Progress(Arc<dyn Fn(String, Option<f64>) + Send + Sync>);

impl Progress {
    /// Hands every report to a function.
    pub fn new(report: impl Fn(String, Option<f64>) + Send + Sync + 'static) -> Self {
        Self(Arc::new(report))
    }

    /// Drops every report.
    pub fn none() -> Self {
        Self::new(|_, _| {})
    }

    /// Reports.
    pub fn report(&self, message: impl Into<String>, fraction: Option<f64>) {
        (self.0)(message.into(), fraction);
    }
}

impl std::fmt::Debug for Progress {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Progress")
    }
}

/// Whether a runtime can be used now, with the reason in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Readiness {
    /// It can.
    Ready(String),
    /// Something has to be installed or set.
    NeedsSetup(String),
    /// A credential is missing.
    NeedsCredential(String),
    /// No answer.
    NotReachable(String),
}

/// What is needed to make a sandbox.
#[derive(Debug, Clone)]
pub struct CreateRequest {
    /// The settings.
    pub settings: SandboxSettings,
    /// The credential, where the connection has one.
    pub credential: Option<SecretString>,
    /// Takes in how far it has come.
    pub progress: Progress,
    /// Gives it up; what was started by then is stopped again.
    pub cancel: CancellationToken,
}

/// What a runtime needs to join a sandbox again after a restart of this program. It holds no secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AttachHandle(pub serde_json::Value);

/// A sandbox that a runtime knows of.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    /// How to join it.
    pub handle: AttachHandle,
    /// The id of ours that it carries, where it was made here.
    pub id: Option<String>,
    /// What it is called.
    pub title: String,
    /// Its state, in the provider's words.
    pub state: String,
    /// How many clients are attached, where it is told.
    pub connections: Option<u32>,
    /// When it last did something, where it is told.
    pub last_activity: Option<SystemTime>,
}

/// A kind of place where code runs.
pub trait Runtime: Send + Sync {
    /// Its name: `jupyter`, `docker`, …
    fn variant(&self) -> &'static str;

    /// Whether it can be used with these settings now. Starts nothing.
    fn readiness<'a>(
        &'a self,
        settings: &'a SandboxSettings,
        credential: Option<&'a SecretString>,
    ) -> BoxFuture<'a, Readiness>;

    /// Looks closer: everything that is wrong with the settings, and what has to be fetched before a start. Starts nothing.
    fn survey<'a>(
        &'a self,
        settings: &'a SandboxSettings,
        credential: Option<&'a SecretString>,
    ) -> BoxFuture<'a, Survey> {
        Box::pin(async move { Survey::of(self.readiness(settings, credential).await) })
    }

    /// Whether making a sandbox with these would join a kernel that runs already, and start nothing.
    fn joins(&self, _settings: &SandboxSettings, _credential: Option<&SecretString>) -> bool {
        false
    }

    /// Makes first contact with the place, step by step, and hands in each. It changes nothing there. A place without steps
    /// of its own says whether it can be used.
    fn contact<'a>(
        &'a self,
        settings: &'a SandboxSettings,
        credential: Option<&'a SecretString>,
        checks: Checks,
    ) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            checks.take(Check::of_readiness(self.readiness(settings, credential).await));
        })
    }

    /// What a sandbox with these settings will be able to do.
    fn capabilities(&self, settings: &SandboxSettings) -> Result<Capabilities, SandboxError>;

    /// Makes a sandbox.
    fn create(&self, request: CreateRequest) -> BoxFuture<'_, Result<Arc<dyn Sandbox>, SandboxError>>;

    /// Joins a sandbox that runs already. Starts nothing. `settings` are those of the connection.
    fn attach(
        &self,
        handle: AttachHandle,
        request: CreateRequest,
    ) -> BoxFuture<'_, Result<Arc<dyn Sandbox>, SandboxError>>;

    /// Removes a sandbox that was made here and that nobody is attached to, with what runs in it.
    fn remove<'a>(
        &'a self,
        _: &'a SandboxSettings,
        _: Option<&'a SecretString>,
        _: &'a AttachHandle,
    ) -> BoxFuture<'a, Result<(), SandboxError>> {
        let reason = format!("Sandboxes of the runtime {} are removed by stopping them.", self.variant());
        Box::pin(async { Err(SandboxError::Unsupported { reason }) })
    }

    /// The sandboxes that can be joined.
    fn list<'a>(
        &'a self,
        settings: &'a SandboxSettings,
        credential: Option<&'a SecretString>,
    ) -> BoxFuture<'a, Result<Vec<Listed>, SandboxError>>;
}
