//! What can go wrong with a sandbox, sorted by what a person has to do about it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// An error of a runtime or sandbox. Messages never hold a secret; an address in them is masked.
#[derive(Debug, Clone, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SandboxError {
    /// The sandbox or runtime cannot do this.
    #[error("{reason}")]
    Unsupported {
        /// Why, in one line.
        reason: String,
    },
    /// A setting is wrong or cannot be kept here.
    #[error("the setting `{setting}` cannot be used: {reason}")]
    Setting {
        /// Which.
        setting: String,
        /// Why.
        reason: String,
    },
    /// Nothing to start was found on this computer.
    #[error("{what} was not found: {detail}")]
    NotInstalled {
        /// What was looked for.
        what: String,
        /// Where it was looked for.
        detail: String,
    },
    /// Something that a runtime needs is not ready, and a person can change that.
    #[error("{what} cannot be used: {reason}")]
    NotReady {
        /// What.
        what: String,
        /// Why not.
        reason: String,
        /// What to do about it.
        next: String,
    },
    /// A program or kernel did not start.
    #[error("{what} did not start: {detail}")]
    StartFailed {
        /// What.
        what: String,
        /// Its last words.
        detail: String,
    },
    /// The folder in which a kernel should start is not there.
    #[error("the kernel was not started: its folder {folder} does not exist any more")]
    FolderMissing {
        /// Its path.
        folder: String,
    },
    /// The address does not answer.
    #[error("{address} cannot be reached: {detail}")]
    Unreachable {
        /// The masked address.
        address: String,
        /// The cause.
        detail: String,
    },
    /// The server's certificate is not trusted.
    #[error("the certificate of {address} is not trusted: {detail}")]
    Certificate {
        /// The masked address.
        address: String,
        /// The cause.
        detail: String,
        /// SHA-256 of the certificate, as hex pairs, where there was one.
        fingerprint: Option<String>,
    },
    /// The server refused the credential.
    #[error("{address} did not accept the credential ({status})")]
    Refused {
        /// The masked address.
        address: String,
        /// The HTTP status.
        status: u16,
    },
    /// A credential is needed.
    #[error("{address} asks for a credential")]
    CredentialMissing {
        /// The masked address.
        address: String,
    },
    /// Something answers, but not what was expected there.
    #[error("{address} answers, but not as {expected}: {detail}")]
    WrongPeer {
        /// The masked address.
        address: String,
        /// What was expected.
        expected: String,
        /// What came.
        detail: String,
    },
    /// No such kernel or sandbox, any more.
    #[error("{what} does not exist any more")]
    Gone {
        /// What.
        what: String,
    },
    /// The kernel belongs to someone else and is busy.
    #[error("the kernel {kernel} is in use: {detail}")]
    InUse {
        /// Which.
        kernel: String,
        /// By whom, as far as is known.
        detail: String,
    },
    /// The kernel died.
    #[error("the kernel died ({cause})")]
    Died {
        /// Exit code, signal, or `not reported`.
        cause: String,
    },
    /// The connection is gone, and nobody tries to bring it back.
    #[error("the connection is closed: {detail}")]
    Disconnected {
        /// Why.
        detail: String,
    },
    /// It took too long.
    #[error("{what} took longer than {limit:?}")]
    TimedOut {
        /// What.
        what: String,
        /// The limit.
        limit: Duration,
    },
    /// Something was started in vain and could not be ended again. It is on record, and a new start looks for it.
    #[error("{what} may still run and cost something: {detail}")]
    LeftRunning {
        /// What, with the name that its provider shows.
        what: String,
        /// What went wrong, and why it could not be ended.
        detail: String,
    },
    /// It was cancelled.
    #[error("cancelled")]
    Cancelled,
    /// The other side broke the protocol, or the operating system refused something.
    #[error("{0}")]
    Failed(String),
}

