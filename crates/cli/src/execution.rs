//! One execution of a command: its events to whoever watches, Ctrl-C to the kernel, its end to an exit status.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use sandbook_sandbox::{
    Event, EventKind, ExecuteRequest, Execution, Outcome, OutcomeBuilder, Sandbox, SandboxError,
};
use secrecy::SecretString;
use tokio::{sync::mpsc::UnboundedSender, task::JoinHandle};

use crate::{
    error::{CommandError, INFRASTRUCTURE, INTERRUPTED, NOBODY_READS, TIMED_OUT},
    input,
    signals::{Asked, Signals},
};

/// How many events are taken in at once.
const MOST_EVENTS: usize = 1_024;

/// The answer that means that there is none, and none will come. The protocol has no message for that; kernels take this
/// one as `jupyter console` sends it at Ctrl-D, and ipykernel raises `EOFError`.
const END_OF_INPUT: &str = "\u{4}";

/// How a run is watched.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Watch {
    /// Whether the outcome holds what was printed.
    pub(crate) keep_text: bool,
    /// How often Ctrl-C is passed on to the code. The next one does not wait for it any more.
    pub(crate) interrupts: u32,
}

impl Watch {
    /// As a command that runs code once has it.
    pub(crate) const fn once(keep_text: bool) -> Self {
        Self { keep_text, interrupts: 1 }
    }
}

/// Runs code to its end, in a span of the log. `seen` gets its events as they come, and fails when nobody looks any more.
#[tracing::instrument(name = "execution", skip_all)]
pub(crate) async fn execute(
    sandbox: &Arc<dyn Sandbox>,
    request: ExecuteRequest,
    watch: Watch,
    signals: &mut Signals,
    seen: impl FnMut(&[Event]) -> io::Result<()>,
) -> Result<Outcome, CommandError> {
    let mut execution = sandbox.execute(request).await?;
    tracing::info!(execution = %execution.id, "the code was sent");
    let mut answers = Answers::new(execution.input());
    let ended = follow(sandbox, &mut execution, &mut answers, watch, signals, seen).await;
    answers.end().await;
    ended
}

async fn follow(
    sandbox: &Arc<dyn Sandbox>,
    execution: &mut Execution,
    answers: &mut Answers,
    watch: Watch,
    signals: &mut Signals,
    mut seen: impl FnMut(&[Event]) -> io::Result<()>,
) -> Result<Outcome, CommandError> {
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
            Some(Some(Asked::ToInterrupt)) if interrupts < watch.interrupts => {
                interrupts += 1;
                sandbox.interrupt().await?;
                continue;
            }
            // Who asks once more does not want to wait for the code.
            Some(Some(asked)) => return Err(given_up(asked)),
        }
        if seen(&events).is_err() {
            // The reader of a pipe has gone: what it wanted to see, it has seen.
            return Err(CommandError::infrastructure("cancelled", "Nobody reads the output any more.", "")
                .with_status(NOBODY_READS));
        }
        for event in events.drain(..) {
            if let EventKind::InputRequest { password, .. } = &event.kind {
                answers.ask(*password);
            }
            if !watch.keep_text && matches!(event.kind, EventKind::Stream { .. }) {
                continue;
            }
            if builder.push(&event) {
                return Ok(builder.finish());
            }
        }
    }
}

/// Reads the answers to requests for input beside the events, until the run is over: what is typed then is not for it.
struct Answers {
    to: UnboundedSender<SecretString>,
    over: Arc<AtomicBool>,
    reading: Option<JoinHandle<()>>,
}

impl Answers {
    fn new(to: UnboundedSender<SecretString>) -> Self {
        Self { to, over: Arc::default(), reading: None }
    }

    /// An empty line would be an answer that nobody gave, so the code is told where there is none.
    fn ask(&mut self, password: bool) {
        self.over.store(true, Ordering::SeqCst);
        self.over = Arc::default();
        let (to, over) = (self.to.clone(), self.over.clone());
        self.reading = Some(tokio::task::spawn_blocking(move || {
            let line = input::read_line_until("", password, &over).unwrap_or_else(|error| {
                eprintln!("warning: standard input cannot be read, which ends it for the code: {error}");
                None
            });
            // The code may have been interrupted meanwhile.
            let _ = to.send(line.unwrap_or_else(|| END_OF_INPUT.into()));
        }));
    }

    /// Comes back when nobody reads the terminal any more.
    async fn end(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        if let Some(reading) = self.reading.take().filter(|_| input::can_be_called_off()) {
            let _ = reading.await;
        }
    }
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
