//! Opening a notebook: its file, and what its journal has and the file has not.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use bytes::Bytes;
use sandbook_notebook::{CellKey, Notebook};
use sandbook_protocol::{DocumentId, ErrorCode, ProtocolError};
use sandbook_store::files::{Digest, Fingerprint};

use super::{
    Document, Surroundings,
    journal::JournalFile,
    queue::RunQueue,
    resources::Resources,
    restore,
    save::{internal, no_blobs},
    state::{FileState, State},
};
use crate::error::store_error;

/// What the names of journals of documents without a file begin with.
pub(crate) const UNTITLED: &str = "untitled:";

/// Opens the notebook at a path.
pub(crate) async fn open(
    id: DocumentId,
    path: PathBuf,
    surroundings: Surroundings,
) -> Result<Arc<Document>, ProtocolError> {
    blocking(move || {
        let (content, fingerprint) = read(&path)?;
        let name = path.display().to_string();
        let mut state = load(content, &name, &surroundings)?;
        state.title = path.file_name().map_or(name, |title| title.to_string_lossy().into_owned());
        state.file.read_only = is_read_only(&path);
        // Where another program changed it, the fingerprint is that of the content the changes belong to.
        state.file.fingerprint.get_or_insert(fingerprint);
        state.path = Some(path);
        Ok(Document::new(id, surroundings, state))
    })
    .await
}

/// A notebook that has no file yet; `name` is that of its journal, which may hold one from before.
pub(crate) async fn open_new(
    id: DocumentId,
    name: String,
    title: String,
    surroundings: Surroundings,
) -> Result<Arc<Document>, ProtocolError> {
    blocking(move || {
        let content = Notebook::empty().to_bytes(&mut no_blobs).map_err(|error| internal(&error))?;
        let mut state = load(content, &name, &surroundings)?;
        state.title = title;
        state.journal_name = name;
        Ok(Document::new(id, surroundings, state))
    })
    .await
}

pub(super) fn read(path: &Path) -> Result<(Bytes, Fingerprint), ProtocolError> {
    let unreadable = |error: &dyn std::fmt::Display| {
        ProtocolError::new(
            ErrorCode::FileUnreadable,
            format!("{} could not be opened: {error}.", path.display()),
            "Check the path and that you may read the file.",
        )
    };
    let file = std::fs::File::open(path).map_err(|error| unreadable(&error))?;
    let mut content = Vec::new();
    std::io::Read::read_to_end(&mut &file, &mut content).map_err(|error| unreadable(&error))?;
    let fingerprint = Fingerprint::of_content(&file, path, &content).map_err(|error| unreadable(&error))?;
    Ok((content.into(), fingerprint))
}

fn is_read_only(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| metadata.permissions().readonly())
}

/// The state that a content and its journal make. Where another program has written this content since the journal's
/// last change, the state is the own version, and the person is asked as if it had been noticed while it was open.
fn load(content: Bytes, journal_name: &str, surroundings: &Surroundings) -> Result<State, ProtocolError> {
    let digest = Digest::of(&content);
    let open_journal = || {
        let opened = surroundings.disk.journals.journal(journal_name, digest);
        opened.map_err(|error| store_error(&error))
    };
    let (mut journal, recovered) = open_journal()?;
    let mut recovered = restore::Unsaved::read(recovered);
    if recovered.base.is_some() && recovered.changes() == 0 {
        // What the file holds was saved, so nobody needs to choose.
        journal.resolve(digest).map_err(|error| store_error(&error))?;
        (journal, recovered) = (open_journal()?.0, restore::Unsaved::default());
    }
    let own = recovered.base.take().map(Bytes::from);
    let conflict = own.as_ref().map(|own| Fingerprint::of_gone(own));
    let content = own.unwrap_or(content);
    let mut notebook = Notebook::parse(content.clone(), CellKey::sequence("c")).map_err(|error| {
        ProtocolError::new(
            ErrorCode::NotANotebook,
            format!("This is not a notebook that can be opened: {error}."),
            "The file was not touched. Open it with another program to see what is in it.",
        )
    })?;
    if let Some(checkpoint) = recovered.take_checkpoint() {
        match Notebook::resume(content, &checkpoint) {
            Ok(resumed) => notebook = resumed,
            Err(error) => {
                tracing::error!(%error, "a journal does not fit its file");
                recovered.is_foreign = true;
            }
        }
    }
    let notices = notebook.notices().iter().map(ToString::to_string).collect();
    let random = uuid::Uuid::new_v4();
    let mut key = [0; 32];
    key[..16].copy_from_slice(random.as_bytes());
    key[16..].copy_from_slice(uuid::Uuid::new_v4().as_bytes());
    let mut state = State {
        file: FileState {
            saved_version: notebook.version(),
            changed_on_disk: conflict.is_some(),
            fingerprint: conflict,
            ..FileState::default()
        },
        notebook,
        path: None,
        title: String::new(),
        journal: JournalFile::new(journal),
        journal_name: journal_name.to_owned(),
        runs: std::collections::HashMap::new(),
        live: std::collections::HashMap::new(),
        queue: RunQueue::default(),
        waiting_on_record: Vec::new(),
        input: None,
        input_door: None,
        sandbox: None,
        died_at: None,
        resources: Resources::new(key),
        viewers: Vec::new(),
        notices,
        next_key: 0,
        key_prefix: format!("n{}-", &random.simple().to_string()[..8]),
    };
    restore::restore(&mut state, recovered, digest, &surroundings.disk)?;
    Ok(state)
}

/// Runs work on files, which may take its time.
pub(super) async fn blocking<T: Send + 'static>(
    call: impl FnOnce() -> Result<T, ProtocolError> + Send + 'static,
) -> Result<T, ProtocolError> {
    tokio::task::spawn_blocking(call).await.unwrap_or_else(|_| {
        Err(ProtocolError::internal("Work on a file broke off. What was on disk is unchanged."))
    })
}
