//! Making runtimes, each once.
//!
//! A platform makes another runtime each time it is asked, and each costs something. So its name is our own id, which is on
//! record before; it is looked up by that name before the order leaves and after an answer that got lost, and only where
//! it is not there the order is given again. Making goes on in a task of its own: who gives it up, by the token or by
//! dropping the future, gets a task that ends what was made, not one that was torn off between question and answer.

use std::{sync::Arc, time::Duration};

use sandbook_sandbox::{CreateRequest, Problem, Progress, Sandbox, SandboxError};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{
    DatalayerRuntime, NAME,
    api::{Answer, Order, Platform},
    join,
    model::{Model, given_name},
    reap::Ordered,
    settings::DatalayerSettings,
};
use crate::reap::reap;

/// How often an order is given.
const ORDERS: u32 = 4;
/// How often a runtime is looked for after a lost answer, before the order is given again.
const LOOKS: u32 = 5;
/// The pause before each look.
const PAUSE: Duration = Duration::from_secs(1);

/// Whether an order has left, and so whether there is something to end where it comes to nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sent {
    Nothing,
    Answered,
    /// One may be there that nobody has seen.
    Unanswered,
}

impl DatalayerRuntime {
    /// Makes a runtime and joins the kernel that waits in it.
    pub(super) async fn make(&self, request: CreateRequest) -> Result<Arc<dyn Sandbox>, SandboxError> {
        let (this, cancel) = (self.clone(), request.cancel.child_token());
        let _given_up_with_this_future = cancel.clone().drop_guard();
        let made = tokio::spawn(Box::pin(this.make_or_reap(request, cancel)));
        made.await.map_err(|error| SandboxError::Failed(error.to_string()))?
    }

    async fn make_or_reap(
        self,
        request: CreateRequest,
        cancel: CancellationToken,
    ) -> Result<Arc<dyn Sandbox>, SandboxError> {
        let settings = DatalayerSettings::read(&request.settings)?;
        let platform = self.platform(&settings, request.credential.as_ref())?;
        given_up(&cancel)?;
        let id = request.settings.id.clone().unwrap_or_else(|| Uuid::new_v4().simple().to_string());
        let name = given_name(&id);
        // until the order leaves, giving up costs nothing and needs no cleaning
        let order = tokio::select! {
            order = self.order(&platform, &settings, &name, &request.progress) => order?,
            () = cancel.cancelled() => return Err(SandboxError::Cancelled),
        };
        let mut sent = Sent::Nothing;
        let made = Self::steps(&platform, &order, &request, &cancel, &mut sent).await;
        let made = if cancel.is_cancelled() { made.and(Err(SandboxError::Cancelled)) } else { made };
        match made {
            Ok(sandbox) => Ok(sandbox),
            Err(error) if sent == Sent::Nothing => Err(error),
            Err(error) => {
                let ordered = Ordered { platform, given_name: order.given_name };
                reap(ordered, sent == Sent::Unanswered, &error).await?;
                Err(error)
            }
        }
    }

    /// What has to be asked for. The environment is one that there is.
    async fn order(
        &self,
        platform: &Platform,
        settings: &DatalayerSettings,
        given_name: &str,
        progress: &Progress,
    ) -> Result<Order, SandboxError> {
        progress.report(format!("Asking {} for its environments", platform.address()), None);
        let wanted = self.defaults.environment(settings);
        let environments = platform.environments().await?;
        let Some(environment) = environments.iter().find(|known| known.name == wanted) else {
            let names: Vec<&str> = environments.iter().map(|known| known.name.as_str()).collect();
            let reason = format!("{NAME} has no environment {wanted}; it has {}", names.join(", "));
            return Err(Problem::new("environment", reason).into());
        };
        let snapshot = match &settings.snapshot {
            Some(name) => Some(platform.snapshot(name).await?),
            None => None,
        };
        Ok(Order {
            given_name: given_name.to_owned(),
            environment: environment.name.clone(),
            limit: environment.rate * 60.0 * settings.minutes(),
            snapshot,
        })
    }

    async fn steps(
        platform: &Platform,
        order: &Order,
        request: &CreateRequest,
        cancel: &CancellationToken,
        sent: &mut Sent,
    ) -> Result<Arc<dyn Sandbox>, SandboxError> {
        let model = make_once(platform, order, &request.progress, cancel, sent).await?;
        given_up(cancel)?;
        let name = request.settings.name.clone();
        tokio::select! {
            joined = join::new(platform.clone(), model, name, &request.progress) => joined,
            () = cancel.cancelled() => Err(SandboxError::Cancelled),
        }
    }
}

fn given_up(cancel: &CancellationToken) -> Result<(), SandboxError> {
    if cancel.is_cancelled() { Err(SandboxError::Cancelled) } else { Ok(()) }
}

/// One runtime for an order, however often it has to be given.
async fn make_once(
    platform: &Platform,
    order: &Order,
    progress: &Progress,
    cancel: &CancellationToken,
    sent: &mut Sent,
) -> Result<Model, SandboxError> {
    if let Some(model) = only_one(platform, &order.given_name).await? {
        *sent = Sent::Answered;
        return Ok(model);
    }
    let mut failed = SandboxError::Cancelled;
    for attempt in 1..=ORDERS {
        given_up(cancel)?;
        progress.report(format!("Asking for a runtime of {}", order.environment), None);
        if *sent == Sent::Nothing {
            *sent = Sent::Answered;
        }
        match platform.make(order).await {
            Answer::Made(model) => return Ok(*model),
            Answer::Refused(error) => return Err(error),
            Answer::NotNow(error, wait) => {
                progress.report(format!("{NAME} has no room now, trying again: {error}"), None);
                failed = error;
                if attempt < ORDERS {
                    pause(wait, cancel).await?;
                }
            }
            Answer::Lost(error) => {
                *sent = Sent::Unanswered;
                progress.report("The answer was lost; looking whether the runtime was made", None);
                failed = error;
                if let Some(model) = look(platform, &order.given_name, cancel).await? {
                    return Ok(model);
                }
            }
        }
    }
    Err(failed)
}

/// Looks for a runtime whose order may have been taken. A platform that does not answer is asked again.
async fn look(
    platform: &Platform,
    given_name: &str,
    cancel: &CancellationToken,
) -> Result<Option<Model>, SandboxError> {
    let mut unreached = None;
    for _ in 0..LOOKS {
        pause(PAUSE, cancel).await?;
        match only_one(platform, given_name).await {
            Ok(Some(model)) => return Ok(Some(model)),
            Ok(None) => unreached = None,
            Err(error @ SandboxError::Refused { .. }) => return Err(error),
            Err(error) => unreached = Some(error),
        }
    }
    // asked again while nobody can look, it might be made twice
    unreached.map_or(Ok(None), Err)
}

/// The runtime of this name. Where an order was taken twice, the others are ended.
async fn only_one(platform: &Platform, given_name: &str) -> Result<Option<Model>, SandboxError> {
    let mut found = platform.called(given_name).await?.into_iter();
    let first = found.next();
    for other in found {
        tracing::warn!(runtime = other.name, "an order was taken twice; this runtime is ended");
        platform.remove(&other.name).await?;
    }
    Ok(first)
}

async fn pause(time: Duration, cancel: &CancellationToken) -> Result<(), SandboxError> {
    tokio::select! {
        () = tokio::time::sleep(time) => Ok(()),
        () = cancel.cancelled() => Err(SandboxError::Cancelled),
    }
}
