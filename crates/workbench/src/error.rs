//! Errors of the owner, and how errors from below become what a person reads.

use sandbook_protocol::{ErrorCode, ProtocolError};
use sandbook_sandbox::{SandboxError, sentence};

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
        SandboxError::NotReady { .. } => ErrorCode::NotReady,
        SandboxError::StartFailed { .. } | SandboxError::FolderMissing { .. } => ErrorCode::KernelStartFailed,
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
    let fingerprint = match error {
        SandboxError::Certificate { fingerprint, .. } => fingerprint.clone(),
        _ => None,
    };
    ProtocolError {
        code,
        message: sentence(&error.to_string()),
        hint: error.hint().to_owned(),
        retry: error.can_retry(),
        fingerprint,
    }
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
    fn every_error_of_a_sandbox_comes_with_a_code_a_sentence_and_a_next_step() {
        let text = || "something".to_owned();
        let address = || "http://h/".to_owned();
        let errors = [
            SandboxError::Unsupported { reason: text() },
            SandboxError::Setting { setting: text(), reason: text() },
            SandboxError::NotInstalled { what: text(), detail: text() },
            SandboxError::NotReady { what: text(), reason: text(), next: "Start the engine.".into() },
            SandboxError::StartFailed { what: text(), detail: text() },
            SandboxError::FolderMissing { folder: text() },
            SandboxError::Unreachable { address: address(), detail: text() },
            SandboxError::Certificate { address: address(), detail: text(), fingerprint: None },
            SandboxError::Refused { address: address(), status: 403 },
            SandboxError::CredentialMissing { address: address() },
            SandboxError::WrongPeer { address: address(), expected: text(), detail: text() },
            SandboxError::Gone { what: text() },
            SandboxError::InUse { kernel: text(), detail: text() },
            SandboxError::Died { cause: text() },
            SandboxError::Disconnected { detail: text() },
            SandboxError::TimedOut { what: text(), limit: std::time::Duration::from_secs(1) },
            SandboxError::LeftRunning { what: text(), detail: text() },
            SandboxError::Cancelled,
            SandboxError::Failed(text()),
        ];
        for error in errors {
            let told = sandbox_error(&error);
            let ends = |text: &str| text.len() > 8 && text.ends_with(['.', '!', '?']);
            assert!(ends(&told.message) && ends(&told.hint), "{told:?}");
            assert_eq!(
                told.code == ErrorCode::Internal,
                matches!(error, SandboxError::Failed(_) | SandboxError::LeftRunning { .. }),
                "{told:?}"
            );
            assert!(!error.code().is_empty());
        }
    }
}
