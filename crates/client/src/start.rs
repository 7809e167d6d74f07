//! Starting an owner that outlives its starter.

use std::{
    fs::File,
    path::Path,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
};

use crate::{ClientError, Place, Wire};

/// The line that a detached owner prints once it listens. Its standard output is a pipe to its starter until then, so
/// that a starter neither polls nor waits for an owner that died.
pub const READY: &str = "ready";

/// The longest a start may take. A first start makes the store's files; a machine under load is slow at it.
const LONGEST: Duration = Duration::from_mins(1);

/// How much of the log is quoted when an owner did not start, in bytes.
const LAST_WORDS: usize = 2_000;

/// Starts `program serve --detached`, unless somebody else was quicker, and returns once an owner listens.
pub(crate) async fn start(place: &Place, program: &Path) -> Result<(), ClientError> {
    let _starting = starting_lock(place).await?;
    match Wire::connect(place).await {
        Err(ClientError::NobodyListens) => {}
        Ok(_) => return Ok(()),
        Err(error) => return Err(error),
    }
    let mut child = spawn(place, program)?;
    match tokio::time::timeout(LONGEST, until_ready(&mut child)).await {
        Ok(Ok(None)) => Ok(()),
        // An owner that somebody started by hand in the same moment holds the place: then that one is there.
        Ok(Ok(Some(status))) => match Wire::connect(place).await {
            Ok(_) => Ok(()),
            Err(_) => {
                Err(ClientError::NotStarted(format!("it ended ({status}). {}", last_words(place.log()))))
            }
        },
        Ok(Err(error)) => Err(ClientError::NotStarted(error.to_string())),
        Err(_) => {
            let _ = child.start_kill();
            let seconds = LONGEST.as_secs();
            Err(ClientError::NotStarted(format!("it was not ready after {seconds} s and was stopped.")))
        }
    }
}

fn spawn(place: &Place, program: &Path) -> Result<Child, ClientError> {
    let failed = |error| ClientError::Place { what: place.log().display().to_string(), error };
    if let Some(folder) = place.log().parent() {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    let log = File::options().create(true).append(true).open(place.log()).map_err(failed)?;
    let mut command = Command::new(program);
    command
        .args(["serve", "--detached"])
        .current_dir(root())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log)
        .kill_on_drop(false);
    #[cfg(windows)]
    {
        const DETACHED_PROCESS: u32 = 0x8;
        const CREATE_NEW_PROCESS_GROUP: u32 = 0x200;
        command.creation_flags(DETACHED_PROCESS | CREATE_NEW_PROCESS_GROUP);
    }
    command.spawn().map_err(|error| ClientError::NotStarted(format!("{}: {error}", program.display())))
}

/// A folder that is never unmounted under the owner's feet.
fn root() -> &'static Path {
    Path::new(if cfg!(windows) { "C:\\" } else { "/" })
}

/// Nothing once it listens, or how it ended instead.
async fn until_ready(child: &mut Child) -> std::io::Result<Option<ExitStatus>> {
    let mut line = String::new();
    if let Some(output) = child.stdout.take() {
        BufReader::new(output).read_line(&mut line).await?;
    }
    if line.trim_end() == READY { Ok(None) } else { child.wait().await.map(Some) }
}

fn last_words(log: &Path) -> String {
    let text = std::fs::read(log).unwrap_or_default();
    let start = text.len().saturating_sub(LAST_WORDS);
    String::from_utf8_lossy(&text[start..]).trim().to_owned()
}

/// Waits until nobody else starts an owner here. The lock goes with the file.
async fn starting_lock(place: &Place) -> Result<File, ClientError> {
    let path = place.starting();
    let folder = place.folder().to_owned();
    let what = path.display().to_string();
    let locked = tokio::task::spawn_blocking(move || {
        crate::endpoint::make_private_folder(&folder)?;
        let file = File::options().create(true).truncate(false).write(true).open(path)?;
        file.lock()?;
        Ok(file)
    });
    locked
        .await
        .unwrap_or_else(|error| Err(std::io::Error::other(error)))
        .map_err(|error| ClientError::Place { what, error })
}
