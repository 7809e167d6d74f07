//! What arrives from the wire, and where it goes.

use std::sync::Arc;

use super::{Activity, ExecutionEnd, SessionEvent, Shared, lock};
use crate::{
    message::Message,
    transport::{End, Incoming, Link},
};

impl Shared {
    pub(super) fn take(self: &Arc<Self>, incoming: Incoming) {
        match incoming {
            Incoming::Message(message) => self.take_message(message),
            Incoming::Link(link) => self.take_link(link),
            Incoming::Missed => lock(&self.router).missed(),
        }
    }

    fn take_message(self: &Arc<Self>, message: Message) {
        if self.raw.receiver_count() > 0 {
            drop(self.raw.send(message.clone()));
        }
        let shut_down = message.msg_type() == "shutdown_reply";
        let by_server = message.parent_id().is_none();
        let of_code = message.parent.as_ref().is_none_or(|parent| parent.msg_type() == "execute_request");
        let activity = Activity::told_by(&message);
        // first, so that whoever sees an end sees the kernel idle
        if let Some(activity) = activity {
            self.note_activity(activity, of_code || shut_down);
        }
        let replied =
            (message.msg_type() == "execute_reply").then(|| message.parent_id().map(str::to_owned)).flatten();
        lock(&self.router).message(message, activity);
        if let Some(id) = replied {
            self.expect_idle(id);
        }
        match activity.unwrap_or(Activity::Unknown) {
            Activity::Restarting if shut_down => self.restarted(&ExecutionEnd::Restarted),
            Activity::Restarting if by_server => self.restarted(&ExecutionEnd::Died),
            Activity::Dead if by_server || shut_down => self.kernel_gone(&ExecutionEnd::Died),
            _ => {}
        }
    }

    /// A kernel is busy while it runs code. It also says busy and idle around every question, and idle while code goes
    /// on, when the question came on its control channel.
    fn note_activity(&self, activity: Activity, of_code: bool) {
        self.activity.send_if_modified(|present| {
            let unsettled = !matches!(*present, Activity::Busy | Activity::Idle);
            let counts = of_code || unsettled && activity == Activity::Idle;
            let changed = counts && *present != activity;
            if changed {
                *present = activity;
            }
            changed
        });
    }

    pub(super) fn restarted(self: &Arc<Self>, end: &ExecutionEnd) {
        self.kernel_gone(end);
        self.step();
    }

    fn take_link(self: &Arc<Self>, link: Link) {
        self.link.send_replace(link.clone());
        let connected = link == Link::Connected;
        drop(self.log.send(SessionEvent::Link(link)));
        if connected {
            self.step();
        } else {
            lock(&self.router).out_of_step();
        }
    }

    fn kernel_gone(&self, end: &ExecutionEnd) {
        let mut router = lock(&self.router);
        router.out_of_step();
        router.kernel_gone(end);
    }

    pub(super) fn ended(&self, end: End) {
        let died = matches!(end, End::KernelClosed | End::KernelGone);
        let execution_end = if died { ExecutionEnd::Died } else { ExecutionEnd::Disconnected(end.clone()) };
        let mut router = lock(&self.router);
        self.link.send_replace(Link::Ended(end.clone()));
        router.disconnected(&execution_end);
        drop(router);
        drop(self.log.send(SessionEvent::Link(Link::Ended(end))));
    }
}
