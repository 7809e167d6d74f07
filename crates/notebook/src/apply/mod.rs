//! Applies operations: `(notebook, operation) → notebook + changes`.
//!
//! Each operation checks everything before it changes anything, so a refused one leaves the notebook as it was.

mod outputs;
mod structure;
mod text;

use std::sync::Arc;

use crate::applied::{Applied, Cause, Change, Step};
use crate::cell::{Cell, CellKind};
use crate::error::OperationError;
use crate::json::raw::RawJson;
use crate::json::scan::{self, find_member};
use crate::key::CellKey;
use crate::metadata;
use crate::notebook::Notebook;
use crate::operation::Operation;

type Outcome = Result<Done, OperationError>;

/// What one operation did.
struct Done {
    /// The operation in the form for the journal.
    operation: Operation,
    inverse: Option<Operation>,
    changes: Vec<Change>,
}

impl Notebook {
    /// Applies an operation.
    pub fn apply(&mut self, operation: Operation) -> Result<Applied, OperationError> {
        self.apply_taken(Step { operation, cause: Cause::Edit })
    }

    /// Takes the last change of cells back. `None` where there is nothing to take back.
    pub fn undo(&mut self) -> Option<Result<Applied, OperationError>> {
        let operation = self.undo.take(Cause::Undo)?;
        Some(self.apply_taken(Step { operation, cause: Cause::Undo }))
    }

    /// Does again what was taken back. `None` where there is nothing.
    pub fn redo(&mut self) -> Option<Result<Applied, OperationError>> {
        let operation = self.undo.take(Cause::Redo)?;
        Some(self.apply_taken(Step { operation, cause: Cause::Redo }))
    }

    /// Whether there is something to undo.
    pub fn can_undo(&self) -> bool {
        self.undo.can(Cause::Undo)
    }

    /// Whether there is something to redo.
    pub fn can_redo(&self) -> bool {
        self.undo.can(Cause::Redo)
    }

    /// Applies what a journal stored.
    pub fn replay(&mut self, step: Step) -> Result<Applied, OperationError> {
        self.undo.take(step.cause);
        self.apply_taken(step)
    }

    fn apply_taken(&mut self, step: Step) -> Result<Applied, OperationError> {
        let undoable = is_undoable(&step.operation) || step.cause != Cause::Edit;
        self.apply_step(step, undoable)
    }

    /// Applies a step; with `undoable`, an undo takes it back.
    pub(crate) fn apply_step(&mut self, step: Step, undoable: bool) -> Result<Applied, OperationError> {
        let mut done = self.perform(step.operation)?;
        done.changes.retain(|change| change.cell().is_none_or(|key| self.index(key).is_some()));
        self.version += 1;
        if let Some(inverse) = &done.inverse
            && undoable
        {
            for key in self.undo.remember(inverse.clone(), step.cause) {
                self.removed.remove(&key);
            }
        }
        Ok(Applied {
            step: Step { operation: done.operation, cause: step.cause },
            inverse: done.inverse,
            changes: done.changes,
            version: self.version,
        })
    }

    fn perform(&mut self, operation: Operation) -> Outcome {
        match operation {
            Operation::InsertCells { at, cells } => self.insert_cells(at, cells),
            Operation::DeleteCells { cells } => self.delete_cells(cells),
            Operation::MoveCells { cells, to } => self.move_cells(cells, to),
            Operation::PlaceCells { cells } => self.place_cells(cells),
            Operation::SplitCell { cell, base, at, new_cell } => self.split_cell(cell, base, at, new_cell),
            Operation::MergeCells { cells, into, separator } => self.merge_cells(cells, into, separator),
            Operation::UnmergeCells(unmerge) => self.unmerge_cells(unmerge),
            Operation::SetKind { cell, kind } => self.set_kind(cell, kind),
            Operation::EditSource { cell, base, author, changes } => {
                self.edit_source(cell, base, author, &changes)
            }
            Operation::RevertSource { cell, base, changes, expected } => {
                self.revert_source(cell, base, &changes, &expected)
            }
            Operation::SetSource { cell, source } => self.set_source(cell, source),
            Operation::SetMetadata { cell, path, value } => self.set_metadata(cell, path, value),
            Operation::ClearOutputs { cells } => self.clear_outputs(cells),
            Operation::RestoreOutputs { cell, outputs, execution_count } => {
                self.restore_outputs(cell, outputs, execution_count)
            }
            Operation::ReplaceOutputs { cell, outputs, execution_count } => {
                self.replace_outputs(cell, outputs, execution_count)
            }
            Operation::ClearOutput { cell, wait } => self.clear_output(cell, wait),
            Operation::AppendOutput { cell, output } => self.append_output(cell, output),
            Operation::AppendStream { cell, name, text } => self.append_stream(cell, name, text),
            Operation::EditStream { cell, index, keep, text } => self.edit_stream(cell, index, keep, text),
            Operation::ReplaceOutput { cell, index, output } => self.replace_output(cell, index, output),
            Operation::UpdateDisplay { display_id, data, metadata } => {
                Ok(self.update_display(display_id, data, metadata))
            }
            Operation::SetExecutionCount { cell, count } => self.set_execution_count(cell, count),
            Operation::Batch(operations) => self.batch(operations),
        }
    }

