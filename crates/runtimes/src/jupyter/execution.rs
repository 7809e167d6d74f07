//! One execution: its messages become events, its time limit is kept, its input is passed on.

use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, SystemTime},
};

use sandbook_jupyter::{ExecutionEnd, ExecutionEvent, KernelClient, Link, Message};
use sandbook_sandbox::{DeathCause, End, Event, EventKind, SandboxError, StreamName};
use secrecy::SecretString;
use tokio::{
    sync::{mpsc, watch},
    time::Instant,
};
use tracing::Instrument as _;

use super::{sandbox::Inner, translate::Translator};
use crate::time_limit::{Due, TimeLimit};

/// How long a dead kernel's process may take to tell why.
const CAUSE_PATIENCE: Duration = Duration::from_millis(700);

/// What a running execution works with.
pub(super) struct Run {
    /// Weak: code that runs must not keep a sandbox alive that everybody has dropped.
    pub(super) inner: Weak<Inner>,
    pub(super) client: KernelClient,
    pub(super) death: Option<watch::Receiver<Option<DeathCause>>>,
    /// Whether its kernel was restarted by us.
    pub(super) restarted: Arc<AtomicBool>,
    pub(super) execution: sandbook_jupyter::Execution,
    pub(super) events: mpsc::UnboundedSender<Event>,
    pub(super) input: mpsc::UnboundedReceiver<SecretString>,
    pub(super) limit: TimeLimit,
    /// Counts the interrupts that were asked for here.
    pub(super) interrupts: Arc<AtomicU64>,
}

impl Run {
    /// Carries the execution to its end and beyond, until its connection ends or nobody listens.
    pub(super) async fn carry(mut self) {
        let mut translator = Translator::default();
        let mut interrupts_before = self.interrupts.load(Ordering::SeqCst);
        let mut link = self.client.link();
        let mut away = Away::default();
        let mut prompt: Option<Message> = None;
        let mut told = false;
        loop {
            let event = tokio::select! {
                event = self.execution.next() => event,
                due = self.limit.due() => {
                    self.keep_limit(due);
                    if due == Due::Outcome && !told {
                        told = true;
                        self.tell(false, EventKind::End(End { timed_out: true, ..translator.end(false) }));
                    }
                    continue;
                }
                Some(value) = self.input.recv() => {
                    if let Some(message) = prompt.take()
                        && let Err(error) = self.client.reply_input(&message, value)
                    {
                        tracing::warn!(%error, "an answer to the kernel's question was not sent");
                    }
                    continue;
                }
                changed = link.changed() => {
                    if changed.is_ok() {
                        let state = link.borrow_and_update().clone();
                        self.note_gap(&state, &mut away, told);
                    } else {
                        // the connection is over; its last events follow
                        link = never_changes();
                    }
                    continue;
                }
            };
            match event {
                None => break,
                Some(ExecutionEvent::Ended(end)) => {
                    if !told {
                        if matches!(end, ExecutionEnd::Complete) {
                            // its end has come, so the connection is back, whether or not that was said yet
                            self.note_gap(&Link::Connected, &mut away, false);
                        }
                        let asked = self.interrupts.load(Ordering::SeqCst) > interrupts_before;
                        let timed_out = self.limit.reached();
                        let of_kernel = End { timed_out, ..translator.end(asked && !timed_out) };
                        let end = self.end(end, of_kernel).await;
                        self.tell(false, EventKind::End(end));
                    }
                    break;
                }
                Some(ExecutionEvent::Missed) => self.note_missed(&mut away, told),
                Some(event) => {
                    if let ExecutionEvent::InputRequest(message) = &event {
                        prompt = Some(message.clone());
                    }
                    if let ExecutionEvent::Output(message) = &event {
                        self.refuse(message);
                    }
                    for kind in translator.events(&event) {
                        if matches!(kind, EventKind::Started { .. }) {
                            // earlier ones were for what ran before
                            interrupts_before = self.interrupts.load(Ordering::SeqCst);
                        }
                        self.tell(told, kind);
                    }
                }
            }
        }
    }

    fn tell(&self, late: bool, kind: EventKind) {
        // whoever dropped the execution does not want to know
        drop(self.events.send(Event { at: SystemTime::now(), late, kind }));
    }

