//! How sandboxes start, are watched, and end.
//!
//! A record is on disk before a sandbox is made, and says what became of it afterwards, so that nothing is forgotten
//! that may cost something. Stopping answers the page at once and goes on in the background.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use sandbook_protocol::{ErrorCode, LogLevel, ProtocolError, Push, SandboxChoice, SandboxId, Toast};
use sandbook_sandbox::{
    Capability, CreateRequest, CredentialStatus, KernelStatus, Progress, SandboxError, SandboxSettings,
    StopChoice, StopReport,
};
use sandbook_store::records::{SandboxRecord, SandboxState};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::{
    accounts, clouds,
    commands::no_sandbox,
    document::Document,
    error::{sandbox_error, store_error},
    kernels::Plan,
    owner::{Workbench, lock},
    sandboxes::LiveSandbox,
};

impl Workbench {
    /// A live sandbox.
    pub(crate) fn live_sandbox(&self, id: &SandboxId) -> Result<Arc<LiveSandbox>, ProtocolError> {
        lock(&self.0.sandboxes).get(id).cloned().ok_or_else(|| ProtocolError::not_found("sandbox"))
    }

    /// All live sandboxes.
    pub(crate) fn live_sandboxes(&self) -> Vec<Arc<LiveSandbox>> {
        lock(&self.0.sandboxes).values().cloned().collect()
    }

    /// Makes or joins the sandbox of a person's choice; the document runs there from then on.
    pub(crate) async fn choose_sandbox(
        &self,
        document: &Arc<Document>,
        choice: SandboxChoice,
        progress: Progress,
        cancel: CancellationToken,
    ) -> Result<Arc<LiveSandbox>, ProtocolError> {
        let _one_at_a_time = tokio::select! {
            lock = document.starting.lock() => lock,
            () = cancel.cancelled() => return Err(sandbox_error(&SandboxError::Cancelled)),
        };
        self.choose_while_starting(document, choice, progress, cancel).await
    }

    async fn choose_while_starting(
        &self,
        document: &Arc<Document>,
        choice: SandboxChoice,
        progress: Progress,
        cancel: CancellationToken,
    ) -> Result<Arc<LiveSandbox>, ProtocolError> {
        let live = match choice {
            SandboxChoice::Existing { sandbox } => self.live_sandbox(&sandbox)?,
            choice => {
                let plan = self.plan(document, choice).await?;
                let started = self.start(plan, progress, cancel).await;
                started.inspect_err(|error| not_started(document, error))?
            }
        };
        if document.sandbox().is_some_and(|old| old.id != live.id) {
            self.detach(document, StopChoice::Default);
        }
        document.set_sandbox(Some(live.clone()));
        self.remember_place(document, Some(&live.id));
        self.note_recent(document, Some(&live.display_name));
        self.describe(document, &live);
        document.run_next();
        self.workspace_changed();
        Ok(live)
    }

    /// Cells were asked for: starts the kernel that the file names, where it is on this computer, or Monty where there is
    /// no Python.
    pub(crate) async fn start_default_sandbox(
        &self,
        document: &Arc<Document>,
        progress: Progress,
        cancel: CancellationToken,
    ) -> Result<(), ProtocolError> {
        let _one_at_a_time = document.starting.lock().await;
        if let Some(sandbox) = document.sandbox() {
            if sandbox.is_usable() {
                return Ok(());
            }
            return Err(ProtocolError::new(
                ErrorCode::KernelDied,
                "The kernel is not running. The cells stay in the queue.",
                "Restart it, or choose another sandbox.",
            ));
        }
        let folder = document.folder(&self.0.options.working_directory);
        let choice = self.0.kernels.default_for(document.kernel_name(), &document.language(), &folder).await;
        let Some(choice) = choice else { return Err(no_sandbox()) };
        if let SandboxChoice::New { runtime, .. } = &choice
            && !self.0.runtimes.is_ready(*runtime, &folder).await
        {
            return Err(no_sandbox());
        }
        self.choose_while_starting(document, choice, progress, cancel).await.map(drop)
    }

