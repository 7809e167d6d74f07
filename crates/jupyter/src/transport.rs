//! What every way to a kernel has in common.
//!
//! A transport is one future that reads and writes at once, in one task: what arrives goes straight from the socket to
//! `deliver`, with no queue in between that a slow reader could fill.

use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::message::{Message, SessionId};

/// What a transport reports.
#[derive(Debug)]
pub enum Incoming {
    /// A message from the kernel.
    Message(Message),
    /// The connection changed.
    Link(Link),
    /// After a reconnect: messages from before are missing, and will not come.
    Missed,
}

/// The state of the connection to a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Link {
    /// Not yet.
    Connecting,
    /// Messages flow.
    Connected,
    /// Lost for now; tried again until stopped. Nothing queued is lost.
    Reconnecting {
        /// How many attempts have failed since it was lost.
        attempt: u32,
        /// How long until the next attempt.
        pause: Duration,
        /// Whether it was noticed by silence, so that the server may not have noticed and may not replay.
        silent: bool,
        /// How long nothing had come by then.
        quiet: Duration,
        /// What happened.
        reason: String,
    },
    /// Lost, and the server does not take the credential any more: opened again as soon as there is another one. Only
    /// for connections that can get one. Nothing queued is lost.
    Refused {
        /// The HTTP status.
        status: u16,
    },
    /// Over for good.
    Ended(End),
}

/// Why a connection is over.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum End {
    /// We closed it.
    #[error("it was closed here")]
    Stopped,
    /// The kernel closed its sockets: its process is gone.
    #[error("the kernel closed it")]
    KernelClosed,
    /// The server says that the kernel does not exist any more.
    #[error("the server does not have this kernel any more")]
    KernelGone,
    /// The server no longer accepts the token.
    #[error("the server no longer accepts the token (HTTP {0})")]
    Refused(u16),
    /// The protocol was broken.
    #[error("{0}")]
    Broken(String),
}

/// Takes what a transport reports; never waits.
pub type Deliver = Box<dyn FnMut(Incoming) + Send>;

/// A way to a kernel.
pub trait Transport: Send + 'static {
    /// The session that messages must carry.
    fn session(&self) -> &SessionId;

    /// Carries messages both ways until `stop` or until the kernel cannot be reached any more, and says why it ended.
    fn run(
        self: Box<Self>,
        outgoing: mpsc::Receiver<Message>,
        deliver: Deliver,
        stop: CancellationToken,
    ) -> BoxFuture<'static, End>;
}
