//! Starting the driver: its folder, its FIFOs, its process, its first word.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use futures::StreamExt as _;
use nix::{sys::stat::Mode, unistd::mkfifo};
use sandbook_sandbox::{BoxFuture, Capabilities, SandboxError, StopReport};
use tokio::net::{
    UnixListener,
    unix::{OwnedReadHalf, OwnedWriteHalf, pipe},
};
use tokio_util::sync::CancellationToken;

use super::{
    follow::follow,
    wire::{self, Frames},
};
use crate::{
    driven::{DRIVER, Engine, First, Hello, Launched, Order, Orders, Running},
    process::{self, LONGEST_RUN_FOLDER, RunFolder},
    python::Interpreter,
    supervise::{Child, Launch},
};

const START_PATIENCE: Duration = Duration::from_mins(1);

/// How to start the driver, again and again.
pub(super) struct Plan {
    pub(super) python: Interpreter,
    pub(super) working_directory: Option<PathBuf>,
    pub(super) environment: BTreeMap<String, String>,
    /// Where run folders are made; 0700.
    pub(super) run_folder: PathBuf,
    pub(super) supervisor: Option<Vec<OsString>>,
}

/// Its process and its folder; both go when dropped.
struct Process {
    child: Child,
    _folder: RunFolder,
}

impl Running for Process {
    fn interrupt(&self) {
        self.child.interrupt();
    }

    fn end<'a>(&'a self, busy: bool, orders: &'a Orders, grace: Duration) -> BoxFuture<'a, StopReport> {
        let quit = async { drop(orders.send(Order::Quit {})) };
        Box::pin(process::end(&self.child, busy, quit, grace))
    }
}

/// The ways in and out of it.
pub(super) struct Doors {
    pub(super) frames: Frames<OwnedReadHalf>,
    pub(super) orders: OwnedWriteHalf,
    pub(super) stdout: pipe::Receiver,
    pub(super) stderr: pipe::Receiver,
}

impl Engine for Plan {
    fn capabilities(&self) -> Capabilities {
        super::capabilities()
    }

    fn launch<'a>(&'a self, cancel: &'a CancellationToken) -> BoxFuture<'a, Result<Launched, SandboxError>> {
        Box::pin(self.start(cancel))
    }
}

impl Plan {
    /// Starts it and waits for its first word.
    async fn start(&self, cancel: &CancellationToken) -> Result<Launched, SandboxError> {
        let failed = |detail: String| SandboxError::StartFailed { what: self.python.label(), detail };
        let (folder, door) = make(&self.run_folder)
            .map_err(|error| failed(format!("{}: {error}", self.run_folder.display())))?;
        let launch = self.launch_of(folder.path());
        let child = Child::start(launch).await.map_err(|error| failed(error.to_string()))?;
        let (doors, hello) = tokio::select! {
            opened = door.open() => opened.map_err(|error| failed(error.to_string()))?,
            () = tokio::time::sleep(START_PATIENCE) => {
                let what = format!("the start of {}", self.python.label());
                return Err(SandboxError::TimedOut { what, limit: START_PATIENCE });
            }
            exit = child.wait() => return Err(failed(process::ended_at_once(&child, exit).await)),
            () = cancel.cancelled() => return Err(SandboxError::Cancelled),
        };
        let death = process::death_of(&child);
        let told = death.clone();
        Ok(Launched {
            running: Box::new(Process { child, _folder: folder }),
            info: hello.info(),
            death,
            carry: Box::new(move |ears, orders| follow(doors, told, ears, orders)),
        })
    }

    fn launch_of(&self, folder: &Path) -> Launch {
        let mut words: Vec<OsString> = vec![self.python.program.clone().into()];
        words.extend([PROGRAM, SOCKET, STDOUT, STDERR].map(|name| folder.join(name).into()));
        let mut environment = process::activated(&self.python);
        environment.extend(self.environment.iter().map(|(name, value)| (name.clone(), value.into())));
        Launch {
            words,
            working_directory: self.working_directory.clone(),
            environment,
            without: Vec::new(),
            supervisor: self.supervisor.clone(),
        }
    }
}

const PROGRAM: &str = "driver.py";
const SOCKET: &str = "socket";
const STDOUT: &str = "stdout";
const STDERR: &str = "stderr";

/// What the driver comes in by.
struct Door {
    listener: UnixListener,
    stdout: pipe::Receiver,
    stderr: pipe::Receiver,
}

/// Makes a run folder with everything in it that the driver needs.
fn make(parent: &Path) -> std::io::Result<(RunFolder, Door)> {
    let folder = RunFolder::make(parent)?;
    if folder.path().as_os_str().len() > LONGEST_RUN_FOLDER {
        return Err(std::io::Error::other("this path is too long for a socket"));
    }
    let at = |name: &str| folder.path().join(name);
    fs::write(at(PROGRAM), DRIVER)?;
    let listener = UnixListener::bind(at(SOCKET))?;
    // The driver can open them only when somebody reads.
    let fifo = |name: &str| {
        mkfifo(&at(name), Mode::S_IRUSR | Mode::S_IWUSR)?;
        pipe::OpenOptions::new().open_receiver(at(name))
    };
    let (stdout, stderr) = (fifo(STDOUT)?, fifo(STDERR)?);
    Ok((folder, Door { listener, stdout, stderr }))
}

impl Door {
    /// Waits for the driver and its first word.
    async fn open(self) -> std::io::Result<(Doors, Hello)> {
        let (stream, _) = self.listener.accept().await?;
        let (from, orders) = stream.into_split();
        let mut frames = wire::frames(from);
        let frame = frames.next().await.ok_or(std::io::ErrorKind::UnexpectedEof)??;
        match serde_json::from_slice(&frame)? {
            First::Hello(hello) => {
                Ok((Doors { frames, orders, stdout: self.stdout, stderr: self.stderr }, hello))
            }
        }
    }
}
