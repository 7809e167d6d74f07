//! The owner: what everything alive hangs on.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak},
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use indexmap::IndexMap;
use jiff::Timestamp;
use sandbook_protocol::{
    ClientId, ClientKind, DocumentId, ErrorCode, ProtocolError, Push, ResourceId, SandboxId, Settings,
};
use sandbook_runtimes::Runtimes;
use sandbook_sandbox::StopChoice;
use sandbook_store::folders::Folders;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::{
    connections::Connections,
    credentials::Credentials,
    disk::Disk,
    document::Document,
    error::{WorkbenchError, store_error},
    kernels::Kernels,
    logs::LogLines,
    own,
    pasted::PastedTexts,
    runtimes::Offered,
    sandboxes::LiveSandbox,
    session::{Mailbox, Session},
};

/// How the owner is opened.
#[derive(Debug, Clone)]
pub struct WorkbenchOptions {
    /// Where its state is.
    pub folders: Folders,
    /// The program that is started as `PROGRAM supervise` around local kernels; they are started directly if absent.
    pub supervisor: Option<PathBuf>,
    /// The owner's log lines, for the Logs panel.
    pub logs: LogLines,
    /// Where new notebooks go and relative paths start.
    pub working_directory: PathBuf,
}

/// The content of a resource.
#[derive(Debug, Clone)]
pub struct ResourceContent {
    /// Its media type.
    pub media_type: String,
    /// Its bytes.
    pub bytes: Bytes,
    /// Whether it can run code and therefore belongs in a frame.
    pub framed: bool,
}

/// The owner of documents, sandboxes, connections, credentials and settings. Cloning shares it.
#[derive(Clone)]
pub struct Workbench(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) options: WorkbenchOptions,
    pub(crate) disk: Arc<Disk>,
    pub(crate) settings: RwLock<Settings>,
    pub(crate) credentials: Credentials,
    pub(crate) connections: Connections,
    pub(crate) kernels: Kernels,
    pub(crate) runtimes: Offered,
    pub(crate) pasted: PastedTexts,
    pub(crate) documents: Mutex<IndexMap<DocumentId, Arc<Document>>>,
    /// Two clients that open one file at once must get one document.
    pub(crate) opening: tokio::sync::Mutex<()>,
    /// One look at what an earlier owner left behind at a time.
    pub(crate) coming_back: tokio::sync::Mutex<()>,
    pub(crate) sandboxes: Mutex<IndexMap<SandboxId, Arc<LiveSandbox>>>,
    mailboxes: Mutex<Vec<Weak<Mailbox>>>,
    pub(crate) workspace_changes: Arc<Notify>,
    quit: CancellationToken,
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Whoever waits for changes sees that there is nobody any more.
        self.workspace_changes.notify_one();
    }
}

