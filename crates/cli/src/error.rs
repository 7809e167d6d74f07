//! How a command fails: one sentence, the next step, a code for programs, and an exit status.

use sandbook_client::ClientError;
use sandbook_protocol::ProtocolError;
use sandbook_sandbox::{SandboxError, sentence};
use serde::Serialize;

/// The status where the arguments, or a file named in them, are wrong.
pub(crate) const USAGE: u8 = 2;
/// The status where a time limit was met, as `timeout` has it.
pub(crate) const TIMED_OUT: u8 = 124;
/// The status where not the code failed but what should have run it, as `timeout` has it.
pub(crate) const INFRASTRUCTURE: u8 = 125;
/// The status where nobody reads the output any more, as shells have it.
pub(crate) const NOBODY_READS: u8 = 141;
/// The status where Ctrl-C ended it, as shells have it.
pub(crate) const INTERRUPTED: u8 = 130;

/// Why a command failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct CommandError {
    /// For programs: stable.
    pub(crate) code: String,
    /// What happened.
    pub(crate) message: String,
    /// What to do next.
    pub(crate) hint: String,
    /// The exit status.
    #[serde(skip)]
    pub(crate) status: u8,
}

impl CommandError {
    /// An error of what was asked for.
    pub(crate) fn usage(code: &str, message: impl Into<String>, hint: &str) -> Self {
        Self { code: code.into(), message: message.into(), hint: hint.into(), status: USAGE }
    }

    /// An error of what should have done it.
    pub(crate) fn infrastructure(code: &str, message: impl Into<String>, hint: &str) -> Self {
        Self { status: INFRASTRUCTURE, ..Self::usage(code, message, hint) }
    }

    /// The same error with another exit status.
    pub(crate) fn with_status(self, status: u8) -> Self {
        Self { status, ..self }
    }

    /// Prints it: an `error:` line and a hint line on standard error, or one line of JSON on standard output.
    pub(crate) fn print(&self, json: bool) {
        if self.status == NOBODY_READS {
            return;
        }
        if json {
            let line = serde_json::json!({
                "type": "error", "code": self.code, "message": self.message, "hint": self.hint,
            });
            crate::output::line(&line);
        } else {
            eprintln!("error: {}", self.message.replace('\n', " "));
            if !self.hint.is_empty() {
                eprintln!("hint: {}", self.hint);
            }
        }
    }
}

impl From<ProtocolError> for CommandError {
    fn from(error: ProtocolError) -> Self {
        let code = serde_json::to_value(error.code).ok().and_then(|code| code.as_str().map(str::to_owned));
        Self {
            code: code.unwrap_or_default(),
            message: error.message,
            hint: error.hint,
            status: INFRASTRUCTURE,
        }
    }
}

impl From<ClientError> for CommandError {
    fn from(error: ClientError) -> Self {
        ProtocolError::from(error).into()
    }
}

impl From<sandbook_store::Error> for CommandError {
    fn from(error: sandbook_store::Error) -> Self {
        // The settings are the person's own to mend; everything else is the disk's.
        let status = if matches!(error, sandbook_store::Error::Config(_)) { USAGE } else { INFRASTRUCTURE };
        Self::infrastructure(error.code(), error.to_string(), error.hint().unwrap_or_default())
            .with_status(status)
    }
}

impl From<SandboxError> for CommandError {
    fn from(error: SandboxError) -> Self {
        Self::from(&error)
    }
}

impl From<&SandboxError> for CommandError {
    fn from(error: &SandboxError) -> Self {
        let status = match error {
            SandboxError::Cancelled => INTERRUPTED,
            _ => INFRASTRUCTURE,
        };
        let message = sentence(&error.to_string());
        let told = Self::infrastructure(error.code(), message, error.hint()).with_status(status);
        match error {
            SandboxError::Certificate { fingerprint: Some(fingerprint), .. } => Self {
                message: format!("{} Its SHA-256 fingerprint is {fingerprint}.", told.message),
                hint: format!(
                    "Compare the fingerprint with the server's own. If they are the same: --trust {fingerprint}"
                ),
                ..told
            },
            _ => told,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_failure_has_its_own_status() {
        let died = SandboxError::Died { cause: "signal 9".into() };
        let limit =
            SandboxError::TimedOut { what: "the start".into(), limit: std::time::Duration::from_secs(1) };
        assert_eq!(CommandError::from(&died).status, 125);
        assert_eq!(CommandError::from(&limit).status, 125, "no limit of the code");
        assert_eq!(CommandError::from(&SandboxError::Cancelled).status, 130);
        assert_eq!(CommandError::from(&died).message, "The kernel died (signal 9).");
    }
}
