//! What outlives an owner: kernels on servers that a killed one left behind, those that a person kept, and which
//! notebook ran where.

use std::sync::Arc;

use jiff::Timestamp;
use sandbook_protocol::{ConnectionId, RuntimeKind, SandboxId};
use sandbook_sandbox::{
    AttachHandle, CreateRequest, Progress, Runtime, Sandbox, SandboxError, SandboxSettings, StopChoice,
};
use sandbook_store::{
    hold::{forget_left, is_held, is_left},
    records::{DocumentRecord, KeptKernel, SandboxRecord, SandboxState},
};
use secrecy::SecretString;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{
    accounts, clouds,
    connections::Connection,
    document::Document,
    owner::{Workbench, lock},
    sandboxes::LiveSandbox,
};

impl Workbench {
    /// Joins the kernels on servers that an earlier owner left behind when it was killed, and writes off its kernels on
    /// this computer, which ended with it.
    pub(crate) async fn bring_back_sandboxes(&self) {
        // Joined twice at once, one kernel would have two connections that push each other out.
        let _one_at_a_time = self.0.coming_back.lock().await;
        let living = match self.0.disk.records.living_sandboxes() {
            Ok(living) => living,
            Err(error) => {
                tracing::warn!(%error, "the records of sandboxes cannot be read");
                return;
            }
        };
        for record in living {
            let id = SandboxId(record.id.clone());
            // A command may have made it for itself, and still use it.
            if self.live_sandbox(&id).is_ok() || is_held(&self.0.disk.folders, &record.id) {
                continue;
            }
            let state = match self.bring_back(record).await {
                Ok(()) => SandboxState::Running,
                Err(SandboxError::Gone { .. }) => SandboxState::Ended,
                Err(error) => {
                    tracing::warn!(%error, sandbox = %id, "a kernel of an earlier owner cannot be joined now");
                    SandboxState::Lost
                }
            };
            self.set_state(&id, state).await;
            self.end_if_left(&id).await;
        }
        self.workspace_changed();
    }

    /// Ends a sandbox that was joined again, where a command made it for itself and was killed: nobody comes back to it.
    async fn end_if_left(&self, id: &SandboxId) {
        let folders = &self.0.disk.folders;
        if !is_left(folders, id.as_str()) {
            return;
        }
        if let Ok(live) = self.live_sandbox(id) {
            tracing::info!(sandbox = %id, "what a killed command left behind is ended");
            self.stop(&live, StopChoice::Default).await;
        }
        let record = self.0.disk.records.sandbox(id.as_str());
        if record.is_ok_and(|record| record.is_none_or(|record| record.state == SandboxState::Ended)) {
            forget_left(folders, id.as_str());
        }
    }

    async fn bring_back(&self, record: SandboxRecord) -> Result<(), SandboxError> {
        let gone = || SandboxError::Gone { what: "the kernel of an earlier owner".into() };
        let runtime = self.0.runtimes.runtimes.get(&record.runtime).ok_or_else(gone)?;
        if record.connection.is_none() && record.runtime != RuntimeKind::Jupyter.name() {
            let account = self.account_of(&record).await;
            return self.bring_back_from(&*runtime, record, account).await;
        }
        let connection = record.connection.clone().map(ConnectionId).ok_or_else(gone)?;
        let connection = self.0.connections.get(&connection).map_err(|_| gone())?;
        let credential = match connection.credential.as_deref() {
            Some(name) => self.0.credentials.load(name).await,
            None => None,
        };
        if accounts::is_account(connection.kind) {
            return self.bring_back_from(&*runtime, record, Some((connection, credential))).await;
        }
        let settings = if clouds::is_cloud(&connection) {
            Ok(clouds::settings(&connection))
        } else {
            self.0.kernels.sandbox_settings(&connection)
        };
        let settings = settings.map_err(|error| SandboxError::Failed(error.message))?;
        let request = CreateRequest {
            settings,
            credential,
            progress: Progress::none(),
            cancel: CancellationToken::new(),
        };
        let sandbox = runtime.attach(AttachHandle(record.handle), request).await?;
        self.is_back(record.id, record.name, sandbox, Some(connection.id));
        Ok(())
    }

