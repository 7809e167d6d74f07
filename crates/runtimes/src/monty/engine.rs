//! Launching: a worker, a session in it, and the task that serves it.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use monty_pool::{Checkout, Pool, PoolConfig, PoolError, ReplConfig, on_print_sync};
use monty_types::ResourceLimits;
use sandbook_sandbox::{BoxFuture, Capabilities, DeathCause, KernelInfo, SandboxError, StopReport};
use serde_json::json;
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::Instrument as _;

use super::{TITLE, host::Host, session::Session, settings::MontySettings};
use crate::{
    driven::{Engine, Launched, Orders, Running},
    supervise::{Guard, Guarded},
};

/// The version of Python that Monty follows.
const LANGUAGE_VERSION: &str = "3.14";
/// The name of code in tracebacks.
const SCRIPT: &str = "<cell>";
/// How long what is printed may be gathered.
const FLUSH: Duration = Duration::from_millis(10);

/// How to launch Monty, again and again.
pub(super) struct MontyEngine {
    pub(super) worker: PathBuf,
    pub(super) settings: MontySettings,
    pub(super) host: Host,
    /// As in the surrounding.
    pub(super) supervisor: Option<Vec<OsString>>,
}

/// The hand on a session.
struct Hand {
    interrupts: watch::Sender<u64>,
    stop: CancellationToken,
    death: watch::Receiver<Option<DeathCause>>,
    _stops_when_dropped: DropGuard,
}

impl Engine for MontyEngine {
    fn capabilities(&self) -> Capabilities {
        super::capabilities(!self.host.mounts.is_empty())
    }

    fn launch<'a>(&'a self, cancel: &'a CancellationToken) -> BoxFuture<'a, Result<Launched, SandboxError>> {
        Box::pin(async move {
            let (workers, worker) = tokio::select! {
                started = Workers::start(self) => started?,
                () = cancel.cancelled() => return Err(SandboxError::Cancelled),
            };
            let (interrupts, interrupted) = watch::channel(0);
            let (death_to, death) = watch::channel(None);
            let stop = CancellationToken::new();
            let stopped = stop.clone();
            let (longest, host) = (self.settings.longest(), self.host.clone());
            let hand = Hand {
                interrupts,
                death: death.clone(),
                _stops_when_dropped: stop.clone().drop_guard(),
                stop,
            };
            Ok(Launched {
                running: Box::new(hand),
                info: info(),
                death,
                carry: Box::new(move |ears, orders| {
                    let session = Session::new(ears, workers, worker, host, longest, interrupted);
                    let served = async move {
                        let cause = session.serve(orders, stopped).await;
                        death_to.send_replace(Some(cause));
                    };
                    tokio::spawn(served.in_current_span());
                }),
            })
        })
    }
}

impl Running for Hand {
    fn interrupt(&self) {
        self.interrupts.send_modify(|count| *count += 1);
    }

    fn end<'a>(&'a self, _busy: bool, _orders: &'a Orders, grace: Duration) -> BoxFuture<'a, StopReport> {
        Box::pin(async move {
            let mut death = self.death.clone();
            if death.borrow().is_some() {
                return StopReport::WasGone;
            }
            self.stop.cancel();
            // the worker is killed with its session
            let gone = tokio::time::timeout(grace, death.wait_for(Option::is_some)).await;
            if gone.is_ok() { StopReport::Ended } else { StopReport::Killed }
        })
    }
}

/// How workers and sessions in them are made.
pub(super) struct Workers {
    pool: Pool,
    repl: ReplConfig,
    /// Ends workers whose code goes on after this process; absent where there is no supervisor.
    guard: Option<Guard>,
}

/// A session in a worker. The worker is killed when this is dropped.
pub(super) struct Worker {
    pub(super) checkout: Checkout,
    /// After the checkout, so that the worker is dead before it is let go.
    _guarded: Option<Guarded>,
}

impl Workers {
    async fn start(engine: &MontyEngine) -> Result<(Self, Worker), SandboxError> {
        let failed = |detail: String| SandboxError::StartFailed { what: TITLE.into(), detail };
        let supervisor = engine.supervisor.as_deref();
        let guard = supervisor.map(Guard::start).transpose().map_err(|error| failed(error.to_string()))?;
        let mut config = PoolConfig::subprocess(&engine.worker);
        config.max_processes = 2;
        let pool = Pool::new(config).await.map_err(|error| failed(error.to_string()))?;
        let workers = Self { pool, repl: repl(engine), guard };
        let worker = workers.worker().await.map_err(|error| failed(error.to_string()))?;
        Ok((workers, worker))
    }

    async fn worker(&self) -> Result<Worker, PoolError> {
        let checkout = self.pool.checkout(&self.repl).await?;
        let guarded = match (&self.guard, checkout.pid()) {
            (Some(guard), Some(pid)) => {
                Some(guard.take(pid).await.map_err(|error| PoolError::Spawn(error.to_string()))?)
            }
            _ => None,
        };
        Ok(Worker { checkout, _guarded: guarded })
    }

    /// A session that goes on from a dump, in a worker of its own.
    pub(super) async fn restore(&self, dump: Vec<u8>) -> Result<Worker, PoolError> {
        let mut worker = self.worker().await?;
        let mut print = on_print_sync(|_, _| {});
        worker.checkout.restore(dump, Vec::new(), &mut print).await?;
        Ok(worker)
    }
}

fn repl(engine: &MontyEngine) -> ReplConfig {
    let MontySettings { memory, type_check, type_check_stubs, .. } = engine.settings.clone();
    let mut limits =
        ResourceLimits::default().max_memory(usize::try_from(memory.in_bytes()).unwrap_or(usize::MAX));
    // each file and each function that is asked for is one; what does not end is interrupted
    limits.max_suspensions = usize::MAX;
    ReplConfig {
        script_name: SCRIPT.into(),
        limits: Some(limits),
        type_check,
        type_check_stubs: engine.host.functions.declared_after(type_check_stubs).filter(|_| type_check),
        print_flush_interval: Some(FLUSH),
        ..ReplConfig::default()
    }
}

fn info() -> KernelInfo {
    let language_info = json!({
        "file_extension": ".py",
        "mimetype": "text/x-python",
        "name": "python",
        "pygments_lexer": "ipython3",
        "version": LANGUAGE_VERSION,
    });
    KernelInfo {
        implementation: "monty".into(),
        language: "python".into(),
        language_version: LANGUAGE_VERSION.into(),
        highlighter: Some("ipython3".into()),
        language_info: Some(language_info.to_string()),
        banner: "Monty 0.0.23, a part of Python".into(),
    }
}
