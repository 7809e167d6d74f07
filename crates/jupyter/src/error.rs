//! What can go wrong on the wire, in the words of what happened.

use std::{io, time::Duration};

/// A failure of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused something.
    #[error("could not {doing}: {source}")]
    Io {
        /// What was being done, as "open the connection file".
        doing: String,
        /// The operating system's word.
        source: io::Error,
    },
    /// The other side sent bytes that are no Jupyter message.
    #[error("the kernel sent something that is not a Jupyter message: {0}")]
    Malformed(String),
    /// A message was signed with another key.
    #[error("a message with a wrong signature arrived and was not accepted")]
    BadSignature,
    /// The host does not answer, or its name is unknown.
    #[error("{host} cannot be reached: {reason}")]
    Unreachable {
        /// Host and port.
        host: String,
        /// The system's word.
        reason: String,
    },
    /// The certificate was not accepted, or TLS failed otherwise.
    #[error("no secure connection to {host}: {reason}")]
    Tls {
        /// Host and port.
        host: String,
        /// What TLS said.
        reason: String,
    },
    /// The server does not accept the token (401 or 403).
    #[error("the server refused the token (HTTP {status})")]
    Refused {
        /// 401 or 403.
        status: u16,
    },
    /// The server says that this kernel does not exist (404).
    #[error("the server says that this kernel does not exist")]
    KernelGone,
    /// The server answered something else than a WebSocket.
    #[error("the server answered HTTP {status} where a WebSocket was expected")]
    NotAWebSocket {
        /// Its HTTP status.
        status: u16,
    },
    /// The WebSocket or ZeroMQ protocol was broken.
    #[error("the connection broke: {0}")]
    Protocol(String),
    /// No answer in time.
    #[error("{what} did not answer within {} s", after.as_secs_f32())]
    TimedOut {
        /// Who was asked.
        what: &'static str,
        /// How long we waited.
        after: Duration,
    },
    /// The connection has ended, so nothing more can be sent or awaited.
    #[error("the connection to the kernel has ended: {0}")]
    Ended(String),
    /// More than 4,096 messages wait for a connection.
    #[error("too many messages wait for the kernel's connection")]
    QueueFull,
    /// A URL that cannot be used for a kernel.
    #[error("this address cannot be used: {0}")]
    BadUrl(String),
}

impl Error {
    /// An I/O error with what was being done.
    pub fn io(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::Io { doing, source }
    }
}

/// Result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;
