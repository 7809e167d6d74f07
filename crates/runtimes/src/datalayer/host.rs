//! Who keeps a kernel in a runtime of the platform: it ends with the runtime, and the runtime ends by the platform's word.

use std::{
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, SystemTime},
};

use sandbook_jupyter::KernelClient;
use sandbook_sandbox::{AttachHandle, BoxFuture, Lease, SandboxError, StopChoice, StopReport};

use super::{api::Platform, join::answering, model::Model, settings::Handle};
use crate::jupyter::{Connected, Host, Presence, ServerHost};

/// How long a runtime may take to go on after a pause.
const RESUME: Duration = Duration::from_mins(2);
/// How often the platform is asked to end a runtime, before that is given up.
const REMOVALS: u32 = 3;
/// The pause between.
const PAUSE: Duration = Duration::from_secs(1);

pub(super) struct RuntimeHost {
    platform: RwLock<Platform>,
    runtime: Model,
    kernel: Arc<ServerHost>,
    lease: Lease,
    paused: AtomicBool,
    /// Whether it is ended, or left running on purpose.
    let_go: AtomicBool,
}

impl RuntimeHost {
    pub(super) fn new(platform: Platform, runtime: Model, kernel: Arc<ServerHost>) -> Self {
        let lease = runtime.lease();
        Self {
            platform: RwLock::new(platform),
            runtime,
            kernel,
            lease,
            paused: AtomicBool::new(false),
            let_go: AtomicBool::new(false),
        }
    }

    fn platform(&self) -> Platform {
        self.platform.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends the runtime, and with it what it costs.
    async fn end(&self) -> Result<StopReport, SandboxError> {
        let was_there = end(&self.platform(), &self.runtime.name).await?;
        self.let_go.store(true, Ordering::SeqCst);
        Ok(if was_there { StopReport::Ended } else { StopReport::WasGone })
    }

    async fn pause_it(&self) -> Result<(), SandboxError> {
        self.platform().pause(&self.runtime.name).await?;
        self.paused.store(true, Ordering::SeqCst);
        Ok(())
    }

    async fn resume_it(&self) -> Result<(), SandboxError> {
        self.platform().resume(&self.runtime.name).await?;
        answering(&self.kernel.server(), RESUME).await?;
        self.paused.store(false, Ordering::SeqCst);
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.lease.ends.is_some_and(|ends| ends <= SystemTime::now())
    }
}

/// Whoever drops a sandbox without a word would pay for it until its end.
impl Drop for RuntimeHost {
    fn drop(&mut self) {
        if self.let_go.load(Ordering::SeqCst) || self.is_over() {
            return;
        }
        let Ok(tasks) = tokio::runtime::Handle::try_current() else { return };
        let (platform, name) = (self.platform(), self.runtime.name.clone());
        tasks.spawn(async move {
            if let Err(error) = end(&platform, &name).await {
                tracing::warn!(%error, runtime = name, "a runtime that nobody holds any more is left");
            }
        });
    }
}

/// Ends a runtime. `false` where it was gone.
async fn end(platform: &Platform, name: &str) -> Result<bool, SandboxError> {
    let mut tries = 1;
    loop {
        match platform.remove(name).await {
            Err(error) if tries == REMOVALS || matches!(error, SandboxError::Refused { .. }) => {
                return Err(error);
            }
            Err(error) => tracing::debug!(%error, "the end of a runtime is asked for again"),
            ended => return ended,
        }
        tries += 1;
        tokio::time::sleep(PAUSE).await;
    }
}

impl Host for RuntimeHost {
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
                self.let_go.store(true, Ordering::SeqCst);
                return Ok(StopReport::LeftRunning);
            }
            self.end().await
        })
    }

    fn presence(&self) -> BoxFuture<'_, Presence> {
        Box::pin(async {
            // one that is paused is in no list, and does not answer
            if self.paused.load(Ordering::SeqCst) && !self.is_over() {
                return Presence::There;
            }
            match self.platform().runtime(&self.runtime.name).await {
                Err(SandboxError::Gone { .. }) => Presence::Gone,
                // the key of the account is another matter than the kernel, which is reached without it
                Err(_) => Presence::There,
                Ok(_) => match self.kernel.presence().await {
                    Presence::Gone => Presence::Gone,
                    _ => Presence::There,
                },
            }
        })
    }

    fn why_gone(&self) -> Option<String> {
        self.is_over().then(|| "the credits that were set for the Datalayer runtime are spent".into())
    }

    fn lease(&self) -> Option<Lease> {
        Some(self.lease.clone())
    }

    fn pause(&self) -> Option<BoxFuture<'_, Result<(), SandboxError>>> {
        Some(Box::pin(self.pause_it()))
    }

    fn resume(&self) -> Option<BoxFuture<'_, Result<(), SandboxError>>> {
        Some(Box::pin(self.resume_it()))
    }

    fn handle(&self) -> AttachHandle {
        let handle = Handle {
            runtime: self.runtime.name.clone(),
            kernel: Some(self.kernel.kernel_id().to_owned()),
            session: Some(self.kernel.session().as_str().to_owned()),
        };
        handle.keep()
    }

    fn renew(&self, key: secrecy::SecretString) -> Option<BoxFuture<'_, Result<(), SandboxError>>> {
        Some(Box::pin(async move {
            let renewed = self.platform().with_key(&key)?;
            renewed.runtime(&self.runtime.name).await?;
            *self.platform.write().unwrap_or_else(PoisonError::into_inner) = renewed;
            Ok(())
        }))
    }
}
