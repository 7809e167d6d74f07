//! What only this runtime knows of a sandbox's settings. Unknown names are refused, and so is what Modal cannot keep.

use std::path::PathBuf;

use sandbook_sandbox::{AttachHandle, Problem, SandboxError, SandboxSettings};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{check, gpu::Gpu};
use crate::{memory::Memory, own_settings};

/// The longest life that Modal gives a sandbox, in seconds.
pub const LONGEST_LIFE: u32 = 24 * 60 * 60;
const LIFE: u32 = 60 * 60;
const IDLE: u32 = 15 * 60;

/// The `runtime` part of [`SandboxSettings`]; null means all defaults.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModalSettings {
    /// Which profile of `~/.modal.toml`; the active one if absent.
    pub profile: Option<String>,
    /// Where Modal is, where it is not at its usual place.
    pub server_url: Option<String>,
    /// One of Modal's environments; the account's own if absent.
    pub modal_environment: Option<String>,
    /// The app of Modal's that the sandbox belongs to; it is made where it is missing.
    pub app: String,
    /// A tag of a registry, as `python:3.13-slim`, or the id of an image that Modal has, as `im-…`. A small Python with
    /// ipykernel if absent. One that is given is taken as it is.
    pub image: Option<String>,
    /// Python packages that are installed into the image, as `pip` takes them.
    pub packages: Vec<String>,
    /// The interpreter in the image.
    pub python: String,
    /// A graphics card, as `T4`, `A100-80GB` or `H100:2`.
    pub gpu: Option<Gpu>,
    /// How many cores are kept for it, as 1.5; Modal's least if absent. It may use more where there are some.
    pub cpu: Option<f64>,
    /// How much memory is kept for it; Modal's least if absent.
    pub memory: Option<Memory>,
    /// When it ends, in seconds after its start, whatever it does then.
    pub longest_life: u32,
    /// When it ends, in seconds without anything running or being asked; never before its longest life if 0.
    pub idle_timeout: u32,
    /// Where it runs, as `us-east`; anywhere if absent. Some regions cost more.
    pub region: Option<String>,
    /// Whom it reaches.
    pub network: NetworkPolicy,
    /// Whom it reaches where the policy is a list: names of hosts, as `pypi.org` or `*.example.org`, and ranges of
    /// addresses, as `192.0.2.0/24`.
    pub allowed_hosts: Vec<String>,
    /// Secrets of the account, by name: they become environment variables of the sandbox.
    pub secrets: Vec<String>,
    /// Volumes of the account.
    pub volumes: Vec<Volume>,
    /// A table of prices in place of Sandbook's own, as `prices.toml` in its source.
    pub prices: Option<PathBuf>,
    /// Whether plain Python is wanted where there is an ipykernel as well.
    pub plain: bool,
}

impl Default for ModalSettings {
    fn default() -> Self {
        Self {
            profile: None,
            server_url: None,
            modal_environment: None,
            app: "sandbook".into(),
            image: None,
            packages: Vec::new(),
            python: "python".into(),
            gpu: None,
            cpu: None,
            memory: None,
            longest_life: LIFE,
            idle_timeout: IDLE,
            region: None,
            network: NetworkPolicy::Inherit,
            allowed_hosts: Vec::new(),
            secrets: Vec::new(),
            volumes: Vec::new(),
            prices: None,
            plain: false,
        }
    }
}

/// Whom code in a sandbox reaches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NetworkPolicy {
    /// Whom Modal lets it reach: everybody.
    #[default]
    Inherit,
    /// Nobody.
    None,
    /// The hosts and ranges that are named.
    Allowlist,
    /// Everybody.
    All,
}

/// A volume of the account in the sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Volume {
    /// Its name.
    pub name: String,
    /// Where it is inside.
    pub target: String,
    /// Whether it can only be read.
    #[serde(default)]
    pub read_only: bool,
}

impl ModalSettings {
    /// Reads the runtime's part of a sandbox's settings, and checks what can be checked without asking Modal.
    ///
    /// # Errors
    /// [`SandboxError::Setting`] for the first that is wrong.
    pub fn read(settings: &SandboxSettings) -> Result<Self, SandboxError> {
        let (read, problems) = Self::examine(settings);
        problems.into_iter().next().map_or(Ok(read), |problem| Err(problem.into()))
    }

    /// Reads each setting by itself, so that everything that is wrong is told at once. What is wrong is left out.
    pub(super) fn examine(settings: &SandboxSettings) -> (Self, Vec<Problem>) {
        let (read, mut problems) = own_settings::examine::<Self>(&settings.runtime, |_| None);
        problems.extend(check::problems(&read, settings));
        (read, problems)
    }

