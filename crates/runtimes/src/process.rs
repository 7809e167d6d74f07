//! A process of this computer that a sandbox keeps: its private folder, its environment, its end and the cause of it.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    future::Future,
    path::{Path, PathBuf},
    time::Duration,
};

use sandbook_sandbox::{DeathCause, SandboxError, StopReport};
use tokio::sync::watch;
use tracing::Instrument as _;
use uuid::Uuid;

use crate::{
    python::Interpreter,
    supervise::{Child, Exit},
};

/// Unix sockets have paths of at most 107 bytes (103 on macOS); ours end with `/k-1` or less.
pub(crate) const LONGEST_RUN_FOLDER: usize = 96;
/// How often code is interrupted that keeps a process from ending.
const INTERRUPT_EVERY: Duration = Duration::from_millis(300);

/// A folder with a process's sockets and files, for its owner only; removed on drop unless the process survives.
pub(crate) struct RunFolder {
    path: PathBuf,
    pub(crate) keep: bool,
}

impl RunFolder {
    pub(crate) fn make(parent: &Path) -> std::io::Result<Self> {
        let id = Uuid::new_v4().simple().to_string();
        let path = parent.join(id.get(..8).unwrap_or(&id));
        private_folders().create(&path)?;
        Ok(Self { path, keep: false })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        if !self.keep {
            drop(fs::remove_dir_all(&self.path));
        }
    }
}

/// Makes the folder for run folders, for its owner only.
pub(crate) fn make_private(folder: &Path) -> Result<(), SandboxError> {
    private_folders()
        .create(folder)
        .map_err(|error| SandboxError::Failed(format!("{}: {error}", folder.display())))
}

fn private_folders() -> fs::DirBuilder {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// The environment of an interpreter's process, as if the interpreter's environment were activated: its programs come
/// first on the `PATH`.
pub(crate) fn activated(python: &Interpreter) -> BTreeMap<String, OsString> {
    let mut environment = BTreeMap::new();
    let Some(programs) = python.program.parent() else { return environment };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(programs.to_owned()).chain(std::env::split_paths(&path));
    if let Ok(path) = std::env::join_paths(folders) {
        environment.insert("PATH".into(), path);
    }
    if python.prefix.join("pyvenv.cfg").is_file() {
        environment.insert("VIRTUAL_ENV".into(), python.prefix.clone().into());
    }
    environment
}

/// Ends a child: interrupts what it runs, asks it by `ask`, waits for the grace time, kills, and says which it was.
pub(crate) async fn end(
    child: &Child,
    busy: bool,
    ask: impl Future<Output = ()>,
    grace: Duration,
) -> StopReport {
    if child.wait_for(Duration::ZERO).await.is_some() {
        return StopReport::WasGone;
    }
    if busy {
        child.interrupt();
    }
    let asked = async {
        let ended = async {
            ask.await;
            child.wait().await
        };
        // it ends itself only between two pieces of code
        let interrupt_code = async {
            loop {
                tokio::time::sleep(INTERRUPT_EVERY).await;
                child.interrupt();
            }
        };
        tokio::select! {
            exit = ended => exit,
            exit = interrupt_code => exit,
        }
    };
    if tokio::time::timeout(grace, asked).await.is_ok() {
        // what it started goes with it
        child.kill();
        return StopReport::Ended;
    }
    child.kill();
    child.wait().await;
    StopReport::Killed
}

/// Why a process ended at once, in words.
pub(crate) async fn ended_at_once(child: &Child, exit: Exit) -> String {
    // what it wrote last is read in another task
    tokio::time::sleep(Duration::from_millis(50)).await;
    format!("it ended at once ({}). It said: {}", cause(exit), last_lines(&child.last_words()))
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
pub(crate) fn death_of(child: &Child) -> watch::Receiver<Option<DeathCause>> {
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
