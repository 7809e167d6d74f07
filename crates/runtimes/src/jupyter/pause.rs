//! A sandbox that stands still: its connection may break and come back meanwhile, and nobody is told but of the pause.

use std::sync::atomic::Ordering;

use sandbook_jupyter::{Activity, Link};
use sandbook_sandbox::{Capability, KernelStatus, SandboxError};

use super::sandbox::{Inner, lock};

/// The answer to what cannot be done while everything stands still.
pub(super) fn paused() -> SandboxError {
    SandboxError::NotReady {
        what: "the sandbox".into(),
        reason: "it is paused".into(),
        next: "Resume it. What ran goes on then.".into(),
    }
}

impl Inner {
    pub(super) async fn pause(&self) -> Result<(), SandboxError> {
        let _one_at_a_time = self.restart.lock().await;
        self.is_not_stopped()?;
        let Some(pausing) = self.host.pause() else {
            return Err(self.capabilities.refusal(Capability::Pause));
        };
        pausing.await?;
        self.paused.store(true, Ordering::SeqCst);
        let generation = lock(&self.live).generation;
        self.set_status(generation, KernelStatus::Paused);
        Ok(())
    }

    pub(super) async fn resume(&self) -> Result<(), SandboxError> {
        let _one_at_a_time = self.restart.lock().await;
        let Some(resuming) = self.host.resume() else {
            return Err(self.capabilities.refusal(Capability::Pause));
        };
        resuming.await?;
        if !self.paused.swap(false, Ordering::SeqCst) {
            return Ok(());
        }
        let (client, retry, generation) = {
            let live = lock(&self.live);
            (live.client.clone(), live.retry.clone(), live.generation)
        };
        let is_connected = *client.link().borrow() == Link::Connected;
        let status = match (is_connected, *client.activity().borrow()) {
            (true, Activity::Idle) => KernelStatus::Idle,
            (true, Activity::Busy) => KernelStatus::Busy,
            // the connection tells when it is back
            _ => KernelStatus::Starting,
        };
        self.set_status(generation, status);
        if let Some(retry) = retry.filter(|_| !is_connected) {
            retry.notify_one();
        }
        Ok(())
    }
}
