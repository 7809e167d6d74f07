//! `sandbook exec`: some code, its output, its exit status.

use std::{
    io::{IsTerminal, Read},
    time::Duration,
};

use sandbook_sandbox::{ExecuteRequest, Outcome};
use sandbook_store::config::{SETTINGS, Settings, SettingsFile};

use crate::{
    Ended,
    arguments::{Exec, limit},
    error::{CommandError, INFRASTRUCTURE},
    events,
    execution::{self, Watch},
    home, logging, output,
    printer::Printer,
    sandbox::Own,
    signals::Signals,
};

/// How long after its interrupt code that ran out of time may go on before its kernel is restarted.
const GRACE: Duration = Duration::from_secs(5);

pub(crate) async fn exec(exec: Exec) -> Ended {
    let json = exec.json;
    match run(exec).await {
        // The last line is an outcome, whatever happened.
        Err(error) if json => {
            let mut line = events::outcome(&Outcome::default(), error.status);
            line["infrastructure_error"] = serde_json::to_value(&error).unwrap_or_default();
            line["interrupted"] = (error.code == "cancelled").into();
            output::line(&line);
            Ok(error.status)
        }
        ended => ended,
    }
}

async fn run(exec: Exec) -> Ended {
    let from_input = exec.file.is_none() && exec.code.as_deref().is_none_or(|code| code == "-");
    if from_input && exec.place.token_stdin {
        return Err(CommandError::usage(
            "bad_setting",
            "Standard input cannot hold both the code and a token.",
            "Read the code from a file with -f, or set SANDBOOK_TOKEN.",
        ));
    }
    let code = source(&exec)?;
    let folders = home::folders()?;
    let _logging = logging::begin(&folders, "command", None);
    let mut signals = Signals::watch()?;
    let folder = std::env::current_dir().map_err(|error| {
        CommandError::usage(
            "file_unreadable",
            format!("The folder cannot be read: {error}."),
            "Change to another one.",
        )
    })?;
    let timeout = match exec.timeout {
        Some(timeout) => limit(timeout),
        None => Settings::of(&SettingsFile::open(&folders.settings_file(), &SETTINGS)?).timeouts.exec,
    };
    let own = Own::start(folders, exec.place, &folder, None, &mut signals).await?;
    let request = ExecuteRequest {
        allow_input: !from_input,
        timeout,
        restart_after: Some(GRACE),
        ..ExecuteRequest::new(code)
    };
    let mut printer = Printer::new();
    let outcome =
        execution::execute(own.sandbox(), request, Watch::once(exec.json), &mut signals, |events| {
            if exec.json {
                events.iter().filter_map(events::line).try_for_each(|line| output::try_line(&line))
            } else {
                printer.print(events)
            }
        })
        .await;
    own.stop().await;
    let outcome = outcome?;
    let status = execution::status(&outcome);
    if exec.json {
        output::line(&events::outcome(&outcome, status));
    } else {
        explain(&outcome, status, timeout.unwrap_or_default());
    }
    Ok(status)
}

/// Says on standard error what a status alone does not tell.
fn explain(outcome: &Outcome, status: u8, timeout: Duration) {
    if let Some(error) = &outcome.infrastructure {
        CommandError::from(error).print(false);
    } else if status == INFRASTRUCTURE {
        eprintln!("error: The run did not come to its end.");
    } else if outcome.timed_out {
        eprintln!("error: The code was interrupted after {} s.", timeout.as_secs_f64());
        eprintln!(
            "hint: What it printed until then is above. Give it more with --timeout, or 0 for no limit."
        );
    }
}

/// The code.
fn source(exec: &Exec) -> Result<String, CommandError> {
    let unreadable = |message: String, hint| CommandError::usage("file_unreadable", message, hint);
    match (&exec.file, exec.code.as_deref()) {
        (Some(file), _) => {
            let code = std::fs::read_to_string(file).map_err(|error| {
                unreadable(format!("{} cannot be read: {error}.", file.display()), "Check the path.")
            })?;
            Ok(without_mark(code))
        }
        (None, Some("-") | None) => {
            if std::io::stdin().is_terminal() {
                eprintln!("Type the code, then Ctrl-D.");
            }
            let mut code = String::new();
            std::io::stdin()
                .read_to_string(&mut code)
                .map_err(|error| unreadable(format!("Standard input cannot be read: {error}."), ""))?;
            Ok(without_mark(code))
        }
        (None, Some(code)) => Ok(code.to_owned()),
    }
}

/// Code without the byte order mark that some editors put before it: Python takes it for a character of the code.
fn without_mark(mut code: String) -> String {
    if code.starts_with('\u{feff}') {
        code.remove(0);
    }
    code
}
