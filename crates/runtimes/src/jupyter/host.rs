//! Who keeps the kernel: this computer, or a server. What a sandbox needs of it besides messages.

use std::{sync::Arc, time::Duration};

use sandbook_jupyter::{KernelClient, SessionLog, Transport};
use sandbook_sandbox::{BoxFuture, DeathCause, SandboxError, StopChoice, StopReport};
use tokio::sync::{Notify, watch};

use super::settings::Handle;

/// The host of kernels without a server.
pub(super) const HERE: &str = "this computer";

/// A connected kernel.
pub(super) struct Connected {
    /// What the log lines of this connection stand in.
    pub(super) span: tracing::Span,
    pub(super) client: KernelClient,
    pub(super) log: SessionLog,
    /// Makes the next attempt to reconnect at once; only for connections that can be lost.
    pub(super) retry: Option<Arc<Notify>>,
    /// Becomes the cause when the kernel's process ends; only for processes of ours.
    pub(super) death: Option<watch::Receiver<Option<DeathCause>>>,
}

impl Connected {
    /// Begins to carry messages over a transport. `kind` and `host` say in the log which connection it is; the host is a
    /// name and a port, never an address, which may hold a secret.
    pub(super) fn over(transport: impl Transport, kind: &'static str, host: &str) -> Self {
        // it outlives whoever asked for it
        let span =
            tracing::info_span!(parent: None, "connection", id = transport.session().as_str(), kind, host);
        let (client, log) = span.in_scope(|| KernelClient::start(transport));
        Self { span, client, log, retry: None, death: None }
    }
}

/// Keeps a kernel.
pub(super) trait Host: Send + Sync {
    /// Interrupts what the kernel runs.
    fn interrupt<'a>(&'a self, client: &'a KernelClient) -> BoxFuture<'a, Result<(), SandboxError>>;

    /// Restarts the kernel. A new connection comes back where the old one cannot go on.
    fn restart<'a>(
        &'a self,
        client: &'a KernelClient,
    ) -> BoxFuture<'a, Result<Option<Connected>, SandboxError>>;

    /// Asks, waits, kills.
    fn stop<'a>(
        &'a self,
        client: &'a KernelClient,
        choice: StopChoice,
        grace: Duration,
    ) -> BoxFuture<'a, Result<StopReport, SandboxError>>;

    /// Whether the kernel is still there; `false` only on somebody's word.
    fn exists(&self) -> BoxFuture<'_, bool>;

    /// How to join it again.
    fn handle(&self) -> Handle;
}
