//! Ctrl-C and its relatives.

/// What a signal asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Ctrl-C: interrupt the code.
    ToInterrupt,
    /// The system, or a closed terminal: end, and leave nothing behind.
    ToEnd,
}

impl Asked {
    /// The exit status, as shells have it.
    pub(crate) fn status(self) -> u8 {
        match self {
            Self::ToInterrupt => crate::error::INTERRUPTED,
            Self::ToEnd => 143,
        }
    }
}

pub(crate) use platform::Signals;

#[cfg(unix)]
mod platform {
    use tokio::signal::unix::{Signal, SignalKind, signal};

    use super::Asked;
    use crate::error::CommandError;

    /// The signals of this process, from the moment this is made.
    pub(crate) struct Signals {
        interrupt: Signal,
        terminate: Signal,
        hang_up: Signal,
    }

    impl Signals {
        /// From now on they do not end this process by themselves.
        pub(crate) fn watch() -> Result<Self, CommandError> {
            let watched = |kind| {
                signal(kind).map_err(|error| {
                    CommandError::infrastructure(
                        "internal",
                        format!("Ctrl-C cannot be watched for: {error}."),
                        "",
                    )
                })
            };
            Ok(Self {
                interrupt: watched(SignalKind::interrupt())?,
                terminate: watched(SignalKind::terminate())?,
                hang_up: watched(SignalKind::hangup())?,
            })
        }

        /// The next one. It may be dropped and called again.
        pub(crate) async fn next(&mut self) -> Asked {
            tokio::select! {
                Some(()) = self.interrupt.recv() => Asked::ToInterrupt,
                Some(()) = self.terminate.recv() => Asked::ToEnd,
                Some(()) = self.hang_up.recv() => Asked::ToEnd,
                else => std::future::pending().await,
            }
        }
    }
}

#[cfg(windows)]
mod platform {
    use tokio::signal::windows::{CtrlC, CtrlClose, CtrlShutdown, ctrl_c, ctrl_close, ctrl_shutdown};

    use super::Asked;
    use crate::error::CommandError;

    /// The signals of this process, from the moment this is made. It was never run: see `docs/platforms.md`.
    pub(crate) struct Signals {
        interrupt: CtrlC,
        close: CtrlClose,
        shut_down: CtrlShutdown,
    }

    impl Signals {
        /// From now on they do not end this process by themselves.
        pub(crate) fn watch() -> Result<Self, CommandError> {
            let failed = |error: std::io::Error| {
                CommandError::infrastructure(
                    "internal",
                    format!("Ctrl-C cannot be watched for: {error}."),
                    "",
                )
            };
            Ok(Self {
                interrupt: ctrl_c().map_err(failed)?,
                close: ctrl_close().map_err(failed)?,
                shut_down: ctrl_shutdown().map_err(failed)?,
            })
        }

        /// The next one. It may be dropped and called again.
        pub(crate) async fn next(&mut self) -> Asked {
            tokio::select! {
                Some(()) = self.interrupt.recv() => Asked::ToInterrupt,
                Some(()) = self.close.recv() => Asked::ToEnd,
                Some(()) = self.shut_down.recv() => Asked::ToEnd,
                else => std::future::pending().await,
            }
        }
    }
}
