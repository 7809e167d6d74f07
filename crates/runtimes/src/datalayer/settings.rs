//! What only this runtime knows of a sandbox's settings. Unknown names are refused, and so is what a Datalayer runtime
//! cannot keep, each with its reason.

use sandbook_sandbox::{AttachHandle, Problem, SandboxError, SandboxSettings};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::own_settings;

/// How long a runtime lives where nobody says, in minutes: as Datalayer's own clients have it.
pub(super) const MINUTES: f64 = 10.0;
/// The longest that one may be asked for.
const MOST_MINUTES: f64 = 1_440.0;

/// The `runtime` part of [`SandboxSettings`]; null means all defaults.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DatalayerSettings {
    /// The address of an own installation; `DATALAYER_RUN_URL` if absent, else Datalayer's cloud.
    pub run_url: Option<String>,
    /// Which machine and packages; `DATALAYER_ENVIRONMENT` if absent, else the one of Datalayer's own clients.
    pub environment: Option<String>,
    /// After how many minutes it ends, and so the most that it can cost; 10 if absent.
    pub minutes: Option<f64>,
    /// The name of a snapshot of the account with whose state it begins.
    pub snapshot: Option<String>,
}

impl DatalayerSettings {
    /// Reads the runtime's part of a sandbox's settings, and checks what can be checked without the platform.
    pub fn read(settings: &SandboxSettings) -> Result<Self, SandboxError> {
        let (read, problems) = Self::examine(settings);
        problems.into_iter().next().map_or(Ok(read), |problem| Err(problem.into()))
    }

    /// Reads each setting by itself, so that everything that is wrong is told at once. What is wrong is left out.
    pub(super) fn examine(settings: &SandboxSettings) -> (Self, Vec<Problem>) {
        let (read, mut problems) = own_settings::examine::<Self>(&settings.runtime, not_kept);
        problems.extend(read.problems(settings));
        (read, problems)
    }

    fn problems(&self, settings: &SandboxSettings) -> Vec<Problem> {
        let mut problems = Vec::new();
        if !settings.environment.is_empty() {
            let reason = "the kernel of a Datalayer runtime runs already and takes no environment variables";
            problems.push(Problem::new("environment", reason));
        }
        if settings.working_directory.is_some() {
            let reason = "the kernel of a Datalayer runtime runs already and stays in the folder where it is";
            problems.push(Problem::new("working_directory", reason));
        }
        if self.minutes.is_some_and(|minutes| !(1.0..=MOST_MINUTES).contains(&minutes)) {
            problems.push(Problem::new("minutes", format!("it is from 1 to {MOST_MINUTES}")));
        }
        for (name, text) in [("environment", &self.environment), ("snapshot", &self.snapshot)] {
            if text.as_ref().is_some_and(|text| text.trim().is_empty()) {
                problems.push(Problem::new(name, "it is empty; leave it out"));
            }
        }
        problems
    }

    /// How long the runtime lives, in minutes.
    pub(super) fn minutes(&self) -> f64 {
        self.minutes.unwrap_or(MINUTES)
    }

    /// As the `runtime` part.
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// Why something that other runtimes know cannot be set here.
fn not_kept(name: &str) -> Option<&'static str> {
    Some(match name {
        "cpu" | "memory" | "gpu" | "image" => "the environment decides which machine and image it is",
        "network" | "network_policy" | "allowed_hosts" => "Datalayer has no rule for whom a runtime reaches",
        "idle_timeout" => "a Datalayer runtime ends when its minutes are over, whether it is used or not",
        "timeout" | "max_lifetime" => "it is called minutes here",
        "credits_limit" => "it follows from the price of the environment and the minutes",
        _ => return None,
    })
}

/// What is needed to join a runtime again. No secret: its token is asked of the platform.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handle {
    /// The runtime's name at the platform.
    pub runtime: String,
    /// The kernel; the one that waits there if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// Our session, with which the server replays what we missed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

impl Handle {
    /// Reads one that was kept.
    pub fn read(handle: &AttachHandle) -> Result<Self, SandboxError> {
        serde_json::from_value(handle.0.clone())
            .map_err(|error| Problem::new("handle", error.to_string()).into())
    }

    /// To keep it.
    pub fn keep(&self) -> AttachHandle {
        AttachHandle(serde_json::to_value(self).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(runtime: Value) -> Result<DatalayerSettings, SandboxError> {
        DatalayerSettings::read(&SandboxSettings { runtime, ..SandboxSettings::default() })
    }

    #[test]
    fn what_is_not_understood_or_cannot_be_kept_is_refused_with_the_reason() {
        for (bad, words) in [
            (json!({"envrionment": "x"}), "unknown field"),
            (json!({"minutes": 0}), "from 1 to 1440"),
            (json!({"minutes": 1441}), "from 1 to 1440"),
            (json!({"minutes": "ten"}), "invalid type"),
            (json!({"gpu": "A100"}), "the environment decides"),
            (json!({"network": "none"}), "no rule"),
            (json!({"idle_timeout": 60}), "whether it is used or not"),
            (json!({"environment": " "}), "empty"),
            (json!([]), "by name"),
        ] {
            match read(bad.clone()) {
                Err(SandboxError::Setting { reason, .. }) => {
                    assert!(reason.contains(words), "{bad}: {reason}");
                }
                other => panic!("{bad}: {other:?}"),
            }
        }
        let settings = SandboxSettings {
            environment: [("A".to_owned(), "b".to_owned())].into(),
            ..SandboxSettings::default()
        };
        assert!(DatalayerSettings::read(&settings).is_err());
    }

    #[test]
    fn settings_are_read_back_as_they_were_written() {
        let settings = DatalayerSettings {
            environment: Some("python-cpu-env".into()),
            minutes: Some(2.5),
            ..DatalayerSettings::default()
        };
        assert_eq!(read(settings.to_value()).unwrap(), settings);
        assert_eq!(read(Value::Null).unwrap(), DatalayerSettings::default());
    }
}
