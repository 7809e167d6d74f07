//! What can be said of a sandbox before it is made, and what to do where no server answers.

use std::collections::HashSet;

use sandbook_sandbox::{Readiness, SandboxError, SandboxSettings, Survey, sentence};
use secrecy::SecretString;

use super::{OpenSandboxRuntime, api::Lifecycle, place::Place, settings::OpenSandboxSettings};
use crate::paste::is_loopback;

/// The two commands that start a server: the first writes its file and is needed once.
pub const COMMANDS: [&str; 2] =
    ["uvx opensandbox-server init-config ~/.sandbox.toml --example docker", "uvx opensandbox-server"];

impl OpenSandboxRuntime {
    /// Looks at the settings and the server, as far as each can be looked at.
    pub(super) async fn look(&self, settings: &SandboxSettings, credential: Option<&SecretString>) -> Survey {
        let (read, mut problems) = OpenSandboxSettings::examine(settings);
        let mut named = HashSet::new();
        problems.retain(|problem| named.insert(problem.setting.clone()));
        let place = match self.defaults.place(&read, credential) {
            Ok(place) => place,
            Err(SandboxError::Setting { setting, reason }) => {
                problems.push(sandbook_sandbox::Problem::new(setting, reason));
                let readiness = Readiness::NeedsSetup("Say where the OpenSandbox server is".into());
                return Survey { problems, ..Survey::of(readiness) };
            }
            Err(error) => return Survey { problems, ..Survey::of(unready(&error)) },
        };
        let (readiness, warnings) = match self.ask(&place).await {
            Ok((readiness, warnings)) => (readiness, warnings),
            Err(error) => (unready(&self.nobody_there(&place, error)), Vec::new()),
        };
        Survey { problems, warnings, ..Survey::of(readiness) }
    }

    async fn ask(&self, place: &Place) -> Result<(Readiness, Vec<String>), SandboxError> {
        let lifecycle = Lifecycle::new(place)?;
        lifecycle.check().await?;
        let (version, is_open) = tokio::join!(lifecycle.version(), lifecycle.is_open());
        let version = version.map(|version| format!(" {version}")).unwrap_or_default();
        let said = format!("OpenSandbox{version} at {}", place.domain());
        Ok((Readiness::Ready(said), place.exposures(is_open)))
    }

    /// An address of this computer where nobody listens: how a server is started there.
    pub(super) fn nobody_there(&self, place: &Place, error: SandboxError) -> SandboxError {
        let SandboxError::Unreachable { detail, .. } = &error else { return error };
        if !is_loopback(&place.url) {
            return error;
        }
        let [first, second] = COMMANDS;
        let next = if self.defaults.has_file() {
            format!("Start one in a terminal: `{second}`.")
        } else {
            format!("Start one in a terminal: `{first}`, then `{second}`.")
        };
        SandboxError::NotReady {
            what: "OpenSandbox".into(),
            reason: format!("no server answers at {} ({detail})", place.domain()),
            next,
        }
    }
}

/// Why no sandbox can be made, in one line.
fn unready(error: &SandboxError) -> Readiness {
    let said = sentence(&error.to_string());
    match error {
        SandboxError::CredentialMissing { address } => {
            Readiness::NeedsCredential(format!("{address} asks for a key"))
        }
        SandboxError::Refused { .. } => Readiness::NeedsCredential(said),
        SandboxError::NotReady { .. } => Readiness::NotReachable(format!("{said} {}", error.hint())),
        SandboxError::Unreachable { .. } | SandboxError::TimedOut { .. } => Readiness::NotReachable(said),
        _ => Readiness::NeedsSetup(said),
    }
}
