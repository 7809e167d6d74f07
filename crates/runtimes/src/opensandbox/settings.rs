//! What only this runtime knows of a sandbox's settings. Unknown names are refused, and so is what a sandbox of OpenSandbox
//! cannot keep, each with its reason.

use std::time::Duration;

use sandbook_sandbox::{AttachHandle, Problem, SandboxError, SandboxSettings};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{memory::Memory, own_settings};

/// The image where nobody names one: it brings a Jupyter server and kernels.
pub const IMAGE: &str = "opensandbox/code-interpreter:v1.1.0";
/// What starts that server, in that image.
const ENTRYPOINT: &str = "/opt/code-interpreter/code-interpreter.sh";
/// How long a sandbox lives where nobody says, in minutes.
pub const MINUTES: u32 = 30;
/// The most that can be asked for: a week. A server may have a limit of its own, and says so.
const MOST_MINUTES: u32 = 7 * 24 * 60;
/// Variables that Sandbook or the server sets itself, and the beginning of those that no sandbox ever sees.
const OWN_VARIABLES: [&str; 5] =
    ["EXECD_ACCESS_TOKEN", "JUPYTER_TOKEN", "JUPYTER_HOST", "JUPYTER_PORT", "OPENSANDBOX_ID"];
const OF_EGRESS: &str = "OPENSANDBOX_EGRESS_";

/// The `runtime` part of [`SandboxSettings`]; null means all defaults.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OpenSandboxSettings {
    /// The server: `HOST:PORT`, or an address with http or https. `OPEN_SANDBOX_DOMAIN` if absent, else the server that
    /// `~/.sandbox.toml` describes, else `localhost:8080`.
    pub domain: Option<String>,
    /// The image, which must bring a Jupyter server; [`IMAGE`] if absent.
    pub image: Option<String>,
    /// What starts in it, as words; the start of [`IMAGE`]'s server if absent.
    pub entrypoint: Option<Vec<String>>,
    /// After how many minutes it ends unless that is put off; 30 if absent.
    pub minutes: Option<u32>,
    /// How many cores it may use, as 1.5; the server's default if absent.
    pub cpu: Option<f64>,
    /// How much memory it may use; the server's default if absent.
    pub memory: Option<Memory>,
    /// Whether everything goes through the server: for servers whose sandboxes this computer does not reach.
    pub through_server: bool,
    /// The kernelspec; the image's default if absent, else its Python.
    pub kernel: Option<String>,
}

impl OpenSandboxSettings {
    /// Reads the runtime's part of a sandbox's settings, and checks what can be checked without a server.
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

    fn problems(&self, general: &SandboxSettings) -> Vec<Problem> {
        let mut problems: Vec<Problem> = general.environment.iter().filter_map(variable).collect();
        if general.working_directory.is_some() {
            let reason = "the kernel starts where the image's Jupyter server does; code can change it";
            problems.push(Problem::new("working_directory", reason));
        }
        let texts = [("image", &self.image), ("domain", &self.domain), ("kernel", &self.kernel)];
        for (name, _) in
            texts.iter().filter(|(_, text)| text.as_ref().is_some_and(|text| text.trim().is_empty()))
        {
            problems.push(Problem::new(*name, "it is empty; leave it out"));
        }
        if self
            .entrypoint
            .as_ref()
            .is_some_and(|words| words.first().is_none_or(|word| word.trim().is_empty()))
        {
            problems.push(Problem::new("entrypoint", "it names no program; leave it out"));
        }
        if self.minutes.is_some_and(|minutes| !(1..=MOST_MINUTES).contains(&minutes)) {
            problems.push(Problem::new("minutes", format!("it is from 1 to {MOST_MINUTES}")));
        }
        if self.cpu.is_some_and(|cores| !(cores.is_finite() && (0.01..=1024.0).contains(&cores))) {
            problems.push(Problem::new("cpu", "it is a number of cores, at least 0.01"));
        }
        problems
    }

    /// The image's name.
    pub(super) fn image(&self) -> &str {
        self.image.as_deref().unwrap_or(IMAGE)
    }

    /// How long it lives.
    pub(super) fn life(&self) -> Duration {
        Duration::from_secs(u64::from(self.minutes.unwrap_or(MINUTES)) * 60)
    }

    pub(super) fn entrypoint(&self) -> Vec<String> {
        self.entrypoint.clone().unwrap_or_else(|| vec![ENTRYPOINT.to_owned()])
    }

