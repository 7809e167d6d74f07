//! Who gets which message. State only: no socket, no clock.
//!
//! An execution ends when both its reply (shell) and `idle` (iopub) have arrived, in either order. While the line is
//! not in step (a new connection, whose server may still be swallowing iopub messages), executions are held back; a
//! probe tells when it is in step, and because kernels answer shell requests in order, whatever was sent before the
//! probe and is still without an end has lost it.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet, VecDeque};

use tokio::sync::{mpsc, oneshot};

use super::event::{Activity, ExecutionEnd, ExecutionEvent, Origin, SessionEvent};
use crate::message::{Channel, Message};

/// How many ended executions are remembered, to know late messages.
const REMEMBERED: usize = 1_000;

pub(super) type Events = mpsc::UnboundedSender<ExecutionEvent>;

enum Pending {
    Execution(Running),
    Request(oneshot::Sender<Message>),
    Probe { reply: Option<oneshot::Sender<Message>>, idle: Option<oneshot::Sender<()>> },
}

struct Running {
    order: u64,
    sent: bool,
    seen: bool,
    end: Halves,
    events: Events,
}

/// The two halves of an execution's end.
#[derive(Default)]
struct Halves {
    replied: bool,
    idle: bool,
}

impl Running {
    fn tell(&self, event: ExecutionEvent) {
        // a consumer that left does not end the execution
        drop(self.events.send(event));
    }
}

/// Ends of a probe: its reply, and its idle.
pub(super) struct Probe {
    pub(super) order: u64,
    pub(super) reply: oneshot::Receiver<Message>,
    pub(super) idle: oneshot::Receiver<()>,
}

pub(super) struct Router {
    session: String,
    log: mpsc::UnboundedSender<SessionEvent>,
    pending: HashMap<String, Pending>,
    ended: HashSet<String>,
    ended_order: VecDeque<String>,
    next_order: u64,
    held: Option<VecDeque<Message>>,
}

impl Router {
    pub(super) fn new(session: String, log: mpsc::UnboundedSender<SessionEvent>) -> Self {
        Self {
            session,
            log,
            pending: HashMap::new(),
            ended: HashSet::new(),
            ended_order: VecDeque::new(),
            next_order: 0,
            held: Some(VecDeque::new()),
        }
    }

    fn order(&mut self) -> u64 {
        self.next_order += 1;
        self.next_order
    }

    /// Registers an execution. Gives the message back if it can be sent now; else it is held.
    pub(super) fn execution(&mut self, message: Message, events: Events) -> Option<Message> {
        let sent = self.held.is_none();
        let running = Running { order: self.order(), sent, seen: false, end: Halves::default(), events };
        self.pending.insert(message.id().to_owned(), Pending::Execution(running));
        match &mut self.held {
            Some(held) => {
                held.push_back(message);
                None
            }
            None => Some(message),
        }
    }

    pub(super) fn request(&mut self, id: &str) -> oneshot::Receiver<Message> {
        let (sender, receiver) = oneshot::channel();
        self.pending.insert(id.to_owned(), Pending::Request(sender));
        receiver
    }

    pub(super) fn probe(&mut self, id: &str) -> Probe {
        let ((reply_to, reply), (idle_to, idle)) = (oneshot::channel(), oneshot::channel());
        let pending = Pending::Probe { reply: Some(reply_to), idle: Some(idle_to) };
        self.pending.insert(id.to_owned(), pending);
        Probe { order: self.order(), reply, idle }
    }

    /// Nobody waits for the reply any more.
    pub(super) fn forget(&mut self, id: &str) {
        if !matches!(self.pending.get(id), Some(Pending::Execution(_))) {
            self.pending.remove(id);
        }
    }

    /// From now on executions are held back.
    pub(super) fn out_of_step(&mut self) {
        self.held.get_or_insert_default();
    }

    /// Whether an execution has its reply and waits for its idle.
    pub(super) fn awaits_idle(&self, id: &str) -> bool {
        matches!(self.pending.get(id), Some(Pending::Execution(running)) if running.end.replied)
    }

    /// The line is in step as of the probe `order`, whose reply and idle have come: what was sent before and has no end
    /// will get none. Returns what was held.
    pub(super) fn in_step(&mut self, order: u64) -> VecDeque<Message> {
        let lost = |running: &Running| running.sent && running.order < order;
        let lost: Vec<_> = self
            .running()
            .filter(|(_, running)| lost(running))
            .map(|(id, running)| (id.clone(), running.seen))
            .collect();
        for (id, seen) in lost {
            self.end(&id, ExecutionEnd::Lost { seen });
        }
        self.let_through()
    }

