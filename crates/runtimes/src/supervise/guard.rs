//! A guard over processes that something else started, which therefore cannot be a supervisor's child: a library that
//! insists on the standard streams of its own workers, as Monty's does.
//!
//! [`run`] is a process of its own, `sandbook supervise --guard`. Lines on its standard input name process ids: `+17`
//! puts one under guard, `-17` lets it go. When the pipe closes, because its owner ended, crashed or was killed, what is
//! still under guard is killed. A line is in the pipe before what it is about begins, so no moment is unguarded.
//! [`Guard`] is the owner's side.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    fmt,
    io::BufRead,
    process::{ExitCode, Stdio},
};

use tokio::{
    io::AsyncWriteExt,
    process::{ChildStdin, Command},
    sync::{mpsc, oneshot},
};

use super::{keys::without_keys, platform};
use crate::StartError;

/// The word that makes a supervisor a guard.
pub(super) const GUARD: &str = "--guard";

/// Reads lines until the pipe closes, then kills what is under guard.
pub(super) fn run(lines: impl BufRead) -> ExitCode {
    let mut guarded = BTreeSet::new();
    for line in lines.lines() {
        let Ok(line) = line else { break };
        match line.split_at_checked(1).map(|(sign, pid)| (sign, pid.trim().parse::<u32>())) {
            Some(("+", Ok(pid))) => drop(guarded.insert(pid)),
            Some(("-", Ok(pid))) => drop(guarded.remove(&pid)),
            _ => {}
        }
    }
    for pid in guarded {
        platform::kill_process(pid);
    }
    ExitCode::SUCCESS
}

/// What the task that writes to a guard is told; as text, a line of its pipe.
#[derive(Debug)]
enum Word {
    Take(u32, oneshot::Sender<()>),
    Release(u32),
}

/// A guard that runs. It ends when this and all its [`Guarded`] are dropped.
#[derive(Debug, Clone)]
pub struct Guard {
    words: mpsc::UnboundedSender<Word>,
}

/// A process under guard, until this is dropped.
#[derive(Debug)]
pub struct Guarded {
    pid: u32,
    words: mpsc::UnboundedSender<Word>,
}

impl fmt::Display for Word {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Take(pid, _) => write!(formatter, "+{pid}"),
            Self::Release(pid) => write!(formatter, "-{pid}"),
        }
    }
}

impl Guard {
    /// Starts one; `supervisor` is as in [`Launch`](super::Launch). Needs a tokio runtime.
    ///
    /// # Errors
    /// Where the supervisor cannot be started.
    pub fn start(supervisor: &[OsString]) -> Result<Self, StartError> {
        let (program, first) = supervisor.split_first().ok_or(StartError::Empty)?;
        let mut command = std::process::Command::new(program);
        command.args(first).arg(GUARD).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        without_keys(&mut command);
        // A terminal's interrupt is for the owner only.
        platform::own_group(&mut command);
        let started = Command::from(command).spawn();
        let mut process = started.map_err(|source| StartError::Spawn {
            program: program.to_string_lossy().into_owned(),
            source,
        })?;
        let (words, told) = mpsc::unbounded_channel();
        if let Some(pipe) = process.stdin.take() {
            tokio::spawn(async move {
                pass_on(told, pipe).await;
                drop(process.wait().await);
            });
        }
        Ok(Self { words })
    }

    /// Puts a process under guard. Comes back when nothing can happen any more that would leave it running.
    ///
    /// # Errors
    /// Where the guard is gone.
    pub async fn take(&self, pid: u32) -> Result<Guarded, StartError> {
        let (done, taken) = oneshot::channel();
        let told = self.words.send(Word::Take(pid, done));
        told.map_err(|_| StartError::SupervisorEnded)?;
        taken.await.map_err(|_| StartError::SupervisorEnded)?;
        Ok(Guarded { pid, words: self.words.clone() })
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // a guard that is gone guards nothing anyway
        drop(self.words.send(Word::Release(self.pid)));
    }
}

async fn pass_on(mut told: mpsc::UnboundedReceiver<Word>, mut pipe: ChildStdin) {
    while let Some(word) = told.recv().await {
        let line = format!("{word}\n");
        if let Err(error) = pipe.write_all(line.as_bytes()).await {
            tracing::warn!(%error, "a guard over processes is gone");
            return;
        }
        if let Word::Take(_, done) = word {
            // who does not wait any more does not want to know
            let _ = done.send(());
        }
    }
}
