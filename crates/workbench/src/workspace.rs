//! What pages see beside documents, gathered anew at each change.
//!
//! Kernels and servers are looked at in the background and remembered; gathering itself waits for nothing.

use std::{
    path::Path,
    sync::{Arc, Weak},
    time::Duration,
};

use sandbook_protocol::{
    ConnectionView, DocumentId, Readiness, ReadinessState, RecentNotebook, RuntimeKind, RuntimeView,
    WorkspaceView,
};
use tokio::sync::Notify;

use crate::owner::{Inner, Workbench};

/// How many recent notebooks are shown.
const RECENT: usize = 20;

/// How long changes are gathered before anybody is told: a kernel that is busy for a moment is nobody's business, and a
/// run must not wait until the recent notebooks have been looked at.
const SETTLE: Duration = Duration::from_millis(20);

/// Tells every client that watches, whenever something they see differs, until the owner is gone.
pub(crate) async fn tell(owner: Weak<Inner>, changes: Arc<Notify>) {
    loop {
        changes.notified().await;
        tokio::time::sleep(SETTLE).await;
        let Some(owner) = owner.upgrade().map(Workbench) else { return };
        // It asks the database and looks whether files are there.
        if tokio::task::spawn_blocking(move || owner.tell_workspace()).await.is_err() {
            tracing::error!("what pages see beside documents could not be gathered");
        }
    }
}

impl Workbench {
    /// Something that clients see beside documents may be another now. They are told in a moment.
    pub(crate) fn workspace_changed(&self) {
        self.0.workspace_changes.notify_one();
    }

    fn tell_workspace(&self) {
        let watching: Vec<_> =
            self.mailboxes().into_iter().filter(|mailbox| mailbox.watches_workspace()).collect();
        if watching.is_empty() {
            return;
        }
        let workspace = self.workspace();
        for mailbox in watching {
            mailbox.workspace(&workspace);
        }
    }

    /// Everything beside documents.
    pub(crate) fn workspace(&self) -> WorkspaceView {
        let home = std::env::home_dir().unwrap_or_default();
        let now = Self::now();
        WorkspaceView {
            runtimes: vec![self.jupyter_view()],
            connections: self.connection_views(),
            sandboxes: self.live_sandboxes().iter().map(|sandbox| sandbox.view(now)).collect(),
            recent: self.recent(&home),
            settings: self.settings(),
            keyring: self.0.kernels.keyring(),
            home: home.display().to_string(),
            working_directory: self.0.options.working_directory.display().to_string(),
            version: env!("CARGO_PKG_VERSION").into(),
        }
    }

    /// Looks for kernels, asks the servers and the keyring, and tells everybody.
    pub(crate) async fn refresh(&self) {
        self.0.kernels.discover(&self.0.options.working_directory).await;
        self.0.kernels.set_keyring(self.0.credentials.readiness().await);
        self.workspace_changed();
        let connections = self.0.connections.all();
        let checks = connections.into_iter().map(|connection| async move {
            let credential = match connection.credential.as_deref() {
                Some(name) => self.0.credentials.load(name).await,
                None => None,
            };
            let readiness = self.0.kernels.server_readiness(&connection, credential.as_ref()).await;
            self.0.kernels.remember_readiness(&connection.id, readiness);
            self.workspace_changed();
        });
        futures::future::join_all(checks).await;
    }

    fn jupyter_view(&self) -> RuntimeView {
        let kernels = self.0.kernels.found();
        let readiness = match kernels.as_deref() {
            None => Readiness { state: ReadinessState::Checking, reason: "Looking for kernels".into() },
            Some([]) => Readiness {
                state: ReadinessState::NeedsSetup,
                reason: "No Python with ipykernel was found".into(),
            },
            Some([only]) => {
                Readiness { state: ReadinessState::Ready, reason: format!("{} found", only.display_name) }
            }
            Some([first, rest @ ..]) => Readiness {
                state: ReadinessState::Ready,
                reason: format!("{} and {} more found", first.display_name, rest.len()),
            },
        };
        RuntimeView {
            kind: RuntimeKind::Jupyter,
            title: "Jupyter kernel".into(),
            mark: "Jy".into(),
            readiness,
            kernels: kernels.unwrap_or_default(),
        }
    }

    fn connection_views(&self) -> Vec<ConnectionView> {
        let connections = self.0.connections.all();
        connections.iter().map(|connection| self.0.kernels.connection_view(connection)).collect()
    }

    fn recent(&self, home: &Path) -> Vec<RecentNotebook> {
        let recent = self.0.disk.records.recent_notebooks(RECENT).unwrap_or_else(|error| {
            tracing::warn!(%error, "recent notebooks cannot be read");
            Vec::new()
        });
        let open: Vec<(DocumentId, Option<std::path::PathBuf>, _)> = self
            .documents()
            .iter()
            .map(|document| (document.id.clone(), document.path(), document.sandbox()))
            .collect();
        recent
            .into_iter()
            .filter(|notebook| Path::new(&notebook.path).exists())
            .map(|notebook| {
                let path = Path::new(&notebook.path);
                let here = open.iter().find(|(_, known, _)| known.as_deref() == Some(path));
                let folder = path.parent().unwrap_or(path);
                RecentNotebook {
                    title: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
                    folder: shortened(folder, home),
                    opened_at: u64::try_from(notebook.opened.as_millisecond()).unwrap_or_default(),
                    last_sandbox: notebook.runtime,
                    document: here.map(|(id, _, _)| id.clone()),
                    sandbox: here
                        .and_then(|(_, _, sandbox)| sandbox.as_ref().map(|sandbox| sandbox.id.clone())),
                    path: notebook.path,
                }
            })
            .collect()
    }
}

fn shortened(folder: &Path, home: &Path) -> String {
    match folder.strip_prefix(home) {
        Ok(rest) if rest.as_os_str().is_empty() => "~".into(),
        Ok(rest) => format!("~/{}", rest.display()),
        Err(_) => folder.display().to_string(),
    }
}
