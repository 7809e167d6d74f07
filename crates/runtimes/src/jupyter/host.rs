//! Who keeps the kernel: this computer, or a server. What a sandbox needs of it besides messages.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use sandbook_jupyter::{KernelClient, Message, SessionLog, Transport};
use sandbook_sandbox::{AttachHandle, BoxFuture, DeathCause, Lease, SandboxError, StopChoice, StopReport};
use secrecy::SecretString;
use tokio::sync::{Notify, watch};

/// The host of kernels without a server.
pub(crate) const HERE: &str = "this computer";

/// A connected kernel.
pub(crate) struct Connected {
    /// What the log lines of this connection stand in.
    pub(crate) span: tracing::Span,
    pub(crate) client: KernelClient,
    pub(crate) log: SessionLog,
    /// Makes the next attempt to reconnect at once; only for connections that can be lost.
    pub(crate) retry: Option<Arc<Notify>>,
    /// Becomes the cause when the kernel's process ends; only for processes of ours.
    pub(crate) death: Option<watch::Receiver<Option<DeathCause>>>,
}

impl Connected {
    /// Begins to carry messages over a transport. `kind` and `host` say in the log which connection it is; the host is a
    /// name and a port, never an address, which may hold a secret.
    pub(crate) fn over(transport: impl Transport, kind: &'static str, host: &str) -> Self {
        // it outlives whoever asked for it
        let span =
            tracing::info_span!(parent: None, "connection", id = transport.session().as_str(), kind, host);
        let (client, log) = span.in_scope(|| KernelClient::start(transport));
        Self { span, client, log, retry: None, death: None }
    }
}

/// Whether a kernel is still there, by the word of whoever keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    /// It is, or nobody says otherwise.
    There,
    /// It is not.
    Gone,
    /// Nobody is told with this credential.
    Refused,
}

/// What to do with the request of a kernel that nobody here can meet.
pub(crate) struct Refusal {
    /// The message for the kernel, which waits for one.
    pub(crate) reply: Message,
    /// What a person reads in place of what was asked for.
    pub(crate) said: String,
}

/// Keeps a kernel.
pub(crate) trait Host: Send + Sync {
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

    /// Whether the kernel is still there.
    fn presence(&self) -> BoxFuture<'_, Presence>;

    /// Why the kernel died just now, where the server only says that it did.
    fn cause(&self) -> Option<DeathCause> {
        None
    }

    /// Why the kernel is gone, where more is known than that its server does not have it.
    fn why_gone(&self) -> Option<String> {
        None
    }

    /// Until when it is kept and what that costs.
    fn lease(&self) -> Option<Lease> {
        None
    }

    /// Puts the end off, to so long from now. `None` where that cannot be.
    fn prolong(&self, _life: Duration) -> Option<BoxFuture<'_, Result<(), SandboxError>>> {
        None
    }

    /// Lets everything stand still. `None` where that cannot be.
    fn pause(&self) -> Option<BoxFuture<'_, Result<(), SandboxError>>> {
        None
    }

    /// Goes on after a pause, and comes back once the server answers. `None` where that cannot be.
    fn resume(&self) -> Option<BoxFuture<'_, Result<(), SandboxError>>> {
        None
    }

    /// How to join it again.
    fn handle(&self) -> AttachHandle;

    /// Until when the credential is good, where that is known.
    fn good_until(&self) -> Option<SystemTime> {
        None
    }

    /// Goes on with a fresh credential. `None` where there is nothing to go on with.
    fn renew(&self, _credential: SecretString) -> Option<BoxFuture<'_, Result<(), SandboxError>>> {
        None
    }

    /// The answer to a message that asks for what only another client can do.
    fn refuse(&self, _message: &Message) -> Option<Refusal> {
        None
    }
}

impl<H: Host + ?Sized> Host for Arc<H> {
    fn interrupt<'a>(&'a self, client: &'a KernelClient) -> BoxFuture<'a, Result<(), SandboxError>> {
        (**self).interrupt(client)
    }

    fn restart<'a>(
        &'a self,
        client: &'a KernelClient,
    ) -> BoxFuture<'a, Result<Option<Connected>, SandboxError>> {
        (**self).restart(client)
    }

    fn stop<'a>(
        &'a self,
        client: &'a KernelClient,
        choice: StopChoice,
        grace: Duration,
    ) -> BoxFuture<'a, Result<StopReport, SandboxError>> {
        (**self).stop(client, choice, grace)
    }

    fn presence(&self) -> BoxFuture<'_, Presence> {
        (**self).presence()
    }

    fn cause(&self) -> Option<DeathCause> {
        (**self).cause()
    }

    fn why_gone(&self) -> Option<String> {
        (**self).why_gone()
    }

    fn lease(&self) -> Option<Lease> {
        (**self).lease()
    }

    fn prolong(&self, life: Duration) -> Option<BoxFuture<'_, Result<(), SandboxError>>> {
        (**self).prolong(life)
    }

    fn pause(&self) -> Option<BoxFuture<'_, Result<(), SandboxError>>> {
        (**self).pause()
    }

    fn resume(&self) -> Option<BoxFuture<'_, Result<(), SandboxError>>> {
        (**self).resume()
    }

    fn handle(&self) -> AttachHandle {
        (**self).handle()
    }

    fn good_until(&self) -> Option<SystemTime> {
        (**self).good_until()
    }

    fn renew(&self, credential: SecretString) -> Option<BoxFuture<'_, Result<(), SandboxError>>> {
        (**self).renew(credential)
    }

    fn refuse(&self, message: &Message) -> Option<Refusal> {
        (**self).refuse(message)
    }
}
