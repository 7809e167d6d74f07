//! A sandbox around an engine: its runs, its restarts, its end.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use sandbook_sandbox::{
    Capability, DeathCause, ExecuteRequest, Execution, ExecutionId, KernelInfo, KernelStatus, SandboxError,
    SandboxInfo, StopChoice, StopReport,
};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;
use uuid::Uuid;

use super::{
    Engine, Launched, Orders, Running,
    ears::{Ears, Waiting},
    execution::Run,
    words::{Order, Question},
};

/// How long an engine has to end itself before a restart kills it.
const RESTART_GRACE: Duration = Duration::from_secs(2);
/// How long an answer to a question may take.
const ANSWER_PATIENCE: Duration = Duration::from_secs(10);

/// A sandbox around an engine.
pub(crate) struct DrivenSandbox(pub(super) Arc<Inner>);

/// What tasks share.
pub(super) struct Inner {
    pub(super) info: SandboxInfo,
    pub(super) engine: Box<dyn Engine>,
    live: Mutex<Live>,
    pub(super) status: watch::Sender<KernelStatus>,
    interrupts: Arc<AtomicU64>,
    questions: AtomicU64,
    /// One restart or stop at a time.
    changing: tokio::sync::Mutex<()>,
    stopped: AtomicBool,
}

/// What runs at present.
struct Live {
    /// None when it was stopped.
    running: Option<Arc<dyn Running>>,
    info: KernelInfo,
    orders: Orders,
    waiting: Arc<Waiting>,
    death: watch::Receiver<Option<DeathCause>>,
    generation: u64,
    /// Set when it is restarted by us; executions in it look at it when they end.
    restarted: Arc<AtomicBool>,
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What begins to carry once it is known where to.
struct Carrier {
    carry: Box<dyn FnOnce(Ears, mpsc::UnboundedReceiver<Order>) + Send>,
    orders: mpsc::UnboundedReceiver<Order>,
}

impl DrivenSandbox {
    /// Launches an engine; gives up, and stops it again, when cancelled.
    pub(crate) async fn start(
        info: SandboxInfo,
        engine: Box<dyn Engine>,
        cancel: &CancellationToken,
    ) -> Result<Self, SandboxError> {
        let (live, carrier) = Live::of(engine.launch(cancel).await?, 0);
        let inner = Arc::new(Inner {
            info,
            engine,
            live: Mutex::new(live),
            status: watch::Sender::new(KernelStatus::Idle),
            interrupts: Arc::default(),
            questions: AtomicU64::default(),
            changing: tokio::sync::Mutex::default(),
            stopped: AtomicBool::new(false),
        });
        inner.carry(carrier);
        Ok(Self(inner))
    }
}

impl Live {
    fn of(launched: Launched, generation: u64) -> (Self, Carrier) {
        let Launched { running, info, death, carry } = launched;
        let (to, orders) = mpsc::unbounded_channel();
        let live = Self {
            running: Some(running.into()),
            info,
            orders: to,
            waiting: Arc::default(),
            death,
            generation,
            restarted: Arc::default(),
        };
        (live, Carrier { carry, orders })
    }
}

impl Inner {
    pub(super) fn kernel_info(&self) -> KernelInfo {
        lock(&self.live).info.clone()
    }

    fn carry(self: &Arc<Self>, carrier: Carrier) {
        let (waiting, generation) = {
            let live = lock(&self.live);
            (live.waiting.clone(), live.generation)
        };
        let ears = Ears { inner: Arc::downgrade(self), waiting, generation, current: None };
        (carrier.carry)(ears, carrier.orders);
    }

    pub(super) fn set_status(&self, generation: u64, status: KernelStatus) {
        if lock(&self.live).generation == generation && !self.stopped.load(Ordering::SeqCst) {
            self.status.send_if_modified(|present| {
                let changed = *present != status;
                *present = status;
                changed
            });
        }
    }

    pub(super) fn interrupt(&self) {
        self.interrupts.fetch_add(1, Ordering::SeqCst);
        if let Some(running) = &lock(&self.live).running {
            running.interrupt();
        }
    }

