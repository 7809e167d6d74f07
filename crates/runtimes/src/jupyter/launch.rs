//! Starting a kernel on this computer: its folder, its connection file, its process.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use sandbook_jupyter::{ConnectionInfo, SessionId, ZeroMq};
use sandbook_sandbox::{DeathCause, SandboxError};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;
use uuid::Uuid;

use super::{
    host::{Connected, HERE},
    kernels::LocalKernel,
};
use crate::supervise::{Child, Exit, Launch};

const READY_PATIENCE: Duration = Duration::from_mins(1);
/// How often other ports are tried.
const PORT_ATTEMPTS: u32 = 3;
/// Unix sockets have paths of at most 107 bytes (103 on macOS); ours end with `/k-1`.
const LONGEST_RUN_FOLDER: usize = 96;

/// How to start a kernel, again and again.
#[derive(Clone)]
pub(super) struct Plan {
    pub(super) kernel: LocalKernel,
    pub(super) working_directory: Option<PathBuf>,
    pub(super) environment: BTreeMap<String, String>,
    /// Where run folders are made; 0700.
    pub(super) run_folder: PathBuf,
    pub(super) supervisor: Option<Vec<OsString>>,
}

/// A started kernel.
pub(super) struct Running {
    pub(super) child: Child,
    pub(super) connection_file: PathBuf,
    /// Removed when the kernel is let go.
    pub(super) folder: RunFolder,
}

/// A folder with a kernel's connection file and sockets, removed on drop unless the kernel survives.
pub(super) struct RunFolder {
    path: PathBuf,
    pub(super) keep: bool,
}

impl RunFolder {
    fn make(parent: &Path) -> std::io::Result<Self> {
        let id = Uuid::new_v4().simple().to_string();
        let path = parent.join(id.get(..8).unwrap_or(&id));
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&path)?;
        Ok(Self { path, keep: false })
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        if !self.keep {
            drop(fs::remove_dir_all(&self.path));
        }
    }
}

impl Plan {
    /// Starts the kernel and connects; gives up, and stops it again, when cancelled. Free TCP ports can be taken by somebody else before the kernel binds them: then others are
    /// tried.
    pub(super) async fn launch(
        &self,
        cancel: &CancellationToken,
    ) -> Result<(Running, Connected), SandboxError> {
        for _ in 1..PORT_ATTEMPTS {
            match self.launch_once(cancel).await {
                Err(SandboxError::StartFailed { detail, .. })
                    if detail.contains("Address already in use") => {}
                other => return other,
            }
        }
        self.launch_once(cancel).await
    }

    async fn launch_once(&self, cancel: &CancellationToken) -> Result<(Running, Connected), SandboxError> {
        let what = || self.kernel.spec.display_name.clone();
        let failed = |detail: String| SandboxError::StartFailed { what: what(), detail };
        let folder = RunFolder::make(&self.run_folder)
            .map_err(|error| failed(format!("{}: {error}", self.run_folder.display())))?;
        let name = &self.kernel.spec.name;
        let over_ipc = cfg!(unix)
            && self.kernel.spec.is_ipykernel()
            && folder.path.as_os_str().len() <= LONGEST_RUN_FOLDER;
        let info = if over_ipc {
            ConnectionInfo::ipc(&folder.path, name)
        } else {
            ConnectionInfo::tcp(name).map_err(|error| failed(error.to_string()))?
        };
        let connection_file = folder.path.join("kernel.json");
        info.write(&connection_file).map_err(|error| failed(error.to_string()))?;
        let launch = Launch {
            words: self.kernel.spec.command(&connection_file),
            working_directory: self.working_directory.clone(),
            environment: self.environment(),
            without: Vec::new(),
            supervisor: self.supervisor.clone(),
        };
        let child = Child::start(launch).await.map_err(|error| failed(error.to_string()))?;
        let connected = Connected::over(ZeroMq::new(info, SessionId::random()), "kernel", HERE);
        let client = &connected.client;
        let died = tokio::select! {
            ready = client.ready(READY_PATIENCE) => match ready {
                Ok(_) => None,
                Err(error) if child.wait_for(Duration::from_millis(500)).await.is_none() => {
                    client.stop();
                    return Err(failed(error.to_string()));
                }
                Err(_) => Some(child.wait().await),
            },
            exit = child.wait() => Some(exit),
            () = cancel.cancelled() => {
                client.stop();
                return Err(SandboxError::Cancelled);
            }
        };
        if let Some(exit) = died {
            client.stop();
            // what it wrote last is read in another task
            tokio::time::sleep(Duration::from_millis(50)).await;
            return Err(failed(format!(
                "it ended at once ({}). It said: {}",
                cause(exit),
                last_lines(&child.last_words())
            )));
        }
        let death = connected.span.in_scope(|| death_of(&child));
        let connected = Connected { death: Some(death), ..connected };
        Ok((Running { child, connection_file, folder }, connected))
    }

    /// The kernelspec's variables, ours, and the interpreter's folder first on the `PATH`, as if it were activated.
    fn environment(&self) -> BTreeMap<String, OsString> {
        let outer = |name: &str| std::env::var(name).ok();
        let of_spec = self.kernel.spec.environment(outer).into_iter();
        let mut environment: BTreeMap<String, OsString> =
            of_spec.map(|(name, value)| (name, value.into())).collect();
        if let Some(python) = &self.kernel.python
            && let Some(programs) = python.program.parent()
        {
            let path = std::env::var_os("PATH").unwrap_or_default();
            let folders = std::iter::once(programs.to_owned()).chain(std::env::split_paths(&path));
            if let Ok(path) = std::env::join_paths(folders) {
                environment.insert("PATH".into(), path);
            }
            if python.prefix.join("pyvenv.cfg").is_file() {
                environment.insert("VIRTUAL_ENV".into(), python.prefix.clone().into());
            }
        }
        environment.extend(self.environment.iter().map(|(name, value)| (name.clone(), value.into())));
        environment
    }
}

/// The last lines of what a program said.
fn last_lines(words: &str) -> String {
    const SHOWN: usize = 8;
    let lines: Vec<&str> = words.lines().filter(|line| !line.trim().is_empty()).collect();
    if lines.is_empty() { "nothing".into() } else { lines[lines.len().saturating_sub(SHOWN)..].join("\n") }
}

fn cause(exit: Exit) -> DeathCause {
    match exit {
        Exit { signal: Some(signal), .. } => DeathCause::Signal(signal),
        Exit { code: Some(code), .. } => DeathCause::ExitCode(code),
        Exit { .. } => DeathCause::NotReported,
    }
}

/// The cause of a child's death, once it has died.
fn death_of(child: &Child) -> watch::Receiver<Option<DeathCause>> {
    let mut exit = child.exit();
    let (sender, receiver) = watch::channel(None);
    let watched = async move {
        let exit = exit.wait_for(Option::is_some).await.ok().and_then(|exit| *exit);
        if let Some(peak) = exit.and_then(|exit| exit.peak_memory) {
            tracing::info!(peak_memory = peak, "a kernel has ended");
        }
        sender.send_replace(exit.map(cause));
    };
    tokio::spawn(watched.in_current_span());
    receiver
}

/// Makes the folder for run folders, for its owner only.
pub(super) fn make_private(folder: &Path) -> Result<(), SandboxError> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(|error| SandboxError::Failed(format!("{}: {error}", folder.display())))
}
