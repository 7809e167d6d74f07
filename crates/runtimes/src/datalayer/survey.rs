//! What can be said of a runtime before it is made: what there is to choose from, what it would cost, and what is left to spend.

use std::time::Duration;

use sandbook_sandbox::{Problem, Readiness, SandboxError, SandboxSettings, Spending, Survey};
use secrecy::SecretString;

use super::{DatalayerRuntime, model::credits, settings::DatalayerSettings};

impl DatalayerRuntime {
    /// Looks at the settings, the account and its environments. Makes nothing.
    pub(super) async fn look(&self, settings: &SandboxSettings, key: Option<&SecretString>) -> Survey {
        let (read, mut problems) = DatalayerSettings::examine(settings);
        let asked = async {
            let platform = self.platform(&read, key)?;
            tokio::try_join!(platform.available(), platform.environments())
        };
        let (available, environments) = match asked.await {
            Ok(found) => found,
            Err(SandboxError::Setting { setting, reason }) => {
                problems.push(Problem::new(&*setting, reason.as_str()));
                let reason = format!("The setting {setting} cannot be used: {reason}");
                return Survey { problems, ..Survey::of(Readiness::NeedsSetup(reason)) };
            }
            Err(error) => return Survey { problems, ..Survey::of(readiness(Err(error))) },
        };
        let wanted = self.defaults.environment(&read);
        let chosen = environments.iter().find(|environment| environment.name == wanted);
        let at_most = chosen.map(|environment| environment.rate * 60.0 * read.minutes());
        if chosen.is_none() && !environments.is_empty() {
            problems.push(Problem::new("environment", format!("Datalayer has no environment {wanted}")));
        }
        if let Some(at_most) = at_most.filter(|at_most| *at_most > available) {
            let reason =
                format!("it could cost {at_most:.2} credits, and the account has {available:.2} left");
            problems.push(Problem::new("minutes", reason));
        }
        let spending = Spending {
            chosen: chosen.map(|environment| environment.name.clone()),
            offers: environments.iter().map(super::model::Environment::offer).collect(),
            life: Duration::try_from_secs_f64(read.minutes() * 60.0).ok(),
            at_most: at_most.map(credits),
            available: Some(credits(available)),
        };
        Survey { problems, spending: Some(spending), ..Survey::of(readiness(Ok(available))) }
    }
}

/// Whether something can be made, in one line.
pub(super) fn readiness(available: Result<f64, SandboxError>) -> Readiness {
    match available {
        Ok(available) => Readiness::Ready(format!("{available:.2} credits left")),
        Err(error @ (SandboxError::Refused { .. } | SandboxError::CredentialMissing { .. })) => {
            Readiness::NeedsCredential(error.to_string())
        }
        Err(error @ SandboxError::Setting { .. }) => Readiness::NeedsSetup(error.to_string()),
        Err(error) => Readiness::NotReachable(error.to_string()),
    }
}
