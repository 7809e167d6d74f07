//! Watching a container: that it ended and why, and that something in it ran out of memory.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant, SystemTime},
};

use bollard::query_parameters::EventsOptions;
use futures::StreamExt as _;
use sandbook_sandbox::DeathCause;
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::engine::{Engine, cause};

/// How long after something ran out of memory a kernel's death is put down to it. A server looks after its kernels every
/// few seconds.
const BLAMED_FOR: Duration = Duration::from_secs(10);
/// How long to wait before an engine that went away is asked again.
const PAUSE: Duration = Duration::from_secs(1);

/// What was seen of a container.
pub(super) struct Watched {
    /// Becomes the cause when the container ends.
    pub(super) death: watch::Receiver<Option<DeathCause>>,
    out_of_memory: Arc<Mutex<Option<Instant>>>,
    _ends_with_this: DropGuard,
}

impl Watched {
    /// Begins to watch a container.
    pub(super) fn begin(engine: Engine, container: String) -> Self {
        let (sender, death) = watch::channel(None);
        let out_of_memory = Arc::<Mutex<Option<Instant>>>::default();
        let ended = CancellationToken::new();
        let (seen, stop) = (out_of_memory.clone(), ended.clone());
        tokio::spawn(async move {
            tokio::select! {
                cause = follow(&engine, &container, &seen) => {
                    sender.send_replace(Some(cause));
                }
                () = stop.cancelled() => {}
            }
        });
        Self { death, out_of_memory, _ends_with_this: ended.drop_guard() }
    }

    /// Why a kernel in it died just now, where that is known.
    pub(super) fn cause(&self) -> Option<DeathCause> {
        if let Some(cause) = self.death.borrow().clone() {
            return Some(cause);
        }
        let moment = *self.out_of_memory.lock().unwrap_or_else(PoisonError::into_inner);
        moment.filter(|moment| moment.elapsed() < BLAMED_FOR).map(|_| DeathCause::OutOfMemory)
    }
}

/// Follows a container to its end.
async fn follow(engine: &Engine, container: &str, out_of_memory: &Mutex<Option<Instant>>) -> DeathCause {
    loop {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        let filters = HashMap::from([
            ("container".to_owned(), vec![container.to_owned()]),
            ("event".to_owned(), vec!["die".to_owned(), "oom".to_owned()]),
        ]);
        // what happens between this question and the next is told by the events
        let options = EventsOptions { since: Some(now.to_string()), until: None, filters: Some(filters) };
        let mut events = std::pin::pin!(engine.docker.events(Some(options)));
        if let Some(cause) = ended(engine, container).await {
            return cause;
        }
        while let Some(Ok(event)) = events.next().await {
            if event.action.as_deref() == Some("oom") {
                *out_of_memory.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
            } else if let Some(cause) = ended(engine, container).await {
                return cause;
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// How it ended, if it did. An engine that does not answer says nothing.
async fn ended(engine: &Engine, container: &str) -> Option<DeathCause> {
    let found = engine.inspect(container).await.ok()?;
    let Some(state) = found.and_then(|container| container.state) else {
        return Some(DeathCause::NotReported);
    };
    (state.running != Some(true)).then(|| cause(&state))
}
