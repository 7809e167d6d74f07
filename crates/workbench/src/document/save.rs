//! Saving: the file is replaced whole or not at all, and never silently over another program's change.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Instant, SystemTime},
};

use bytes::Bytes;
use sandbook_notebook::{CellKey, Notebook};
use sandbook_protocol::{ErrorCode, ProtocolError, SaveChoice};
use sandbook_store::files::{Digest, Fingerprint, Replacement};

use super::{
    Document,
    journal::{Entry, JournalFile},
    open::{blocking, read},
    state::State,
};
use crate::error::store_error;

/// A save that went well.
#[derive(Debug, Clone)]
pub(crate) struct Saved {
    pub(crate) at: SystemTime,
    pub(crate) path: PathBuf,
}

/// What a save needs, taken under the lock.
struct Plan {
    segments: Vec<Bytes>,
    digest: Digest,
    version: u64,
    save: sandbook_store::journal::Save,
}

impl Document {
    /// Writes the file.
    pub(crate) async fn save(
        self: &Arc<Self>,
        path: Option<&str>,
        choice: SaveChoice,
    ) -> Result<Saved, ProtocolError> {
        let _one_at_a_time = self.saving.lock().await;
        let target = self.target(path)?;
        let document = self.clone();
        blocking(move || {
            if document.path().as_ref() == Some(&target) {
                if choice == SaveChoice::TakeTheirs {
                    return document.take_theirs(&target);
                }
                if choice == SaveChoice::Ask {
                    document.refuse_if_changed(&target)?;
                }
                document.write(&target)
            } else if choice == SaveChoice::Ask && target.exists() {
                Err(taken(&target))
            } else {
                document.write_elsewhere(&target)
            }
        })
        .await
    }

    fn target(&self, path: Option<&str>) -> Result<PathBuf, ProtocolError> {
        let target = path.map(PathBuf::from).or_else(|| self.path());
        let target = target.ok_or_else(|| {
            ProtocolError::new(
                ErrorCode::FileUnwritable,
                "This notebook has no file yet. Its cells are kept in the journal.",
                "Choose a place for it.",
            )
        })?;
        if target.is_absolute() {
            return Ok(target);
        }
        Err(ProtocolError::new(
            ErrorCode::BadRequest,
            format!("{} is not an absolute path. Nothing was written.", target.display()),
            "Give the whole path, from the root.",
        ))
    }

    fn refuse_if_changed(&self, target: &Path) -> Result<(), ProtocolError> {
        let fingerprint = self.state().file.fingerprint.clone();
        let Some(fingerprint) = fingerprint else { return Ok(()) };
        if !target.exists() || fingerprint.is_current(target).map_err(|error| store_error(&error))? {
            return Ok(());
        }
        let mut state = self.state();
        state.file.changed_on_disk = true;
        state.status_changed();
        Err(ProtocolError::new(
            ErrorCode::ChangedOnDisk,
            format!(
                "{} was changed by another program. It was not overwritten, and your changes are kept here.",
                state.title
            ),
            "Keep yours, take theirs, or compare the two.",
        ))
    }

    /// Writes the file where it is.
    fn write(self: &Arc<Self>, target: &Path) -> Result<Saved, ProtocolError> {
        let started = Instant::now();
        let Some(plan) = self.plan(target)? else {
            let at = self.state().file.saved_at.unwrap_or_else(SystemTime::now);
            return Ok(Saved { at, path: target.to_owned() });
        };
        let fingerprint = replace(target, &plan.segments, plan.digest)?;
        let mut state = self.state();
        state.journal.finish_save(plan.save).map_err(|error| store_error(&error))?;
        Ok(state.saved(target, fingerprint, plan.version, started))
    }

    /// What is to be written; nothing where the file holds it already.
    fn plan(&self, target: &Path) -> Result<Option<Plan>, ProtocolError> {
        let mut state = self.state();
        state.commit_live();
        let version = state.notebook.version();
        let segments = state.notebook.segments(&mut no_blobs).map_err(|error| internal(&error))?;
        let digest = Digest::of_segments(segments.iter().map(AsRef::as_ref));
        let unchanged = state.file.fingerprint.as_ref().is_some_and(|known| known.digest == digest);
        if unchanged && !state.file.changed_on_disk && target.exists() {
            state.file.saved_version = version;
            state.status_changed();
            return Ok(None);
        }
        let save = state.journal.begin_save(digest).map_err(|error| store_error(&error))?;
        state.begin_generation().map_err(|error| store_error(&error))?;
        Ok(Some(Plan { segments, digest, version, save }))
    }