    /// What the runtime has to be asked for a choice.
    async fn plan(&self, document: &Document, choice: SandboxChoice) -> Result<Plan, ProtocolError> {
        let folder = document.folder(&self.0.options.working_directory);
        let keep = self.settings().keep_kernels;
        let choice = match choice {
            SandboxChoice::New { runtime, settings, .. } if !accounts::is_account(runtime) => {
                return self.0.runtimes.plan(runtime, settings, &folder, keep);
            }
            // a person who keeps kernels does not thereby pay for machines that nobody uses
            SandboxChoice::New { runtime, settings, connection } => {
                return self.plan_with_account(runtime, settings, connection.as_ref(), false).await;
            }
            choice => choice,
        };
        let connection = match &choice {
            SandboxChoice::NewOnServer { connection, .. }
            | SandboxChoice::AttachOnServer { connection, .. } => Some(self.0.connections.get(connection)?),
            _ => None,
        };
        let credential = match &connection {
            Some(connection) => self.0.credentials.of(connection).await?,
            None => None,
        };
        match connection {
            Some(connection) if clouds::is_cloud(&connection) => {
                clouds::check_policy(self.0.disk.policies().attach_to_busy)?;
                let kept = matches!(choice, SandboxChoice::NewOnServer { keep: true, .. });
                clouds::plan(&self.0.runtimes.runtimes, connection, credential, kept)
            }
            connection => self.0.kernels.plan(choice, &folder, connection, credential, keep),
        }
    }

    /// Makes or joins a sandbox. It is on record before it is asked for.
    async fn start(
        &self,
        plan: Plan,
        progress: Progress,
        cancel: CancellationToken,
    ) -> Result<Arc<LiveSandbox>, ProtocolError> {
        let id = SandboxId(Uuid::now_v7().simple().to_string());
        self.put_record(SandboxRecord {
            id: id.0.clone(),
            runtime: plan.runtime.variant().into(),
            connection: plan.connection.as_ref().map(|connection| connection.0.clone()),
            name: plan.display_name.clone(),
            handle: serde_json::Value::Null,
            state: SandboxState::Creating,
            created: Timestamp::now(),
            ended: None,
        })
        .await?;
        let settings = SandboxSettings { id: Some(id.0.clone()), ..plan.settings };
        let request = CreateRequest { settings, credential: plan.credential, progress, cancel };
        let sandbox = match plan.runtime.create(request).await {
            Ok(sandbox) => sandbox,
            Err(error) => {
                let is_left = matches!(error, SandboxError::LeftRunning { .. });
                let state = if is_left { SandboxState::Lost } else { SandboxState::Ended };
                self.set_state(&id, state).await;
                return Err(sandbox_error(&error));
            }
        };
        let handle = sandbox.info().handle;
        if let Err(error) = self.0.disk.records.set_sandbox_handle(&id.0, &handle.0) {
            tracing::warn!(%error, sandbox = %id, "a sandbox's handle was not recorded");
        }
        self.set_state(&id, SandboxState::Running).await;
        tracing::info!(sandbox = %id, name = plan.display_name, "a sandbox started");
        let live = Arc::new(LiveSandbox::new(
            id.clone(),
            sandbox,
            plan.connection,
            plan.display_name,
            plan.kept,
            Self::now(),
        ));
        lock(&self.0.sandboxes).insert(id, live.clone());
        self.watch_sandbox(&live);
        Ok(live)
    }

    /// Asks the kernel about itself, once, and tells the notebook.
    pub(crate) fn describe(&self, document: &Arc<Document>, live: &Arc<LiveSandbox>) {
        let (owner, document, live) = (self.clone(), document.clone(), live.clone());
        tokio::spawn(async move {
            let info = match live.kernel_info.get() {
                Some(info) => info.clone(),
                None => match live.sandbox.kernel_info().await {
                    Ok(info) => live.kernel_info.get_or_init(|| info).clone(),
                    Err(error) => {
                        tracing::info!(%error, sandbox = %live.id, "the kernel did not say what it is");
                        return;
                    }
                },
            };
            let kernelspec = owner.0.kernels.kernelspec(&live, &info);
            let language_info =
                info.language_info.as_deref().and_then(|json| serde_json::from_str(json).ok());
            document.set_language(&kernelspec, language_info.as_ref());
            owner.workspace_changed();
        });
    }

