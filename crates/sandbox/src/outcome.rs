//! What an execution came to.

use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::{Event, EventKind, Lines, MimeBundle, SandboxError, StreamName};

/// An error of the code, in the kernel's words.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CodeError {
    /// Its class.
    pub name: String,
    /// Its message.
    pub value: String,
    /// The traceback's lines, with colour codes.
    pub traceback: Vec<String>,
}

/// Something shown or returned.
#[derive(Debug, Clone)]
pub struct RichResult {
    /// Its forms.
    pub data: MimeBundle,
    /// What the library says about them, as JSON.
    pub metadata: std::sync::Arc<serde_json::value::RawValue>,
    /// Whether it is the value of the last expression.
    pub main: bool,
    /// A name under which it can be updated.
    pub display_id: Option<String>,
}

impl RichResult {
    /// One of its forms as text, where it is text.
    pub fn text_of(&self, media_type: &str) -> Option<String> {
        self.data.get(media_type).and_then(|raw| joined_text(raw.get()))
    }
}

fn joined_text(json: &str) -> Option<String> {
    match serde_json::from_str::<serde_json::Value>(json).ok()? {
        serde_json::Value::String(text) => Some(text),
        serde_json::Value::Array(parts) => parts
            .iter()
            .map(serde_json::Value::as_str)
            .collect::<Option<Vec<_>>>()
            .map(|parts| parts.concat()),
        _ => None,
    }
}

/// What an execution came to. Five different things can keep it from being a success, and each has its own place.
#[derive(Debug, Clone, Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is a row of the truth table")]
pub struct Outcome {
    /// Standard output.
    pub stdout: Lines,
    /// Standard error.
    pub stderr: Lines,
    /// What was shown or returned, in order, with updates applied.
    pub results: Vec<RichResult>,
    /// The error of the code.
    pub code_error: Option<CodeError>,
    /// The sandbox failed, not the code.
    pub infrastructure: Option<SandboxError>,
    /// The code called for an exit with this code.
    pub exit_code: Option<i32>,
    /// It was interrupted.
    pub interrupted: bool,
    /// It ran out of time.
    pub timed_out: bool,
    /// It was never run, because one before it failed.
    pub aborted: bool,
    /// The number, where the kernel counts.
    pub execution_count: Option<u32>,
    /// When the first event came.
    pub started_at: Option<SystemTime>,
    /// From the first event to the end.
    pub duration: Duration,
    /// Whether the end was seen.
    pub ended: bool,
}

impl Outcome {
    /// Whether it went well: it ended, and the sandbox did not fail, no exit code but 0 was called for, the code
    /// raised no error, it was not interrupted, did not run out of time and was not skipped.
    pub fn success(&self) -> bool {
        self.ended
            && self.infrastructure.is_none()
            && matches!(self.exit_code, None | Some(0))
            && self.code_error.is_none()
            && !self.interrupted
            && !self.timed_out
            && !self.aborted
    }

    /// The plain text of the value of the last expression.
    pub fn text(&self) -> Option<String> {
        self.results.iter().rev().find(|result| result.main).and_then(|result| result.text_of("text/plain"))
    }
}

/// Gathers an [`Outcome`] from events.
#[derive(Debug, Default)]
pub struct OutcomeBuilder {
    outcome: Outcome,
    clear_before_next: bool,
}

impl OutcomeBuilder {
    /// Takes an event in. Answers whether it was the end.
    pub fn push(&mut self, event: &Event) -> bool {
        let started = *self.outcome.started_at.get_or_insert(event.at);
        match &event.kind {
            EventKind::Started { execution_count } => self.outcome.execution_count = *execution_count,
            EventKind::Stream { name, text } => {
                self.clear_if_due();
                match name {
                    StreamName::Stdout => self.outcome.stdout.push(text, event.at),
                    StreamName::Stderr => self.outcome.stderr.push(text, event.at),
                    StreamName::Stdin | StreamName::Owner => {}
                }
            }
            EventKind::Display { data, metadata, display_id } => {
                self.rich(data, metadata, display_id.as_ref(), false);
            }
            EventKind::Result { data, metadata, display_id, execution_count } => {
                self.rich(data, metadata, display_id.as_ref(), true);
                self.outcome.execution_count = execution_count.or(self.outcome.execution_count);
            }
            EventKind::DisplayUpdate { data, metadata, display_id } => {
                for result in &mut self.outcome.results {
                    if result.display_id.as_ref() == Some(display_id) {
                        result.data.clone_from(data);
                        result.metadata = metadata.clone();
                    }
                }
            }
            EventKind::Error(error) => {
                self.clear_if_due();
                self.outcome.code_error = Some(error.clone());
            }
            EventKind::Clear { wait: true } => self.clear_before_next = true,
            EventKind::Clear { wait: false } => self.clear(),
            EventKind::End(end) => {
                self.end(end);
                self.outcome.duration = event.at.duration_since(started).unwrap_or_default();
                return true;
            }
            _ => {}
        }
        false
    }

