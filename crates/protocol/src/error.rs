//! Errors at the doors: a stable code to branch on, and three things a person needs to know.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// What kind of thing went wrong. Stable: a client branches on this and on nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(export)]
pub enum ErrorCode {
    /// The other side speaks another version of this contract.
    VersionMismatch,
    /// The client did not prove that it may speak to the owner.
    NotAllowed,
    /// The request could not be read.
    BadRequest,
    /// No such document, cell, output, sandbox or connection.
    NotFound,
    /// The file is not a notebook.
    NotANotebook,
    /// A file could not be read.
    FileUnreadable,
    /// A file could not be written. Nothing was changed on disk.
    FileUnwritable,
    /// A file is there already, and nobody agreed that it is replaced. Nothing was written.
    FileExists,
    /// The file on disk was changed by someone else since it was read.
    ChangedOnDisk,
    /// An edit was made against a revision that the owner does not remember any more.
    StaleRevision,
    /// The document has no sandbox yet: one has to be chosen.
    NoSandbox,
    /// No Python or kernel was found on this computer.
    NoKernelFound,
    /// Something that a runtime needs is not ready; the hint says what to do about it.
    NotReady,
    /// The sandbox cannot do this; the message says why.
    Unsupported,
    /// The kernel died.
    KernelDied,
    /// The kernel did not start.
    KernelStartFailed,
    /// The kernel belongs to someone else and is busy.
    KernelInUse,
    /// The server could not be reached.
    Unreachable,
    /// The server refused the credential.
    CredentialRefused,
    /// A credential is needed and none is stored.
    CredentialMissing,
    /// The address is another machine over plain http, and the person did not agree to that yet. Nothing was sent.
    NotEncrypted,
    /// The server's certificate is not trusted.
    CertificateUntrusted,
    /// The address answered, but not as a Jupyter server.
    NotAServer,
    /// The pasted text means nothing to Sandbook.
    NotRecognised,
    /// The system keyring cannot be used.
    KeyringUnavailable,
    /// A setting is wrong.
    BadSetting,
    /// Something took longer than its limit.
    TimedOut,
    /// It was cancelled.
    Cancelled,
    /// The state on disk is newer than this program.
    NewerState,
    /// The state on disk is damaged.
    DamagedState,
    /// A limit was met (output kept, blob size, quota).
    LimitMet,
    /// A fault of Sandbook itself.
    Internal,
}

/// An error as it reaches a person: what happened, what to do next, and whether trying again can help.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS, thiserror::Error)]
#[error("{message}")]
#[ts(export)]
pub struct ProtocolError {
    /// What kind of thing went wrong.
    pub code: ErrorCode,
    /// What happened, and what is lost or kept, in one or two sentences.
    pub message: String,
    /// The next step.
    pub hint: String,
    /// Whether the same request can succeed when sent again.
    pub retry: bool,
    /// SHA-256 of the certificate that is not trusted, as hex pairs with colons: what a person compares and may trust.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub fingerprint: Option<String>,
}

impl ProtocolError {
    /// An error that trying again does not mend.
    pub fn new(code: ErrorCode, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: hint.into(), retry: false, fingerprint: None }
    }

    /// The same error, where trying again can help.
    pub fn retryable(mut self) -> Self {
        self.retry = true;
        self
    }

    /// No such thing.
    pub fn not_found(what: &str) -> Self {
        Self::new(
            ErrorCode::NotFound,
            format!("There is no {what} with this name."),
            "It may have been closed. Refresh and try again.",
        )
    }

    /// A fault of Sandbook itself.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Internal, message, "The logs say more. Nothing that was shown as saved is lost.")
    }
}
