//! Where engines listen: what a person says, then what `docker` itself would take, then the places of Docker, Colima,
//! Rancher Desktop, `OrbStack` and Podman.

use std::{
    io,
    path::{Path, PathBuf},
};

use sandbook_sandbox::SandboxError;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::image::hex;

/// What decides where engines are looked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// The person's home.
    pub home: Option<PathBuf>,
    /// The person's folder for sockets.
    pub runtime_folder: Option<PathBuf>,
    /// `DOCKER_HOST`.
    pub host: Option<String>,
    /// `DOCKER_CONTEXT`.
    pub context: Option<String>,
    /// Sockets of the whole system.
    pub system: Vec<PathBuf>,
    /// Whether a `docker` or `podman` command was found.
    pub has_command: bool,
}

impl Surroundings {
    /// Those of this process.
    pub fn of_process() -> Self {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let path = std::env::var_os("PATH").unwrap_or_default();
        let commands = platform::COMMANDS;
        Self {
            home: std::env::home_dir(),
            runtime_folder: variable("XDG_RUNTIME_DIR").map(PathBuf::from),
            host: variable("DOCKER_HOST"),
            context: variable("DOCKER_CONTEXT"),
            system: platform::SYSTEM.iter().map(PathBuf::from).collect(),
            has_command: std::env::split_paths(&path)
                .any(|folder| commands.iter().any(|command| folder.join(command).is_file())),
        }
    }

    /// The one that a person named, or all places in the order in which they are tried.
    pub(super) fn places(&self, named: Option<&str>) -> Result<Places, SandboxError> {
        if let Some(address) = named {
            return Ok(Places::Named(local(address, "the setting `engine`")?));
        }
        if let Some(address) = &self.host {
            return Ok(Places::Named(local(address, "DOCKER_HOST")?));
        }
        if let Some((name, address)) = self.context_host() {
            return Ok(Places::Named(local(&address, &format!("the Docker context {name}"))?));
        }
        Ok(Places::Usual(self.usual()))
    }

    /// The address in the context that `docker` uses, unless that is the default one.
    fn context_host(&self) -> Option<(String, String)> {
        let folder = self.home.as_ref()?.join(".docker");
        let read = |path: &Path| serde_json::from_slice::<Value>(&std::fs::read(path).ok()?).ok();
        let in_file = || {
            let file = read(&folder.join("config.json"))?;
            file.get("currentContext")?.as_str().map(str::to_owned)
        };
        let name =
            self.context.clone().or_else(in_file).filter(|name| !name.is_empty() && name != "default")?;
        let id = hex(&Sha256::digest(name.as_bytes()));
        let file = read(&folder.join("contexts/meta").join(id).join("meta.json"))?;
        let host = file.pointer("/Endpoints/docker/Host")?.as_str()?.to_owned();
        Some((name, host))
    }

    fn usual(&self) -> Vec<PathBuf> {
        let mut found = self.system.clone();
        if let Some(folder) = &self.runtime_folder {
            found.push(folder.join("docker.sock"));
        }
        if let Some(home) = &self.home {
            let of_home = [
                ".docker/run/docker.sock",
                ".docker/desktop/docker.sock",
                ".colima/default/docker.sock",
                ".config/colima/default/docker.sock",
                ".rd/docker.sock",
                ".orbstack/run/docker.sock",
            ];
            found.extend(of_home.map(|path| home.join(path)));
        }
        if let Some(folder) = &self.runtime_folder {
            found.push(folder.join("podman/podman.sock"));
        }
        found.extend(platform::PODMAN.iter().map(PathBuf::from));
        if let Some(home) = &self.home {
            found.push(home.join(".local/share/containers/podman/machine/podman.sock"));
        }
        found
    }
}

/// Where to ask.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Places {
    /// Here and nowhere else.
    Named(PathBuf),
    /// The first that answers.
    Usual(Vec<PathBuf>),
}

/// A socket's path out of an address. Containers of an engine elsewhere have ports on another machine's loopback.
fn local(address: &str, said_by: &str) -> Result<PathBuf, SandboxError> {
    let path = address.strip_prefix("unix://").or_else(|| address.strip_prefix("npipe://"));
    match path.or_else(|| address.starts_with('/').then_some(address)) {
        Some(path) => Ok(PathBuf::from(path)),
        None => Err(SandboxError::NotReady {
            what: "the container engine".into(),
            reason: format!("{said_by} names one that is not on this computer, and its containers could not be reached"),
            next: "Name a local one, as in engine = \"unix:///var/run/docker.sock\", or start a Jupyter server there and paste its address.".into(),
        }),
    }
}

/// Why nothing answers at a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Silence {
    /// There is none.
    Missing,
    /// It is there, and nobody listens.
    Stopped,
    /// This person may not.
    Denied,
}

