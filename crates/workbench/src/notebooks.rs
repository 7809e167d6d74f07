//! The notebooks that are open: one document a file, whatever way it is named.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use jiff::Timestamp;
use sandbook_protocol::{DocumentId, ErrorCode, ProtocolError, Push, Settings};
use sandbook_sandbox::StopChoice;
use uuid::Uuid;

use crate::{
    document::{self, Document, Surroundings, UNTITLED},
    owner::{Workbench, lock},
};

impl Workbench {
    /// An open document.
    pub(crate) fn document(&self, id: &DocumentId) -> Result<Arc<Document>, ProtocolError> {
        lock(&self.0.documents).get(id).cloned().ok_or_else(|| ProtocolError::not_found("open notebook"))
    }

    /// All open documents.
    pub(crate) fn documents(&self) -> Vec<Arc<Document>> {
        lock(&self.0.documents).values().cloned().collect()
    }

    /// Opens the notebook at a path, or gives the open one.
    pub(crate) async fn open_document(&self, path: &str) -> Result<Arc<Document>, ProtocolError> {
        let path = absolute(path, &self.0.options.working_directory)?;
        let _one_at_a_time = self.0.opening.lock().await;
        let open = self.documents().into_iter().find(|document| document.path().as_ref() == Some(&path));
        let document = if let Some(document) = open {
            document
        } else {
            let document = self.add(document::open(new_id(), path.clone(), self.surroundings()).await?);
            self.rejoin(&document);
            document
        };
        self.note_recent(&document, None);
        self.workspace_changed();
        Ok(document)
    }

    /// Makes a notebook that has no file yet.
    pub(crate) async fn new_document(&self) -> Result<Arc<Document>, ProtocolError> {
        let number = self.documents().iter().filter(|document| document.path().is_none()).count() + 1;
        let name = format!("{UNTITLED}{}", Uuid::now_v7().simple());
        let title = if number == 1 { "Untitled.ipynb".into() } else { format!("Untitled {number}.ipynb") };
        let document = self.add(document::open_new(new_id(), name, title, self.surroundings()).await?);
        document.insert_cell(0, sandbook_protocol::CellKind::Code, "")?;
        self.workspace_changed();
        Ok(document)
    }

    fn add(&self, document: Arc<Document>) -> Arc<Document> {
        document.watch();
        lock(&self.0.documents).insert(document.id.clone(), document.clone());
        document
    }

    /// Closes a document. What is not saved stays in its journal, unless it is to be dropped.
    pub(crate) async fn close_document(&self, id: &DocumentId, discard: bool) -> Result<(), ProtocolError> {
        let document = self.document(id)?;
        let status = document.status();
        if status.dirty && !discard && status.path.is_some() && self.settings().autosave {
            document.save(None, sandbook_protocol::SaveChoice::Ask).await?;
        }
        self.detach(&document, StopChoice::Default);
        lock(&self.0.documents).shift_remove(id);
        if discard || !document.status().dirty {
            document.discard_journal();
        } else {
            document.flush();
        }
        for mailbox in self.mailboxes() {
            mailbox.unsubscribe(id);
            mailbox.push(Push::DocumentClosed { document: id.clone() });
        }
        self.workspace_changed();
        Ok(())
    }

    fn surroundings(&self) -> Surroundings {
        let (for_changes, for_settings) = (Arc::downgrade(&self.0), Arc::downgrade(&self.0));
        Surroundings {
            disk: self.0.disk.clone(),
            workspace_changed: Arc::new(move || {
                if let Some(inner) = for_changes.upgrade() {
                    Self(inner).workspace_changed();
                }
            }),
            settings: Arc::new(move || {
                // Without an owner nobody knows whether the person wants the file written.
                let gone = || Settings { autosave: false, ..Settings::default() };
                for_settings.upgrade().map_or_else(gone, |inner| Self(inner).settings())
            }),
        }
    }

    /// Documents without a file whose journal has something.
    pub(crate) async fn bring_back_untitled(&self) {
        let journals = match self.0.disk.journals.list() {
            Ok(journals) => journals,
            Err(error) => {
                tracing::warn!(%error, "the journals cannot be listed");
                return;
            }
        };
        let unsaved = journals.into_iter().filter(|listed| listed.document.starts_with(UNTITLED));
        for (listed, number) in unsaved.zip(1..) {
            let title =
                if number == 1 { "Untitled.ipynb".into() } else { format!("Untitled {number}.ipynb") };
            match document::open_new(new_id(), listed.document, title, self.surroundings()).await {
                Ok(document) => drop(self.add(document)),
                Err(error) => {
                    tracing::warn!(reason = error.message, "an unsaved notebook could not be brought back");
                }
            }
        }
    }

    /// Puts a notebook among the recent ones.
    pub(crate) fn note_recent(&self, document: &Document, sandbox: Option<&str>) {
        let Some(path) = document.path() else { return };
        let path = path.display().to_string();
        if let Err(error) = self.0.disk.records.note_recent_notebook(&path, sandbox, Timestamp::now()) {
            tracing::warn!(%error, "a notebook was not put among the recent ones");
        }
    }
}

fn new_id() -> DocumentId {
    DocumentId(Uuid::now_v7().simple().to_string())
}

/// The real path of a file, so that one file is one document whatever way it is named.
fn absolute(path: &str, from: &Path) -> Result<PathBuf, ProtocolError> {
    let joined = from.join(path);
    std::fs::canonicalize(&joined).map_err(|error| {
        ProtocolError::new(
            ErrorCode::FileUnreadable,
            format!("{} could not be opened: {error}.", joined.display()),
            "Check the path and that you may read the file.",
        )
    })
}
