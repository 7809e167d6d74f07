//! What can go wrong between a client and the owner.

use sandbook_protocol::{ErrorCode, FrameError, ProtocolError};

/// An error of the way to the owner, or the owner's own answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// No owner listens at this place.
    #[error("Sandbook's owner process does not run.")]
    NobodyListens,
    /// An owner could not be started.
    #[error("Sandbook's owner process did not start: {0}")]
    NotStarted(String),
    /// Another owner holds this place.
    #[error("Sandbook's owner process runs already.")]
    AlreadyRuns,
    /// The place cannot be used: its folder, its lock, its socket.
    #[error("{what} cannot be used: {error}")]
    Place {
        /// Which part.
        what: String,
        /// The cause.
        error: std::io::Error,
    },
    /// The connection was cut.
    #[error("The connection to Sandbook's owner process was cut.")]
    Closed,
    /// The connection failed.
    #[error("The connection to Sandbook's owner process failed: {0}")]
    Connection(#[from] std::io::Error),
    /// What came is not of this protocol.
    #[error("Sandbook's owner process sent something unreadable: {0}")]
    Frame(#[from] FrameError),
    /// A message that cannot be read or written.
    #[error("A message of Sandbook's owner process cannot be read: {0}")]
    Message(#[from] serde_json::Error),
    /// The owner refused the connection.
    #[error("{0}")]
    Refused(ProtocolError),
    /// The owner answered a request with an error.
    #[error("{0}")]
    Answer(ProtocolError),
}

impl From<ClientError> for ProtocolError {
    fn from(error: ClientError) -> Self {
        let message = error.to_string();
        match error {
            ClientError::Refused(error) | ClientError::Answer(error) => error,
            ClientError::NobodyListens => Self::new(
                ErrorCode::Unreachable,
                message,
                "Start it with `sandbook serve`, or open the window.",
            ),
            ClientError::NotStarted(_) => Self::new(
                ErrorCode::Internal,
                message,
                "Run `sandbook serve` in a terminal to see why. Notebooks and their journals are untouched.",
            ),
            ClientError::AlreadyRuns => Self::new(
                ErrorCode::Unsupported,
                message,
                "Use the one that runs, or end it with `sandbook quit`.",
            ),
            ClientError::Place { .. } => Self::new(
                ErrorCode::FileUnwritable,
                message,
                "Check that the folder is yours, that it can be written, and that the disk is not full.",
            ),
            ClientError::Closed | ClientError::Connection(_) => {
                Self::new(ErrorCode::Unreachable, message, "Try again: what was shown is kept.").retryable()
            }
            ClientError::Frame(_) | ClientError::Message(_) => Self::new(
                ErrorCode::VersionMismatch,
                message,
                "Another version of Sandbook may be running. End it with `sandbook quit` and try again.",
            ),
        }
    }
}
