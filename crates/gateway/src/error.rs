//! What can go wrong with a door.

use sandbook_protocol::{ErrorCode, ProtocolError};

/// An error of a door as a whole. What concerns one client is told to that client.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GatewayError {
    /// A port cannot be listened on.
    #[error("Port {port} of this computer cannot be used: {error}.")]
    Port {
        /// The port; 0 where any would have done.
        port: u16,
        /// The cause.
        error: std::io::Error,
    },
    /// The web door is open already, elsewhere.
    #[error(
        "The page is served already, at port {open}; it cannot be served at port {asked} at the same time."
    )]
    OpenElsewhere {
        /// Where it is open.
        open: u16,
        /// Where it was asked for.
        asked: u16,
    },
}

impl From<GatewayError> for ProtocolError {
    fn from(error: GatewayError) -> Self {
        let hint = match error {
            GatewayError::Port { .. } => "Choose another port, or leave it out to take any that is free.",
            GatewayError::OpenElsewhere { .. } => "Leave the port out, or end the `sandbook web` that runs.",
        };
        Self::new(ErrorCode::BadSetting, error.to_string(), hint)
    }
}