    /// As the `runtime` part.
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// What is needed to join a sandbox again. No secret.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Handle {
    /// The sandbox.
    pub sandbox: String,
    /// What runs in it, in Modal's words.
    pub task: String,
    /// The command that keeps the kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// How much of the command's output had been read when this was written.
    pub read: u64,
    /// When it was made and when it ends, in seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub life: Option<(u64, u64)>,
    /// What an hour costs in US dollars, and the day of that estimate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<(f64, String)>,
    /// Whether the code runs without a kernel, which nobody else can join.
    pub plain: bool,
    /// The interpreter with which a kernel is begun anew.
    pub python: String,
    /// Where it begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// After so many idle seconds it ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle: Option<u64>,
}

impl Handle {
    /// Reads one that was kept.
    ///
    /// # Errors
    /// [`SandboxError::Setting`] where it is none.
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

    fn read(runtime: Value) -> Result<ModalSettings, SandboxError> {
        ModalSettings::read(&SandboxSettings { runtime, ..SandboxSettings::default() })
    }

    #[test]
    fn what_is_not_understood_or_cannot_be_kept_is_refused_and_not_ignored() {
        for bad in [
            json!({"imgae": "x"}),
            json!({"app": "two words"}),
            json!({"app": ""}),
            json!({"image": "python:3.13 slim"}),
            json!({"image": "im-"}),
            json!({"image": "-x"}),
            json!({"packages": ["--index-url=http://x"]}),
            json!({"packages": ["a'; rm -rf /"]}),
            json!({"packages": ["a\nb"]}),
            json!({"python": "py thon"}),
            json!({"python": ""}),
            json!({"gpu": "a hundred"}),
            json!({"gpu": "T4:0"}),
            json!({"gpu": "T4:99"}),
            json!({"cpu": 0}),
            json!({"cpu": "2"}),
            json!({"memory": 512}),
            json!({"memory": "1 MiB"}),
            json!({"longest_life": 0}),
            json!({"longest_life": 90_000}),
            json!({"idle_timeout": 5}),
            json!({"region": "us east"}),
            json!({"network": "some"}),
            json!({"network": "allowlist"}),
            json!({"network": "allowlist", "allowed_hosts": ["http://a"]}),
            json!({"network": "allowlist", "allowed_hosts": ["example.org:443"]}),
            json!({"network": "allowlist", "allowed_hosts": ["192.0.2.0/40"]}),
            json!({"allowed_hosts": ["example.org"]}),
            json!({"secrets": [""]}),
            json!({"volumes": [{"name": "v", "target": "data"}]}),
            json!({"volumes": [{"name": "v", "target": "/"}]}),
            json!({"volumes": [{"name": "v", "target": "/data", "readonly": true}]}),
            json!({"server_url": "http://example.org"}),
            json!({"server_url": "modal"}),
        ] {
            assert!(matches!(read(bad.clone()), Err(SandboxError::Setting { .. })), "{bad}");
        }
    }

    #[test]
    fn variables_of_modal_s_and_impossible_names_are_refused_and_so_is_a_folder_that_is_not_in_the_sandbox() {
        for name in ["MODAL_TOKEN_SECRET", "", "A=B"] {
            let settings = SandboxSettings {
                environment: [(name.to_owned(), "x".to_owned())].into(),
                ..SandboxSettings::default()
            };
            assert!(ModalSettings::read(&settings).is_err(), "{name:?}");
        }
        let settings =
            SandboxSettings { working_directory: Some("here".into()), ..SandboxSettings::default() };
        assert!(ModalSettings::read(&settings).is_err());
    }

    #[test]
    fn settings_are_read_back_as_they_were_written() {
        let settings = ModalSettings {
            image: Some("python:3.13-slim".into()),
            packages: vec!["torch==2.4.1".into(), "pandas[excel]>=2,<3".into()],
            gpu: Some("a100-80gb:2".parse().unwrap()),
            cpu: Some(1.5),
            memory: Some(Memory::bytes(1 << 30)),
            network: NetworkPolicy::Allowlist,
            allowed_hosts: vec!["*.example.org".into(), "192.0.2.0/24".into(), "2001:db8::/32".into()],
            volumes: vec![Volume { name: "data".into(), target: "/data".into(), read_only: true }],
            ..ModalSettings::default()
        };
        assert_eq!(read(settings.to_value()).unwrap(), settings);
        assert_eq!(read(Value::Null).unwrap(), ModalSettings::default());
    }
}