    pub(super) async fn execute(
        self: &Arc<Self>,
        request: ExecuteRequest,
    ) -> Result<Execution, SandboxError> {
        // code given during a restart is for what comes after it
        drop(self.changing.lock().await);
        let id = Uuid::new_v4().simple().to_string();
        let (events, receiver) = mpsc::unbounded_channel();
        let (input_to, input) = mpsc::unbounded_channel();
        let (say, said) = mpsc::unbounded_channel();
        let run = {
            let live = lock(&self.live);
            if let Some(error) = self.unusable() {
                return Err(error);
            }
            let mut runs = lock(&live.waiting.runs);
            runs.retain(|_, run| !run.is_closed());
            runs.insert(id.clone(), say);
            let order = Order::Execute {
                id: id.clone(),
                code: request.code,
                silent: request.silent,
                allow_input: request.allow_input,
                stop_on_error: request.stop_on_error,
            };
            // where it is not taken, the engine is dead, and the run ends by that
            drop(live.orders.send(order));
            Run {
                inner: Arc::downgrade(self),
                said,
                orders: live.orders.clone(),
                death: live.death.clone(),
                restarted: live.restarted.clone(),
                events,
                input,
                timeout: request.timeout,
                restart_after: request.restart_after,
                interrupts: self.interrupts.clone(),
            }
        };
        tokio::spawn(run.carry().in_current_span());
        Ok(Execution::new(ExecutionId(id), receiver, input_to))
    }

    /// Why nothing can be asked of it.
    fn unusable(&self) -> Option<SandboxError> {
        match &*self.status.borrow() {
            KernelStatus::Dead(cause) => Some(SandboxError::Died { cause: cause.to_string() }),
            KernelStatus::Stopped => {
                Some(SandboxError::Disconnected { detail: "the sandbox was stopped".into() })
            }
            _ => None,
        }
    }

    pub(super) async fn ask(&self, question: Question) -> Result<Value, SandboxError> {
        if let Some(error) = self.unusable() {
            return Err(error);
        }
        let id = self.questions.fetch_add(1, Ordering::SeqCst);
        let (answer_to, answer) = oneshot::channel();
        {
            let live = lock(&self.live);
            lock(&live.waiting.questions).insert(id, answer_to);
            drop(live.orders.send(Order::Ask { id, question }));
        }
        match tokio::time::timeout(ANSWER_PATIENCE, answer).await {
            Ok(Ok(answer)) => answer.map_err(SandboxError::Failed),
            Ok(Err(_)) => Err(self
                .unusable()
                .unwrap_or(SandboxError::Disconnected { detail: "it ended before it answered".into() })),
            Err(_) => Err(SandboxError::TimedOut { what: "an answer".into(), limit: ANSWER_PATIENCE }),
        }
    }

    pub(super) async fn restart(self: &Arc<Self>) -> Result<(), SandboxError> {
        let _one_at_a_time = self.changing.lock().await;
        if self.stopped.load(Ordering::SeqCst) {
            return Err(SandboxError::Disconnected { detail: "the sandbox was stopped".into() });
        }
        let (running, orders, generation) = {
            let mut live = lock(&self.live);
            live.restarted.store(true, Ordering::SeqCst);
            // what it still says is no longer the status
            live.generation += 1;
            (live.running.take(), live.orders.clone(), live.generation)
        };
        let busy = *self.status.borrow() == KernelStatus::Busy;
        self.set_status(generation, KernelStatus::Starting);
        if let Some(running) = running {
            running.end(busy, &orders, RESTART_GRACE).await;
        }
        let launched = match self.engine.launch(&CancellationToken::new()).await {
            Ok(launched) => launched,
            Err(error) => {
                self.set_status(generation, KernelStatus::Dead(DeathCause::NotReported));
                return Err(error);
            }
        };
        let (live, carrier) = Live::of(launched, generation);
        *lock(&self.live) = live;
        self.carry(carrier);
        self.set_status(generation, KernelStatus::Idle);
        Ok(())
    }

    pub(super) async fn restart_for_timeout(self: Arc<Self>) {
        if let Err(error) = self.restart().await {
            tracing::warn!(%error, "what ran code that ran out of time could not be restarted");
        }
    }

    pub(super) async fn stop(&self, choice: StopChoice, grace: Duration) -> Result<StopReport, SandboxError> {
        if choice == StopChoice::Keep {
            return Err(self.engine.capabilities().refusal(Capability::Survive));
        }
        let _one_at_a_time = self.changing.lock().await;
        let (running, orders) = {
            let mut live = lock(&self.live);
            (live.running.take(), live.orders.clone())
        };
        let Some(running) = running else { return Ok(StopReport::WasGone) };
        let busy = *self.status.borrow() == KernelStatus::Busy;
        // its end is no death
        self.stopped.store(true, Ordering::SeqCst);
        let report = running.end(busy, &orders, grace).await;
        self.status.send_replace(KernelStatus::Stopped);
        self.engine.finish().await?;
        Ok(report)
    }
}