    fn batch(&mut self, operations: Vec<Operation>) -> Outcome {
        let before = (self.cells.clone(), self.removed.clone(), self.displays.clone(), self.layout.clone());
        let (mut done, mut inverses, mut changes) = (Vec::new(), Vec::new(), Vec::new());
        for operation in operations {
            match self.perform(operation) {
                Ok(one) => {
                    done.push(one.operation);
                    inverses.extend(one.inverse);
                    changes.extend(one.changes);
                }
                Err(error) => {
                    (self.cells, self.removed, self.displays, self.layout) = before;
                    return Err(error);
                }
            }
        }
        inverses.reverse();
        let inverse = (!inverses.is_empty()).then_some(Operation::Batch(inverses));
        Ok(Done { operation: Operation::Batch(done), inverse, changes })
    }

    fn set_metadata(&mut self, cell: Option<CellKey>, path: Vec<String>, value: Option<RawJson>) -> Outcome {
        let style = self.file_style().json.clone();
        let old;
        if let Some(key) = &cell {
            let cell_indent = self.layout.cell_indent().to_owned();
            let held = self.editable(key)?;
            let text = held.metadata_text();
            old = metadata::before(&text, &path);
            let indent = crate::json::edit::member_indent(&held.text);
            let indent = indent.unwrap_or_else(|| format!("{cell_indent}{}", style.indent));
            held.metadata = Some(metadata::set(&text, &path, value.as_ref(), &style, &indent).into());
        } else {
            let skeleton = self.layout.skeleton();
            let start = scan::skip_space(&skeleton, self.layout.prefix());
            let object = skeleton.slice(start..);
            let found = find_member(&object, "metadata").map(|range| object.slice(range)).unwrap_or_default();
            old = metadata::before(&found, &path);
            let changed = metadata::set(&found, &path, value.as_ref(), &style, &style.indent);
            self.layout.set_member(start, "metadata", changed, &style);
        }
        let change = cell.clone().map_or(Change::Metadata, |cell| Change::Cell { cell });
        let inverse = Operation::SetMetadata { cell: cell.clone(), path: old.0, value: old.1 };
        Ok(Done {
            operation: Operation::SetMetadata { cell, path, value },
            inverse: Some(inverse),
            changes: vec![change],
        })
    }

    /// A cell to change, in the document or remembered.
    fn cell_mut(&mut self, key: &CellKey) -> Result<&mut Cell, OperationError> {
        let live = self.cells.iter_mut().find(|cell| cell.key == *key);
        let cell = live.or_else(|| self.removed.get_mut(key));
        cell.map(Arc::make_mut).ok_or_else(|| OperationError::UnknownCell(key.clone()))
    }

    /// A cell whose contents can be changed.
    fn editable(&mut self, key: &CellKey) -> Result<&mut Cell, OperationError> {
        let cell = self.cell_mut(key)?;
        if cell.kind == CellKind::Broken { Err(OperationError::BrokenCell(key.clone())) } else { Ok(cell) }
    }
}

/// Whether a step of undo takes it back. Typing belongs to the editor, outputs to the code.
fn is_undoable(operation: &Operation) -> bool {
    match operation {
        Operation::InsertCells { .. }
        | Operation::DeleteCells { .. }
        | Operation::MoveCells { .. }
        | Operation::PlaceCells { .. }
        | Operation::SplitCell { .. }
        | Operation::MergeCells { .. }
        | Operation::UnmergeCells(_)
        | Operation::SetKind { .. }
        | Operation::SetSource { .. }
        | Operation::ClearOutputs { .. } => true,
        Operation::Batch(operations) => operations.iter().any(is_undoable),
        _ => false,
    }
}
