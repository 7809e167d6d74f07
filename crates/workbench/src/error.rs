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
