//! What people and clients do to cells.

use sandbook_notebook::{CellKey, Changes, Operation, Position, RawJson, TextEdit};
use sandbook_protocol::{CellKind, ClientId, ErrorCode, NewSource, ProtocolError, SourceEdit};

use super::{
    Document,
    state::{State, inner, outer, refused, revision_number},
    view,
};

type Key = sandbook_protocol::CellKey;

/// What Jupyter puts between the texts of merged cells.
const MERGE_SEPARATOR: &str = "\n\n";

impl Document {
    /// Edits a source. Answers the revision afterwards.
    pub(crate) fn edit_source(
        &self,
        author: &ClientId,
        cell: &Key,
        base: u32,
        edits: &[SourceEdit],
    ) -> Result<u32, ProtocolError> {
        let mut state = self.state();
        let key = inner(cell);
        let length = state.notebook.source_length(&key, u64::from(base)).ok_or_else(|| {
            ProtocolError::new(ErrorCode::StaleRevision, stale(base), "Take the newest text and edit again.")
        })?;
        let edits: Vec<TextEdit> = edits
            .iter()
            .map(|edit| TextEdit {
                from: edit.from as usize,
                to: edit.to as usize,
                insert: edit.insert.clone(),
            })
            .collect();
        let changes = Changes::new(length, &edits).map_err(|error| {
            ProtocolError::new(
                ErrorCode::BadRequest,
                format!("The edit does not fit the text: {error}."),
                "Take the newest text and edit again.",
            )
        })?;
        let author = author.as_str().to_owned();
        state.perform(Operation::EditSource {
            cell: key.clone(),
            base: u64::from(base),
            author,
            changes: vec![changes],
        })?;
        let revision = state.notebook.cell(&key).map_or(0, sandbook_notebook::Cell::revision);
        drop(state);
        self.changed.notify_one();
        Ok(revision_number(revision))
    }

    /// Replaces sources as one change, or none of them where one was edited since.
    pub(crate) fn replace_sources(&self, sources: Vec<NewSource>) -> Result<(), ProtocolError> {
        let mut state = self.state();
        let mut operations = Vec::with_capacity(sources.len());
        for NewSource { cell, base_revision, source } in sources {
            let cell = inner(&cell);
            let revision = state.notebook.cell(&cell).map(sandbook_notebook::Cell::revision);
            if revision != Some(u64::from(base_revision)) {
                return Err(ProtocolError::new(
                    ErrorCode::StaleRevision,
                    "A cell was changed meanwhile. Nothing was replaced.",
                    "Look at the newest text and replace again.",
                ));
            }
            operations.push(Operation::SetSource { cell, source });
        }
        state.perform(Operation::Batch(operations))?;
        drop(state);
        self.changed.notify_one();
        Ok(())
    }

    /// Puts a new cell.
    pub(crate) fn insert_cell(&self, index: u32, kind: CellKind, source: &str) -> Result<Key, ProtocolError> {
        let mut state = self.state();
        let key = state.new_key();
        let cell = sandbook_notebook::NewCell::new(key.clone(), known_kind(kind)?, source);
        state.perform(Operation::InsertCells { at: Position::Index(index as usize), cells: vec![cell] })?;
        drop(state);
        self.changed.notify_one();
        Ok(outer(&key))
    }

    /// Deletes cells.
    pub(crate) fn delete_cells(&self, cells: &[Key]) -> Result<(), ProtocolError> {
        self.perform(Operation::DeleteCells { cells: keys(cells) })
    }

    /// Moves cells.
    pub(crate) fn move_cells(&self, cells: &[Key], index: u32) -> Result<(), ProtocolError> {
        self.perform(Operation::MoveCells { cells: keys(cells), to: Position::Index(index as usize) })
    }

    /// Splits a cell. The part before the position becomes the new cell.
    pub(crate) fn split_cell(&self, cell: &Key, position: u32) -> Result<Key, ProtocolError> {
        let mut state = self.state();
        let new_cell = state.new_key();
        let cell = inner(cell);
        let base = state.notebook.cell(&cell).map_or(0, sandbook_notebook::Cell::revision);
        state.perform(Operation::SplitCell {
            cell,
            base,
            at: position as usize,
            new_cell: new_cell.clone(),
        })?;
        drop(state);
        self.changed.notify_one();
        Ok(outer(&new_cell))
    }

    /// Joins cells into the first.
    pub(crate) fn merge_cells(&self, cells: &[Key]) -> Result<(), ProtocolError> {
        let cells = keys(cells);
        let Some(into) = cells.first().cloned() else {
            return Err(refused(&sandbook_notebook::OperationError::NotAdjacent));
        };
        self.perform(Operation::MergeCells { cells, into, separator: MERGE_SEPARATOR.into() })
    }

    /// Changes what cells are.
    pub(crate) fn change_kind(&self, cells: &[Key], kind: CellKind) -> Result<(), ProtocolError> {
        let kind = known_kind(kind)?;
        let operations = keys(cells).into_iter().map(|cell| Operation::SetKind { cell, kind }).collect();
        self.perform(Operation::Batch(operations))
    }

