//! What runs code in a sandbox: the bridge's program, begun as often as it is wanted.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use sandbook_jupyter::{
    Bridge, SessionId,
    bridge::{Decoder, Heard, Hello, Order, PROGRAM, Reader, Said},
};
use sandbook_sandbox::{DeathCause, SandboxError};
use tokio::sync::{Notify, watch};
use uuid::Uuid;

use super::{
    command::{Command, Input},
    remote::Remote,
};
use crate::{driven::DRIVER, jupyter::host::Connected};

/// How long the first word may take: an image that was never used before is fetched meanwhile.
const START_PATIENCE: Duration = Duration::from_mins(3);
/// How long the answer of a program that runs may take.
const ANSWER_PATIENCE: Duration = Duration::from_secs(30);

/// Where the program is begun, and how.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) remote: Arc<Remote>,
    pub(super) python: String,
    pub(super) folder: Option<String>,
    pub(super) environment: BTreeMap<String, String>,
    /// After so many idle seconds it ends by itself.
    pub(super) idle: Option<u64>,
    pub(super) plain: bool,
}

/// A program that runs.
pub(super) struct Running {
    pub(super) command: Arc<Command>,
    pub(super) input: Input,
    pub(super) retry: Arc<Notify>,
    pub(super) reader: Reader,
}

impl Place {
    /// Begins the program and waits for its first word.
    pub(super) async fn begin(&self) -> Result<(Running, Hello), SandboxError> {
        let words = [self.python.as_str(), "-u", "-c", PROGRAM].map(str::to_owned).to_vec();
        let environment = self.environment.iter().map(|(name, value)| (name.clone(), value.clone()));
        let command = Command::start(self.remote.clone(), words, environment).await?;
        let input = command.input(0);
        let order = Order::Begin {
            folder: self.folder.as_deref(),
            idle: self.idle,
            driver: DRIVER,
            plain: self.plain,
        };
        drop(input.send(order.line()));
        let retry = Arc::<Notify>::default();
        let reader = Reader::new(command.output(0, retry.clone()), Decoder::at_the_beginning());
        let mut running = Running { command, input, retry, reader };
        let hello = tokio::time::timeout(START_PATIENCE, running.hello()).await;
        let hello = hello.unwrap_or_else(|_| {
            Err(SandboxError::TimedOut {
                what: "the start of Python in the sandbox".into(),
                limit: START_PATIENCE,
            })
        })?;
        Ok((running, hello))
    }

    /// Joins a program that runs, `read` bytes into its output. Whether it runs somebody's code.
    pub(super) async fn join(&self, command: String, read: u64) -> Result<(Running, bool), SandboxError> {
        let command = Command::known(self.remote.clone(), command);
        let input = command.input(command.input_taken().await?);
        let retry = Arc::<Notify>::default();
        let reader = Reader::new(command.output(read, retry.clone()), Decoder::at(read));
        let mut running = Running { command, input, retry, reader };
        // whoever was here before may have died in the middle of a line
        drop(running.input.send(Bytes::from_static(b"\n")));
        let caught_up = tokio::time::timeout(ANSWER_PATIENCE, running.catch_up()).await;
        let busy = caught_up.unwrap_or_else(|_| {
            Err(SandboxError::TimedOut {
                what: "an answer out of the sandbox".into(),
                limit: ANSWER_PATIENCE,
            })
        })?;
        Ok((running, busy))
    }
}

impl Running {
    async fn hello(&mut self) -> Result<Hello, SandboxError> {
        let failed =
            |detail: String| SandboxError::StartFailed { what: "Python in the sandbox".into(), detail };
        loop {
            match self.reader.next().await {
                Heard::Said(Said::Hello(hello)) => return Ok(hello),
                Heard::Said(Said::Failed(reason)) => return Err(failed(reason)),
                Heard::Said(Said::Missing(folder)) => return Err(SandboxError::FolderMissing { folder }),
                Heard::Said(_) | Heard::Link(_) => {}
                Heard::End(end) => {
                    let said = self.command.last_words().await;
                    let said = if said.is_empty() { end.to_string() } else { said };
                    return Err(failed(said));
                }
            }
        }
    }

    /// Reads what was said before, which nobody waits for any more. Whether code runs.
    async fn catch_up(&mut self) -> Result<bool, SandboxError> {
        let mark = Uuid::new_v4().simple().to_string();
        drop(self.input.send(Order::Ping(&mark).line()));
        loop {
            match self.reader.next().await {
                Heard::Said(Said::Pong { id, busy }) if id == mark => return Ok(busy),
                Heard::Said(Said::Died { .. } | Said::Idle(_)) | Heard::End(_) => {
                    return Err(SandboxError::Gone { what: "the kernel in the sandbox".into() });
                }
                Heard::Said(_) | Heard::Link(_) => {}
            }
        }
    }

    /// Begins to carry the kernel's messages.
    pub(super) fn connect(self) -> (Kernel, Connected) {
        let Self { command, input, retry, reader } = self;
        let (told, death) = watch::channel(None);
        let read = Arc::new(AtomicU64::new(reader.position()));
        let listener = {
            let (command, read) = (command.clone(), read.clone());
            Box::new(move |said: &Said, place| {
                read.store(place, Ordering::Relaxed);
                match said {
                    Said::Died { code, signal } => {
                        told.send_replace(Some(cause(*code, *signal)));
                    }
                    Said::Idle(seconds) => command.end_idle_sandbox(*seconds),
                    _ => {}
                }
            })
        };
        let bridge = Bridge::new(SessionId::random(), reader, input.clone(), listener);
        let address = command.remote.control.address().to_owned();
        let connected = Connected::over(bridge, "bridge", &address);
        let connected = Connected { retry: Some(retry), death: Some(death), ..connected };
        (Kernel { command, input, read }, connected)
    }
}

/// The hand on a program whose kernel is connected.
#[derive(Clone)]
pub(super) struct Kernel {
    pub(super) command: Arc<Command>,
    pub(super) input: Input,
    /// How much of its output has been read.
    pub(super) read: Arc<AtomicU64>,
}

impl Command {
    /// Nobody used it: the sandbox costs money for nothing.
    pub(super) fn end_idle_sandbox(self: &Arc<Self>, seconds: u64) {
        self.ends_because(format!("it was ended, because nobody used it for {}", duration(seconds)));
        let command = self.clone();
        tokio::spawn(async move {
            if let Err(error) = command.remote.terminate().await {
                tracing::warn!(%error, "an idle sandbox could not be ended; Modal ends it by itself");
            }
        });
    }
}

pub(super) fn cause(code: Option<i32>, signal: Option<i32>) -> DeathCause {
    match (code, signal) {
        (_, Some(signal)) => DeathCause::Signal(signal),
        (Some(code), None) => DeathCause::ExitCode(code),
        (None, None) => DeathCause::NotReported,
    }
}

fn duration(seconds: u64) -> String {
    if seconds >= 120 { format!("{} minutes", seconds / 60) } else { format!("{seconds} seconds") }
}
