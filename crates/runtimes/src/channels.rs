//! What the links of open cloud pages have in common: how one is told from a token, and why one is refused.

use sandbook_sandbox::{SandboxError, SandboxSettings};
use secrecy::{ExposeSecret, SecretString};

/// Whether a credential is a whole link.
pub(crate) fn is_address(credential: &SecretString) -> bool {
    credential.expose_secret().contains("://")
}

pub(crate) fn not_a_link(reason: &str) -> SandboxError {
    setting("channels link", reason.trim_end_matches('.'))
}

/// A kernel that runs already is what it is: refuses what would have to be set before, each with its reason.
pub(crate) fn refuse_unknown(
    settings: &SandboxSettings,
    environment: &str,
    working_directory: &str,
) -> Result<(), SandboxError> {
    if !settings.environment.is_empty() {
        return Err(setting("environment", environment));
    }
    if settings.working_directory.is_some() {
        return Err(setting("working_directory", working_directory));
    }
    Ok(())
}

fn setting(setting: &str, reason: &str) -> SandboxError {
    SandboxError::Setting { setting: setting.into(), reason: reason.into() }
}