    /// Answers what only another client could do, so that the code does not wait for it.
    fn refuse(&self, message: &Message) {
        let Some(refusal) = self.inner.upgrade().and_then(|inner| inner.host.refuse(message)) else { return };
        if let Err(error) = self.client.send_raw(refusal.reply) {
            tracing::warn!(%error, "the refusal of a kernel's request was not sent");
        }
        let text = format!("{}\n", refusal.said);
        self.tell(false, EventKind::Stream { name: StreamName::Stderr, text });
    }

    fn keep_limit(&self, due: Due) {
        let Some(inner) = self.inner.upgrade() else { return };
        match due {
            Due::Interrupt => {
                tokio::spawn(async move { inner.interrupt_for_timeout().await }.in_current_span());
            }
            Due::Restart => {
                tokio::spawn(inner.restart_for_timeout().in_current_span());
            }
            Due::Outcome => {}
        }
    }

    fn note_gap(&self, link: &Link, away: &mut Away, late: bool) {
        match link {
            Link::Reconnecting { silent, quiet, .. } => {
                let now = Instant::now();
                let (since, was_silent) =
                    away.since.unwrap_or((now.checked_sub(*quiet).unwrap_or(now), false));
                away.since = Some((since, was_silent || *silent));
            }
            Link::Connected => {
                if let Some((since, silent)) = away.since.take() {
                    let away_ms = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
                    away.believed_ms = (!silent).then_some(away_ms);
                    self.tell(late, EventKind::Gap { away_ms, replayed: !silent });
                }
            }
            _ => {}
        }
    }

    /// What came after a gap shows that not everything did.
    fn note_missed(&self, away: &mut Away, late: bool) {
        match &mut away.since {
            Some((_, silent)) => {
                *silent = true;
                self.note_gap(&Link::Connected, away, late);
            }
            None => {
                if let Some(away_ms) = away.believed_ms.take() {
                    self.tell(late, EventKind::Gap { away_ms, replayed: false });
                }
            }
        }
    }

    async fn end(&mut self, end: ExecutionEnd, of_kernel: End) -> End {
        let infrastructure = match end {
            // it was interrupted so that its kernel could be restarted
            ExecutionEnd::Complete if self.is_restarted() && of_kernel.interrupted && !of_kernel.timed_out => {
                SandboxError::Died { cause: "it was restarted".into() }
            }
            ExecutionEnd::Complete => return of_kernel,
            // our own restart, because the time was up
            ExecutionEnd::Restarted | ExecutionEnd::Died if of_kernel.timed_out && self.is_restarted() => return of_kernel,
            ExecutionEnd::Restarted => SandboxError::Died { cause: "it was restarted".into() },
            ExecutionEnd::Died if self.is_restarted() => SandboxError::Died { cause: "it was restarted".into() },
            ExecutionEnd::Died => SandboxError::Died { cause: self.cause().await.to_string() },
            ExecutionEnd::Lost { seen: true } => SandboxError::Disconnected {
                detail: "the connection was away and the end of this run was not told afterwards; it has ended in the kernel".into(),
            },
            ExecutionEnd::Lost { seen: false } => SandboxError::Disconnected {
                detail: "the connection was lost before the kernel answered; this code may not have run".into(),
            },
            ExecutionEnd::Disconnected(end) => SandboxError::Disconnected { detail: end.to_string() },
        };
        End { infrastructure: Some(infrastructure), ..of_kernel }
    }

    fn is_restarted(&self) -> bool {
        self.restarted.load(Ordering::SeqCst)
    }

    async fn cause(&mut self) -> DeathCause {
        if let Some(cause) = self.inner.upgrade().and_then(|inner| inner.host.cause()) {
            return cause;
        }
        let Some(death) = &mut self.death else { return DeathCause::NotReported };
        let told = tokio::time::timeout(CAUSE_PATIENCE, death.wait_for(Option::is_some)).await;
        told.ok()
            .and_then(|told| told.ok().and_then(|cause| cause.clone()))
            .unwrap_or(DeathCause::NotReported)
    }
}

/// The connection's absence, as one execution saw it.
#[derive(Default)]
struct Away {
    /// Since when, and whether it was noticed by silence, while it lasts.
    since: Option<(Instant, bool)>,
    /// How long the last one was, as long as it is said that all of it was replayed.
    believed_ms: Option<u64>,
}

/// A receiver whose sender is kept for ever, so that it neither changes nor ends.
fn never_changes() -> watch::Receiver<Link> {
    static QUIET: std::sync::OnceLock<watch::Sender<Link>> = std::sync::OnceLock::new();
    QUIET.get_or_init(|| watch::Sender::new(Link::Connecting)).subscribe()
}
