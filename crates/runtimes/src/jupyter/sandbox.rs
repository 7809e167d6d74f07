//! A sandbox with a Jupyter kernel in it, whoever keeps the kernel.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, SystemTime},
};

use sandbook_jupyter::{Activity, End as LinkEnd, KernelClient, Link, Origin, SessionEvent};
use sandbook_sandbox::{
    BoxFuture, Capabilities, Completeness, CompletionMatch, CompletionReply, DeathCause, Event, EventKind,
    ExecuteRequest, Execution, ExecutionId, HistoryEntry, InspectReply, KernelInfo, KernelStatus, Sandbox,
    SandboxError, SandboxInfo, StopChoice, StopReport,
};
use serde_json::Value;
use tokio::sync::{Notify, mpsc, watch};

use super::{
    execution::Run,
    host::{Connected, Host},
    translate::{self, Translator},
};

/// How long a kernel may take to say what it is.
const READY_PATIENCE: Duration = Duration::from_mins(1);
/// How often a server is asked whether the kernel still exists: it does not tell on its own.
const EXISTS_EVERY: Duration = Duration::from_secs(10);
/// The last messages of a dead process are waited for so long.
const LAST_MESSAGES: Duration = Duration::from_millis(300);

/// A sandbox with a Jupyter kernel in it.
pub(super) struct JupyterSandbox(Arc<Inner>);

/// What tasks share.
pub(super) struct Inner {
    info: SandboxInfo,
    capabilities: Capabilities,
    host: Box<dyn Host>,
    live: Mutex<Live>,
    status: watch::Sender<KernelStatus>,
    interrupts: Arc<AtomicU64>,
    /// One restart at a time.
    restart: tokio::sync::Mutex<()>,
    stopped: AtomicBool,
    /// Where late messages of ended executions go.
    late: Mutex<HashMap<String, mpsc::UnboundedSender<Event>>>,
}

/// The present connection.
struct Live {
    client: KernelClient,
    retry: Option<Arc<Notify>>,
    death: Option<watch::Receiver<Option<DeathCause>>>,
    generation: u64,
    /// Set when it is restarted by us; executions on it look at it when they end.
    restarted: Arc<AtomicBool>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
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
        let Connected { client, log, retry, death } = connected;
        let over_server = retry.is_some();
        let live = Live {
            client: client.clone(),
            retry,
            death: death.clone(),
            generation: 0,
            restarted: Arc::default(),
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
        if over_server {
            inner.watch_existence(&client);
        }
        inner.follow(client, log, death, 0);
        Self(inner)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        lock(&self.live).client.stop();
    }
}

impl Inner {
    fn client(&self) -> KernelClient {
        lock(&self.live).client.clone()
    }

    fn set_status(&self, generation: u64, status: KernelStatus) {
        if lock(&self.live).generation == generation && !self.stopped.load(Ordering::SeqCst) {
            self.status.send_if_modified(|present| {
                let changed = *present != status;
                *present = status;
                changed
            });
        }
    }

    /// Watches one connection to its end: its state becomes the status, its log the late events.
    fn follow(
        self: &Arc<Self>,
        client: KernelClient,
        mut log: sandbook_jupyter::SessionLog,
        death: Option<watch::Receiver<Option<DeathCause>>>,
        generation: u64,
    ) {
        let has_process = death.is_some();
        if let Some(death) = death {
            self.watch_death(client.clone(), death, generation);
        }
        let weak = Arc::downgrade(self);
        let mut activity = client.activity();
        drop(client);
        tokio::spawn(async move {
            let mut reconnecting = None;
            loop {
                let event = tokio::select! {
                    event = log.recv() => event,
                    Ok(()) = activity.changed() => {
                        let Some(inner) = weak.upgrade() else { return };
                        if reconnecting.is_none()
                            && let Some(status) = status_of(*activity.borrow_and_update())
                        {
                            inner.set_status(generation, status);
                        }
                        continue;
                    }
                };
                let (Some(event), Some(inner)) = (event, weak.upgrade()) else { return };
                match event {
                    SessionEvent::Link(link) => {
                        let closed = link == Link::Ended(LinkEnd::KernelClosed);
                        if closed && !has_process {
                            inner.set_status(generation, KernelStatus::Dead(DeathCause::NotReported));
                        } else if let Some(status) = link_status(&link, &mut reconnecting, *activity.borrow())
                        {
                            inner.set_status(generation, status);
                        }
                    }
                    SessionEvent::Message { origin: Origin::Late(id), message } => {
                        if let Some(kind) = Translator::default().output(&message) {
                            inner.tell_late(&id, kind);
                        }
                    }
                    SessionEvent::Message { message, .. } => {
                        tracing::trace!(message = ?message.header, "a message that belongs to no execution");
                    }
                }
            }
        });
    }