impl SandboxError {
    /// The stable code of the error, for logs and machine-readable output.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Unsupported { .. } => "unsupported",
            Self::Setting { .. } => "bad_setting",
            Self::NotInstalled { .. } => "no_kernel_found",
            Self::NotReady { .. } => "not_ready",
            Self::StartFailed { .. } => "kernel_start_failed",
            Self::FolderMissing { .. } => "folder_missing",
            Self::Unreachable { .. } => "unreachable",
            Self::Certificate { .. } => "certificate_untrusted",
            Self::Refused { .. } => "credential_refused",
            Self::CredentialMissing { .. } => "credential_missing",
            Self::WrongPeer { .. } => "not_a_server",
            Self::Gone { .. } => "not_found",
            Self::InUse { .. } => "kernel_in_use",
            Self::Died { .. } => "kernel_died",
            Self::Disconnected { .. } => "disconnected",
            Self::TimedOut { .. } => "timed_out",
            Self::LeftRunning { .. } => "left_running",
            Self::Cancelled => "cancelled",
            Self::Failed(_) => "failed",
        }
    }

    /// What to do next.
    pub const fn hint(&self) -> &str {
        match self {
            Self::Unsupported { .. } => "Choose another runtime for this.",
            Self::Setting { .. } => "Change the setting or leave it out.",
            Self::NotInstalled { .. } => {
                "Install it or choose another. For Python, Sandbook can make a private environment."
            }
            Self::NotReady { next, .. } => next.as_str(),
            Self::StartFailed { .. } => "The detail names the cause. Mend it and start again.",
            Self::FolderMissing { .. } => {
                "Bring the folder back, or save the notebook in another folder. Then run again."
            }
            Self::Unreachable { .. } => "Check the address, that the server runs, and the network.",
            Self::Certificate { .. } => {
                "Compare the fingerprint with the server's, then trust it for this connection."
            }
            Self::Refused { .. } => {
                "Copy the token or the link again from where it came. Nothing was started."
            }
            Self::CredentialMissing { .. } => "Add the server's token to the connection.",
            Self::WrongPeer { .. } => {
                "Check the path of the address; a login page means that a token is needed."
            }
            Self::Gone { .. } => "Start a new one. Outputs that were shown stay.",
            Self::InUse { .. } => "Start a new kernel, or agree to share this one.",
            Self::Died { .. } => "Restart the kernel. Outputs stay; variables are lost.",
            Self::Disconnected { .. } => "Reconnect. Outputs that were shown stay.",
            Self::TimedOut { .. } => "Give it more time, or find out what it waits for.",
            Self::LeftRunning { .. } => {
                "End it on the provider's own page, or start Sandbook again once the provider can be reached."
            }
            Self::Cancelled => "Start it again when you want it.",
            Self::Failed(_) => "The logs say more.",
        }
    }

    /// Whether doing the same again can help.
    pub const fn can_retry(&self) -> bool {
        matches!(
            self,
            Self::Unreachable { .. } | Self::Disconnected { .. } | Self::TimedOut { .. } | Self::Cancelled
        )
    }
}

/// A message as a sentence: a full stop, and a capital unless it begins with a name, a path or an address. What is no
/// plain lower-case word at its beginning stays as it is.
pub fn sentence(text: &str) -> String {
    let word = text.split_whitespace().next().unwrap_or_default();
    let mut sentence = text.to_owned();
    if word.bytes().all(|byte| byte.is_ascii_lowercase())
        && let Some(first) = sentence.get_mut(..1)
    {
        first.make_ascii_uppercase();
    }
    if !sentence.ends_with(['.', '!', '?']) {
        sentence.push('.');
    }
    sentence
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_begins_with_a_capital_unless_it_begins_with_a_name() {
        for (text, expected) in [
            ("the kernel died", "The kernel died."),
            ("is it there?", "Is it there?"),
            ("http://127.0.0.1:1/ cannot be reached", "http://127.0.0.1:1/ cannot be reached."),
            ("nope.py cannot be read.", "nope.py cannot be read."),
            ("iPython did not start", "iPython did not start."),
            ("über alles", "über alles."),
            ("", "."),
        ] {
            assert_eq!(sentence(text), expected);
        }
    }
}
