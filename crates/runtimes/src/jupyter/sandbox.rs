//! A sandbox with a Jupyter kernel in it, whoever keeps the kernel.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use sandbook_jupyter::{KernelClient, Link};
use sandbook_sandbox::{
    BoxFuture, Capabilities, Completeness, CompletionMatch, CompletionReply, DeathCause, Event,
    ExecuteRequest, Execution, ExecutionId, HistoryEntry, InspectReply, KernelInfo, KernelStatus, Sandbox,
    SandboxError, SandboxInfo, StopChoice, StopReport,
};
use serde_json::Value;
use tokio::sync::{Notify, mpsc, watch};
use tracing::Instrument as _;

use super::{
    execution::Run,
    host::{Connected, Host},
    translate,
};

/// How long a kernel may take to say what it is.
const READY_PATIENCE: Duration = Duration::from_mins(1);

/// A sandbox with a Jupyter kernel in it.
pub(super) struct JupyterSandbox(Arc<Inner>);

/// What tasks share.
pub(super) struct Inner {
    pub(super) info: SandboxInfo,
    pub(super) capabilities: Capabilities,
    pub(super) host: Box<dyn Host>,
    pub(super) live: Mutex<Live>,
    pub(super) status: watch::Sender<KernelStatus>,
    pub(super) interrupts: Arc<AtomicU64>,
    /// One restart at a time.
    pub(super) restart: tokio::sync::Mutex<()>,
    pub(super) stopped: AtomicBool,
    /// Where late messages of ended executions go.
    pub(super) late: Mutex<HashMap<String, mpsc::UnboundedSender<Event>>>,
}

