//! `sandbook quit`: ends the owner.

use sandbook_client::{ClientError, Owner, Place};
use sandbook_protocol::{ClientKind, Command, ErrorCode};

use crate::{Ended, error::CommandError, home};

pub(crate) async fn quit(force: bool) -> Ended {
    let place = home::place(&home::folders()?);
    let (owner, mut pushes) = match Owner::connect(&place, ClientKind::CommandLine).await {
        Ok(connected) => connected,
        Err(ClientError::NobodyListens) => {
            println!("Sandbook's owner process does not run.");
            return Ok(0);
        }
        // It speaks another version, but every version ends in order when the system asks.
        Err(ClientError::Refused(error)) if error.code == ErrorCode::VersionMismatch => {
            return platform::ask_to_end(&place);
        }
        Err(error) => return Err(error.into()),
    };
    match owner.request(Command::Quit { force }).await {
        // It may be gone before it has answered.
        Ok(_) | Err(ClientError::Closed) => {}
        Err(error) => return Err(error.into()),
    }
    while pushes.next().await.is_some() {}
    println!("Sandbook's owner process has ended. Notebooks and their journals are kept.");
    Ok(0)
}

#[cfg(unix)]
mod platform {
    use nix::{sys::signal, unistd::Pid};

    use super::{CommandError, Ended, Place};

    pub(super) fn ask_to_end(place: &Place) -> Ended {
        let process = place.owner_process().and_then(|process| i32::try_from(process).ok());
        let asked = process
            .ok_or(nix::Error::ESRCH)
            .and_then(|process| signal::kill(Pid::from_raw(process), signal::Signal::SIGTERM));
        match asked {
            Ok(()) => {
                println!(
                    "The owner process, of another version, was asked to end. Notebooks and their journals are kept."
                );
                Ok(0)
            }
            Err(error) => Err(CommandError::infrastructure(
                "version_mismatch",
                format!("The owner process, of another version, cannot be asked to end: {error}."),
                "End it with the program it was started with.",
            )),
        }
    }
}

#[cfg(not(unix))]
mod platform {
    use super::{CommandError, Ended, Place};

    pub(super) fn ask_to_end(_place: &Place) -> Ended {
        Err(CommandError::infrastructure(
            "version_mismatch",
            "The owner process is of another version.",
            "End it with the program it was started with.",
        ))
    }
}
