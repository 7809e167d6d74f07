//! `sandbook open`: hands a notebook to the window, which is started where none is open.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
};

use sandbook_client::{ClientError, Owner};
use sandbook_protocol::{ClientKind, Command, ErrorCode};

use crate::{Ended, error::CommandError, home};

/// The window's program, beside this one or on the search path.
const WINDOW: &str = "sandbook-window";

pub(crate) async fn open(file: &Path) -> Ended {
    let path = home::existing(file)?;
    let place = home::place(&home::folders()?);
    match Owner::connect(&place, ClientKind::CommandLine).await {
        Ok((owner, pushes)) => {
            drop(pushes);
            match owner.request(Command::RequestOpen { path: path.clone() }).await {
                Ok(_) => return Ok(0),
                // Nobody is there to show it.
                Err(ClientError::Answer(error)) if error.code == ErrorCode::NotFound => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(ClientError::NobodyListens) => {}
        Err(error) => return Err(error.into()),
    }
    start_window(&path)
}

fn start_window(path: &str) -> Ended {
    let beside = home::this_program()?.with_file_name(format!("{WINDOW}{}", std::env::consts::EXE_SUFFIX));
    let program = if beside.is_file() { beside } else { PathBuf::from(WINDOW) };
    let started = std::process::Command::new(&program)
        .arg(path)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    match started {
        Ok(_) => Ok(0),
        Err(error) => Err(CommandError::infrastructure(
            "unsupported",
            format!("The window cannot be started: {}: {error}.", program.display()),
            "Install the window, or run `sandbook web FILE` and use a browser.",
        )),
    }
}