/// The present connection.
pub(super) struct Live {
    pub(super) client: KernelClient,
    pub(super) retry: Option<Arc<Notify>>,
    pub(super) death: Option<watch::Receiver<Option<DeathCause>>>,
    pub(super) generation: u64,
    /// Set when it is restarted by us; executions on it look at it when they end.
    pub(super) restarted: Arc<AtomicBool>,
    /// Why its connection was ended here, where the kernel is as good as gone with it.
    pub(super) gone: Option<&'static str>,
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl JupyterSandbox {
    /// Around a connected kernel.
    pub(super) fn new(
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
        let inner = Arc::new(Inner {
            info,
            capabilities,
            host,
            live: Mutex::new(live),
            status: watch::Sender::new(KernelStatus::Starting),
            interrupts: Arc::default(),
            restart: tokio::sync::Mutex::default(),
            stopped: AtomicBool::new(false),
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
    pub(super) fn found_busy(self) -> Self {
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
    pub(super) fn client(&self) -> KernelClient {
        lock(&self.live).client.clone()
    }

    async fn interrupt(&self) -> Result<(), SandboxError> {
        self.interrupts.fetch_add(1, Ordering::SeqCst);
        let client = self.client();
        self.host.interrupt(&client).await
    }

    pub(super) async fn interrupt_for_timeout(&self) {
        if let Err(error) = self.interrupt().await {
            tracing::warn!(%error, "code that ran out of time could not be interrupted");
        }
    }

    async fn restart(self: &Arc<Self>) -> Result<(), SandboxError> {
        let _one_at_a_time = self.restart.lock().await;
        if self.stopped.load(Ordering::SeqCst) {
            return Err(SandboxError::Disconnected { detail: "the sandbox was stopped".into() });
        }
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
                let mut live = lock(&self.live);
                live.restarted = Arc::default();
                live.generation -= 1;
            }
            Err(error) => {
                self.set_status(generation, KernelStatus::Dead(DeathCause::NotReported));
                return Err(error);
            }
        }
        Ok(())
    }

    pub(super) async fn restart_for_timeout(self: Arc<Self>) {
        if let Err(error) = self.restart().await {
            tracing::warn!(%error, "the kernel of code that ran out of time could not be restarted");
        }
    }

    async fn execute(self: &Arc<Self>, request: ExecuteRequest) -> Result<Execution, SandboxError> {
        // code given during a restart is for the new kernel
        drop(self.restart.lock().await);
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
            timeout: request.timeout,
            restart_after: request.restart_after,
            interrupts: self.interrupts.clone(),
        };
        tokio::spawn(run.carry().in_current_span());
        Ok(Execution::new(id, receiver, input_to))
    }

    /// Why something cannot be asked of the kernel.
    fn explain(&self, error: &sandbook_jupyter::Error) -> SandboxError {
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

    async fn stop(&self, choice: StopChoice, grace: Duration) -> Result<StopReport, SandboxError> {
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

impl Sandbox for JupyterSandbox {
    fn info(&self) -> SandboxInfo {
        SandboxInfo { handle: self.0.host.handle().keep(), ..self.0.info.clone() }
    }

    fn capabilities(&self) -> Capabilities {
        self.0.capabilities.clone()
    }

    fn kernel_info(&self) -> BoxFuture<'_, Result<KernelInfo, SandboxError>> {
        Box::pin(async move {
            let info = self.0.client().ready(READY_PATIENCE).await.map_err(|error| self.0.explain(&error))?;
            let language_info = info.language_info.as_ref();
            let details = language_info.map(sandbook_jupyter::RawJson::to_value).unwrap_or_default();
            let detail = |name: &str| details.get(name).and_then(Value::as_str).map(str::to_owned);
            Ok(KernelInfo {
                language: info.language(),
                language_version: detail("version").unwrap_or_default(),
                highlighter: detail("pygments_lexer"),
                language_info: language_info.and_then(|raw| raw.as_str()).map(str::to_owned),
                implementation: info.implementation,
                banner: info.banner,
            })
        })
    }

    fn status(&self) -> watch::Receiver<KernelStatus> {
        self.0.status.subscribe()
    }

    fn execute(&self, request: ExecuteRequest) -> BoxFuture<'_, Result<Execution, SandboxError>> {
        Box::pin(self.0.execute(request))
    }

    fn interrupt(&self) -> BoxFuture<'_, Result<(), SandboxError>> {
        Box::pin(self.0.interrupt())
    }

    fn restart(&self) -> BoxFuture<'_, Result<(), SandboxError>> {
        Box::pin(self.0.restart())
    }

    fn complete<'a>(
        &'a self,
        code: &'a str,
        position: usize,
    ) -> BoxFuture<'a, Result<CompletionReply, SandboxError>> {
        Box::pin(async move {
            let reply =
                self.0.client().complete(code, position).await.map_err(|error| self.0.explain(&error))?;
            let kinds = reply.metadata.as_ref().map(sandbook_jupyter::RawJson::to_value).unwrap_or_default();
            let kind = |text: &str| {
                let types = kinds.get("_jupyter_types_experimental")?.as_array()?;
                let found =
                    types.iter().find(|entry| entry.get("text").and_then(Value::as_str) == Some(text))?;
                found
                    .get("type")
                    .and_then(Value::as_str)
                    .filter(|kind| *kind != "<unknown>")
                    .map(str::to_owned)
            };
            let matches =
                reply.matches.iter().map(|text| CompletionMatch { text: text.clone(), kind: kind(text) });
            let position = |place: u64| usize::try_from(place).unwrap_or(position);
            Ok(CompletionReply {
                start: position(reply.cursor_start),
                end: position(reply.cursor_end),
                matches: matches.collect(),
            })
        })
    }

    fn inspect<'a>(
        &'a self,
        code: &'a str,
        position: usize,
        detail: u8,
    ) -> BoxFuture<'a, Result<InspectReply, SandboxError>> {
        Box::pin(async move {
            let reply = self
                .0
                .client()
                .inspect(code, position, detail)
                .await
                .map_err(|error| self.0.explain(&error))?;
            Ok(InspectReply { found: reply.found, data: translate::bundle(reply.data) })
        })
    }

    fn is_complete<'a>(&'a self, code: &'a str) -> BoxFuture<'a, Result<Completeness, SandboxError>> {
        Box::pin(async move {
            let reply = self.0.client().is_complete(code).await.map_err(|error| self.0.explain(&error))?;
            Ok(match reply.status.as_str() {
                "complete" => Completeness::Complete,
                "incomplete" => Completeness::Incomplete(reply.indent),
                "invalid" => Completeness::Invalid,
                _ => Completeness::Unknown,
            })
        })
    }

    fn history(&self, count: u32) -> BoxFuture<'_, Result<Vec<HistoryEntry>, SandboxError>> {
        Box::pin(async move {
            let count = usize::try_from(count).unwrap_or(usize::MAX);
            let reply = self.0.client().history(count).await.map_err(|error| self.0.explain(&error))?;
            let number =
                |entry: &Value, index: usize| entry.get(index).and_then(Value::as_i64).unwrap_or_default();
            let places = reply.history.iter().map(sandbook_jupyter::RawJson::to_value);
            let entry = |(place, source): (Value, String)| HistoryEntry {
                session: number(&place, 0),
                line: number(&place, 1),
                source,
            };
            Ok(places.zip(reply.sources()).map(entry).collect())
        })
    }

    fn reconnect(&self, now: bool) {
        let mut live = lock(&self.0.live);
        if now {
            if let Some(retry) = &live.retry {
                retry.notify_one();
            }
        } else if matches!(*live.client.link().borrow(), Link::Reconnecting { .. }) {
            live.gone = Some("reconnecting was given up");
            live.client.stop();
        }
    }

    fn stop(&self, choice: StopChoice, grace: Duration) -> BoxFuture<'_, Result<StopReport, SandboxError>> {
        Box::pin(self.0.stop(choice, grace))
    }
}
