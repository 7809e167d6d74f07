//! Who keeps a kernel at Modal: a command in a sandbox, begun again for a restart, and ended with the sandbox.

use std::{
    sync::{Mutex, PoisonError, atomic::Ordering},
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use sandbook_jupyter::{
    Activity, KernelClient,
    bridge::{Kind, Order},
};
use sandbook_sandbox::{
    Amount, AttachHandle, BoxFuture, Lease, Price, PriceSource, SandboxError, StopChoice, StopReport, Support,
};

use super::{
    place::{Kernel, Place},
    price::for_life,
    settings::Handle,
};
use crate::jupyter::{Connected, Host, Presence};

/// How long a kernel has to end before the next one is begun.
const RESTART_GRACE: Duration = Duration::from_secs(3);

/// Until when a sandbox lives, and what that costs.
#[derive(Debug, Clone)]
pub(super) struct Terms {
    /// When it was made, and when it ends.
    pub(super) life: Option<(SystemTime, SystemTime)>,
    pub(super) price: Option<Price>,
}

impl Terms {
    /// Of a sandbox that is made now.
    pub(super) fn from_now(life: Duration, price: Option<Price>) -> Self {
        let now = SystemTime::now();
        Self { life: Some((now, now + life)), price }
    }

    /// Of one that was made before.
    pub(super) fn of(handle: &Handle) -> Self {
        let moment = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let price = handle.price.clone().map(|(per_hour, day)| Price {
            per_hour: Amount::new(per_hour, "USD"),
            source: PriceSource::Estimate(day),
        });
        Self { life: handle.life.map(|(began, ends)| (moment(began), moment(ends))), price }
    }

    pub(super) fn lease(&self) -> Lease {
        let life = self.life.and_then(|(began, ends)| ends.duration_since(began).ok());
        Lease {
            ends: self.life.map(|(_, ends)| ends),
            price: self.price.clone(),
            at_most: self.price.as_ref().zip(life).map(|(price, life)| for_life(price, life)),
            renewable: Support::No("Modal ends a sandbox at the time that was said when it was made.".into()),
        }
    }
}

/// Keeps a kernel in a sandbox.
pub(super) struct ModalHost {
    place: Place,
    kernel: Mutex<Kernel>,
    terms: Terms,
    why_gone: Mutex<Option<String>>,
}

impl ModalHost {
    pub(super) fn new(place: Place, kernel: Kernel, terms: Terms) -> Self {
        Self { place, kernel: Mutex::new(kernel), terms, why_gone: Mutex::default() }
    }

    fn kernel(&self) -> Kernel {
        self.kernel.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn gone_because(&self, why: String) {
        *self.why_gone.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
    }

    async fn begin_again(&self) -> Result<Option<Connected>, SandboxError> {
        let old = self.kernel();
        drop(old.input.send(Bytes::new()));
        old.command.wait(RESTART_GRACE).await;
        let (running, hello) = self.place.begin().await?;
        if hello.kind != Kind::Kernel {
            return Err(SandboxError::StartFailed {
                what: "the kernel".into(),
                detail: "ipykernel is not installed in the sandbox any more".into(),
            });
        }
        let (kernel, connected) = running.connect();
        *self.kernel.lock().unwrap_or_else(PoisonError::into_inner) = kernel;
        Ok(Some(connected))
    }

    /// Asks the kernel to end, where it listens; then ends the sandbox.
    async fn end(&self, client: &KernelClient, grace: Duration) -> Result<StopReport, SandboxError> {
        let asked = *client.activity().borrow() != Activity::Busy && !grace.is_zero();
        let ended = asked && {
            let kernel = self.kernel();
            let end = async {
                drop(client.shutdown(false).await);
                kernel.command.wait(grace).await
            };
            tokio::time::timeout(grace, end).await.unwrap_or_default()
        };
        Ok(match (self.place.remote.terminate().await?, ended) {
            (true, _) => StopReport::WasGone,
            (false, true) => StopReport::Ended,
            (false, false) => StopReport::Killed,
        })
    }
}

impl Host for ModalHost {
    fn interrupt<'a>(&'a self, _: &'a KernelClient) -> BoxFuture<'a, Result<(), SandboxError>> {
        let sent = self.kernel().input.send(Order::Interrupt(true).line());
        let gone = |_| SandboxError::Gone { what: "the sandbox at Modal".into() };
        Box::pin(async move { sent.map_err(gone) })
    }

    fn restart<'a>(&'a self, _: &'a KernelClient) -> BoxFuture<'a, Result<Option<Connected>, SandboxError>> {
        Box::pin(self.begin_again())
    }

    fn stop<'a>(
        &'a self,
        client: &'a KernelClient,
        choice: StopChoice,
        grace: Duration,
    ) -> BoxFuture<'a, Result<StopReport, SandboxError>> {
        Box::pin(async move {
            if choice == StopChoice::Keep {
                self.place.remote.let_stay();
                return Ok(StopReport::LeftRunning);
            }
            self.end(client, grace).await
        })
    }

    fn presence(&self) -> BoxFuture<'_, Presence> {
        Box::pin(async {
            match self.place.remote.result().await {
                Ok(Some(result)) => {
                    self.gone_because(format!("the sandbox has ended: {}", super::remote::words(&result)));
                    Presence::Gone
                }
                Err(SandboxError::Gone { .. }) => Presence::Gone,
                Err(SandboxError::Refused { .. }) => Presence::Refused,
                Ok(None) | Err(_) => Presence::There,
            }
        })
    }

    fn why_gone(&self) -> Option<String> {
        self.why_gone.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn lease(&self) -> Option<Lease> {
        Some(self.terms.lease())
    }

    fn handle(&self) -> AttachHandle {
        handle(&self.place, &self.terms, Some(&self.kernel())).keep()
    }
}

/// What is kept of a sandbox. Variables of the environment are not: they may be anything.
pub(super) fn handle(place: &Place, terms: &Terms, kernel: Option<&Kernel>) -> Handle {
    let name = place.remote.name();
    Handle {
        sandbox: name.sandbox.clone(),
        task: name.task.clone(),
        command: kernel.map(|kernel| kernel.command.id.clone()),
        read: kernel.map(|kernel| kernel.read.load(Ordering::Relaxed)).unwrap_or_default(),
        life: terms.life.and_then(|(began, ends)| Some((seconds(began)?, seconds(ends)?))),
        price: terms.price.as_ref().and_then(kept),
        plain: kernel.is_none(),
        python: place.python.clone(),
        folder: place.folder.clone(),
        idle: place.idle,
    }
}

fn seconds(moment: SystemTime) -> Option<u64> {
    moment.duration_since(SystemTime::UNIX_EPOCH).map(|time| time.as_secs()).ok()
}

fn kept(price: &Price) -> Option<(f64, String)> {
    match &price.source {
        PriceSource::Estimate(day) => Some((price.per_hour.value, day.clone())),
        PriceSource::Provider => None,
    }
}