impl Silence {
    pub(super) fn of(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::PermissionDenied => Self::Denied,
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Self::Missing,
            _ => Self::Stopped,
        }
    }

    /// In words, with what to do about it.
    pub(super) fn explain(self, place: &Path, surroundings: &Surroundings, named: bool) -> SandboxError {
        let place = place.display();
        let (reason, next) = match self {
            Self::Denied => (format!("you may not use {place}"), platform::LET_IN.to_owned()),
            Self::Stopped => {
                (format!("it is not running: nobody listens at {place}"), platform::START.to_owned())
            }
            Self::Missing if named => (
                format!("there is no socket at {place}"),
                "Start the engine, or name another one.".to_owned(),
            ),
            Self::Missing if surroundings.has_command => {
                ("it is installed and not running".to_owned(), platform::START.to_owned())
            }
            Self::Missing => (
                "neither Docker nor Podman was found on this computer".to_owned(),
                platform::INSTALL.to_owned(),
            ),
        };
        SandboxError::NotReady { what: "the container engine".into(), reason, next }
    }
}

mod platform {
    #[cfg(windows)]
    pub(super) const COMMANDS: &[&str] = &["docker.exe", "podman.exe"];
    #[cfg(not(windows))]
    pub(super) const COMMANDS: &[&str] = &["docker", "dockerd", "podman"];

    #[cfg(windows)]
    pub(super) const SYSTEM: &[&str] = &["//./pipe/docker_engine"];
    #[cfg(not(windows))]
    pub(super) const SYSTEM: &[&str] = &["/var/run/docker.sock"];

    #[cfg(windows)]
    pub(super) const PODMAN: &[&str] = &["//./pipe/podman-machine-default"];
    #[cfg(not(windows))]
    pub(super) const PODMAN: &[&str] = &["/run/podman/podman.sock"];

    #[cfg(target_os = "linux")]
    pub(super) const START: &str =
        "Start it: `sudo systemctl start docker`, or `systemctl --user start podman.socket`.";
    #[cfg(not(target_os = "linux"))]
    pub(super) const START: &str = "Start Docker Desktop, Colima or Podman, and try again.";

    #[cfg(target_os = "linux")]
    pub(super) const LET_IN: &str = "Join its group: `sudo usermod -aG docker $USER`, then log in again. Whoever is in it can do what root can.";
    #[cfg(not(target_os = "linux"))]
    pub(super) const LET_IN: &str = "Run the engine as yourself, or ask who administers this computer.";

    #[cfg(target_os = "linux")]
    pub(super) const INSTALL: &str =
        "Install one: `sudo apt install docker.io`, or `sudo apt install podman`.";
    #[cfg(not(target_os = "linux"))]
    pub(super) const INSTALL: &str = "Install Docker Desktop, Colima or Podman.";
}

#[cfg(test)]
mod tests {
    use super::*;

    fn surroundings(home: &Path) -> Surroundings {
        Surroundings { home: Some(home.to_owned()), system: vec!["/s".into()], ..Surroundings::default() }
    }

    #[test]
    fn what_is_named_is_taken_and_nothing_else_is_tried() {
        let home = tempfile::tempdir().unwrap();
        let mut looked = surroundings(home.path());
        assert!(
            matches!(looked.places(None).unwrap(), Places::Usual(places) if places[0] == Path::new("/s"))
        );

        let id = hex(&Sha256::digest(b"colima"));
        let meta = home.path().join(".docker/contexts/meta").join(id);
        std::fs::create_dir_all(&meta).unwrap();
        std::fs::write(meta.join("meta.json"), r#"{"Endpoints": {"docker": {"Host": "unix:///c.sock"}}}"#)
            .unwrap();
        std::fs::write(home.path().join(".docker/config.json"), r#"{"currentContext": "colima"}"#).unwrap();
        assert_eq!(looked.places(None).unwrap(), Places::Named("/c.sock".into()));

        looked.context = Some("default".into());
        assert!(matches!(looked.places(None).unwrap(), Places::Usual(_)));
        looked.host = Some("unix:///h.sock".into());
        assert_eq!(looked.places(None).unwrap(), Places::Named("/h.sock".into()));
        assert_eq!(looked.places(Some("/e.sock")).unwrap(), Places::Named("/e.sock".into()));
    }

    #[test]
    fn an_engine_on_another_computer_is_refused_with_the_reason() {
        for address in ["tcp://10.0.0.1:2375", "ssh://me@host", "http://h"] {
            let looked = Surroundings { host: Some(address.into()), ..Surroundings::default() };
            let error = looked.places(None).unwrap_err();
            assert!(
                error.to_string().contains("DOCKER_HOST names one that is not on this computer"),
                "{error}"
            );
        }
    }

    #[test]
    fn podman_and_colima_are_looked_for_where_they_listen() {
        let looked = Surroundings {
            runtime_folder: Some("/run/user/1".into()),
            ..surroundings(Path::new("/home/me"))
        };
        let Ok(Places::Usual(places)) = looked.places(None) else { panic!() };
        for wanted in [
            "/run/user/1/docker.sock",
            "/run/user/1/podman/podman.sock",
            "/home/me/.colima/default/docker.sock",
            "/home/me/.docker/run/docker.sock",
        ] {
            assert!(places.contains(&wanted.into()), "{wanted}");
        }
    }
}
