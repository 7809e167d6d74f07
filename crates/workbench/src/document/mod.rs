//! An open notebook: its cells, its runs and outputs, its queue, its file, and the pages that look at it.
//!
//! [`state`] is the state, changed under one lock by short calls that do not wait; everything that waits (the file, the
//! kernel) happens outside of it. Each change is in the journal, and each event of a run in its log, before any page
//! is told. [`page`] holds what each page has and is owed.

mod editing;
mod input;
mod journal;
mod open;
mod outputs;
mod page;
mod queue;
mod resources;
mod restore;
mod run;
mod run_state;
mod save;
mod search;
mod snapshot;
mod state;
mod text_view;
mod view;
mod waiting;
mod watch;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Instant, SystemTime},
};

use sandbook_protocol::{ClientId, DocumentId, DocumentStatus};

pub(crate) use open::{UNTITLED, open, open_new};
pub(crate) use page::Take;
pub(crate) use view::FETCH_LIMIT;

use crate::{sandboxes::LiveSandbox, session::Mailbox};
use state::State;

/// What a document needs from the owner.
#[derive(Clone)]
pub(crate) struct Surroundings {
    /// Where journals, logs and files are.
    pub(crate) disk: Arc<crate::disk::Disk>,
    /// Called when something changed that the workspace shows.
    pub(crate) workspace_changed: Arc<dyn Fn() + Send + Sync>,
    /// The settings of this moment.
    pub(crate) settings: Arc<dyn Fn() -> sandbook_protocol::Settings + Send + Sync>,
}

/// An open notebook, shared by everybody who works on it.
pub(crate) struct Document {
    pub(crate) id: DocumentId,
    surroundings: Surroundings,
    state: Mutex<State>,
    /// One sandbox starts at a time.
    pub(crate) starting: tokio::sync::Mutex<()>,
    /// One save at a time.
    saving: tokio::sync::Mutex<()>,
    /// Rung at every change that a save would write.
    changed: Arc<tokio::sync::Notify>,
}

impl std::fmt::Debug for Document {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Document").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Document {
    fn new(id: DocumentId, surroundings: Surroundings, state: State) -> Arc<Self> {
        Arc::new(Self {
            id,
            surroundings,
            state: Mutex::new(state),
            starting: tokio::sync::Mutex::default(),
            saving: tokio::sync::Mutex::default(),
            changed: Arc::default(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Title, path, saved or not.
    pub(crate) fn status(&self) -> DocumentStatus {
        self.state().status()
    }

    /// The path, once it has one.
    pub(crate) fn path(&self) -> Option<std::path::PathBuf> {
        self.state().path.clone()
    }

    /// Where its code runs: the folder of its file.
    pub(crate) fn folder(&self, otherwise: &std::path::Path) -> std::path::PathBuf {
        let path = self.path();
        path.as_deref().and_then(std::path::Path::parent).unwrap_or(otherwise).to_owned()
    }

    /// The content of a resource, if it is one of this document.
    pub(crate) fn resource(&self, id: &sandbook_protocol::ResourceId) -> Option<crate::ResourceContent> {
        self.state().resource(id)
    }

    /// Brings the journal to the disk.
    pub(crate) fn flush(&self) {
        if let Err(error) = self.state().journal.sync() {
            tracing::warn!(%error, "a journal did not reach the disk");
        }
    }

    /// Where it runs.
    pub(crate) fn sandbox(&self) -> Option<Arc<LiveSandbox>> {
        self.state().sandbox.clone()
    }

    /// The kernel that the file names.
    pub(crate) fn kernel_name(&self) -> Option<String> {
        self.state().notebook.kernel_name()
    }

    /// The language of the code.
    pub(crate) fn language(&self) -> String {
        self.state().notebook.language()
    }

    /// A page looks at it from now on.
    pub(crate) fn subscribe(&self, mailbox: &Arc<Mailbox>) {
        self.state().subscribe(mailbox);
    }

    /// A page looks away.
    pub(crate) fn unsubscribe(&self, client: &ClientId) {
        self.state().unsubscribe(client);
    }

    /// A page drew a batch.
    pub(crate) fn acknowledge(&self, client: &ClientId, sequence: u32) {
        self.state().acknowledge(client, sequence);
    }

    /// What a page receives now.
    pub(crate) fn take(&self, client: &ClientId, now: Instant) -> Take {
        self.state().take(&self.id, client, now)
    }

    /// Takes the notices away.
    pub(crate) fn dismiss_notices(&self) {
        let mut state = self.state();
        state.notices.clear();
        state.record_waiting();
        state.status_changed();
    }

    /// Whether cells run or wait.
    pub(crate) fn is_busy(&self) -> bool {
        !self.state().queue.is_idle()
    }

    /// It runs in this sandbox from now on, or nowhere.
    pub(crate) fn set_sandbox(&self, sandbox: Option<Arc<LiveSandbox>>) {
        let mut state = self.state();
        if let Some(old) = state.sandbox.take() {
            old.leave(&self.id);
        }
        if let Some(new) = &sandbox {
            new.join(&self.id);
        }
        state.sandbox = sandbox;
        state.status_changed();
        drop(state);
        (self.surroundings.workspace_changed)();
    }

    fn now() -> SystemTime {
        SystemTime::now()
    }
}
