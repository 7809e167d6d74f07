//! What an operation did: for the journal, for an undo, for the views.

use serde::{Deserialize, Serialize};

use crate::changes::Changes;
use crate::key::CellKey;
use crate::operation::Operation;

/// Why an operation was applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Somebody did it.
    Edit,
    /// It takes something back.
    Undo,
    /// It does something again.
    Redo,
}

/// What a journal stores.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The operation, in the form that applies to the document as it was then.
    pub operation: Operation,
    /// Why.
    pub cause: Cause,
}

/// What an operation did.
#[derive(Debug, Clone, PartialEq)]
pub struct Applied {
    /// For the journal.
    pub step: Step,
    /// What would take it back, where something was done that an undo can take back.
    pub inverse: Option<Operation>,
    /// For the views.
    pub changes: Vec<Change>,
    /// The document's version afterwards.
    pub version: u64,
}

/// What a view has to show anew.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Cells came in.
    CellsInserted {
        /// Index of the first.
        index: usize,
        /// The cells, which stand one behind the other.
        cells: Vec<CellKey>,
    },
    /// Cells went.
    CellsRemoved {
        /// Which.
        cells: Vec<CellKey>,
    },
    /// The cells have another order.
    CellsReordered,
    /// A source changed.
    Source {
        /// Which cell.
        cell: CellKey,
        /// The revision after the change.
        revision: u64,
        /// Whose change it is; empty where it is not an editor's.
        author: String,
        /// The change of the source before.
        changes: Changes,
    },
    /// A cell's kind, number, metadata or attachments changed.
    Cell {
        /// Which.
        cell: CellKey,
    },
    /// A cell's outputs changed as a whole.
    OutputsReplaced {
        /// Which cell.
        cell: CellKey,
    },
    /// An output came behind the others.
    OutputAppended {
        /// Which cell.
        cell: CellKey,
        /// Its index.
        index: usize,
    },
    /// One output changed.
    OutputChanged {
        /// Which cell.
        cell: CellKey,
        /// Its index.
        index: usize,
    },
    /// The end of a stream's text changed.
    StreamChanged {
        /// Which cell.
        cell: CellKey,
        /// Which output.
        index: usize,
        /// How many bytes of the text stayed.
        keep: usize,
    },
    /// The notebook's own metadata changed.
    Metadata,
}

impl Change {
    /// The cell that must be there for the change to be seen.
    pub(crate) fn cell(&self) -> Option<&CellKey> {
        match self {
            Self::Source { cell, .. }
            | Self::Cell { cell }
            | Self::OutputsReplaced { cell }
            | Self::OutputAppended { cell, .. }
            | Self::OutputChanged { cell, .. }
            | Self::StreamChanged { cell, .. } => Some(cell),
            _ => None,
        }
    }
}
