//! A kernel started on this computer, spoken to over its own sockets.

use std::{
    path::PathBuf,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use sandbook_jupyter::{Activity, KernelClient, kernelspec::InterruptMode};
use sandbook_sandbox::{AttachHandle, BoxFuture, SandboxError, StopChoice, StopReport};
use tokio_util::sync::CancellationToken;

use super::{
    host::{Connected, Host, Presence},
    launch::{Plan, Running},
    settings::Handle,
};
use crate::process;

/// How long a kernel has to end itself before a restart kills it.
const RESTART_GRACE: Duration = Duration::from_secs(2);

/// Keeps a kernel of this computer.
pub(super) struct LocalHost {
    plan: Plan,
    running: tokio::sync::Mutex<Option<Running>>,
    connection_file: Mutex<PathBuf>,
}

impl LocalHost {
    /// Starts the kernel and connects; gives up, and stops it again, when cancelled.
    pub(super) async fn start(
        plan: Plan,
        cancel: &CancellationToken,
    ) -> Result<(Self, Connected), SandboxError> {
        let (running, connected) = plan.launch(cancel).await?;
        let connection_file = Mutex::new(running.connection_file.clone());
        Ok((Self { plan, running: Some(running).into(), connection_file }, connected))
    }

    async fn end(running: &Running, client: &KernelClient, restart: bool, grace: Duration) -> StopReport {
        let busy = *client.activity().borrow() == Activity::Busy;
        let ask = async { drop(client.shutdown(restart).await) };
        process::end(&running.child, busy, ask, grace).await
    }
}

impl Host for LocalHost {
    fn interrupt<'a>(&'a self, client: &'a KernelClient) -> BoxFuture<'a, Result<(), SandboxError>> {
        Box::pin(async move {
            let by_message = self.plan.kernel.spec.interrupt == InterruptMode::Message;
            let by_signal = !by_message
                && self.running.lock().await.as_ref().is_some_and(|running| running.child.interrupt());
            if by_signal {
                return Ok(());
            }
            client.interrupt().await.map_err(|error| SandboxError::Failed(error.to_string()))
        })
    }

    fn restart<'a>(
        &'a self,
        client: &'a KernelClient,
    ) -> BoxFuture<'a, Result<Option<Connected>, SandboxError>> {
        Box::pin(async move {
            let mut slot = self.running.lock().await;
            if let Some(running) = slot.take() {
                Self::end(&running, client, true, RESTART_GRACE).await;
            }
            let (running, connected) = self.plan.launch(&CancellationToken::new()).await?;
            self.connection_file
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone_from(&running.connection_file);
            *slot = Some(running);
            Ok(Some(connected))
        })
    }

    fn stop<'a>(
        &'a self,
        client: &'a KernelClient,
        choice: StopChoice,
        grace: Duration,
    ) -> BoxFuture<'a, Result<StopReport, SandboxError>> {
        Box::pin(async move {
            let mut slot = self.running.lock().await;
            let Some(mut running) = slot.take() else { return Ok(StopReport::WasGone) };
            if choice == StopChoice::Keep {
                running.child.let_survive().await;
                running.folder.keep = true;
                return Ok(StopReport::LeftRunning);
            }
            Ok(Self::end(&running, client, false, grace).await)
        })
    }

    fn presence(&self) -> BoxFuture<'_, Presence> {
        Box::pin(async { Presence::There })
    }

    fn handle(&self) -> AttachHandle {
        let connection_file = self.connection_file.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Handle::Local { connection_file }.keep()
    }
}
