//! The session itself: a text, its run, the next text.

use std::{
    io::{self, Write},
    path::PathBuf,
    pin::pin,
    sync::Arc,
};

use sandbook_sandbox::{
    Capability, CredentialStatus, EventKind, ExecuteRequest, KernelStatus, Payload, Sandbox, Support,
};

use super::lines::{Lines, Typed};
use crate::{
    Ended,
    error::CommandError,
    execution::{self, Watch},
    images::Images,
    input, output,
    printer::Printer,
    signals::{Asked, Signals},
};

const HELP: &str = "\
:exit, :quit, Ctrl-D   end the session, and with it what it started
:restart               a new kernel; variables are lost
:help                  this
Ctrl-C                 interrupt the code, or drop what is typed
Tab                    complete
Enter                  run what is complete; an empty line ends a block
";

/// How often Ctrl-C is passed on to the same code before the session is given up.
const INTERRUPTS: u32 = 2;

/// What comes after a text.
enum Next {
    /// Another one, with this in it already.
    Text(String),
    /// The end, with this status.
    End(u8),
}

/// Talks until the person leaves. What went wrong with code is no error of this.
pub(super) async fn talk(
    sandbox: &Arc<dyn Sandbox>,
    folder: PathBuf,
    memory: PathBuf,
    signals: &mut Signals,
) -> Ended {
    greet(&**sandbox);
    let lines = Lines::start(sandbox.clone(), memory)?;
    let mut printer = Printer::new().saving(Images::into_folder(folder));
    let mut given = String::new();
    loop {
        refresh_credential(&**sandbox, signals).await?;
        let typed = match typed(&lines, std::mem::take(&mut given), signals).await {
            Ok(typed) => typed,
            Err(asked) => return Ok(asked.status()),
        };
        let text = match typed {
            Typed::Text(text) => text,
            Typed::Dropped => continue,
            Typed::Ended => {
                output::text("\n");
                return Ok(0);
            }
            Typed::Failed(why) => {
                let message = format!("The terminal cannot be read: {why}.");
                return Err(CommandError::infrastructure("failed", message, ""));
            }
        };
        match text.trim() {
            "" => {}
            ":exit" | ":quit" => return Ok(0),
            ":help" => output::text(HELP),
            ":restart" => restart(&**sandbox).await,
            code => match run(sandbox, code, &mut printer, signals).await? {
                Next::Text(text) => given = text,
                Next::End(status) => return Ok(status),
            },
        }
    }
}

/// The next text, or what the system asks for meanwhile. Ctrl-C of others is for code that runs, and none does.
async fn typed(lines: &Lines, given: String, signals: &mut Signals) -> Result<Typed, Asked> {
    let mut next = pin!(lines.next(given));
    loop {
        tokio::select! {
            typed = &mut next => return Ok(typed),
            asked = signals.next() => if asked == Asked::ToEnd { return Err(asked) },
        }
    }
}

async fn run(
    sandbox: &Arc<dyn Sandbox>,
    code: &str,
    printer: &mut Printer,
    signals: &mut Signals,
) -> Result<Next, CommandError> {
    let mut given = String::new();
    let watch = Watch { keep_text: false, interrupts: INTERRUPTS };
    let ended = execution::execute(sandbox, ExecuteRequest::new(code), watch, signals, |events| {
        for event in events {
            if let EventKind::Payload(Payload::SetNextInput { text, .. }) = &event.kind {
                given.clone_from(text);
            }
        }
        printer.print(events)
    })
    .await;
    printer.end_line();
    let error = match ended {
        Err(error) if error.code == "cancelled" => return Err(error),
        Err(error) => Some(error),
        Ok(outcome) if outcome.exit_code.is_some() => return Ok(Next::End(execution::status(&outcome))),
        Ok(outcome) => outcome.infrastructure.as_ref().map(CommandError::from),
    };
    let Some(error) = error else { return Ok(Next::Text(given)) };
    error.print(false);
    if matches!(&*sandbox.status().borrow(), KernelStatus::Gone { .. } | KernelStatus::Stopped) {
        return Ok(Next::End(error.status));
    }
    note("`:restart` starts a new kernel; `:exit` ends the session.");
    Ok(Next::Text(String::new()))
}

async fn restart(sandbox: &dyn Sandbox) {
    match sandbox.restart().await {
        Ok(()) => note("the kernel was restarted; its variables are gone."),
        Err(error) => CommandError::from(error).print(false),
    }
}

/// Asks for a fresh credential where the one in use is not taken any more.
async fn refresh_credential(sandbox: &dyn Sandbox, signals: &mut Signals) -> Result<(), CommandError> {
    while *sandbox.credential().borrow() == CredentialStatus::Refused {
        let question =
            "The link or token is not taken any more. A fresh one (not shown; Enter to go on without)";
        let Some(fresh) = input::ask_secret(question, signals).await? else { return Ok(()) };
        match sandbox.renew(fresh).await {
            Ok(()) => return Ok(()),
            Err(error) => CommandError::from(error).print(false),
        }
    }
    Ok(())
}

/// Says where the code runs, and what a person should know of that place.
fn greet(sandbox: &dyn Sandbox) {
    let info = sandbox.info();
    let place = [info.title, info.subtitle];
    let place: Vec<&str> = place.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
    note(&format!("{} · :help lists what can be typed", place.join(" · ")));
    if let Some(Support::No(note_of)) = sandbox.capabilities().get(Capability::Isolation) {
        note(&format!("isolation: {note_of}"));
    }
}

/// A line beside the code's own output. A terminal that is gone reads nothing, and that is no failure.
fn note(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

#[cfg(test)]
mod tests {
    use super::{super::enter::WORDS, HELP};

    #[test]
    fn every_word_is_explained() {
        for word in WORDS {
            assert!(HELP.contains(word), "{word}");
        }
    }
}
