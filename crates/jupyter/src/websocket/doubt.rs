//! A connection that has gone silent: dead, or of a server that is slow?
//!
//! Silence alone says nothing: a kernel may compute for an hour. So a silent connection is asked for a sign of life, which
//! a healthy server gives however busy its kernel is. While somebody waits for something, it is asked often, and said
//! within five seconds that no answer comes; while nobody does, seldom.
//!
//! Saying so is not giving up.
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
use crate::{
    client::Activity,
    message::Message,
    transport::{Deliver, Incoming, Link},
};

/// What a silent connection is called.
pub(super) const REASON: &str = "the server does not answer any more";
/// A connection is given up only after so long a silence, however soon the server answers without it.
const GIVE_UP_AFTER: Duration = Duration::from_secs(15);
/// A server that answers again has so long to say something over the old connection.
const LAST_CHANCE: Duration = Duration::from_secs(3);
const GLANCE: Duration = Duration::from_millis(100);

/// How closely a connection is listened to.
#[derive(Clone, Copy)]
struct Pace {
    /// After this long without a byte we ask.
    step: Duration,
    /// After this many questions without a byte the connection is in doubt.
    questions: u32,
}

/// Somebody waits for something: in doubt after 4.5 to 5.25 s.
const CLOSE: Pace = Pace { step: Duration::from_millis(750), questions: 6 };
/// Nobody does: in doubt after 12 to 16 s.
const LEISURELY: Pace = Pace { step: Duration::from_secs(4), questions: 3 };

/// Watches one connection.
pub(super) struct Doubt<'a> {
    arrived: &'a Arrived,
    deliver: &'a Mutex<&'a mut Deliver>,
    target: &'a Target,
    retry: &'a Notify,
    open: AtomicBool,
    ask: Notify,
    /// The kernel said last that it runs something.
    busy: AtomicBool,
    /// Something was sent, and no message has come since.
    unanswered: AtomicBool,
    sent: Notify,
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
        Self {
            arrived,
            deliver,
            target,
            retry,
            open: AtomicBool::new(false),
            ask: Notify::new(),
            busy: AtomicBool::new(false),
            unanswered: AtomicBool::new(false),
            sent: Notify::new(),
        }
    }

    /// Whether the connection is in doubt: nothing is sent meanwhile, it could get lost.
    pub(super) fn is_open(&self) -> bool {
        self.open.load(Ordering::Relaxed)
    }

    /// A message has left.
    pub(super) fn sent(&self) {
        self.unanswered.store(true, Ordering::Relaxed);
        self.sent.notify_one();
    }

    /// A message has come.
    pub(super) fn heard(&self, message: &Message) {
        self.unanswered.store(false, Ordering::Relaxed);
        if let Some(activity) = Activity::told_by(message) {
            self.busy.store(activity == Activity::Busy, Ordering::Relaxed);
        }
    }

    fn somebody_waits(&self) -> bool {
        self.busy.load(Ordering::Relaxed) || self.unanswered.load(Ordering::Relaxed)
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

    /// Returns once questions have stayed without an answer. They are counted, not timed: time may have passed while
    /// this computer slept, and then the server has not been asked yet.
    async fn silence(&self) {
        let (mut seen, mut asked) = (self.arrived.bytes(), 0);
        loop {
            let waits = self.somebody_waits();
            let pace = if waits { CLOSE } else { LEISURELY };
            tokio::select! {
                () = tokio::time::sleep(pace.step) => {}
                () = self.sent.notified(), if !waits => {
                    asked = 0;
                    continue;
                }
            }
            let now = self.arrived.bytes();
            asked = if now == seen { asked + 1 } else { 0 };
            seen = now;
            if asked > 0 {
                self.ask.notify_one();
            }
            if asked >= pace.questions {
                return;
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
                self.ask.notify_one();
                return tokio::select! {
                    () = self.speaks(seen) => true,
                    () = self.patience() => false,
                };
            }
        }
        false
    }

    /// Waits as long as a server that answers again may take to do so over the old connection; shorter where the person
    /// wants it now.
    async fn patience(&self) {
        let last_chance = tokio::time::sleep(LAST_CHANCE);
        let rest = GIVE_UP_AFTER.saturating_sub(self.arrived.silence());
        tokio::join!(last_chance, async {
            tokio::select! {
                () = tokio::time::sleep(rest) => {}
                () = self.retry.notified() => {}
            }
        });
    }

    async fn speaks(&self, seen: u64) {
        while self.arrived.bytes() == seen {
            tokio::time::sleep(GLANCE).await;
        }
    }
}
