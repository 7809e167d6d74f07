//! `sandbook attend`: waits beside a command, and ends what it made if it is killed. See [`crate::attendant`].

use std::io::BufRead;

use jiff::Timestamp;
use sandbook_runtimes::Runtimes;
use sandbook_sandbox::SandboxError;
use sandbook_store::{
    config::{SETTINGS, Settings, SettingsFile},
    hold,
    records::{Records, SandboxState},
    sync::Synchroniser,
};
use sandbook_workbench::own;

use crate::{
    Ended,
    attendant::{Charge, DONE},
    error::CommandError,
    home, logging,
};

pub(crate) async fn attend() -> Ended {
    let waited = tokio::task::spawn_blocking(|| wait(std::io::stdin().lock())).await;
    let Ok(Some(charge)) = waited else { return Ok(0) };
    let folders = home::folders()?;
    let _logging = logging::begin(&folders, "command", None);
    let records = Records::open(&folders.records_file(), &Synchroniser::start()?)?;
    let Some(record) = records.sandbox(&charge.id)?.filter(|record| record.state != SandboxState::Ended)
    else {
        return Ok(0);
    };
    let surrounding = own::surrounding(&folders, Some(home::this_program()?));
    let runtime = Runtimes::new(&surrounding).get(&charge.runtime).ok_or_else(|| {
        CommandError::infrastructure("unsupported", "This Sandbook does not know the runtime.", "")
    })?;
    let grace = Settings::of(&SettingsFile::open(&folders.settings_file(), &SETTINGS)?).stop_grace;
    let credential = charge.credential.map(Into::into);
    let ended = own::end_left_behind(&*runtime, charge.settings, credential, &record, grace).await;
    match ended {
        Ok(()) | Err(SandboxError::Gone { .. }) => {
            tracing::info!(sandbox = record.id, "what a killed command left behind was ended");
            records.set_sandbox_state(&record.id, SandboxState::Ended, Timestamp::now())?;
            hold::forget_left(&folders, &record.id);
            Ok(0)
        }
        Err(error) => {
            // The record stays as it is, for the owner's next start.
            tracing::warn!(%error, sandbox = record.id, "what a killed command left behind could not be ended");
            Err(error.into())
        }
    }
}

/// The last thing that was to be made, where the pipe closed before all was well.
fn wait(lines: impl BufRead) -> Option<Charge> {
    let mut charge = None;
    for line in lines.lines().map_while(Result::ok) {
        if line == DONE {
            return None;
        }
        charge = serde_json::from_str(&line).ok().or(charge);
    }
    charge
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHARGE: &str = r#"{"id":"a","runtime":"docker","settings":{},"credential":null}"#;

    #[test]
    fn only_a_pipe_that_closes_without_the_word_leaves_something_to_do() {
        for (lines, expected) in [
            (String::new(), None),
            (format!("{CHARGE}\n"), Some("a")),
            (format!("{CHARGE}\n{}\n", CHARGE.replace("\"a\"", "\"b\"")), Some("b")),
            (format!("{CHARGE}\nnot a charge\n"), Some("a")),
            (format!("{CHARGE}\n{DONE}\n"), None),
        ] {
            assert_eq!(wait(lines.as_bytes()).map(|charge| charge.id).as_deref(), expected);
        }
    }
}
