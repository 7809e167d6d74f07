//! An engine that answers, and what it is asked about containers.

use std::{collections::HashMap, fmt, path::Path, time::Duration};

use bollard::{
    API_DEFAULT_VERSION, Docker,
    errors::Error,
    models::{ContainerCreateBody, ContainerInspectResponse, ContainerState},
    query_parameters::{
        CreateContainerOptions, KillContainerOptions, ListContainersOptions, LogsOptions,
        RemoveContainerOptions, StartContainerOptions, StopContainerOptions,
    },
};
use futures::StreamExt as _;
use sandbook_sandbox::{DeathCause, Listed, SandboxError};

use super::{
    search::{Places, Silence, Surroundings},
    settings::Handle,
};

/// How long an engine may take to answer a question.
const PATIENCE_SECONDS: u64 = 60;
/// Says of a container that it is ours, and which sandbox it is.
pub(super) const LABEL: &str = "io.sandbook.sandbox";
/// What a container is called whose id is on record. Known before it is made.
pub(super) fn container_name(id: &str) -> String {
    let start = id.len().saturating_sub(12);
    format!("sandbook-{}", id.get(start..).unwrap_or(id))
}

/// What an engine says of itself.
pub(super) struct Facts {
    name: String,
    pub(super) cores: u32,
    /// In bytes.
    pub(super) memory: u64,
}

impl fmt::Display for Facts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}, {} CPU, {} GB", self.name, self.cores, self.memory / 1_000_000_000)
    }
}

/// How many of a container's last lines are shown.
const LAST_LINES: &str = "12";

/// An engine that answers.
#[derive(Debug, Clone)]
pub(super) struct Engine {
    pub(super) docker: Docker,
    pub(super) address: String,
}

impl Engine {
    /// Finds one: the one that is named, or the first that answers.
    pub(super) async fn find(named: Option<&str>, surroundings: &Surroundings) -> Result<Self, SandboxError> {
        let (places, is_named) = match surroundings.places(named)? {
            Places::Named(place) => (vec![place], true),
            Places::Usual(places) => (places, false),
        };
        let mut worst: Option<(Silence, &Path)> = None;
        for place in &places {
            match platform::try_connect(place).await {
                Ok(()) => return Self::at(place).await,
                Err(error) => {
                    let silence = Silence::of(&error);
                    if worst.is_none_or(|(worst, _)| silence > worst) {
                        worst = Some((silence, place));
                    }
                }
            }
        }
        let (silence, place) = worst.unwrap_or((Silence::Missing, Path::new("")));
        Err(silence.explain(place, surroundings, is_named))
    }

    async fn at(place: &Path) -> Result<Self, SandboxError> {
        let address = format!("{}://{}", platform::SCHEME, place.display());
        let docker = platform::connect(&place.display().to_string());
        let engine = Self { docker: docker.map_err(|error| explain(&address, &error))?, address };
        let docker = engine.docker.clone().negotiate_version().await;
        Ok(Self { docker: docker.map_err(|error| engine.explain(&error))?, ..engine })
    }

    /// What it is, and what it has.
    pub(super) async fn facts(&self) -> Result<Facts, SandboxError> {
        let (info, version) = tokio::try_join!(self.docker.info(), self.docker.version())
            .map_err(|error| self.explain(&error))?;
        let components = version.components.unwrap_or_default();
        let is_podman = components.iter().any(|component| component.name.contains("Podman"));
        let name = if is_podman { "Podman" } else { "Docker Engine" };
        Ok(Facts {
            name: format!("{name} {}", info.server_version.or(version.version).unwrap_or_default()),
            cores: u32::try_from(info.ncpu.unwrap_or_default()).unwrap_or_default(),
            memory: u64::try_from(info.mem_total.unwrap_or_default()).unwrap_or_default(),
        })
    }

    /// An error of the engine in the contract's words.
    pub(super) fn explain(&self, error: &Error) -> SandboxError {
        explain(&self.address, error)
    }