    /// Tells documents and the workspace what the kernel is doing, until it ends.
    pub(crate) fn watch_sandbox(&self, live: &Arc<LiveSandbox>) {
        self.watch_credential(live);
        let (owner, live) = (Arc::downgrade(&self.0), live.clone());
        let mut status = live.status.clone();
        tokio::spawn(async move {
            let mut away = false;
            loop {
                let now = status.borrow_and_update().clone();
                let Some(owner) = owner.upgrade().map(Self) else { return };
                let documents: Vec<_> =
                    live.documents().iter().filter_map(|id| owner.document(id).ok()).collect();
                let reconnecting =
                    matches!(now, KernelStatus::Reconnecting { .. } | KernelStatus::Refused { .. });
                if reconnecting != away {
                    away = reconnecting;
                    for document in &documents {
                        document.no_signal(away);
                    }
                }
                match &now {
                    KernelStatus::Dead(_) | KernelStatus::Gone { .. } => {
                        for document in &documents {
                            document.kernel_died();
                        }
                    }
                    KernelStatus::Idle => documents.iter().for_each(Document::run_next),
                    _ => {}
                }
                owner.workspace_changed();
                // A kernel may be idle for days, and must not keep documents that were closed meanwhile.
                drop((owner, documents));
                if matches!(now, KernelStatus::Stopped) || status.changed().await.is_err() {
                    return;
                }
            }
        });
    }

    /// Tells everybody, some time before a sandbox's credential ends and when it was refused, that a fresh one is needed.
    fn watch_credential(&self, live: &Arc<LiveSandbox>) {
        let (owner, weak) = (Arc::downgrade(&self.0), Arc::downgrade(live));
        let mut credential = live.sandbox.credential();
        tokio::spawn(async move {
            loop {
                let now = *credential.borrow_and_update();
                if let Some(owner) = owner.upgrade().map(Self) {
                    owner.workspace_changed();
                }
                let ends = match now {
                    CredentialStatus::Refused => Some(Duration::ZERO),
                    CredentialStatus::Good { until } => until.map(clouds::until_told),
                };
                let due = async {
                    match ends {
                        Some(pause) => tokio::time::sleep(pause).await,
                        None => std::future::pending().await,
                    }
                };
                let changed = tokio::select! {
                    () = due => {
                        let (Some(owner), Some(live)) = (owner.upgrade().map(Self), weak.upgrade()) else { return };
                        let ended = now == CredentialStatus::Refused;
                        let said = clouds::wants_fresh_link(&live.display_name, live.connection.as_ref(), ended);
                        owner.tell_everybody(said);
                        None
                    }
                    changed = credential.changed() => Some(changed),
                };
                let changed = match changed {
                    Some(changed) => changed,
                    None => credential.changed().await,
                };
                if changed.is_err() {
                    return;
                }
            }
        });
    }

    fn tell_everybody(&self, message: String) {
        let toast = Toast { level: LogLevel::Warn, message, error: None };
        for mailbox in self.mailboxes() {
            mailbox.push(Push::Toast { toast: toast.clone() });
        }
    }

    /// Restarts the kernel of a document.
    pub(crate) async fn restart(&self, document: &Arc<Document>) -> Result<(), ProtocolError> {
        let live = document.sandbox().ok_or_else(no_sandbox)?;
        let documents: Vec<_> = live.documents().iter().filter_map(|id| self.document(id).ok()).collect();
        let restarting = Restarting::of(documents);
        if let Err(error) = live.sandbox.restart().await {
            for document in &restarting.0 {
                document.restart_failed();
            }
            return Err(sandbox_error(&error));
        }
        for document in &restarting.0 {
            document.values_lost();
        }
        drop(restarting);
        self.workspace_changed();
        Ok(())
    }

