//! Errors of the owner, and how errors from below become what a person reads.

use sandbook_protocol::{ErrorCode, ProtocolError};
use sandbook_sandbox::SandboxError;

/// The owner cannot start.
#[derive(Debug, thiserror::Error)]
pub enum WorkbenchError {
    /// The state on disk cannot be used.
    #[error(transparent)]
    Store(#[from] sandbook_store::Error),
    /// Opening the state broke off.
    #[error("Opening Sandbook's state broke off.")]
    Interrupted,
}

/// An error of a sandbox, as it reaches a person.
pub fn sandbox_error(error: &SandboxError) -> ProtocolError {
    let code = match error {
        SandboxError::Unsupported { .. } => ErrorCode::Unsupported,
        SandboxError::Setting { .. } => ErrorCode::BadSetting,
        SandboxError::NotInstalled { .. } => ErrorCode::NoKernelFound,
        SandboxError::StartFailed { .. } => ErrorCode::KernelStartFailed,
        SandboxError::Unreachable { .. } | SandboxError::Disconnected { .. } => ErrorCode::Unreachable,
        SandboxError::Certificate { .. } => ErrorCode::CertificateUntrusted,
        SandboxError::Refused { .. } => ErrorCode::CredentialRefused,
        SandboxError::CredentialMissing { .. } => ErrorCode::CredentialMissing,
        SandboxError::WrongPeer { .. } => ErrorCode::NotAServer,
        SandboxError::Gone { .. } => ErrorCode::NotFound,
        SandboxError::InUse { .. } => ErrorCode::KernelInUse,
        SandboxError::Died { .. } => ErrorCode::KernelDied,
        SandboxError::TimedOut { .. } => ErrorCode::TimedOut,
        SandboxError::Cancelled => ErrorCode::Cancelled,
        _ => ErrorCode::Internal,
    };
    let message = sentence(&error.to_string());
    ProtocolError { code, message, hint: error.hint().to_owned(), retry: error.can_retry() }
}

/// A text as a sentence. A first word that is a name, a path or an address stays as it is.
fn sentence(text: &str) -> String {
    let first_word = text.split_whitespace().next().unwrap_or_default();
    let mut sentence = text.to_owned();
    if first_word.bytes().all(|byte| byte.is_ascii_lowercase())
        && let Some(first) = sentence.get_mut(..1)
    {
        first.make_ascii_uppercase();
    }
    if !sentence.ends_with('.') {
        sentence.push('.');
    }
    sentence
}

/// An error of the store, as it reaches a person.
pub(crate) fn store_error(error: &sandbook_store::Error) -> ProtocolError {
    let code = match error {
        sandbook_store::Error::Newer { .. } => ErrorCode::NewerState,
        sandbook_store::Error::Damaged { .. } => ErrorCode::DamagedState,
        sandbook_store::Error::Config(_) => ErrorCode::BadSetting,
        _ => ErrorCode::FileUnwritable,
    };
    ProtocolError::new(code, error.to_string(), error.hint().unwrap_or("The logs say more."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_begins_with_a_capital_unless_it_begins_with_a_name() {
        for (text, expected) in [
            ("the kernel died", "The kernel died."),
            ("http://127.0.0.1:1/ cannot be reached", "http://127.0.0.1:1/ cannot be reached."),
            ("nope.py cannot be read.", "nope.py cannot be read."),
            ("", "."),
            ("über alles", "über alles."),
        ] {
            assert_eq!(sentence(text), expected);
        }
    }
}