    /// Executions are sent from now on. Returns what was held.
    pub(super) fn let_through(&mut self) -> VecDeque<Message> {
        let held = self.held.take().unwrap_or_default();
        for message in &held {
            if let Some(Pending::Execution(running)) = self.pending.get_mut(message.id()) {
                running.sent = true;
            }
        }
        held
    }

    fn running(&self) -> impl Iterator<Item = (&String, &Running)> {
        self.pending.iter().filter_map(|(id, pending)| match pending {
            Pending::Execution(running) => Some((id, running)),
            _ => None,
        })
    }

    /// Messages of the connection of before are missing: whoever had begun by then is told.
    pub(super) fn missed(&self) {
        for (_, running) in self.running().filter(|(_, running)| running.seen) {
            running.tell(ExecutionEvent::Missed);
        }
    }

    /// Ends one execution that cannot be sent.
    pub(super) fn end(&mut self, id: &str, end: ExecutionEnd) {
        if let Some(Pending::Execution(running)) = self.pending.remove(id) {
            running.tell(ExecutionEvent::Ended(end));
            self.remember(id.to_owned());
        }
    }

    /// Ends every execution that has been sent, and every request: the kernel that had them is gone.
    pub(super) fn kernel_gone(&mut self, end: &ExecutionEnd) {
        self.end_all(end, false);
    }

    /// Ends everything, held executions too.
    pub(super) fn disconnected(&mut self, end: &ExecutionEnd) {
        self.held.get_or_insert_default().clear();
        self.end_all(end, true);
    }

    fn end_all(&mut self, end: &ExecutionEnd, held_too: bool) {
        let mut ids: Vec<_> = self.running().filter(|(_, running)| held_too || running.sent).collect();
        ids.sort_by_key(|(_, running)| running.order);
        let ids: Vec<String> = ids.into_iter().map(|(id, _)| id.clone()).collect();
        for id in ids {
            self.end(&id, end.clone());
        }
        self.pending.retain(|_, pending| matches!(pending, Pending::Execution(_)));
    }

    fn remember(&mut self, id: String) {
        self.ended.insert(id.clone());
        self.ended_order.push_back(id);
        if self.ended_order.len() > REMEMBERED
            && let Some(oldest) = self.ended_order.pop_front()
        {
            self.ended.remove(&oldest);
        }
    }

    /// Passes a message on to whom it belongs. `activity` is what it says the kernel is doing, if it does.
    pub(super) fn message(&mut self, message: Message, activity: Option<Activity>) {
        let parent = message.parent_id().unwrap_or_default().to_owned();
        match self.pending.get_mut(&parent) {
            Some(Pending::Execution(running)) => {
                running.take(message, activity);
                if running.end.replied && running.end.idle {
                    self.end(&parent, ExecutionEnd::Complete);
                }
            }
            Some(Pending::Probe { reply, idle }) => {
                if message.channel == Channel::Shell {
                    if let Some(reply) = reply.take() {
                        drop(reply.send(message));
                    }
                } else if activity == Some(Activity::Idle)
                    && let Some(idle) = idle.take()
                {
                    let _ = idle.send(());
                }
                if reply.is_none() && idle.is_none() {
                    self.pending.remove(&parent);
                }
            }
            Some(Pending::Request(_)) if message.channel != Channel::Iopub => {
                if let Some(Pending::Request(reply)) = self.pending.remove(&parent) {
                    drop(reply.send(message));
                }
            }
            _ => self.log(message),
        }
    }

    fn log(&self, message: Message) {
        let origin = match message.parent.as_ref() {
            Some(parent) if self.ended.contains(parent.msg_id()) => Origin::Late(parent.msg_id().to_owned()),
            Some(parent) if parent.session() == self.session => Origin::Ours,
            Some(parent) if !parent.msg_id().is_empty() => Origin::Foreign,
            _ => Origin::Parentless,
        };
        drop(self.log.send(SessionEvent::Message { origin, message }));
    }
}

impl Running {
    fn take(&mut self, message: Message, activity: Option<Activity>) {
        self.seen = true;
        match (message.channel, message.msg_type()) {
            (Channel::Shell, "execute_reply") => {
                self.end.replied = true;
                self.tell(ExecutionEvent::Reply(message));
            }
            (Channel::Stdin, "input_request") => self.tell(ExecutionEvent::InputRequest(message)),
            _ => {
                self.end.idle |= activity == Some(Activity::Idle);
                self.tell(ExecutionEvent::Output(message));
            }
        }
    }
}
