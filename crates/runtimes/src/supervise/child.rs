//! The owner's side: one child, supervised or started directly, killed with its group when dropped.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::PathBuf,
    process::Stdio,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader},
    process::{ChildStdin, Command},
    sync::{oneshot, watch},
};

use super::{Report, SURVIVE, keys::without_keys, platform};
use crate::StartError;

/// How much of what a child wrote is kept for error messages, in bytes.
const LAST_WORDS: usize = 16 * 1024;

/// How a child ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    /// Its exit code.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// The most memory that it held, in bytes. Known only of supervised children.
    pub peak_memory: Option<u64>,
}

/// What to start.
#[derive(Debug, Clone, Default)]
pub struct Launch {
    /// Program and arguments. Never a secret: others can read them.
    pub words: Vec<OsString>,
    /// Where.
    pub working_directory: Option<PathBuf>,
    /// Added to our own environment.
    pub environment: BTreeMap<String, OsString>,
    /// Removed from our own environment, besides keys of accounts elsewhere.
    pub without: Vec<String>,
    /// Program and first arguments of a supervisor that takes `-- PROGRAM ARGUMENTS…`; without one the child is started
    /// directly, and is then not killed when this process crashes.
    pub supervisor: Option<Vec<OsString>>,
}

/// A running child. Dropping it kills its group.
#[derive(Debug)]
pub struct Child {
    pid: u32,
    exit: watch::Receiver<Option<Exit>>,
    words: Arc<Mutex<Vec<u8>>>,
    /// The supervisor's pipe: closing it kills the child.
    pipe: Option<ChildStdin>,
    survives: bool,
}

impl Child {
    /// Starts a child.
    pub async fn start(launch: Launch) -> Result<Self, StartError> {
        let program = launch.words.first().ok_or(StartError::Empty)?.to_string_lossy().into_owned();
        let spawn_error = |source| StartError::Spawn { program: program.clone(), source };
        let supervised = launch.supervisor.is_some();
        let mut words = launch
            .supervisor
            .into_iter()
            .flatten()
            .chain(supervised.then(|| "--".into()))
            .chain(launch.words);
        let mut command = std::process::Command::new(words.next().ok_or(StartError::Empty)?);
        command.args(words).envs(&launch.environment).stdout(Stdio::piped()).stderr(Stdio::piped());
        for name in &launch.without {
            command.env_remove(name);
        }
        without_keys(&mut command);
        if let Some(folder) = &launch.working_directory {
            command.current_dir(folder);
        }
        if supervised {
            command.stdin(Stdio::piped());
        } else {
            command.stdin(Stdio::null());
            platform::name_parent(&mut command);
        }
        // The supervisor too: a terminal's interrupt is for the owner only.
        platform::own_group(&mut command);
        let mut process = Command::from(command).spawn().map_err(spawn_error)?;
        let own_pid = process.id().unwrap_or_default();
        let last = Arc::new(Mutex::new(Vec::new()));
        if let Some(stderr) = process.stderr.take() {
            tokio::spawn(keep_last_words(stderr, last.clone()));
        }
        let pipe = process.stdin.take();
        let stdout = process.stdout.take();
        let (exit_to, exit) = watch::channel(None);
        if !supervised {
            if let Some(stdout) = stdout {
                tokio::spawn(keep_last_words(stdout, last.clone()));
            }
            tokio::spawn(async move {
                let status = process.wait().await;
                exit_to.send_replace(Some(
                    status.map_or_else(|_| Exit::default(), |status| platform::exit(status, None)),
                ));
            });
            return Ok(Self { pid: own_pid, exit, words: last, pipe: None, survives: false });
        }
        let (started_to, started) = oneshot::channel();
        tokio::spawn(async move {
            let exit = match stdout {
                Some(stdout) => read_reports(stdout, started_to).await,
                None => None,
            };
            drop(process.wait().await);
            exit_to.send_replace(Some(exit.unwrap_or_default()));
        });
        match started.await {
            Ok(Ok(pid)) => Ok(Self { pid, exit, words: last, pipe, survives: false }),
            Ok(Err(reason)) => Err(spawn_error(std::io::Error::other(reason))),
            Err(_) => Err(StartError::SupervisorEnded),
        }
    }

    /// Its process id, which is also its group's.
    pub const fn pid(&self) -> u32 {
        self.pid
    }

    /// Becomes `Some` when it has ended.
    pub fn exit(&self) -> watch::Receiver<Option<Exit>> {
        self.exit.clone()
    }

    /// Waits for its end.
    pub async fn wait(&self) -> Exit {
        let mut exit = self.exit.clone();
        exit.wait_for(Option::is_some).await.ok().and_then(|exit| *exit).unwrap_or_default()
    }

    /// Waits for its end for so long at most.
    pub async fn wait_for(&self, patience: Duration) -> Option<Exit> {
        tokio::time::timeout(patience, self.wait()).await.ok()
    }

    /// The end of what it wrote to its two streams.
    pub fn last_words(&self) -> String {
        let words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&words).trim().to_owned()
    }

    /// Sends SIGINT to its group. `false` where that is not possible.
    pub fn interrupt(&self) -> bool {
        self.runs() && platform::interrupt_group(self.pid)
    }

    /// Asks its group to end, with SIGTERM.
    pub fn ask_to_end(&self) {
        if self.runs() {
            platform::ask_group_to_end(self.pid);
        }
    }

    /// Kills its group.
    pub fn kill(&self) {
        if self.runs() {
            platform::kill_group(self.pid);
        }
    }

    /// Lets it live on after this process. A child without a supervisor simply is not killed any more.
    pub async fn let_survive(&mut self) {
        self.survives = true;
        if let Some(mut pipe) = self.pipe.take() {
            let told = pipe.write_all(format!("{SURVIVE}\n").as_bytes()).await;
            if told.and(pipe.flush().await).is_err() {
                tracing::warn!(
                    pid = self.pid,
                    "the supervisor did not take the word to let its child survive"
                );
            }
        }
    }

    fn runs(&self) -> bool {
        self.exit.borrow().is_none()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if !self.survives {
            self.kill();
        }
    }
}

async fn read_reports(
    stdout: impl AsyncRead + Unpin,
    started: oneshot::Sender<Result<u32, String>>,
) -> Option<Exit> {
    let mut lines = BufReader::new(stdout).lines();
    let mut started = Some(started);
    while let Ok(Some(line)) = lines.next_line().await {
        let tell = |started: &mut Option<oneshot::Sender<_>>, word| {
            if let Some(started) = started.take() {
                drop(started.send(word));
            }
        };
        match serde_json::from_str(&line) {
            Ok(Report::Started { pid }) => tell(&mut started, Ok(pid)),
            Ok(Report::Failed { reason }) => tell(&mut started, Err(reason)),
            Ok(Report::Ended(exit)) => return Some(exit),
            Err(_) => tracing::debug!("a supervisor said something else than a report"),
        }
    }
    None
}

async fn keep_last_words(mut source: impl AsyncRead + Unpin, kept: Arc<Mutex<Vec<u8>>>) {
    let mut buffer = vec![0; 4096];
    while let Ok(n @ 1..) = source.read(&mut buffer).await {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(&buffer[..n]);
        let excess = kept.len().saturating_sub(LAST_WORDS);
        kept.drain(..excess);
    }
}
