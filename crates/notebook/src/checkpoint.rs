//! What a journal must begin with, besides the file.
//!
//! A journal holds the steps since the last save. The file does not say everything that those steps may refer to: keys,
//! revisions, deleted cells that an undo brings back, outputs of cells that are no longer code, display ids. A
//! checkpoint says that. `resume(saved bytes, checkpoint)` and the steps since then give the document as it was.

use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::cell::{Cell, CellKind, ExecutionCount, Fields};
use crate::error::ParseError;
use crate::key::CellKey;
use crate::notebook::Notebook;
use crate::output::{FileText, Output, StoredOutput};
use crate::source::History;

/// The state of a document that its file does not hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    cells: Vec<CellState>,
    removed: Vec<RemovedCell>,
}

/// What the file does not say of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct CellState {
    key: CellKey,
    revision: u64,
    generation: u32,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    clear_pending: bool,
    /// Display ids, by the index of the output.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    displays: Vec<(usize, String)>,
    /// Outputs and number of a cell that is not code at the moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hidden: Option<(Vec<StoredOutput>, Option<u64>)>,
    /// Attachments of a cell that is code at the moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    attachments: Option<FileText>,
}

/// A remembered cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct RemovedCell {
    state: CellState,
    text: FileText,
    kind: CellKind,
    source: Option<String>,
    outputs: Vec<StoredOutput>,
    execution_count: Option<u64>,
    metadata: FileText,
    attachments: Option<FileText>,
}

/// Why a document cannot be resumed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ResumeError {
    /// The file is no notebook any more.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// The file is not the one that the checkpoint was made for.
    #[error("the journal belongs to a notebook of {expected} cells, the file has {found}")]
    OtherFile {
        /// Cells in the checkpoint.
        expected: usize,
        /// Cells in the file.
        found: usize,
    },
}

impl Notebook {
    /// The state that the file does not hold. To be stored when the notebook was opened or saved, before the steps that
    /// follow.
    pub fn checkpoint(&self) -> Checkpoint {
        let mut removed: Vec<_> = self.removed.values().map(|cell| RemovedCell::of(cell)).collect();
        removed.sort_by(|left, right| left.state.key.cmp(&right.state.key));
        Checkpoint { cells: self.cells.iter().map(|cell| CellState::of(cell)).collect(), removed }
    }

    /// Opens the bytes that were opened or saved when `checkpoint` was made. The steps since then are to be replayed.
    pub fn resume(file: Bytes, checkpoint: &Checkpoint) -> Result<Self, ResumeError> {
        let mut keys = checkpoint.cells.iter().map(|state| state.key.clone());
        let mut spare = CellKey::sequence("spare");
        let mut notebook = Self::parse(file, || keys.next().unwrap_or_else(&mut spare))?;
        let (expected, found) = (checkpoint.cells.len(), notebook.cells.len());
        if expected != found {
            return Err(ResumeError::OtherFile { expected, found });
        }
        for (index, state) in checkpoint.cells.iter().enumerate() {
            state.restore(Arc::make_mut(&mut notebook.cells[index]));
        }
        for cell in &checkpoint.removed {
            notebook.removed.insert(cell.state.key.clone(), Arc::new(cell.restore()));
        }
        let states = checkpoint.cells.iter().chain(checkpoint.removed.iter().map(|cell| &cell.state));
        for state in states {
            for (_, id) in &state.displays {
                notebook.displays.entry(id.clone()).or_default().insert(state.key.clone());
            }
        }
        Ok(notebook)
    }
}

impl CellState {
    fn of(cell: &Cell) -> Self {
        let held = cell.outputs.held.as_deref().unwrap_or_default();
        let displays = held.iter().enumerate().filter_map(|(index, output)| match output {
            StoredOutput::Held(output) => Some((index, output.display_id()?.to_owned())),
            StoredOutput::File(_) => None,
        });
        let code = cell.kind == CellKind::Code;
        let hides = !code && (cell.output_count() > 0 || cell.execution_count().is_some());
        Self {
            key: cell.key.clone(),
            revision: cell.revision(),
            generation: cell.outputs.generation,
            clear_pending: cell.outputs.clear_pending,
            displays: displays.collect(),
            hidden: hides.then(|| (cell.stored_outputs().into_owned(), cell.execution_count())),
            attachments: cell.attachments_text().filter(|_| code).map(FileText),
        }
    }

    fn restore(&self, cell: &mut Cell) {
        cell.history = History::at(self.revision);
        cell.outputs.generation = self.generation;
        cell.outputs.clear_pending = self.clear_pending;
        if let Some((outputs, count)) = &self.hidden {
            cell.outputs.held = Some(outputs.clone());
            cell.execution_count = ExecutionCount::Set(*count);
        }
        if let Some(attachments) = &self.attachments {
            cell.attachments = Some(attachments.0.clone());
        }
        for (index, id) in &self.displays {
            let Some(slot) = cell.outputs_mut().get_mut(*index) else { continue };
            let mut output = slot.read().into_owned();
            if let Output::Display { display_id, .. } | Output::Result { display_id, .. } = &mut output {
                *display_id = Some(id.clone());
            }
            *slot = StoredOutput::Held(output);
        }
    }
}

impl RemovedCell {
    fn of(cell: &Cell) -> Self {
        Self {
            state: CellState { hidden: None, attachments: None, ..CellState::of(cell) },
            text: FileText(cell.text.clone()),
            kind: cell.kind,
            source: cell.source.clone(),
            outputs: cell.stored_outputs().into_owned(),
            execution_count: cell.execution_count(),
            metadata: FileText(cell.metadata_text()),
            attachments: cell.attachments_text().map(FileText),
        }
    }

    fn restore(&self) -> Cell {
        let fields = Fields::scan(&self.text.0, 0).ok().and_then(|(fields, _)| fields);
        let mut cell = Cell::read(self.state.key.clone(), self.text.0.clone(), fields);
        cell.kind = self.kind;
        cell.source.clone_from(&self.source);
        cell.outputs.held = Some(self.outputs.clone());
        cell.execution_count = ExecutionCount::Set(self.execution_count);
        if self.metadata.0 != cell.metadata_text() {
            cell.metadata = Some(self.metadata.0.clone());
        }
        if self.attachments.as_ref().map(|text| &text.0) != cell.attachments_text().as_ref() {
            cell.attachments = self.attachments.as_ref().map(|text| text.0.clone());
        }
        self.state.restore(&mut cell);
        cell
    }
}
