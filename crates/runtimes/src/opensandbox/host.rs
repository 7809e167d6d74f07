//! Who keeps a kernel in a sandbox of a server: it ends with the sandbox, and the sandbox ends by the server's word.

use std::{
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, SystemTime},
};

use sandbook_jupyter::KernelClient;
use sandbook_sandbox::{AttachHandle, BoxFuture, Lease, SandboxError, StopChoice, StopReport, Support};

use super::{
    api::Lifecycle,
    model::Model,
    place::{Place, address},
    reach::{ANSWERS, Reach},
    settings::Handle,
};
use crate::jupyter::{Connected, Host, Presence, ServerHost};

/// How often the server is asked to end a sandbox, before that is given up.
const REMOVALS: u32 = 3;
/// The pause between.
const PAUSE: Duration = Duration::from_secs(1);

/// Keeps a kernel in a sandbox.
pub(super) struct SandboxHost {
    reach: RwLock<Reach>,
    kernel: Arc<ServerHost>,
    ends: Mutex<Option<SystemTime>>,
    paused: AtomicBool,
}

impl SandboxHost {
    pub(super) fn new(reach: Reach, model: &Model, kernel: Arc<ServerHost>) -> Self {
        let (ends, paused) = (Mutex::new(model.ends), AtomicBool::new(false));
        Self { reach: RwLock::new(reach), kernel, ends, paused }
    }

    fn reach(&self) -> Reach {
        self.reach.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn ends(&self) -> Option<SystemTime> {
        *self.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_ends(&self, ends: Option<SystemTime>) {
        *self.ends.lock().unwrap_or_else(PoisonError::into_inner) = ends;
    }

    fn is_over(&self) -> bool {
        self.ends().is_some_and(|ends| ends <= SystemTime::now())
    }

    async fn end(&self) -> Result<StopReport, SandboxError> {
        let Reach { lifecycle, sandbox, .. } = self.reach();
        let mut tries = 1;
        loop {
            match lifecycle.remove(&sandbox).await {
                Ok(true) => return Ok(StopReport::Ended),
                Ok(false) => return Ok(StopReport::WasGone),
                Err(error @ SandboxError::Refused { .. }) => return Err(error),
                Err(error) if tries == REMOVALS => return Err(error),
                Err(error) => tracing::debug!(%error, "the end of a sandbox is asked for again"),
            }
            tries += 1;
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn pause_it(&self) -> Result<(), SandboxError> {
        let Reach { lifecycle, sandbox, .. } = self.reach();
        lifecycle.pause(&sandbox).await?;
        self.paused.store(true, Ordering::SeqCst);
        Ok(())
    }

    async fn resume_it(&self) -> Result<(), SandboxError> {
        let reach = self.reach();
        reach.lifecycle.resume(&reach.sandbox).await?;
        reach.answering(ANSWERS).await?;
        self.paused.store(false, Ordering::SeqCst);
        Ok(())
    }

    async fn prolong_it(&self, life: Duration) -> Result<(), SandboxError> {
        let Reach { lifecycle, sandbox, .. } = self.reach();
        let ends = lifecycle.renew(&sandbox, SystemTime::now() + life).await?;
        self.set_ends(Some(ends));
        Ok(())
    }
}

impl Host for SandboxHost {
    fn interrupt<'a>(&'a self, client: &'a KernelClient) -> BoxFuture<'a, Result<(), SandboxError>> {
        self.kernel.interrupt(client)
    }

    fn restart<'a>(
        &'a self,
        client: &'a KernelClient,
    ) -> BoxFuture<'a, Result<Option<Connected>, SandboxError>> {
        self.kernel.restart(client)
    }

    fn stop<'a>(
        &'a self,
        _: &'a KernelClient,
        choice: StopChoice,
        _: Duration,
    ) -> BoxFuture<'a, Result<StopReport, SandboxError>> {
        Box::pin(async move {
            if choice == StopChoice::Keep {
                return Ok(StopReport::LeftRunning);
            }
            self.end().await
        })
    }

    fn presence(&self) -> BoxFuture<'_, Presence> {
        Box::pin(async {
            let Reach { lifecycle, sandbox, .. } = self.reach();
            match lifecycle.sandbox(&sandbox).await {
                Err(SandboxError::Gone { .. }) => Presence::Gone,
                // the server's key is another matter than the kernel, which is reached without it
                Err(_) => Presence::There,
                Ok(model) if model.ended().is_some() => Presence::Gone,
                Ok(model) => {
                    // somebody else may have put the end off
                    self.set_ends(model.ends);
                    if self.paused.load(Ordering::SeqCst) || model.is_paused() {
                        return Presence::There;
                    }
                    match self.kernel.presence().await {
                        Presence::Gone => Presence::Gone,
                        _ => Presence::There,
                    }
                }
            }
        })
    }

    fn why_gone(&self) -> Option<String> {
        self.is_over().then(|| "the time that was set for the sandbox is over".into())
    }

    fn lease(&self) -> Option<Lease> {
        Some(Lease {
            ends: self.ends(),
            price: None,
            at_most: None,
            renewable: Support::Yes("It can be put off as often as you like.".into()),
        })
    }

    fn prolong(&self, life: Duration) -> Option<BoxFuture<'_, Result<(), SandboxError>>> {
        Some(Box::pin(self.prolong_it(life)))
    }

    fn pause(&self) -> Option<BoxFuture<'_, Result<(), SandboxError>>> {
        Some(Box::pin(self.pause_it()))
    }

    fn resume(&self) -> Option<BoxFuture<'_, Result<(), SandboxError>>> {
        Some(Box::pin(self.resume_it()))
    }

    fn handle(&self) -> AttachHandle {
        let Reach { lifecycle, sandbox, through_server, .. } = self.reach();
        let handle = Handle {
            sandbox,
            server: lifecycle.address().to_owned(),
            through_server,
            kernel: Some(self.kernel.kernel_id().to_owned()),
            session: Some(self.kernel.session().as_str().to_owned()),
        };
        handle.keep()
    }

    fn renew(&self, key: secrecy::SecretString) -> Option<BoxFuture<'_, Result<(), SandboxError>>> {
        Some(Box::pin(async move {
            let reach = self.reach();
            let url = address(reach.lifecycle.address())?;
            let lifecycle = Lifecycle::new(&Place::at(url, Some(key)))?;
            lifecycle.sandbox(&reach.sandbox).await?;
            *self.reach.write().unwrap_or_else(PoisonError::into_inner) = Reach { lifecycle, ..reach };
            Ok(())
        }))
    }
}
