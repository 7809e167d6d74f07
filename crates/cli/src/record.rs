//! What is on disk about the sandbox that a command made for itself.

use std::sync::Arc;

use jiff::Timestamp;
use sandbook_sandbox::Sandbox;
use sandbook_store::{
    folders::Folders,
    hold::Hold,
    records::{Records, SandboxRecord, SandboxState},
    sync::Synchroniser,
};

use crate::error::CommandError;

/// What was asked for.
pub(crate) struct Asked {
    pub(crate) runtime: &'static str,
    pub(crate) connection: Option<String>,
    pub(crate) name: String,
}

/// The record of a sandbox: on disk before it is asked for, and held as long as this process lives, so that an owner
/// that starts meanwhile leaves it alone.
pub(crate) struct Record {
    records: Records,
    id: String,
    _hold: Hold,
}

impl Record {
    pub(crate) async fn create(folders: Folders, of: Asked) -> Result<Arc<Self>, CommandError> {
        let id = uuid::Uuid::now_v7().simple().to_string();
        let sandbox = SandboxRecord {
            id: id.clone(),
            runtime: of.runtime.into(),
            connection: of.connection,
            name: of.name,
            handle: serde_json::Value::Null,
            state: SandboxState::Creating,
            created: Timestamp::now(),
            ended: None,
        };
        let put = move || {
            folders.create()?;
            let hold = Hold::take(&folders, &id)?;
            let records = Records::open(&folders.records_file(), &Synchroniser::start()?)?;
            records.put_sandbox(&sandbox)?;
            Ok::<_, sandbook_store::Error>(Arc::new(Self { records, id, _hold: hold }))
        };
        let put = tokio::task::spawn_blocking(put).await;
        let failed = |_| CommandError::infrastructure("internal", "The sandbox was not put on record.", "");
        Ok(put.map_err(failed)??)
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    pub(crate) async fn running(self: &Arc<Self>, sandbox: &Arc<dyn Sandbox>) {
        let handle = sandbox.info().handle.0;
        self.change(move |this| {
            this.records.set_sandbox_handle(&this.id, &handle)?;
            this.records.set_sandbox_state(&this.id, SandboxState::Running, Timestamp::now())
        })
        .await;
    }

    pub(crate) async fn set(self: &Arc<Self>, state: SandboxState) {
        self.change(move |this| this.records.set_sandbox_state(&this.id, state, Timestamp::now())).await;
    }

    async fn change(
        self: &Arc<Self>,
        change: impl FnOnce(&Self) -> sandbook_store::Result<bool> + Send + 'static,
    ) {
        let this = self.clone();
        if !matches!(tokio::task::spawn_blocking(move || change(&this)).await, Ok(Ok(_))) {
            tracing::warn!(sandbox = self.id, "a sandbox's state was not recorded");
        }
    }
}
