//! What a document's journal says.
//!
//! Steps of the notebook are stored as they were applied. Outputs are not: a run's log has its events already, so the
//! journal only says which log belongs to which cell, and what a person did to those outputs meanwhile.

use sandbook_notebook::{CellKey, Checkpoint, Step};
use sandbook_sandbox::ExecutionId;
use sandbook_store::{
    files::{Digest, Fingerprint},
    journal::{BaseCopy, Journal, Save},
};
use serde::{Deserialize, Serialize};

/// One record.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Entry {
    /// A change of the notebook.
    Step(Box<Step>),
    /// A run began; its outputs take the place of the cell's.
    RunStarted {
        /// Which cell.
        cell: CellKey,
        /// Whose log has the outputs.
        execution: ExecutionId,
        /// The source's revision that runs.
        revision: u32,
        /// When, in milliseconds since 1970.
        at: u64,
    },
    /// A person cleared the outputs of a run that goes on.
    OutputsCleared {
        /// Which run.
        execution: ExecutionId,
        /// After so many events.
        at: u64,
    },
    /// From now on these cells wait to be run, in this order. One that begins leaves them.
    Waiting {
        /// Which cells.
        cells: Vec<CellKey>,
    },
    /// What the content that this generation is based on does not say of the document.
    Checkpoint(Box<Checkpoint>),
}

/// The journal of a document.
#[derive(Debug)]
pub(super) struct JournalFile(Journal);

impl JournalFile {
    pub(super) fn new(journal: Journal) -> Self {
        Self(journal)
    }

    /// Appends a record. When this returns, a kill of the process does not lose it.
    pub(super) fn append(&mut self, entry: &Entry) -> Result<(), sandbook_store::Error> {
        // The types above have nothing that JSON cannot say.
        let bytes = serde_json::to_vec(entry).unwrap_or_default();
        self.0.append(&bytes)
    }

    /// A content with this digest is about to replace the file.
    pub(super) fn begin_save(&mut self, next: Digest) -> Result<Save, sandbook_store::Error> {
        self.0.begin_save(next)
    }

    /// The file is replaced.
    pub(super) fn finish_save(&mut self, save: Save) -> Result<(), sandbook_store::Error> {
        self.0.finish_save(save)
    }

    /// The file is another's; edits are based on it now.
    pub(super) fn resolve(&mut self, base: Digest) -> Result<(), sandbook_store::Error> {
        self.0.resolve(base)
    }

    /// What has to be copied from the file so that the changes can be shown even where another program replaces it.
    pub(super) fn take_base_copy(&mut self, known: &Fingerprint) -> Option<BaseCopy> {
        self.0.take_base_copy(known)
    }

    /// Brings everything to the disk.
    pub(super) fn sync(&self) -> Result<(), sandbook_store::Error> {
        self.0.sync()
    }
}
