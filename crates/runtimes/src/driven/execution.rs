//! One execution: what the engine says of it becomes events, its time limit is kept, its input is passed on.

use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, SystemTime},
};

use sandbook_sandbox::{CodeError, DeathCause, End, Event, EventKind, SandboxError};
use secrecy::{ExposeSecret as _, SecretString};
use tokio::sync::{mpsc, watch};
use tracing::Instrument as _;

use super::{
    Orders,
    sandbox::Inner,
    words::{Ended, Order, Said},
};
use crate::time_limit::{Due, TimeLimit};

/// What a running execution works with.
pub(super) struct Run {
    /// Weak: code that runs must not keep a sandbox alive that everybody has dropped.
    pub(super) inner: Weak<Inner>,
    pub(super) said: mpsc::UnboundedReceiver<Said>,
    pub(super) orders: Orders,
    pub(super) death: watch::Receiver<Option<DeathCause>>,
    /// Whether its engine was restarted by us.
    pub(super) restarted: Arc<AtomicBool>,
    pub(super) events: mpsc::UnboundedSender<Event>,
    pub(super) input: mpsc::UnboundedReceiver<SecretString>,
    pub(super) timeout: Option<Duration>,
    pub(super) restart_after: Option<Duration>,
    /// Counts the interrupts that were asked for here.
    pub(super) interrupts: Arc<AtomicU64>,
}

/// What is known of it so far.
#[derive(Default)]
struct Course {
    count: Option<u32>,
    error: Option<CodeError>,
    /// How many interrupts had been asked for when it began: those were for what ran before.
    interrupts_before: u64,
    asks: bool,
    /// Its end was told.
    told: bool,
}

impl Run {
    /// Carries the execution to its end and beyond, until the engine ends or nobody listens.
    pub(super) async fn carry(mut self) {
        let mut course = Course::default();
        let mut limit = TimeLimit::new(None, None);
        loop {
            tokio::select! {
                said = self.said.recv() => match said {
                    Some(Said::Started { count, .. }) => {
                        // it waited for others before
                        limit = TimeLimit::new(self.timeout, self.restart_after);
                        course.count = Some(count);
                        course.interrupts_before = self.interrupts.load(Ordering::SeqCst);
                        self.tell(&course, EventKind::Started { execution_count: Some(count) });
                    }
                    Some(Said::End(end)) => {
                        let mut end = self.end(&end, &course, limit.reached());
                        if self.restarted.load(Ordering::SeqCst) {
                            // it was interrupted so that its engine could end
                            end.infrastructure = self.cause_of_death(limit.reached()).await;
                        }
                        self.tell_end(&mut course, end);
                        limit = TimeLimit::new(None, None);
                    }
                    Some(said) => {
                        course.asks |= matches!(said, Said::Input { .. });
                        if let Said::Error(error) = &said {
                            course.error = Some(error.clone());
                        }
                        if let Some(kind) = event(said) {
                            self.tell(&course, kind);
                        }
                    }
                    None => break,
                },
                due = limit.due() => {
                    self.keep_limit(due);
                    if due == Due::Outcome {
                        let end = End { execution_count: course.count, timed_out: true, ..End::default() };
                        self.tell_end(&mut course, end);
                    }
                }
                Some(value) = self.input.recv() => {
                    if std::mem::take(&mut course.asks) {
                        let value = value.expose_secret().to_owned();
                        // an engine that is dead asks nothing
                        drop(self.orders.send(Order::AnswerInput { value }));
                    }
                }
            }
        }
        if !course.told {
            let timed_out = limit.reached();
            let infrastructure = self.cause_of_death(timed_out).await;
            let end = End { execution_count: course.count, timed_out, infrastructure, ..End::default() };
            self.tell_end(&mut course, end);
        }
    }

    fn tell(&self, course: &Course, kind: EventKind) {
        // whoever dropped the execution does not want to know
        drop(self.events.send(Event { at: SystemTime::now(), late: course.told, kind }));
    }

    /// There is exactly one.
    fn tell_end(&self, course: &mut Course, end: End) {
        if !course.told {
            self.tell(course, EventKind::End(end));
            course.told = true;
        }
    }

    fn end(&self, end: &Ended, course: &Course, timed_out: bool) -> End {
        let asked = self.interrupts.load(Ordering::SeqCst) > course.interrupts_before;
        let by_interrupt = |error: &CodeError| error.name == "KeyboardInterrupt" || asked && !timed_out;
        End {
            execution_count: end.count.or(course.count),
            interrupted: course.error.as_ref().is_some_and(by_interrupt),
            code_error: course.error.clone(),
            exit_code: end.exit_code,
            timed_out,
            aborted: end.aborted,
            infrastructure: None,
        }
    }

    fn keep_limit(&self, due: Due) {
        let Some(inner) = self.inner.upgrade() else { return };
        match due {
            Due::Interrupt => inner.interrupt(),
            Due::Restart => {
                tokio::spawn(inner.restart_for_timeout().in_current_span());
            }
            Due::Outcome => {}
        }
    }

    async fn cause_of_death(&mut self, timed_out: bool) -> Option<SandboxError> {
        if self.restarted.load(Ordering::SeqCst) {
            // our own restart, because the time was up, is no failure
            return (!timed_out).then(|| SandboxError::Died { cause: "it was restarted".into() });
        }
        let cause = self.death.wait_for(Option::is_some).await.ok().and_then(|cause| cause.clone());
        Some(SandboxError::Died { cause: cause.unwrap_or(DeathCause::NotReported).to_string() })
    }
}

/// The event of what the engine says beside beginning and end.
fn event(said: Said) -> Option<EventKind> {
    Some(match said {
        Said::Text { name, text } if !text.is_empty() => EventKind::Stream { name, text },
        Said::Display { data, metadata, display_id: Some(display_id), update: true } => {
            EventKind::DisplayUpdate { data, metadata, display_id }
        }
        Said::Display { data, metadata, display_id, .. } => EventKind::Display { data, metadata, display_id },
        Said::Result { data, metadata, count } => {
            EventKind::Result { data, metadata, display_id: None, execution_count: Some(count) }
        }
        Said::Error(error) => EventKind::Error(error),
        Said::Clear { wait } => EventKind::Clear { wait },
        Said::Input { prompt, password } => EventKind::InputRequest { prompt, password },
        Said::Text { .. } | Said::Started { .. } | Said::End(_) | Said::Answer { .. } => {
            return None;
        }
    })
}