    /// Writes another file; the document belongs to that one from now on.
    fn write_elsewhere(self: &Arc<Self>, target: &Path) -> Result<Saved, ProtocolError> {
        let started = Instant::now();
        let (segments, version) = {
            let mut state = self.state();
            state.commit_live();
            let segments = state.notebook.segments(&mut no_blobs).map_err(|error| internal(&error))?;
            (segments, state.notebook.version())
        };
        let digest = Digest::of_segments(segments.iter().map(AsRef::as_ref));
        let fingerprint = replace(target, &segments, digest)?;
        let name = target.display().to_string();
        let journals = &self.surroundings.disk.journals;
        let mut state = self.state();
        journals.remove(&name).map_err(|error| store_error(&error))?;
        let (journal, _) =
            journals.journal(&name, fingerprint.digest).map_err(|error| store_error(&error))?;
        state.journal = JournalFile::new(journal);
        let old_name = std::mem::replace(&mut state.journal_name, name);
        state.begin_generation().map_err(|error| store_error(&error))?;
        if let Err(error) = journals.remove(&old_name) {
            tracing::warn!(%error, "the journal of the former file could not be removed");
        }
        target.clone_into(state.path.get_or_insert_default());
        state.title = target.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned());
        state.file.read_only = false;
        Ok(state.saved(target, fingerprint, version, started))
    }

    /// Drops what is here for what is on disk. It is an operation, so an undo brings it back.
    fn take_theirs(self: &Arc<Self>, target: &Path) -> Result<Saved, ProtocolError> {
        let (content, fingerprint) = read(target)?;
        let mut state = self.state();
        state.commit_live();
        let prefix = state.key_prefix.clone();
        let mut number = state.next_key;
        let reloaded = state.notebook.reload(content, || {
            number += 1;
            CellKey::new(format!("{prefix}{number}"))
        });
        state.next_key = number;
        let applied = reloaded.map_err(|error| {
            ProtocolError::new(
                ErrorCode::NotANotebook,
                format!("What is on disk now cannot be taken over: {error}. Yours is kept here."),
                "Keep yours, or save it under another name.",
            )
        })?;
        state.journal.resolve(fingerprint.digest).map_err(|error| store_error(&error))?;
        state.begin_generation().map_err(|error| store_error(&error))?;
        state.show(&applied.changes);
        state.file.fingerprint = Some(fingerprint);
        state.file.saved_version = state.notebook.version();
        state.file.changed_on_disk = false;
        state.status_changed();
        Ok(Saved { at: SystemTime::now(), path: target.to_owned() })
    }

    /// Sources of the cells on disk, and of those here.
    pub(crate) async fn compare_with_disk(
        self: &Arc<Self>,
    ) -> Result<(Vec<String>, Vec<String>), ProtocolError> {
        let path = self.target(None)?;
        let document = self.clone();
        blocking(move || {
            let (content, _) = read(&path)?;
            let theirs = Notebook::parse(content, CellKey::sequence("t")).map_err(|error| {
                ProtocolError::new(
                    ErrorCode::NotANotebook,
                    format!("What is on disk now is not a notebook: {error}."),
                    "Keep yours.",
                )
            })?;
            let sources =
                |notebook: &Notebook| notebook.cells().map(|cell| cell.source().into_owned()).collect();
            Ok((sources(&theirs), sources(&document.state().notebook)))
        })
        .await
    }

    /// Forgets the journal: nothing in it is wanted any more.
    pub(crate) fn discard_journal(&self) {
        let state = self.state();
        if let Err(error) = self.surroundings.disk.journals.remove(&state.journal_name) {
            tracing::warn!(%error, "a journal could not be removed");
        }
    }
}

impl State {
    /// A generation of the journal begins: who the cells are, and which runs go on.
    fn begin_generation(&mut self) -> Result<(), sandbook_store::Error> {
        let checkpoint = self.notebook.checkpoint();
        self.journal.append(&Entry::Checkpoint(Box::new(checkpoint)))?;
        let active: Vec<Entry> = self
            .live
            .iter()
            .filter(|(_, live)| live.active)
            .map(|(key, live)| {
                let run = self.runs.get(key).cloned().unwrap_or_default();
                Entry::RunStarted {
                    cell: key.clone(),
                    execution: live.execution.clone(),
                    revision: run.ran_revision.unwrap_or_default(),
                    at: run.started_at.unwrap_or_default(),
                }
            })
            .collect();
        active.iter().try_for_each(|entry| self.journal.append(entry))?;
        if self.waiting_on_record.is_empty() {
            return Ok(());
        }
        self.journal.append(&Entry::Waiting { cells: self.waiting_on_record.clone() })
    }

    fn saved(&mut self, target: &Path, fingerprint: Fingerprint, version: u64, started: Instant) -> Saved {
        let at = SystemTime::now();
        self.file.fingerprint = Some(fingerprint);
        self.file.saved_version = version;
        self.file.saved_at = Some(at);
        self.file.changed_on_disk = false;
        self.file.last_save = started.elapsed();
        self.status_changed();
        Saved { at, path: target.to_owned() }
    }
}

/// There is another file where the notebook shall go.
fn taken(target: &Path) -> ProtocolError {
    ProtocolError::new(
        ErrorCode::ChangedOnDisk,
        format!("There is a file {} already. It was not replaced.", target.display()),
        "Replace it, or choose another name.",
    )
}

fn replace(target: &Path, segments: &[Bytes], digest: Digest) -> Result<Fingerprint, ProtocolError> {
    let prepared = Replacement::prepare_hashed(target, segments.iter().map(AsRef::as_ref), digest);
    prepared.and_then(Replacement::commit).map_err(|error| {
        ProtocolError::new(
            ErrorCode::FileUnwritable,
            format!("{error} Your changes are kept here and in the journal."),
            error.hint().unwrap_or("Save it in another place."),
        )
    })
}

/// Outputs are held in memory until they are saved; none is a blob.
pub(super) fn no_blobs(blob: &sandbook_notebook::Blob) -> std::io::Result<Bytes> {
    Err(std::io::Error::new(std::io::ErrorKind::NotFound, format!("{} is not kept here", blob.hash)))
}

pub(super) fn internal(error: &dyn std::fmt::Display) -> ProtocolError {
    ProtocolError::internal(format!(
        "The notebook could not be written out: {error}. It is kept in the journal."
    ))
}
