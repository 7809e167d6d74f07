//! What only this runtime knows of a sandbox's settings. Unknown names are refused, and so is what an engine cannot keep.

use std::path::PathBuf;

use sandbook_sandbox::{AttachHandle, Problem, SandboxError, SandboxSettings};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{check, image::IMAGE};
use crate::{
    folders::{FolderAccess, Mount},
    memory::Memory,
    own_settings,
};

/// The `runtime` part of [`SandboxSettings`]; null means all defaults.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DockerSettings {
    /// The engine's address, as `unix:///run/docker.sock`; the one that `docker` itself would use if absent.
    pub engine: Option<String>,
    /// The image, which must have a Jupyter server; Sandbook's own if absent.
    pub image: Option<String>,
    /// Whether a missing image may be built or pulled. Both take time and need the network, so a person agrees first.
    pub obtain_image: bool,
    /// How many cores it may use, as 1.5; all if absent.
    pub cpu: Option<f64>,
    /// How much memory it may use; no limit if absent.
    pub memory: Option<Memory>,
    /// Which graphics cards it sees.
    pub gpu: Option<Gpu>,
    /// How many processes and threads it may have.
    pub processes: Option<u32>,
    /// Where the sandbox's working directory, a folder of this computer, is in the container: `/work` if absent.
    pub folder_at: Option<String>,
    /// What it may do there.
    pub folder: FolderAccess,
    /// More folders of this computer.
    pub mounts: Vec<Mount>,
    /// As who the code runs: `USER` or `USER:GROUP`, names of the image or numbers. The owner of the folder if absent,
    /// and never root unless it is said here.
    pub user: Option<String>,
    /// Whether it can write only in its working directory, its home and `/tmp`.
    pub read_only: bool,
    /// Whom it reaches.
    pub network: NetworkPolicy,
    /// Whom it reaches where the policy is a list of hosts: `pypi.org`, `*.example.org`, `192.0.2.7`, with a port or by
    /// the usual two.
    pub allowed_hosts: Vec<String>,
    /// The kernelspec; the image's default if absent.
    pub kernel: Option<String>,
}

/// Graphics cards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gpu {
    /// All that there are.
    All,
    /// So many.
    Count(u8),
}

/// Whom code in a container reaches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NetworkPolicy {
    /// Whom the engine's default network reaches.
    #[default]
    Inherit,
    /// Nobody.
    None,
    /// The hosts that are named, through a proxy that looks their names up. There is no other way out.
    Allowlist,
    /// Everybody that this computer reaches.
    All,
}

impl DockerSettings {
    /// Reads the runtime's part of a sandbox's settings, and checks what can be checked without an engine.
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

    /// The folder of this computer that the container sees as its working directory.
    pub(super) fn shared_folder(&self, settings: &SandboxSettings) -> Option<PathBuf> {
        settings.working_directory.clone().filter(|_| self.folder != FolderAccess::None)
    }

    /// Whether it has no network: whom it reaches, if anybody, it reaches through a socket.
    pub(super) fn is_cut_off(&self) -> bool {
        matches!(self.network, NetworkPolicy::None | NetworkPolicy::Allowlist)
    }

    /// The image's name.
    pub(super) fn image(&self) -> &str {
        self.image.as_deref().unwrap_or(IMAGE)
    }
}

/// What is needed to join a container again. No secret: the token is read from the container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handle {
    /// The container's name.
    pub container: String,
    /// The engine's address.
    pub engine: String,
    /// The kernel; the container's only one if absent.
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

    fn read(runtime: Value) -> Result<DockerSettings, SandboxError> {
        DockerSettings::read(&SandboxSettings { runtime, ..SandboxSettings::default() })
    }

    #[test]
    fn what_is_not_understood_or_cannot_be_kept_is_refused_and_not_ignored() {
        for bad in [
            json!({"imgae": "x"}),
            json!({"cpu": 0}),
            json!({"cpu": "2"}),
            json!({"memory": 512}),
            json!({"memory": "1 MiB"}),
            json!({"processes": 1}),
            json!({"network": "some"}),
            json!({"network": "allowlist"}),
            json!({"network": "allowlist", "allowed_hosts": ["example.org", "http://a"]}),
            json!({"allowed_hosts": ["example.org"]}),
            json!({"folder": "append"}),
            json!({"folder_at": "here"}),
            json!({"mounts": [{"source": "/a", "target": "b"}]}),
            json!({"mounts": [{"source": "/a", "target": "/b", "readonly": true}]}),
        ] {
            assert!(matches!(read(bad.clone()), Err(SandboxError::Setting { .. })), "{bad}");
        }
    }

    #[test]
    fn variables_of_ours_and_impossible_names_are_refused() {
        for name in ["TOKEN", "JUPYTER_TOKEN", "KG_AUTH_TOKEN", "", "A=B"] {
            let settings = SandboxSettings {
                environment: [(name.to_owned(), "x".to_owned())].into(),
                ..SandboxSettings::default()
            };
            assert!(DockerSettings::read(&settings).is_err(), "{name:?}");
        }
    }

    #[test]
    fn settings_are_read_back_as_they_were_written() {
        let settings = DockerSettings {
            cpu: Some(1.5),
            memory: Some(Memory::bytes(1 << 30)),
            gpu: Some(Gpu::All),
            network: NetworkPolicy::None,
            ..DockerSettings::default()
        };
        assert_eq!(read(settings.to_value()).unwrap(), settings);
        assert_eq!(read(Value::Null).unwrap(), DockerSettings::default());
    }
}
