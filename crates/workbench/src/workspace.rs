//! What pages see beside documents, gathered anew at each change.
//!
//! Kernels and servers are looked at in the background and remembered; gathering itself waits for nothing.

use std::{
    path::Path,
    sync::{Arc, Weak},
    time::Duration,
};

use sandbook_protocol::{
    ConnectionView, DocumentId, KeyringState, Readiness, ReadinessState, RecentNotebook, RuntimeKind,
    RuntimeView, WorkspaceView,
};
use sandbook_sandbox::SandboxSettings;
use secrecy::SecretString;
use tokio::sync::Notify;

use crate::{
    accounts, clouds,
    connections::Connection,
    owner::{Inner, Workbench},
    runtimes::{isolation, label},
};

/// How many recent notebooks are shown.
const RECENT: usize = 20;

/// How long changes are gathered before anybody is told: a kernel that is busy for a moment is nobody's business, and a
/// run must not wait until the recent notebooks have been looked at.
const SETTLE: Duration = Duration::from_millis(20);

/// How often somebody looks at a keyring that can be used, and at one that cannot be, while a page watches.
const LOOK: Duration = Duration::from_secs(15);
const LOOK_AGAIN: Duration = Duration::from_secs(3);

/// Notices when the keyring goes and when it is back, until the owner is gone. Looking asks nobody to unlock anything.
pub(crate) async fn watch_keyring(owner: Weak<Inner>) {
    let mut pause = LOOK_AGAIN;
    loop {
        tokio::time::sleep(pause).await;
        let Some(owner) = owner.upgrade().map(Workbench) else { return };
        let before = owner.0.credentials.keyring.seen();
        let is_watched = owner.mailboxes().iter().any(|mailbox| mailbox.watches_workspace());
        if !is_watched || before.state == KeyringState::Checking {
            continue;
        }
        let now = owner.0.credentials.keyring.look().await;
        pause = if now.state == KeyringState::Ready { LOOK } else { LOOK_AGAIN };
        if now != before {
            owner.workspace_changed();
            if now.state == KeyringState::Ready {
                owner.ask_anew();
            }
        }
    }
}

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
            runtimes: self.runtime_views(),
            clouds: clouds::views(&self.0.runtimes.runtimes),
            accounts: accounts::views(&self.0.runtimes.runtimes),
            connections: self.connection_views(),
            sandboxes: self.live_sandboxes().iter().map(|sandbox| sandbox.view(now)).collect(),
            recent: self.recent(&home),
            settings: self.settings(),
            credentials: self.credential_views(),
            keyring: self.0.credentials.keyring.seen(),
            home: home.display().to_string(),
            working_directory: self.0.options.working_directory.display().to_string(),
            version: env!("CARGO_PKG_VERSION").into(),
        }
    }

    /// Looks for kernels, asks the servers and the keyring, and tells everybody.
    pub(crate) async fn refresh(&self) {
        self.0.kernels.discover(&self.0.options.working_directory).await;
        self.0.runtimes.look(&self.0.options.working_directory).await;
        self.0.credentials.keyring.look().await;
        self.workspace_changed();
        let connections = self.0.connections.all();
        let checks = connections.into_iter().map(|connection| async move {
            let readiness = self.look_at(&connection).await;
            self.0.kernels.remember_readiness(&connection.id, readiness);
            self.workspace_changed();
        });
        futures::future::join_all(checks).await;
    }

    /// Whether a connection can be used with the credential that it has.
    async fn look_at(&self, connection: &Connection) -> Readiness {
        let credential = match connection.credential.as_deref() {
            Some(name) => self.0.credentials.look(name).await,
            None => Ok(None),
        };
        match credential {
            Ok(credential) => self.connection_readiness(connection, credential.as_ref()).await,
            Err(missing) => Readiness {
                state: ReadinessState::NeedsCredential,
                reason: format!("{missing}, so its credential cannot be read"),
            },
        }
    }

    /// Whether a connection could be used with a credential.
    pub(crate) async fn connection_readiness(
        &self,
        connection: &Connection,
        credential: Option<&SecretString>,
    ) -> Readiness {
        let runtimes = &self.0.runtimes.runtimes;
        if accounts::is_account(connection.kind) {
            match accounts::check_plain_http(connection, self.0.disk.policies().plain_http) {
                Ok(()) => accounts::readiness(runtimes, connection, credential).await,
                Err(error) => Readiness { state: ReadinessState::NeedsSetup, reason: error.message },
            }
        } else if clouds::is_cloud(connection) {
            clouds::readiness(runtimes, connection, credential).await
        } else {
            self.0.kernels.server_readiness(connection, credential).await
        }
    }

    /// Credentials are others, or can be read that could not be: everything that waits for one is asked anew.
    pub(crate) fn ask_anew(&self) {
        let owner = self.clone();
        tokio::spawn(async move {
            owner.bring_back_sandboxes().await;
            owner.refresh().await;
        });
    }

    fn runtime_views(&self) -> Vec<RuntimeView> {
        let mut views = vec![self.jupyter_view()];
        views.extend(self.0.runtimes.views(&self.0.options.working_directory));
        views
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
        let (title, mark) = label(RuntimeKind::Jupyter);
        RuntimeView {
            kind: RuntimeKind::Jupyter,
            title: title.into(),
            mark: mark.into(),
            readiness,
            isolation: isolation(&*self.0.kernels.runtime, &SandboxSettings::default()),
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