    /// What there is so far.
    pub fn finish(self) -> Outcome {
        self.outcome
    }

    fn end(&mut self, end: &crate::End) {
        let outcome = &mut self.outcome;
        outcome.ended = true;
        outcome.execution_count = end.execution_count.or(outcome.execution_count);
        outcome.exit_code = end.exit_code;
        outcome.interrupted = end.interrupted;
        outcome.timed_out = end.timed_out;
        outcome.aborted = end.aborted;
        outcome.infrastructure.clone_from(&end.infrastructure);
        if end.exit_code.is_some() {
            outcome.code_error = None;
        } else if outcome.code_error.is_none() {
            outcome.code_error.clone_from(&end.code_error);
        }
    }

    fn rich(
        &mut self,
        data: &MimeBundle,
        metadata: &std::sync::Arc<serde_json::value::RawValue>,
        display_id: Option<&String>,
        main: bool,
    ) {
        self.clear_if_due();
        self.outcome.results.push(RichResult {
            data: data.clone(),
            metadata: metadata.clone(),
            main,
            display_id: display_id.cloned(),
        });
    }

    fn clear_if_due(&mut self) {
        if std::mem::take(&mut self.clear_before_next) {
            self.clear();
        }
    }

    fn clear(&mut self) {
        self.outcome.stdout = Lines::default();
        self.outcome.stderr = Lines::default();
        self.outcome.results.clear();
        self.clear_before_next = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::End;

    fn outcome_of(end: End) -> Outcome {
        let mut builder = OutcomeBuilder::default();
        assert!(builder.push(&Event { at: SystemTime::UNIX_EPOCH, late: false, kind: EventKind::End(end) }));
        builder.finish()
    }

    #[test]
    fn success_is_a_truth_table_in_which_five_failures_stay_apart() {
        let error = || CodeError { name: "ValueError".into(), ..CodeError::default() };
        let failure = || SandboxError::Died { cause: "signal 9".into() };
        for infrastructure in [false, true] {
            for exit_code in [None, Some(0), Some(3)] {
                for code_error in [false, true] {
                    for interrupted in [false, true] {
                        for timed_out in [false, true] {
                            let outcome = outcome_of(End {
                                code_error: code_error.then(error),
                                exit_code,
                                interrupted,
                                timed_out,
                                infrastructure: infrastructure.then(failure),
                                ..End::default()
                            });
                            let error_counts = code_error && exit_code.is_none();
                            let expected = !infrastructure
                                && !matches!(exit_code, Some(3))
                                && !error_counts
                                && !interrupted
                                && !timed_out;
                            assert_eq!(outcome.success(), expected, "{outcome:?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn what_never_ended_or_never_ran_is_no_success() {
        assert!(!Outcome::default().success());
        assert!(!outcome_of(End { aborted: true, ..End::default() }).success());
        assert!(outcome_of(End::default()).success());
    }

    #[test]
    fn clear_with_wait_keeps_the_old_output_until_new_output_comes() {
        let stream = |text: &str| Event {
            at: SystemTime::UNIX_EPOCH,
            late: false,
            kind: EventKind::Stream { name: StreamName::Stdout, text: text.into() },
        };
        let clear = Event { at: SystemTime::UNIX_EPOCH, late: false, kind: EventKind::Clear { wait: true } };
        let mut builder = OutcomeBuilder::default();
        builder.push(&stream("old\n"));
        builder.push(&clear);
        assert_eq!(builder.outcome.stdout.text(), "old\n");
        builder.push(&stream("new\n"));
        assert_eq!(builder.finish().stdout.text(), "new\n");
    }
}