    pub(super) async fn create(&self, name: &str, body: ContainerCreateBody) -> Result<(), SandboxError> {
        let options =
            CreateContainerOptions { name: Some(name.to_owned()), ..CreateContainerOptions::default() };
        self.docker
            .create_container(Some(options), body)
            .await
            .map(drop)
            .map_err(|error| self.not_made(&error))
    }

    pub(super) async fn start(&self, name: &str) -> Result<(), SandboxError> {
        let started = self.docker.start_container(name, None::<StartContainerOptions>).await;
        started.map_err(|error| self.not_made(&error))
    }

    fn not_made(&self, error: &Error) -> SandboxError {
        match said(error) {
            Some((_, message)) if message.contains("could not select device driver") => {
                SandboxError::Setting {
                    setting: "gpu".into(),
                    reason: "the engine has no driver for graphics cards (the NVIDIA Container Toolkit)"
                        .into(),
                }
            }
            Some((_, message)) if message.contains("Range of CPUs") => {
                SandboxError::Setting { setting: "cpu".into(), reason: message.to_owned() }
            }
            Some((_, message)) => {
                SandboxError::StartFailed { what: "the container".into(), detail: message.to_owned() }
            }
            None => self.explain(error),
        }
    }

    /// A container, or nothing where there is none of that name.
    pub(super) async fn inspect(&self, name: &str) -> Result<Option<ContainerInspectResponse>, SandboxError> {
        match self.docker.inspect_container(name, None).await {
            Ok(container) => Ok(Some(container)),
            Err(error) if is_gone(&error) => Ok(None),
            Err(error) => Err(self.explain(&error)),
        }
    }

    /// Refuses to touch a container that Sandbook did not make.
    pub(super) async fn require_ours(&self, name: &str) -> Result<ContainerInspectResponse, SandboxError> {
        let gone = || SandboxError::Gone { what: format!("the container {name}") };
        let container = self.inspect(name).await?.ok_or_else(gone)?;
        let labels = container.config.as_ref().and_then(|config| config.labels.as_ref());
        if labels.is_some_and(|labels| labels.get(LABEL).is_some_and(|id| container_name(id) == name)) {
            return Ok(container);
        }
        Err(SandboxError::Unsupported { reason: format!("The container {name} was not made by Sandbook.") })
    }

    /// Asks what runs in a container to end, kills it after the grace time, and says how it ended.
    pub(super) async fn stop(&self, name: &str, grace: Duration) -> Result<Option<DeathCause>, SandboxError> {
        let options = StopContainerOptions {
            t: Some(i32::try_from(grace.as_secs()).unwrap_or(i32::MAX)),
            signal: None,
        };
        let asked = self.docker.clone().with_timeout(grace + Duration::from_secs(PATIENCE_SECONDS));
        match asked.stop_container(name, Some(options)).await {
            Ok(()) => {}
            Err(error) if is_gone(&error) => return Ok(None),
            Err(error) => {
                tracing::warn!(%error, container = name, "a container did not stop when asked");
                let kill = KillContainerOptions { signal: "KILL".into() };
                drop(self.docker.kill_container(name, Some(kill)).await);
            }
        }
        let container = self.inspect(name).await?;
        Ok(container.and_then(|container| container.state).map(|state| cause(&state)))
    }

    /// Removes a container with its anonymous volumes, whatever it does. One that is gone is fine.
    pub(super) async fn remove(&self, name: &str) -> Result<(), SandboxError> {
        let options = RemoveContainerOptions { force: true, v: true, link: false };
        match self.docker.remove_container(name, Some(options)).await {
            Err(error) if is_under_way(&error) => self.gone(name).await,
            Err(error) if !is_gone(&error) => Err(self.explain(&error)),
            _ => Ok(()),
        }
    }

    /// Comes back once a container that somebody else removes is not there any more.
    async fn gone(&self, name: &str) -> Result<(), SandboxError> {
        let limit = Duration::from_secs(PATIENCE_SECONDS);
        let gone = async {
            while self.inspect(name).await?.is_some() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            Ok(())
        };
        let what = || format!("the removal of the container {name}");
        tokio::time::timeout(limit, gone).await.map_err(|_| SandboxError::TimedOut { what: what(), limit })?
    }