    /// The account with which a command made a sandbox that has no connection of its own: as that command would find it now.
    async fn account_of(&self, record: &SandboxRecord) -> Option<(Connection, Option<SecretString>)> {
        let kind = RuntimeKind::named(&record.runtime).filter(|kind| accounts::is_account(*kind))?;
        let connection = accounts::connection(self.0.connections.all(), kind, None, None).ok()?;
        let stored = match connection.credential.as_deref() {
            Some(name) => self.0.credentials.load(name).await,
            None => None,
        };
        Some((connection, stored.or_else(|| accounts::key_from_environment(kind))))
    }

    /// Joins a sandbox of a runtime that makes them. One that was being made when its owner was killed is
    /// removed: nobody knows how far it came.
    async fn bring_back_from(
        &self,
        runtime: &dyn Runtime,
        record: SandboxRecord,
        account: Option<(Connection, Option<SecretString>)>,
    ) -> Result<(), SandboxError> {
        let (settings, credential, connection) = match account {
            Some((connection, credential)) => {
                (accounts::settings(&connection, Value::Null), credential, Some(connection.id))
            }
            None => (SandboxSettings::default(), None, None),
        };
        let gone = || SandboxError::Gone { what: "the sandbox of an earlier owner".into() };
        if record.handle.is_null() {
            let listed = runtime.list(&settings, credential.as_ref()).await?;
            if let Some(left) = listed.into_iter().find(|listed| listed.id.as_ref() == Some(&record.id)) {
                runtime.remove(&settings, credential.as_ref(), &left.handle).await?;
                tracing::info!(sandbox = record.id, "a sandbox that was not finished was removed");
            }
            return Err(gone());
        }
        let request = CreateRequest {
            settings,
            credential,
            progress: Progress::none(),
            cancel: CancellationToken::new(),
        };
        match runtime.attach(AttachHandle(record.handle), request).await {
            // it could never outlive its owner
            Err(SandboxError::Unsupported { .. }) => Err(gone()),
            joined => {
                self.is_back(record.id, record.name, joined?, connection);
                Ok(())
            }
        }
    }

    fn is_back(&self, id: String, name: String, sandbox: Arc<dyn Sandbox>, connection: Option<ConnectionId>) {
        tracing::info!(sandbox = id, "a kernel that an earlier owner left behind was joined");
        let id = SandboxId(id);
        let live = Arc::new(LiveSandbox::new(id.clone(), sandbox, connection, name, false, Self::now()));
        lock(&self.0.sandboxes).insert(id, live.clone());
        self.watch_sandbox(&live);
        for document in self.documents() {
            self.rejoin(&document);
        }
    }

    /// A document that ran in a sandbox which still lives runs there again.
    pub(crate) fn rejoin(&self, document: &Arc<Document>) {
        let Some(path) = document.path().filter(|_| document.sandbox().is_none()) else { return };
        let path = path.display().to_string();
        let known = self.0.disk.records.documents().unwrap_or_default();
        let place = known.into_iter().find(|known| known.path == path);
        let id = place.and_then(|place| place.session["sandbox"].as_str().map(|id| SandboxId(id.to_owned())));
        if let Some(live) = id.and_then(|id| self.live_sandbox(&id).ok()).filter(|live| live.is_usable()) {
            document.set_sandbox(Some(live.clone()));
            document.values_back();
            self.describe(document, &live);
        }
    }

    /// Puts on record where a document runs.
    pub(crate) fn remember_place(&self, document: &Document, sandbox: Option<&SandboxId>) {
        let Some(path) = document.path() else { return };
        let record = DocumentRecord {
            path: path.display().to_string(),
            session: serde_json::json!({ "sandbox": sandbox }),
            opened: Timestamp::now(),
        };
        if let Err(error) = self.0.disk.records.put_document(&record) {
            tracing::warn!(%error, "where a notebook runs was not recorded");
        }
    }

    /// Puts on record that a kernel goes on without us, so that it can be listed and removed.
    pub(crate) fn remember_kept(&self, live: &LiveSandbox) {
        let info = live.sandbox.info();
        let Some(kernel) = crate::servers::kernel_on_server(&info.handle).filter(|_| info.owned) else {
            return;
        };
        let kept = KeptKernel {
            id: kernel,
            sandbox: live.id.0.clone(),
            name: live.display_name.clone(),
            document: None,
            handle: info.handle.0,
            kept: Timestamp::now(),
        };
        if let Err(error) = self.0.disk.records.put_kept_kernel(&kept) {
            tracing::warn!(%error, "a kept kernel was not recorded");
        }
    }
}
