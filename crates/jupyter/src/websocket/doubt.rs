//! A connection that has gone silent: dead, or of a server that is slow?
//!
//! The old connection is kept as long as the server itself does not answer either. A server that was paused then goes on
//! over it, and nothing is lost; a new connection beside it would make the server throw away what it was about to send.
//! Only when the server answers a plain request while the old connection stays silent is it given up.

use std::{
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::sync::Notify;

use super::{backoff, dial::Target, watched::Arrived};
use crate::transport::{Deliver, Incoming, Link};

/// What a silent connection is called.
pub(super) const REASON: &str = "the server has not answered for 12 s";
/// After this long without a byte we ask.
const ASK_AFTER: Duration = Duration::from_secs(4);
/// After this many questions without a byte the connection is in doubt.
const QUESTIONS: u32 = 3;
/// A server that answers again has so long to say something over the old connection.
const LAST_CHANCE: Duration = Duration::from_secs(3);
const GLANCE: Duration = Duration::from_millis(100);

/// Watches one connection.
pub(super) struct Doubt<'a> {
    arrived: &'a Arrived,
    deliver: &'a Mutex<&'a mut Deliver>,
    target: &'a Target,
    retry: &'a Notify,
    open: AtomicBool,
    ask: Notify,
}

pub(super) fn lock<'a, 'b>(deliver: &'a Mutex<&'b mut Deliver>) -> MutexGuard<'a, &'b mut Deliver> {
    deliver.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> Doubt<'a> {
    pub(super) fn new(
        arrived: &'a Arrived,
        deliver: &'a Mutex<&'a mut Deliver>,
        target: &'a Target,
        retry: &'a Notify,
    ) -> Self {
        Self { arrived, deliver, target, retry, open: AtomicBool::new(false), ask: Notify::new() }
    }

    /// Whether the connection is in doubt: nothing is sent meanwhile, it could get lost.
    pub(super) fn is_open(&self) -> bool {
        self.open.load(Ordering::Relaxed)
    }

    /// Waits until the other side should be asked for a sign of life.
    pub(super) async fn asks(&self) {
        self.ask.notified().await;
    }

    /// Returns once it is settled that the connection is dead.
    pub(super) async fn is_settled(&self) {
        loop {
            self.silence().await;
            self.set(true);
            if !self.lives().await {
                return;
            }
            self.set(false);
            self.tell(Link::Connected);
        }
    }

    fn set(&self, open: bool) {
        self.open.store(open, Ordering::Relaxed);
        // also wakes the writer, which then looks at `open`
        self.ask.notify_one();
    }

    fn tell(&self, link: Link) {
        lock(self.deliver)(Incoming::Link(link));
    }

    async fn silence(&self) {
        let (mut seen, mut asked) = (self.arrived.bytes(), 0);
        while asked < QUESTIONS {
            tokio::time::sleep(ASK_AFTER).await;
            let now = self.arrived.bytes();
            asked = if now == seen { asked + 1 } else { 0 };
            seen = now;
            if asked > 0 {
                self.ask.notify_one();
            }
        }
    }

    /// Whether the old connection comes back to life before the server answers without it.
    async fn lives(&self) -> bool {
        let seen = self.arrived.bytes();
        for attempt in 0_u32.. {
            let pause = backoff::pause(attempt, rand::random());
            let quiet = self.arrived.silence();
            self.tell(Link::Reconnecting { attempt, pause, silent: false, quiet, reason: REASON.to_owned() });
            let server_answers = async {
                tokio::select! {
                    () = tokio::time::sleep(pause) => {}
                    () = self.retry.notified() => {}
                }
                self.target.answers().await
            };
            let answers = tokio::select! {
                () = self.speaks(seen) => return true,
                answers = server_answers => answers,
            };
            if answers {
                return tokio::time::timeout(LAST_CHANCE, self.speaks(seen)).await.is_ok();
            }
        }
        false
    }

    async fn speaks(&self, seen: u64) {
        while self.arrived.bytes() == seen {
            tokio::time::sleep(GLANCE).await;
        }
    }
}
