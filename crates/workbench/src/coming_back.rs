//! What outlives an owner: kernels on servers that a killed one left behind, those that a person kept, and which
//! notebook ran where.

use std::sync::Arc;

use jiff::Timestamp;
use sandbook_protocol::SandboxId;
use sandbook_sandbox::{AttachHandle, CreateRequest, Progress, SandboxError};
use sandbook_store::{
    hold::is_held,
    records::{DocumentRecord, KeptKernel, SandboxRecord, SandboxState},
};
use tokio_util::sync::CancellationToken;

use crate::{
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
        }
        self.workspace_changed();
    }

    async fn bring_back(&self, record: SandboxRecord) -> Result<(), SandboxError> {
        let gone = || SandboxError::Gone { what: "the kernel of an earlier owner".into() };
        let connection = record.connection.map(sandbook_protocol::ConnectionId).ok_or_else(gone)?;
        let connection = self.0.connections.get(&connection).map_err(|_| gone())?;
        let credential = match connection.credential.as_deref() {
            Some(name) => self.0.credentials.load(name).await,
            None => None,
        };
        let settings = crate::servers::sandbox_settings(&connection).map_err(|_| gone())?;
        let request = CreateRequest {
            settings,
            credential,
            progress: Progress::none(),
            cancel: CancellationToken::new(),
        };
        let sandbox = self.0.kernels.runtime().attach(AttachHandle(record.handle), request).await?;
        tracing::info!(sandbox = record.id, "a kernel that an earlier owner left behind was joined");
        let id = SandboxId(record.id);
        let live = Arc::new(LiveSandbox::new(
            id.clone(),
            sandbox,
            Some(connection.id),
            record.name,
            false,
            Self::now(),
        ));
        lock(&self.0.sandboxes).insert(id, live.clone());
        self.watch_sandbox(&live);
        for document in self.documents() {
            self.rejoin(&document);
        }
        Ok(())
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
