//! Outputs, as code and people change them.

use super::{Done, Outcome};
use crate::applied::Change;
use crate::cell::{Cell, ExecutionCount};
use crate::error::OperationError;
use crate::json::raw::RawJson;
use crate::key::CellKey;
use crate::notebook::Notebook;
use crate::operation::Operation;
use crate::output::{MimeBundle, Output, StoredOutput, StreamText};

impl Notebook {
    pub(super) fn clear_outputs(&mut self, cells: Vec<CellKey>) -> Outcome {
        if let Some(unknown) = cells.iter().find(|key| self.cell(key).is_none()) {
            return Err(OperationError::UnknownCell(unknown.clone()));
        }
        let (mut inverses, mut changes) = (Vec::new(), Vec::new());
        for key in &cells {
            let cell = self.cell_mut(key)?;
            let execution_count = cell.execution_count();
            if cell.output_count() == 0 && execution_count.is_none() {
                continue;
            }
            let outputs = cell.replace_all(Vec::new());
            cell.execution_count = ExecutionCount::Set(None);
            inverses.push(Operation::RestoreOutputs { cell: key.clone(), outputs, execution_count });
            changes
                .extend([Change::OutputsReplaced { cell: key.clone() }, Change::Cell { cell: key.clone() }]);
        }
        let inverse = (!inverses.is_empty()).then_some(Operation::Batch(inverses));
        Ok(Done { operation: Operation::ClearOutputs { cells }, inverse, changes })
    }

    pub(super) fn restore_outputs(
        &mut self,
        key: CellKey,
        outputs: Vec<StoredOutput>,
        execution_count: Option<u64>,
    ) -> Outcome {
        let cell = self.cell_mut(&key)?;
        let mut all = outputs.clone();
        all.extend(cell.stored_outputs().iter().cloned());
        cell.replace_all(all);
        cell.execution_count = ExecutionCount::Set(cell.execution_count().or(execution_count));
        self.note_displays(&key, &outputs);
        Ok(Done {
            operation: Operation::RestoreOutputs { cell: key.clone(), outputs, execution_count },
            inverse: Some(Operation::ClearOutputs { cells: vec![key.clone()] }),
            changes: vec![Change::OutputsReplaced { cell: key.clone() }, Change::Cell { cell: key }],
        })
    }

    pub(super) fn replace_outputs(
        &mut self,
        key: CellKey,
        outputs: Vec<StoredOutput>,
        execution_count: Option<u64>,
    ) -> Outcome {
        let cell = self.cell_mut(&key)?;
        let old_count = cell.execution_count();
        let old = cell.replace_all(outputs.clone());
        cell.execution_count = ExecutionCount::Set(execution_count);
        self.note_displays(&key, &outputs);
        Ok(Done {
            inverse: Some(Operation::ReplaceOutputs {
                cell: key.clone(),
                outputs: old,
                execution_count: old_count,
            }),
            operation: Operation::ReplaceOutputs { cell: key.clone(), outputs, execution_count },
            changes: vec![Change::OutputsReplaced { cell: key.clone() }, Change::Cell { cell: key }],
        })
    }

    pub(super) fn clear_output(&mut self, key: CellKey, wait: bool) -> Outcome {
        let cell = self.cell_mut(&key)?;
        let mut changes = Vec::new();
        if wait {
            cell.outputs.clear_pending = true;
        } else if cell.output_count() > 0 || cell.outputs.clear_pending {
            cell.replace_all(Vec::new());
            changes.push(Change::OutputsReplaced { cell: key.clone() });
        }
        Ok(Done { operation: Operation::ClearOutput { cell: key, wait }, inverse: None, changes })
    }

    pub(super) fn append_output(&mut self, key: CellKey, output: Output) -> Outcome {
        let stored = StoredOutput::Held(output.clone());
        let cell = self.cell_mut(&key)?;
        let change = cell.append(stored);
        self.note_displays(&key, &[StoredOutput::Held(output.clone())]);
        Ok(Done {
            operation: Operation::AppendOutput { cell: key, output },
            inverse: None,
            changes: vec![change],
        })
    }

    pub(super) fn append_stream(&mut self, key: CellKey, name: String, text: String) -> Outcome {
        let cell = self.cell_mut(&key)?;
        let change = if let Some((index, held)) = cell.last_stream(&name) {
            let keep = held.len();
            held.push_str(&text);
            Change::StreamChanged { cell: key.clone(), index, keep }
        } else {
            let text = StreamText::Inline(text.clone());
            cell.append(StoredOutput::Held(Output::Stream { name: name.clone(), text }))
        };
        Ok(Done {
            operation: Operation::AppendStream { cell: key, name, text },
            inverse: None,
            changes: vec![change],
        })
    }