    /// Takes a document away from its sandbox. A sandbox that nobody uses and nobody keeps ends.
    pub(crate) fn detach(&self, document: &Arc<Document>, choice: StopChoice) {
        let Some(live) = document.sandbox() else { return };
        document.values_lost();
        document.set_sandbox(None);
        if choice == StopChoice::Keep {
            live.keep(true);
        } else {
            self.remember_place(document, None);
        }
        if live.documents().is_empty() && !live.kept() {
            self.stop_in_background(&live, choice);
        }
        self.workspace_changed();
    }

    /// Ends a sandbox; the page need not wait for it.
    pub(crate) fn stop_in_background(&self, live: &Arc<LiveSandbox>, choice: StopChoice) {
        let (owner, live) = (self.clone(), live.clone());
        tokio::spawn(async move { owner.stop(&live, choice).await });
    }

    /// Ends a sandbox: asks, waits, kills, and says in the log which it was.
    pub(crate) async fn stop(&self, live: &Arc<LiveSandbox>, choice: StopChoice) {
        for document in live.documents().iter().filter_map(|id| self.document(id).ok()) {
            document.values_lost();
            document.set_sandbox(None);
        }
        self.set_state(&live.id, SandboxState::Stopping).await;
        let can_stay = live.sandbox.capabilities().has(Capability::Survive);
        let stays = live.kept() && can_stay && choice == StopChoice::Default;
        let choice = if stays { StopChoice::Keep } else { choice };
        let state = match live.sandbox.stop(choice, self.stop_grace()).await {
            Ok(StopReport::LeftRunning) => {
                self.remember_kept(live);
                SandboxState::Running
            }
            Ok(report) => {
                tracing::info!(sandbox = %live.id, ?report, "a sandbox ended");
                SandboxState::Ended
            }
            Err(error) => {
                tracing::warn!(%error, sandbox = %live.id, "a sandbox could not be stopped");
                if live.sandbox.lease().is_some_and(|lease| lease.price.is_some()) {
                    self.tell_everybody(format!(
                        "{} could not be stopped, and may go on costing something: {error}. It is on record, and the next start of Sandbook looks for it.",
                        live.display_name
                    ));
                }
                SandboxState::Lost
            }
        };
        self.set_state(&live.id, state).await;
        lock(&self.0.sandboxes).shift_remove(&live.id);
        self.workspace_changed();
    }

    async fn put_record(&self, record: SandboxRecord) -> Result<(), ProtocolError> {
        let disk = self.0.disk.clone();
        tokio::task::spawn_blocking(move || disk.records.put_sandbox(&record))
            .await
            .map_err(|_| ProtocolError::internal("The sandbox was not recorded, so it was not started."))?
            .map_err(|error| store_error(&error))
    }

    pub(crate) async fn set_state(&self, id: &SandboxId, state: SandboxState) {
        let (disk, id) = (self.0.disk.clone(), id.0.clone());
        let result =
            tokio::task::spawn_blocking(move || disk.records.set_sandbox_state(&id, state, Timestamp::now()))
                .await;
        if !matches!(result, Ok(Ok(_))) {
            tracing::warn!(?state, "a sandbox's state was not recorded");
        }
    }
}

/// A kernel did not start. What waited for it will not be run by anything, and each cell says why.
fn not_started(document: &Document, error: &ProtocolError) {
    if document.sandbox().is_none() {
        document.give_up_queue(&format!("{} {}", error.message, error.hint));
    }
}

/// Documents whose kernel is being restarted. What is asked for meanwhile runs when the restart is over, also when
/// whoever asked for it went away.
struct Restarting(Vec<Arc<Document>>);

impl Restarting {
    fn of(documents: Vec<Arc<Document>>) -> Self {
        for document in &documents {
            document.restart_begins();
        }
        Self(documents)
    }
}

impl Drop for Restarting {
    fn drop(&mut self) {
        self.0.iter().for_each(Document::restart_is_over);
    }
}