    /// Folds or unfolds cells. What folding put into the metadata is taken out again whole.
    pub(crate) fn fold(
        &self,
        cells: &[Key],
        source_hidden: Option<bool>,
        outputs_hidden: Option<bool>,
    ) -> Result<(), ProtocolError> {
        let mut operations = Vec::new();
        for cell in keys(cells) {
            let mut left = self.state().notebook.cell(&cell).map(view::jupyter).unwrap_or_default();
            let folded = !left.is_empty();
            let mut of_cell = Vec::new();
            for (name, hidden) in [("source_hidden", source_hidden), ("outputs_hidden", outputs_hidden)] {
                let Some(hidden) = hidden else { continue };
                if hidden {
                    left.insert(name.into(), true.into());
                } else {
                    left.remove(name);
                }
                of_cell.push(Operation::SetMetadata {
                    cell: Some(cell.clone()),
                    path: vec!["jupyter".into(), name.into()],
                    value: hidden.then(|| RawJson::from_value(&true.into())),
                });
            }
            if folded && left.is_empty() {
                let path = vec!["jupyter".into()];
                of_cell = vec![Operation::SetMetadata { cell: Some(cell), path, value: None }];
            }
            operations.append(&mut of_cell);
        }
        self.perform(Operation::Batch(operations))
    }

    /// Clears outputs: of these cells, or of all.
    pub(crate) fn clear_outputs(&self, cells: Option<&[Key]>) -> Result<(), ProtocolError> {
        let mut state = self.state();
        let cells = cells.map_or_else(|| state.code_cells(), keys);
        for key in &cells {
            state.clear_live(key)?;
        }
        state.perform(Operation::ClearOutputs { cells })?;
        drop(state);
        self.changed.notify_one();
        Ok(())
    }

    /// Cells as a text for the clipboard.
    pub(crate) fn copy_cells(&self, cells: &[Key]) -> Result<String, ProtocolError> {
        let mut state = self.state();
        state.commit_live();
        let copied = state.notebook.copy_cells(&keys(cells), &mut super::save::no_blobs);
        copied.map_err(|error| ProtocolError::internal(format!("The cells were not copied: {error}.")))
    }

    /// Puts cells from a clipboard text.
    pub(crate) fn paste_cells(&self, index: u32, text: &str) -> Result<Vec<Key>, ProtocolError> {
        let mut state = self.state();
        let cells = sandbook_notebook::paste_cells(text, || state.new_key());
        let pasted = cells.iter().map(|cell| outer(&cell.key)).collect();
        state.perform(Operation::InsertCells { at: Position::Index(index as usize), cells })?;
        drop(state);
        self.changed.notify_one();
        Ok(pasted)
    }

    /// Takes the last change of cells back. Answers the cells that it touched.
    pub(crate) fn undo(&self) -> Result<Vec<Key>, ProtocolError> {
        self.step_back(sandbook_notebook::Notebook::undo, "undo")
    }

    /// Does it again. Answers the cells that it touched.
    pub(crate) fn redo(&self) -> Result<Vec<Key>, ProtocolError> {
        self.step_back(sandbook_notebook::Notebook::redo, "do again")
    }

    fn step_back(
        &self,
        step: impl FnOnce(
            &mut sandbook_notebook::Notebook,
        )
            -> Option<Result<sandbook_notebook::Applied, sandbook_notebook::OperationError>>,
        what: &str,
    ) -> Result<Vec<Key>, ProtocolError> {
        let mut state = self.state();
        let Some(applied) = step(&mut state.notebook) else {
            return Err(ProtocolError::new(
                ErrorCode::NotFound,
                format!("There is nothing to {what}."),
                "Changes inside a cell are taken back in its editor.",
            ));
        };
        let applied = applied.map_err(|error| refused(&error))?;
        state.record(&applied)?;
        state.show(&applied.changes);
        state.status_changed();
        drop(state);
        self.changed.notify_one();
        Ok(touched(&applied))
    }

    fn perform(&self, operation: Operation) -> Result<(), ProtocolError> {
        self.state().perform(operation)?;
        self.changed.notify_one();
        Ok(())
    }
}

impl State {
    /// The cells that hold code.
    pub(super) fn code_cells(&self) -> Vec<CellKey> {
        let code = |cell: &&sandbook_notebook::Cell| cell.kind() == sandbook_notebook::CellKind::Code;
        self.notebook.cells().filter(code).map(|cell| cell.key().clone()).collect()
    }
}

fn touched(applied: &sandbook_notebook::Applied) -> Vec<Key> {
    use sandbook_notebook::Change;
    let mut cells = Vec::new();
    for change in &applied.changes {
        match change {
            Change::CellsInserted { cells: inserted, .. } => cells.extend(inserted.iter().map(outer)),
            Change::Source { cell, .. } | Change::Cell { cell } | Change::OutputsReplaced { cell } => {
                cells.push(outer(cell));
            }
            _ => {}
        }
    }
    cells.dedup();
    cells
}

fn keys(cells: &[Key]) -> Vec<CellKey> {
    cells.iter().map(inner).collect()
}

fn known_kind(kind: CellKind) -> Result<sandbook_notebook::CellKind, ProtocolError> {
    match kind {
        CellKind::Code => Ok(sandbook_notebook::CellKind::Code),
        CellKind::Markdown => Ok(sandbook_notebook::CellKind::Markdown),
        CellKind::Raw => Ok(sandbook_notebook::CellKind::Raw),
        CellKind::Broken => Err(ProtocolError::new(
            ErrorCode::BadRequest,
            "A cell cannot be made one that could not be read.",
            "Choose code, text or raw.",
        )),
    }
}

fn stale(base: u32) -> String {
    format!("Revision {base} of this cell is not known any more. The text here is kept.")
}