impl std::fmt::Debug for Workbench {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Workbench")
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Workbench {
    /// Opens the state on disk. Notebooks without a file that were not saved come back.
    pub async fn open(options: WorkbenchOptions) -> Result<Self, WorkbenchError> {
        let folders = options.folders.clone();
        let (disk, settings, connections) = tokio::task::spawn_blocking(move || {
            folders.create()?;
            let settings = crate::settings::load(&folders)?;
            let limits = crate::settings::log_limits(&folders);
            let disk = Disk::open(folders, limits)?;
            let connections = Connections::load(&disk.folders)?;
            Ok::<_, sandbook_store::Error>((disk, settings, connections))
        })
        .await
        .map_err(|_| WorkbenchError::Interrupted)??;
        let disk = Arc::new(disk);
        let inner = Inner {
            credentials: Credentials::new(disk.clone()),
            kernels: Kernels::new(options.supervisor.clone(), disk.clone()),
            runtimes: Offered::new(Runtimes::new(&own::surrounding(
                &disk.folders,
                options.supervisor.clone(),
            ))),
            options,
            disk,
            settings: RwLock::new(settings),
            connections,
            pasted: PastedTexts::default(),
            documents: Mutex::default(),
            opening: tokio::sync::Mutex::default(),
            coming_back: tokio::sync::Mutex::default(),
            sandboxes: Mutex::default(),
            mailboxes: Mutex::default(),
            workspace_changes: Arc::default(),
            quit: CancellationToken::new(),
        };
        let workbench = Self(Arc::new(inner));
        tokio::spawn(crate::workspace::tell(
            Arc::downgrade(&workbench.0),
            workbench.0.workspace_changes.clone(),
        ));
        tokio::spawn(crate::workspace::watch_keyring(Arc::downgrade(&workbench.0)));
        workbench.bring_back_untitled().await;
        workbench.forget_ended_sandboxes();
        let coming_back = workbench.clone();
        tokio::spawn(async move { coming_back.bring_back_sandboxes().await });
        let disk = workbench.0.disk.clone();
        tokio::task::spawn_blocking(move || disk.collect_logs());
        Ok(workbench)
    }

    /// A client came.
    pub fn connect(&self, kind: ClientKind) -> Session {
        let id = ClientId(Uuid::new_v4().simple().to_string()[..12].to_owned());
        let mailbox = Arc::new(Mailbox::new(id, kind));
        let mut mailboxes = lock(&self.0.mailboxes);
        mailboxes.retain(|known| known.strong_count() > 0);
        mailboxes.push(Arc::downgrade(&mailbox));
        drop(mailboxes);
        Session::new(self.clone(), mailbox)
    }

    /// A client went.
    pub(crate) fn disconnect(&self, mailbox: &Arc<Mailbox>) {
        for document in self.documents() {
            document.unsubscribe(&mailbox.id);
        }
        lock(&self.0.mailboxes).retain(|known| known.upgrade().is_some_and(|known| known.id != mailbox.id));
    }

    pub(crate) fn mailboxes(&self) -> Vec<Arc<Mailbox>> {
        lock(&self.0.mailboxes).iter().filter_map(Weak::upgrade).collect()
    }

    /// The content of a resource of any document.
    pub async fn resource(&self, id: &ResourceId) -> Result<ResourceContent, ProtocolError> {
        let documents = self.documents();
        let id = id.clone();
        let found =
            tokio::task::spawn_blocking(move || documents.iter().find_map(|document| document.resource(&id)));
        found.await.ok().flatten().ok_or_else(|| ProtocolError::not_found("resource"))
    }

    /// Another start handed over a file: windows and browsers are asked to open it. Answers whether one was there.
    pub fn request_open(&self, path: &str) -> bool {
        let pages: Vec<_> = self
            .mailboxes()
            .into_iter()
            .filter(|mailbox| matches!(mailbox.kind, ClientKind::Window | ClientKind::Browser))
            .collect();
        for page in &pages {
            page.push(Push::OpenRequested { path: path.to_owned() });
        }
        !pages.is_empty()
    }

    /// Whether something must be kept alive: a client, a run, a kernel that the person wants to keep.
    pub fn busy(&self) -> bool {
        !self.mailboxes().is_empty()
            || self.documents().iter().any(|document| document.is_busy())
            || lock(&self.0.sandboxes).values().any(|sandbox| sandbox.kept() && sandbox.is_usable())
    }

    /// Whether a kernel lives here, kept or not.
    pub fn has_kernels(&self) -> bool {
        lock(&self.0.sandboxes).values().any(|sandbox| sandbox.is_usable())
    }

    /// Cancelled once a client asked the owner to end.
    pub fn quit_requested(&self) -> CancellationToken {
        self.0.quit.clone()
    }

    /// Stops every sandbox and brings everything to the disk.
    pub async fn shut_down(&self) {
        let sandboxes: Vec<_> = lock(&self.0.sandboxes).values().cloned().collect();
        let stops = sandboxes.iter().map(|sandbox| self.stop(sandbox, StopChoice::Default));
        futures::future::join_all(stops).await;
        for document in self.documents() {
            document.flush();
        }
    }

    pub(crate) fn settings(&self) -> Settings {
        self.0.settings.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn stop_grace(&self) -> Duration {
        Duration::from_millis(u64::from(self.settings().stop_grace_ms))
    }

    fn forget_ended_sandboxes(&self) {
        let month_ago = Timestamp::now() - jiff::SignedDuration::from_hours(24 * 30);
        if let Err(error) = self.0.disk.records.forget_ended_sandboxes(month_ago) {
            tracing::warn!(%error, "old records could not be removed");
        }
    }

    /// Ends the owner, if nothing is lost by it.
    pub(crate) fn quit(&self, force: bool) -> Result<(), ProtocolError> {
        let running: Vec<String> = self
            .documents()
            .iter()
            .filter(|document| document.is_busy())
            .map(|document| document.status().title)
            .collect();
        if !running.is_empty() && !force {
            return Err(ProtocolError::new(
                ErrorCode::LimitMet,
                format!("Cells are running in {}. Quitting stops them.", running.join(", ")),
                "Wait until they end, or quit all the same.",
            ));
        }
        self.0.quit.cancel();
        Ok(())
    }

    /// Takes new settings: on disk first.
    pub(crate) async fn change_settings(&self, settings: Settings) -> Result<(), ProtocolError> {
        let folders = self.0.disk.folders.clone();
        let wanted = settings.clone();
        tokio::task::spawn_blocking(move || crate::settings::store(&folders, &wanted))
            .await
            .map_err(|_| ProtocolError::internal("The settings were not written."))?
            .map_err(|error| store_error(&error))?;
        *self.0.settings.write().unwrap_or_else(PoisonError::into_inner) = settings;
        self.workspace_changed();
        Ok(())
    }

    /// The moment, in one place.
    pub(crate) fn now() -> SystemTime {
        SystemTime::now()
    }
}
