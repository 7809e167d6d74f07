//! Watching a sandbox's connection, process and server: what they say becomes its status and its late events.

use std::{
    sync::{Arc, atomic::Ordering},
    time::{Duration, SystemTime},
};

use sandbook_jupyter::{Activity, End as LinkEnd, KernelClient, Link, Origin, SessionEvent, SessionLog};
use sandbook_sandbox::{DeathCause, Event, EventKind, KernelStatus};
use tokio::sync::watch;
use tracing::Instrument as _;

use super::{
    host::Presence,
    sandbox::{Inner, lock},
    translate::Translator,
};

/// Why a kernel is gone whose server answers.
const NOT_KNOWN: &str = "the server does not have this kernel any more";
/// How often a server is asked whether the kernel still exists: it does not tell on its own.
const EXISTS_EVERY: Duration = Duration::from_secs(10);
/// The last messages of a dead process are waited for so long.
const LAST_MESSAGES: Duration = Duration::from_millis(300);

impl Inner {
    pub(super) fn set_status(&self, generation: u64, status: KernelStatus) {
        let status = match status {
            KernelStatus::Dead(DeathCause::NotReported) => {
                KernelStatus::Dead(self.host.cause().unwrap_or(DeathCause::NotReported))
            }
            KernelStatus::Gone { reason } => {
                KernelStatus::Gone { reason: self.host.why_gone().unwrap_or(reason) }
            }
            // what stands still says nothing of itself
            status if self.paused.load(Ordering::SeqCst) && !matches!(status, KernelStatus::Dead(_)) => {
                KernelStatus::Paused
            }
            status => status,
        };
        if lock(&self.live).generation == generation && !self.stopped.load(Ordering::SeqCst) {
            self.status.send_if_modified(|present| {
                let changed = *present != status;
                *present = status;
                changed
            });
        }
    }

    /// Watches one connection to its end: its state becomes the status, its log the late events. Called in the
    /// connection's span.
    pub(super) fn follow(
        self: &Arc<Self>,
        client: KernelClient,
        mut log: SessionLog,
        death: Option<watch::Receiver<Option<DeathCause>>>,
        generation: u64,
    ) {
        let has_process = death.is_some();
        if let Some(death) = death {
            self.watch_death(client.clone(), death, generation);
        }
        let weak = Arc::downgrade(self);
        let mut activity = client.activity();
        drop(client);
        let followed = async move {
            let mut reconnecting = None;
            loop {
                let event = tokio::select! {
                    event = log.recv() => event,
                    Ok(()) = activity.changed() => {
                        let Some(inner) = weak.upgrade() else { return };
                        if reconnecting.is_none()
                            && let Some(status) = status_of(*activity.borrow_and_update())
                        {
                            inner.set_status(generation, status);
                        }
                        continue;
                    }
                };
                let (Some(event), Some(inner)) = (event, weak.upgrade()) else { return };
                match event {
                    SessionEvent::Link(link) => {
                        tell(&link);
                        if matches!(link, Link::Refused { .. }) {
                            inner.credential_refused();
                        }
                        let closed = link == Link::Ended(LinkEnd::KernelClosed);
                        let gone =
                            if link == Link::Ended(LinkEnd::Stopped) { lock(&inner.live).gone } else { None };
                        if let Some(reason) = gone {
                            inner.set_status(generation, KernelStatus::Gone { reason: reason.into() });
                        } else if closed && !has_process {
                            inner.set_status(generation, KernelStatus::Dead(DeathCause::NotReported));
                        } else if let Some(status) = link_status(&link, &mut reconnecting, *activity.borrow())
                        {
                            inner.set_status(generation, status);
                        }
                    }
                    SessionEvent::Message { origin: Origin::Late(id), message } => {
                        if let Some(kind) = Translator::default().output(&message) {
                            inner.tell_late(&id, kind);
                        }
                    }
                    SessionEvent::Message { message, .. } => {
                        tracing::trace!(message = ?message.header, "a message that belongs to no execution");
                    }
                }
            }
        };
        tokio::spawn(followed.in_current_span());
    }