    /// What a container said last.
    pub(super) async fn last_words(&self, name: &str) -> String {
        let options =
            LogsOptions { stdout: true, stderr: true, tail: LAST_LINES.into(), ..LogsOptions::default() };
        let lines = self.docker.logs(name, Some(options)).filter_map(async |line| line.ok());
        let text: String = lines.map(|line| line.to_string()).collect().await;
        text.trim().to_owned()
    }

    /// The containers that carry our label.
    pub(super) async fn list(&self) -> Result<Vec<Listed>, SandboxError> {
        let filters = HashMap::from([("label".to_owned(), vec![LABEL.to_owned()])]);
        let options =
            ListContainersOptions { all: true, filters: Some(filters), ..ListContainersOptions::default() };
        let containers =
            self.docker.list_containers(Some(options)).await.map_err(|error| self.explain(&error))?;
        let listed = containers.into_iter().filter_map(|container| {
            let id = container.labels?.remove(LABEL)?;
            let name = container_name(&id);
            let handle =
                Handle { container: name.clone(), engine: self.address.clone(), kernel: None, session: None };
            Some(Listed {
                handle: handle.keep(),
                id: Some(id),
                title: format!("{} in {name}", container.image.unwrap_or_default()),
                state: container.status.unwrap_or_default(),
                connections: None,
                last_activity: None,
            })
        });
        Ok(listed.collect())
    }
}

/// Why a container ended.
pub(super) fn cause(state: &ContainerState) -> DeathCause {
    match state.exit_code.and_then(|code| i32::try_from(code).ok()) {
        _ if state.oom_killed == Some(true) => DeathCause::OutOfMemory,
        Some(code @ 129..=192) => DeathCause::Signal(code - 128),
        Some(code) => DeathCause::ExitCode(code),
        None => DeathCause::NotReported,
    }
}

/// What an engine says of a request.
fn said(error: &Error) -> Option<(u16, &str)> {
    match error {
        Error::DockerResponseServerError { status_code, message } => Some((*status_code, message)),
        _ => None,
    }
}

pub(super) fn is_gone(error: &Error) -> bool {
    matches!(said(error), Some((404, _)))
}

/// Somebody else removes it already.
fn is_under_way(error: &Error) -> bool {
    matches!(said(error), Some((409, message)) if message.contains("already in progress"))
}

fn explain(address: &str, error: &Error) -> SandboxError {
    let address = address.to_owned();
    match error {
        Error::DockerResponseServerError { status_code, message } => {
            SandboxError::Failed(format!("the container engine answered {status_code}: {message}"))
        }
        Error::RequestTimeoutError => {
            SandboxError::TimedOut { what: address, limit: Duration::from_secs(PATIENCE_SECONDS) }
        }
        Error::JsonDataError { message, .. } => SandboxError::WrongPeer {
            address,
            expected: "a container engine".into(),
            detail: message.clone(),
        },
        other => SandboxError::Unreachable { address, detail: other.to_string() },
    }
}

mod platform {
    use super::{API_DEFAULT_VERSION, Docker, Error, PATIENCE_SECONDS, Path};

    #[cfg(unix)]
    pub(super) const SCHEME: &str = "unix";
    #[cfg(windows)]
    pub(super) const SCHEME: &str = "npipe";

    #[cfg(unix)]
    pub(super) async fn try_connect(place: &Path) -> std::io::Result<()> {
        tokio::net::UnixStream::connect(place).await.map(drop)
    }

    #[cfg(windows)]
    pub(super) async fn try_connect(place: &Path) -> std::io::Result<()> {
        tokio::net::windows::named_pipe::ClientOptions::new().open(place).map(drop)
    }

    #[cfg(unix)]
    pub(super) fn connect(place: &str) -> Result<Docker, Error> {
        Docker::connect_with_unix(place, PATIENCE_SECONDS, API_DEFAULT_VERSION)
    }

    #[cfg(windows)]
    pub(super) fn connect(place: &str) -> Result<Docker, Error> {
        Docker::connect_with_named_pipe(place, PATIENCE_SECONDS, API_DEFAULT_VERSION)
    }
}
