//! Undo and redo of what is done to cells. Text is not in here: each editor has its own history.

use std::collections::HashSet;

use crate::applied::Cause;
use crate::key::CellKey;
use crate::operation::Operation;

/// How many steps can be taken back.
const STEPS: usize = 500;

/// The operations that take the last steps back.
#[derive(Debug, Clone, Default)]
pub(crate) struct UndoHistory {
    undo: Vec<Operation>,
    redo: Vec<Operation>,
}

impl UndoHistory {
    pub(crate) fn can(&self, cause: Cause) -> bool {
        match cause {
            Cause::Edit => false,
            Cause::Undo => !self.undo.is_empty(),
            Cause::Redo => !self.redo.is_empty(),
        }
    }

    /// The operation of the next step back or forth.
    pub(crate) fn take(&mut self, cause: Cause) -> Option<Operation> {
        match cause {
            Cause::Edit => None,
            Cause::Undo => self.undo.pop(),
            Cause::Redo => self.redo.pop(),
        }
    }

    /// Remembers how to take a step back. Returns the cells that only forgotten steps named.
    pub(crate) fn remember(&mut self, inverse: Operation, cause: Cause) -> Vec<CellKey> {
        let mut forgotten = Vec::new();
        match cause {
            Cause::Undo => self.redo.push(inverse),
            Cause::Redo => self.undo.push(inverse),
            Cause::Edit => {
                forgotten.append(&mut self.redo);
                self.undo.push(inverse);
            }
        }
        if self.undo.len() > STEPS {
            forgotten.push(self.undo.remove(0));
        }
        if forgotten.is_empty() {
            return Vec::new();
        }
        let mut named = HashSet::new();
        for operation in self.undo.iter().chain(&self.redo) {
            named_cells(operation, &mut named);
        }
        let mut gone = HashSet::new();
        for operation in &forgotten {
            named_cells(operation, &mut gone);
        }
        gone.difference(&named).map(|key| (*key).clone()).collect()
    }
}

/// The removed cells that an operation can bring back.
fn named_cells<'a>(operation: &'a Operation, into: &mut HashSet<&'a CellKey>) {
    match operation {
        Operation::PlaceCells { cells } => into.extend(cells.iter().map(|place| &place.cell)),
        Operation::UnmergeCells(unmerge) => into.extend(unmerge.parts.iter().map(|part| &part.place.cell)),
        Operation::Batch(operations) => {
            for operation in operations {
                named_cells(operation, into);
            }
        }
        _ => {}
    }
}
