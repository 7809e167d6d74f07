//! A sandbox with a Jupyter kernel in it, whoever keeps the kernel.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use sandbook_jupyter::{Activity, KernelClient};
use sandbook_sandbox::{
    Capabilities, CredentialStatus, DeathCause, Event, ExecuteRequest, Execution, ExecutionId, KernelStatus,
    SandboxError, SandboxInfo, StopChoice, StopReport,
};
use secrecy::SecretString;
use tokio::sync::{Notify, mpsc, watch};
use tracing::Instrument as _;

use super::{
    execution::Run,
    host::{Connected, Host},
    pause,
};
use crate::time_limit::TimeLimit;

/// A sandbox with a Jupyter kernel in it.
pub(crate) struct JupyterSandbox(pub(super) Arc<Inner>);

/// What tasks share.
pub(crate) struct Inner {
    pub(crate) info: SandboxInfo,
    pub(crate) capabilities: Capabilities,
    pub(crate) host: Box<dyn Host>,
    pub(crate) live: Mutex<Live>,
    pub(crate) status: watch::Sender<KernelStatus>,
    pub(crate) credential: watch::Sender<CredentialStatus>,
    pub(crate) interrupts: Arc<AtomicU64>,
    /// One restart at a time.
    pub(crate) restart: tokio::sync::Mutex<()>,
    pub(crate) stopped: AtomicBool,
    pub(crate) paused: AtomicBool,
    /// Where late messages of ended executions go.
    pub(crate) late: Mutex<HashMap<String, mpsc::UnboundedSender<Event>>>,
}

/// The present connection.
pub(crate) struct Live {
    pub(crate) client: KernelClient,
    pub(crate) retry: Option<Arc<Notify>>,
    pub(crate) death: Option<watch::Receiver<Option<DeathCause>>>,
    pub(crate) generation: u64,
    /// Set when it is restarted by us; executions on it look at it when they end.
    pub(crate) restarted: Arc<AtomicBool>,
    /// Why its connection was ended here, where the kernel is as good as gone with it.
    pub(crate) gone: Option<&'static str>,
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl JupyterSandbox {
    /// Around a connected kernel.
    pub(crate) fn new(
        info: SandboxInfo,
        capabilities: Capabilities,
        host: Box<dyn Host>,
        connected: Connected,
    ) -> Self {
        let Connected { span, client, log, retry, death } = connected;
        let over_server = retry.is_some();
        let live = Live {
            client: client.clone(),
            retry,
            death: death.clone(),
            generation: 0,
            restarted: Arc::default(),
            gone: None,
        };
        let credential = CredentialStatus::Good { until: host.good_until() };
        let inner = Arc::new(Inner {
            info,
            capabilities,
            host,
            credential: watch::Sender::new(credential),
            live: Mutex::new(live),
            status: watch::Sender::new(KernelStatus::Starting),
            interrupts: Arc::default(),
            restart: tokio::sync::Mutex::default(),
            stopped: AtomicBool::new(false),
            paused: AtomicBool::new(false),
            late: Mutex::default(),
        });
        span.in_scope(|| {
            if over_server {
                inner.watch_existence(&client);
            }
            inner.follow(client, log, death, 0);
        });
        Self(inner)
    }

    /// One whose kernel runs somebody's code already: it says so only when that ends.
    pub(crate) fn found_busy(self) -> Self {
        self.0.set_status(0, KernelStatus::Busy);
        self
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        lock(&self.live).client.stop();
    }
}

impl Inner {
    pub(crate) fn client(&self) -> KernelClient {
        lock(&self.live).client.clone()
    }

    pub(super) fn is_not_stopped(&self) -> Result<(), SandboxError> {
        if self.stopped.load(Ordering::SeqCst) {
            return Err(SandboxError::Disconnected { detail: "the sandbox was stopped".into() });
        }
        if self.paused.load(Ordering::SeqCst) {
            return Err(pause::paused());
        }
        Ok(())
    }

    /// The server does not take the credential any more.
    pub(crate) fn credential_refused(&self) {
        self.credential.send_if_modified(|present| {
            std::mem::replace(present, CredentialStatus::Refused) != CredentialStatus::Refused
        });
    }

    /// Goes on with a fresh credential.
    pub(crate) async fn renew(&self, credential: SecretString) -> Result<(), SandboxError> {
        let Some(renewing) = self.host.renew(credential) else {
            let reason = "This kernel is reached with the credential that it was joined with.";
            return Err(SandboxError::Unsupported { reason: reason.into() });
        };
        renewing.await?;
        self.credential.send_replace(CredentialStatus::Good { until: self.host.good_until() });
        Ok(())
    }

    pub(crate) async fn interrupt(&self) -> Result<(), SandboxError> {
        self.interrupts.fetch_add(1, Ordering::SeqCst);
        let client = self.client();
        self.host.interrupt(&client).await
    }

