//! One execution of a command: its events to whoever watches, Ctrl-C to the kernel, its end to an exit status.

use std::{io, sync::Arc};

use sandbook_sandbox::{Event, EventKind, ExecuteRequest, Outcome, OutcomeBuilder, Sandbox, SandboxError};
use secrecy::SecretString;
use tokio::sync::mpsc::UnboundedSender;

use crate::{
    error::{CommandError, INFRASTRUCTURE, INTERRUPTED, NOBODY_READS, TIMED_OUT},
    input,
    signals::{Asked, Signals},
};

/// How many events are taken in at once.
const MOST_EVENTS: usize = 1_024;

/// Runs code to its end, in a span of the log. `seen` gets its events as they come, and fails when nobody looks any more; `keep_text` says
/// whether the outcome holds what was printed.
#[tracing::instrument(name = "execution", skip_all)]
pub(crate) async fn execute(
    sandbox: &Arc<dyn Sandbox>,
    request: ExecuteRequest,
    keep_text: bool,
    signals: &mut Signals,
    mut seen: impl FnMut(&[Event]) -> io::Result<()>,
) -> Result<Outcome, CommandError> {
    let mut execution = sandbox.execute(request).await?;
    tracing::info!(execution = %execution.id, "the code was sent");
    let answers = execution.input();
    let mut builder = OutcomeBuilder::default();
    let mut events = Vec::new();
    let mut interrupts = 0;
    loop {
        let asked = tokio::select! {
            count = execution.next_many(&mut events, MOST_EVENTS) => (count == 0).then_some(None),
            asked = signals.next() => Some(Some(asked)),
        };
        match asked {
            None => {}
            Some(None) => {
                let mut outcome = builder.finish();
                let detail = "the sandbox ended before the run did".to_owned();
                outcome.infrastructure = Some(SandboxError::Disconnected { detail });
                return Ok(outcome);
            }
            Some(Some(Asked::ToInterrupt)) if interrupts == 0 => {
                interrupts += 1;
                sandbox.interrupt().await?;
                continue;
            }
            // Who asks twice does not want to wait for the code.
            Some(Some(asked)) => return Err(given_up(asked)),
        }
        if seen(&events).is_err() {
            // The reader of a pipe has gone: what it wanted to see, it has seen.
            return Err(CommandError::infrastructure("cancelled", "Nobody reads the output any more.", "")
                .with_status(NOBODY_READS));
        }
        for event in events.drain(..) {
            if let EventKind::InputRequest { password, .. } = &event.kind {
                answer(*password, answers.clone());
            }
            if !keep_text && matches!(event.kind, EventKind::Stream { .. }) {
                continue;
            }
            if builder.push(&event) {
                return Ok(builder.finish());
            }
        }
    }
}

/// Reads the answer to a request for input beside the events. Where there is none, the code gets an empty line.
fn answer(password: bool, answers: UnboundedSender<SecretString>) {
    tokio::task::spawn_blocking(move || {
        let line = input::read_line(password).unwrap_or_else(|error| {
            eprintln!("warning: no input: {error}");
            SecretString::default()
        });
        // The code may have been interrupted meanwhile.
        let _ = answers.send(line);
    });
}

fn given_up(asked: Asked) -> CommandError {
    CommandError::infrastructure(
        "cancelled",
        "Given up before the code ended.",
        "What it printed until then is above.",
    )
    .with_status(asked.status())
}

/// The exit status of an outcome: the code's own where it has one.
pub(crate) fn status(outcome: &Outcome) -> u8 {
    if outcome.infrastructure.is_some() || !outcome.ended {
        return INFRASTRUCTURE;
    }
    if outcome.timed_out {
        return TIMED_OUT;
    }
    if outcome.interrupted {
        return INTERRUPTED;
    }
    match outcome.exit_code {
        // As the operating system has it: the low eight bits.
        Some(code) => u8::try_from(code.rem_euclid(256)).unwrap_or(1),
        None => u8::from(outcome.code_error.is_some() || outcome.aborted),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sandbook_sandbox::CodeError;

    #[test]
    fn an_exit_status_tells_the_kinds_of_ends_apart() {
        let ended = || Outcome { ended: true, ..Outcome::default() };
        let error = Some(CodeError::default());
        let died = Some(SandboxError::Died { cause: "signal 9".into() });
        for (outcome, expected) in [
            (ended(), 0),
            (Outcome { code_error: error.clone(), ..ended() }, 1),
            (Outcome { aborted: true, ..ended() }, 1),
            (Outcome { exit_code: Some(0), ..ended() }, 0),
            (Outcome { exit_code: Some(3), ..ended() }, 3),
            (Outcome { exit_code: Some(-1), ..ended() }, 255),
            (Outcome { exit_code: Some(259), ..ended() }, 3),
            (Outcome { timed_out: true, interrupted: true, code_error: error.clone(), ..ended() }, 124),
            (Outcome { interrupted: true, code_error: error, ..ended() }, 130),
            (Outcome { infrastructure: died, timed_out: true, ..ended() }, 125),
            (Outcome::default(), 125),
        ] {
            assert_eq!(status(&outcome), expected, "{outcome:?}");
        }
    }
}
