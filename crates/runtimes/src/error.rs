//! Errors that are not yet a sandbox's. What a sandbox answers is [`sandbook_sandbox::SandboxError`].

use std::io;

/// A child could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The operating system refused, as when the program does not exist.
    #[error("{program}: {source}")]
    Spawn {
        /// The program.
        program: String,
        /// The system's word.
        source: io::Error,
    },
    /// There was no program to start.
    #[error("no program was named")]
    Empty,
    /// The supervisor broke off before it had started the child.
    #[error("the supervisor ended before the program started")]
    SupervisorEnded,
}