    pub(crate) async fn interrupt_for_timeout(&self) {
        if let Err(error) = self.interrupt().await {
            tracing::warn!(%error, "code that ran out of time could not be interrupted");
        }
    }

    pub(crate) async fn restart(self: &Arc<Self>) -> Result<(), SandboxError> {
        let _one_at_a_time = self.restart.lock().await;
        self.is_not_stopped()?;
        let (before, generation) = {
            let mut live = lock(&self.live);
            live.restarted.store(true, Ordering::SeqCst);
            // what the old connection still says is no longer the status
            live.generation += 1;
            (live.client.clone(), live.generation)
        };
        self.set_status(generation, KernelStatus::Starting);
        match self.host.restart(&before).await {
            Ok(Some(connected)) => {
                let Connected { span, client, log, retry, death } = connected;
                *lock(&self.live) = Live {
                    client: client.clone(),
                    retry,
                    death: death.clone(),
                    generation,
                    restarted: Arc::default(),
                    gone: None,
                };
                before.kernel_restarted();
                before.stop();
                self.no_more_late();
                span.in_scope(|| self.follow(client, log, death, generation));
                self.set_status(generation, KernelStatus::Idle);
            }
            Ok(None) => {
                before.kernel_restarted();
                let generation = {
                    let mut live = lock(&self.live);
                    live.restarted = Arc::default();
                    live.generation -= 1;
                    live.generation
                };
                // The new kernel may have said so already, while nobody took the connection's word.
                if *before.activity().borrow() == Activity::Idle {
                    self.set_status(generation, KernelStatus::Idle);
                }
            }
            Err(error) => {
                self.set_status(generation, KernelStatus::Dead(DeathCause::NotReported));
                return Err(error);
            }
        }
        Ok(())
    }

    pub(crate) async fn restart_for_timeout(self: Arc<Self>) {
        if let Err(error) = self.restart().await {
            tracing::warn!(%error, "the kernel of code that ran out of time could not be restarted");
        }
    }

    pub(crate) async fn execute(
        self: &Arc<Self>,
        request: ExecuteRequest,
    ) -> Result<Execution, SandboxError> {
        // code given during a restart is for the new kernel
        drop(self.restart.lock().await);
        self.is_not_stopped()?;
        let (client, death, restarted) = {
            let live = lock(&self.live);
            (live.client.clone(), live.death.clone(), live.restarted.clone())
        };
        let wire = sandbook_jupyter::ExecuteRequest {
            silent: request.silent,
            store_history: !request.silent,
            allow_stdin: request.allow_input,
            stop_on_error: request.stop_on_error,
            ..sandbook_jupyter::ExecuteRequest::new(request.code)
        };
        let execution = client.execute(&wire).map_err(|error| self.explain(&error))?;
        let id = ExecutionId(execution.id().to_owned());
        let (events, receiver) = mpsc::unbounded_channel();
        let (input_to, input) = mpsc::unbounded_channel();
        {
            let mut late = lock(&self.late);
            late.retain(|_, events| !events.is_closed());
            late.insert(id.0.clone(), events.clone());
        }
        let run = Run {
            inner: Arc::downgrade(self),
            client,
            death,
            restarted,
            execution,
            events,
            input,
            limit: TimeLimit::new(request.timeout, request.restart_after),
            interrupts: self.interrupts.clone(),
        };
        tokio::spawn(run.carry().in_current_span());
        Ok(Execution::new(id, receiver, input_to))
    }

    /// Why something cannot be asked of the kernel.
    pub(crate) fn explain(&self, error: &sandbook_jupyter::Error) -> SandboxError {
        match (&*self.status.borrow(), error) {
            (KernelStatus::Dead(cause), _) => SandboxError::Died { cause: cause.to_string() },
            (KernelStatus::Gone { .. }, _) => SandboxError::Gone { what: "the kernel".into() },
            (_, sandbook_jupyter::Error::TimedOut { what, after }) => {
                SandboxError::TimedOut { what: (*what).to_owned(), limit: *after }
            }
            (_, sandbook_jupyter::Error::Ended(detail)) => {
                SandboxError::Disconnected { detail: detail.clone() }
            }
            (_, other) => SandboxError::Failed(other.to_string()),
        }
    }

    pub(crate) async fn stop(&self, choice: StopChoice, grace: Duration) -> Result<StopReport, SandboxError> {
        let client = self.client();
        let was_stopped = self.stopped.load(Ordering::SeqCst);
        let report = self.host.stop(&client, choice, grace).await;
        if report.is_ok() && !was_stopped {
            self.status.send_replace(KernelStatus::Stopped);
            self.stopped.store(true, Ordering::SeqCst);
        }
        client.stop();
        self.no_more_late();
        report
    }
}