    /// Executions of a kernel that is gone say nothing more: whoever reads them reaches their end.
    pub(super) fn no_more_late(&self) {
        lock(&self.late).clear();
    }

    fn tell_late(&self, id: &str, kind: EventKind) {
        let mut late = lock(&self.late);
        let gone = late
            .get(id)
            .is_some_and(|events| events.send(Event { at: SystemTime::now(), late: true, kind }).is_err());
        if gone {
            late.remove(id);
        }
    }

    /// A process of ours that has ended is a dead kernel, whether or not its sockets are closed: its children may hold
    /// them open.
    fn watch_death(
        self: &Arc<Self>,
        client: KernelClient,
        mut death: watch::Receiver<Option<DeathCause>>,
        generation: u64,
    ) {
        let weak = Arc::downgrade(self);
        tokio::spawn(async move {
            let Some(cause) = death.wait_for(Option::is_some).await.ok().and_then(|cause| cause.clone())
            else {
                return;
            };
            let mut link = client.link();
            let closed = link.wait_for(|link| matches!(link, Link::Ended(_)));
            drop(tokio::time::timeout(LAST_MESSAGES, closed).await);
            client.kernel_died();
            client.stop();
            if let Some(inner) = weak.upgrade() {
                inner.no_more_late();
                inner.set_status(generation, KernelStatus::Dead(cause));
            }
        });
    }

    /// Asks a server from time to time: the WebSocket of a kernel that was removed stays open and silent.
    pub(super) fn watch_existence(self: &Arc<Self>, client: &KernelClient) {
        let (weak, mut link) = (Arc::downgrade(self), client.link());
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    () = tokio::time::sleep(EXISTS_EVERY) => {}
                    _ = link.wait_for(|link| matches!(link, Link::Ended(_))) => return,
                }
                let Some(inner) = weak.upgrade() else { return };
                match inner.host.presence().await {
                    Presence::There => {}
                    Presence::Refused => inner.credential_refused(),
                    Presence::Gone => {
                        let client = {
                            let mut live = lock(&inner.live);
                            live.gone = Some(NOT_KNOWN);
                            live.client.clone()
                        };
                        client.kernel_died();
                        client.stop();
                        return;
                    }
                }
            }
        });
    }
}

/// Puts on record what happens to a connection.
fn tell(link: &Link) {
    match link {
        Link::Connecting => {}
        Link::Connected => tracing::info!("connected"),
        Link::Reconnecting { attempt: 0, quiet, reason, .. } => {
            tracing::warn!(reason, quiet_ms = quiet.as_millis(), "the connection is away");
        }
        Link::Reconnecting { attempt, reason, .. } => tracing::debug!(reason, attempt, "still away"),
        Link::Refused { status } => tracing::warn!(status, "the credential is not taken any more"),
        Link::Ended(end) => tracing::info!(%end, "the connection ended"),
    }
}

fn status_of(activity: Activity) -> Option<KernelStatus> {
    match activity {
        Activity::Unknown => None,
        Activity::Starting => Some(KernelStatus::Starting),
        Activity::Idle => Some(KernelStatus::Idle),
        Activity::Busy => Some(KernelStatus::Busy),
        Activity::Restarting | Activity::Dead => Some(KernelStatus::Dead(DeathCause::NotReported)),
    }
}

fn link_status(link: &Link, since: &mut Option<SystemTime>, activity: Activity) -> Option<KernelStatus> {
    match link {
        Link::Connected => {
            *since = None;
            status_of(activity)
        }
        Link::Reconnecting { attempt, pause, quiet, .. } => {
            let now = SystemTime::now();
            let since = *since.get_or_insert(now - *quiet);
            Some(KernelStatus::Reconnecting { since, attempt: *attempt, next_attempt: now + *pause })
        }
        Link::Refused { .. } => {
            let since = *since.get_or_insert_with(SystemTime::now);
            Some(KernelStatus::Refused { since })
        }
        // of a closed socket the process tells why
        Link::Connecting | Link::Ended(LinkEnd::Stopped | LinkEnd::KernelClosed) => None,
        Link::Ended(end) => Some(KernelStatus::Gone { reason: end.to_string() }),
    }
}
