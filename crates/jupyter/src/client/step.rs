//! Getting in step with a kernel: from when on nothing on iopub is missed, and what was lost before.

use std::{sync::Arc, time::Duration};

use super::{ExecutionEnd, Shared, lock, router};
use crate::{
    content::Content,
    message::{Channel, Message},
};

/// A kernel sends idle right after its reply; one that was swallowed is not waited for longer than this.
const IDLE_PATIENCE: Duration = Duration::from_millis(300);
/// An execution's idle comes about when its reply does.
const MISSING_IDLE_PATIENCE: Duration = Duration::from_secs(5);
/// A probe can be lost in a kernel that is being restarted, so it is sent again after this long, then ever more seldom.
const REPLY_PATIENCE: Duration = Duration::from_secs(2);
const LONGEST_REPLY_PATIENCE: Duration = Duration::from_mins(1);
/// A kernel that never says idle is taken as it is after this many probes.
const PROBES: u32 = 20;

impl Shared {
    /// A publisher may throw messages away. After a reply without its idle we ask: what comes back on iopub afterwards
    /// tells that the idle is lost, and the execution ends.
    pub(super) fn expect_idle(self: &Arc<Self>, id: String) {
        if !lock(&self.router).awaits_idle(&id) {
            return;
        }
        let weak = Arc::downgrade(self);
        tokio::spawn(async move {
            tokio::time::sleep(MISSING_IDLE_PATIENCE).await;
            if let Some(shared) = weak.upgrade()
                && lock(&shared.router).awaits_idle(&id)
            {
                shared.step();
            }
        });
    }

    /// Asks the kernel until both its reply and its idle come back, then lets executions through.
    pub(super) fn step(self: &Arc<Self>) {
        let stepping = self.stop.child_token();
        std::mem::replace(&mut *lock(&self.stepping), stepping.clone()).cancel();
        let weak = Arc::downgrade(self);
        tokio::spawn(async move {
            let (mut swallowed, mut patience) = (0, REPLY_PATIENCE);
            loop {
                let Some(probe) = weak.upgrade().and_then(|shared| shared.probe()) else { return };
                let reply = tokio::select! {
                    reply = tokio::time::timeout(patience, probe.reply) => reply,
                    () = stepping.cancelled() => return,
                };
                let reply = match reply {
                    Ok(Ok(reply)) => reply,
                    Ok(Err(_)) => return,
                    Err(_) => {
                        patience = (patience * 2).min(LONGEST_REPLY_PATIENCE);
                        continue;
                    }
                };
                let idle =
                    tokio::time::timeout(IDLE_PATIENCE, probe.idle).await.is_ok_and(|idle| idle.is_ok());
                swallowed += u32::from(!idle);
                let Some(shared) = weak.upgrade().filter(|_| !stepping.is_cancelled()) else { return };
                if idle {
                    shared.in_step(Some(probe.order), &reply);
                    return;
                }
                if swallowed == PROBES {
                    shared.in_step(None, &reply);
                    return;
                }
            }
        });
    }

    fn probe(&self) -> Option<router::Probe> {
        let message =
            Message::new(Channel::Shell, "kernel_info_request", &self.session, &serde_json::Map::new());
        let probe = lock(&self.router).probe(message.id());
        self.send(message).ok().map(|()| probe)
    }

    /// Without an order, executions are let through and none is taken for lost.
    fn in_step(&self, order: Option<u64>, reply: &Message) {
        let mut router = lock(&self.router);
        let held = match order {
            Some(order) => router.in_step(order),
            None => router.let_through(),
        };
        for message in held {
            let id = message.id().to_owned();
            if self.send(message).is_err() {
                router.end(&id, ExecutionEnd::Lost { seen: false });
            }
        }
        drop(router);
        if let Content::KernelInfoReply(info) = reply.content() {
            self.info.send_replace(Some(info));
        }
    }
}