    /// Its limits, in the units of the API.
    pub(super) fn limits(&self) -> Value {
        let mut limits = Map::new();
        if let Some(cores) = self.cpu {
            limits.insert("cpu".into(), format!("{}m", (cores * 1000.0).round()).into());
        }
        if let Some(memory) = self.memory {
            limits.insert("memory".into(), format!("{}Ki", memory.in_bytes().div_ceil(1024)).into());
        }
        json!(limits)
    }

    /// As the `runtime` part.
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

fn variable((name, value): (&String, &String)) -> Option<Problem> {
    let reason = if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
        format!("`{name}` is no name of a variable")
    } else if OWN_VARIABLES.contains(&name.as_str()) {
        format!("Sandbook or the server sets {name} itself, anew for each sandbox")
    } else if name.starts_with(OF_EGRESS) {
        format!("the server keeps {name} for itself, and the code would not see it")
    } else {
        return None;
    };
    Some(Problem::new("environment", reason))
}

/// Why something that other runtimes know cannot be set here.
fn not_kept(name: &str) -> Option<&'static str> {
    Some(match name {
        "network" | "network_policy" | "allowed_hosts" => {
            "a server keeps to such a rule only beside an image of its own and by names alone, so it is not offered"
        }
        "gpu" => "graphics cards of OpenSandbox servers are not offered yet",
        "mounts" | "folder" | "folder_at" => {
            "the server may be another computer, so no folder of this one is shared"
        }
        "idle_timeout" => "a sandbox ends when its minutes are over, whether it is used or not",
        "timeout" | "max_lifetime" => "it is called minutes here",
        "api_key" | "key" | "token" => {
            "a key is a credential and stands in no settings: give it as the connection's key"
        }
        "url" | "server" | "server_url" => "it is called domain here",
        "use_server_proxy" => "it is called through_server here",
        _ => return None,
    })
}

/// What is needed to join a sandbox again. No secret: its tokens are asked of the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handle {
    /// The sandbox's id at the server.
    pub sandbox: String,
    /// The server's address.
    pub server: String,
    /// Whether everything goes through the server.
    #[serde(default)]
    pub through_server: bool,
    /// The kernel; the only one there if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// Our session, with which the Jupyter server replays what we missed.
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
    use super::*;

    fn read(runtime: Value) -> Result<OpenSandboxSettings, SandboxError> {
        OpenSandboxSettings::read(&SandboxSettings { runtime, ..SandboxSettings::default() })
    }

    #[test]
    fn what_is_not_understood_or_cannot_be_kept_is_refused_and_not_ignored() {
        for bad in [
            json!({"imgae": "x"}),
            json!({"image": " "}),
            json!({"minutes": 0}),
            json!({"minutes": 20000}),
            json!({"cpu": 0}),
            json!({"memory": 512}),
            json!({"entrypoint": []}),
            json!({"entrypoint": "run"}),
            json!({"network": "none"}),
            json!({"api_key": "s3cr3t-in-the-wrong-place"}),
        ] {
            let error = read(bad.clone()).unwrap_err();
            assert!(matches!(error, SandboxError::Setting { .. }), "{bad}");
            assert!(!format!("{error} {error:?}").contains("s3cr3t"), "{error}");
        }
        let named = |name: &str| SandboxSettings {
            environment: [(name.to_owned(), "x".to_owned())].into(),
            ..SandboxSettings::default()
        };
        for name in ["JUPYTER_TOKEN", "EXECD_ACCESS_TOKEN", "OPENSANDBOX_EGRESS_RULES", "A=B", ""] {
            assert!(OpenSandboxSettings::read(&named(name)).is_err(), "{name:?}");
        }
        assert!(OpenSandboxSettings::read(&named("MINE")).is_ok());
    }

    #[test]
    fn settings_are_read_back_as_they_were_written_and_limits_have_the_units_of_the_api() {
        let settings = OpenSandboxSettings {
            cpu: Some(1.5),
            memory: Some(Memory::bytes(1 << 30)),
            minutes: Some(45),
            through_server: true,
            ..OpenSandboxSettings::default()
        };
        assert_eq!(read(settings.to_value()).unwrap(), settings);
        assert_eq!(read(Value::Null).unwrap(), OpenSandboxSettings::default());
        assert_eq!(settings.limits(), json!({"cpu": "1500m", "memory": "1048576Ki"}));
        assert_eq!(settings.life(), Duration::from_mins(45));
    }
}