    pub(super) fn edit_stream(&mut self, key: CellKey, index: usize, keep: usize, text: String) -> Outcome {
        let cell = self.cell_mut(&key)?;
        let unknown = || OperationError::UnknownOutput { cell: key.clone(), index };
        let not_text = || OperationError::NotText { cell: key.clone(), index };
        let slot = cell.outputs_mut().get_mut(index).ok_or_else(unknown)?;
        if let StoredOutput::File(_) = slot {
            *slot = StoredOutput::Held(slot.read().into_owned());
        }
        let StoredOutput::Held(Output::Stream { text: StreamText::Inline(held), .. }) = slot else {
            return Err(not_text());
        };
        if !held.is_char_boundary(keep) {
            return Err(not_text());
        }
        held.truncate(keep);
        held.push_str(&text);
        let change = Change::StreamChanged { cell: key.clone(), index, keep };
        let operation = Operation::EditStream { cell: key, index, keep, text };
        Ok(Done { operation, inverse: None, changes: vec![change] })
    }

    pub(super) fn replace_output(&mut self, key: CellKey, index: usize, output: Output) -> Outcome {
        let cell = self.cell_mut(&key)?;
        let slot = cell.outputs_mut().get_mut(index);
        let slot = slot.ok_or_else(|| OperationError::UnknownOutput { cell: key.clone(), index })?;
        *slot = StoredOutput::Held(output.clone());
        self.note_displays(&key, &[StoredOutput::Held(output.clone())]);
        let change = Change::OutputChanged { cell: key.clone(), index };
        let operation = Operation::ReplaceOutput { cell: key, index, output };
        Ok(Done { operation, inverse: None, changes: vec![change] })
    }

    pub(super) fn update_display(&mut self, display_id: String, data: MimeBundle, metadata: RawJson) -> Done {
        let mut changes = Vec::new();
        let cells = self.displays.get(&display_id).cloned().unwrap_or_default();
        for key in cells {
            let Ok(cell) = self.cell_mut(&key) else { continue };
            let Some(held) = &mut cell.outputs.held else { continue };
            for (index, output) in held.iter_mut().enumerate() {
                if let StoredOutput::Held(
                    Output::Display { data: old, metadata: about, display_id: Some(id) }
                    | Output::Result { data: old, metadata: about, display_id: Some(id), .. },
                ) = output
                    && *id == display_id
                {
                    old.clone_from(&data);
                    about.clone_from(&metadata);
                    changes.push(Change::OutputChanged { cell: key.clone(), index });
                }
            }
        }
        Done { operation: Operation::UpdateDisplay { display_id, data, metadata }, inverse: None, changes }
    }

    pub(super) fn set_execution_count(&mut self, key: CellKey, count: Option<u64>) -> Outcome {
        self.cell_mut(&key)?.execution_count = ExecutionCount::Set(count);
        let changes = vec![Change::Cell { cell: key.clone() }];
        Ok(Done { operation: Operation::SetExecutionCount { cell: key, count }, inverse: None, changes })
    }

    /// Remembers in which cells display ids stand.
    fn note_displays(&mut self, key: &CellKey, outputs: &[StoredOutput]) {
        for output in outputs {
            if let StoredOutput::Held(output) = output
                && let Some(id) = output.display_id()
            {
                self.displays.entry(id.to_owned()).or_default().insert(key.clone());
            }
        }
    }
}

impl Cell {
    /// Puts other outputs in the place of all.
    fn replace_all(&mut self, outputs: Vec<StoredOutput>) -> Vec<StoredOutput> {
        self.outputs.generation += 1;
        self.outputs.clear_pending = false;
        let old = self.stored_outputs().into_owned();
        self.outputs.held = Some(outputs);
        old
    }

    /// The text of the last output, if it is this stream and may grow.
    fn last_stream(&mut self, name: &str) -> Option<(usize, &mut String)> {
        if self.outputs.clear_pending {
            return None;
        }
        let outputs = self.outputs_mut();
        let index = outputs.len().checked_sub(1)?;
        let slot = outputs.last_mut()?;
        if let StoredOutput::File(_) = slot
            && matches!(slot.read().as_ref(), Output::Stream { name: held, .. } if held == name)
        {
            *slot = StoredOutput::Held(slot.read().into_owned());
        }
        match slot {
            StoredOutput::Held(Output::Stream { name: held, text: StreamText::Inline(text) })
                if held == name =>
            {
                Some((index, text))
            }
            _ => None,
        }
    }

    /// Puts an output behind the others, or in the place of all when a clearing waited for it.
    fn append(&mut self, output: StoredOutput) -> Change {
        if self.outputs.clear_pending {
            self.replace_all(vec![output]);
            return Change::OutputsReplaced { cell: self.key.clone() };
        }
        let outputs = self.outputs_mut();
        outputs.push(output);
        Change::OutputAppended { cell: self.key.clone(), index: self.output_count() - 1 }
    }
}