    /// Executions of a kernel that is gone say nothing more: whoever reads them reaches their end.
    fn no_more_late(&self) {
        lock(&self.late).clear();
    }

    fn tell_late(&self, id: &str, kind: EventKind) {
        let mut late = lock(&self.late);
        let gone = late
            .get(id)
            .is_some_and(|events| events.send(Event { at: SystemTime::now(), late: true, kind }).is_err());
        if gone {
            late.remove(id);
        }
    }

    /// A process of ours that has ended is a dead kernel, whether or not its sockets are closed: its children may hold
    /// them open.
    fn watch_death(
        self: &Arc<Self>,
        client: KernelClient,
        mut death: watch::Receiver<Option<DeathCause>>,
        generation: u64,
    ) {
        let weak = Arc::downgrade(self);
        tokio::spawn(async move {
            let Some(cause) = death.wait_for(Option::is_some).await.ok().and_then(|cause| cause.clone())
            else {
                return;
            };
            let mut link = client.link();
            let closed = link.wait_for(|link| matches!(link, Link::Ended(_)));
            drop(tokio::time::timeout(LAST_MESSAGES, closed).await);
            client.kernel_died();
            client.stop();
            if let Some(inner) = weak.upgrade() {
                inner.no_more_late();
                inner.set_status(generation, KernelStatus::Dead(cause));
            }
        });
    }

    /// Asks a server from time to time: the WebSocket of a kernel that was removed stays open and silent.
    fn watch_existence(self: &Arc<Self>, client: &KernelClient) {
        let (weak, mut link) = (Arc::downgrade(self), client.link());
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    () = tokio::time::sleep(EXISTS_EVERY) => {}
                    _ = link.wait_for(|link| matches!(link, Link::Ended(_))) => return,
                }
                let Some(inner) = weak.upgrade() else { return };
                if !inner.host.exists().await {
                    inner.set_status(
                        0,
                        KernelStatus::Gone { reason: "the server does not have this kernel any more".into() },
                    );
                    let client = inner.client();
                    client.kernel_died();
                    client.stop();
                    return;
                }
            }
        });
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
                let Connected { client, log, retry, death } = connected;
                *lock(&self.live) = Live {
                    client: client.clone(),
                    retry,
                    death: death.clone(),
                    generation,
                    restarted: Arc::default(),
                };
                before.kernel_restarted();
                before.stop();
                self.no_more_late();
                self.follow(client, log, death, generation);
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
        tokio::spawn(run.carry());
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

fn status_of(activity: Activity) -> Option<KernelStatus> {
    match activity {
        Activity::Unknown => None,
        Activity::Starting => Some(KernelStatus::Starting),
        Activity::Idle => Some(KernelStatus::Idle),
        Activity::Busy => Some(KernelStatus::Busy),
        Activity::Restarting | Activity::Dead => Some(KernelStatus::Dead(DeathCause::NotReported)),
    }
}

fn link_status(link: &Link, since: &mut Option<SystemTime>, activity: Activity) -> Option<KernelStatus> {
    match link {
        Link::Connected => {
            *since = None;
            status_of(activity)
        }
        Link::Reconnecting { attempt, pause, .. } => {
            let now = SystemTime::now();
            let since = *since.get_or_insert(now);
            Some(KernelStatus::Reconnecting { since, attempt: *attempt, next_attempt: now + *pause })
        }
        Link::Ended(LinkEnd::Stopped) if since.is_some() => {
            Some(KernelStatus::Gone { reason: "reconnecting was given up".into() })
        }
        // of a closed socket the process tells why
        Link::Connecting | Link::Ended(LinkEnd::Stopped | LinkEnd::KernelClosed) => None,
        Link::Ended(end) => Some(KernelStatus::Gone { reason: end.to_string() }),
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
        let live = lock(&self.0.live);
        if now {
            if let Some(retry) = &live.retry {
                retry.notify_one();
            }
        } else if matches!(*live.client.link().borrow(), Link::Reconnecting { .. }) {
            live.client.stop();
        }
    }

    fn stop(&self, choice: StopChoice, grace: Duration) -> BoxFuture<'_, Result<StopReport, SandboxError>> {
        Box::pin(self.0.stop(choice, grace))
    }
}
