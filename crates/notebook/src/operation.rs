//! What can be done to a notebook, as values that a journal stores and another view replays.

use serde::{Deserialize, Serialize};

use crate::cell::CellKind;
use crate::changes::Changes;
use crate::json::raw::RawJson;
use crate::key::CellKey;
use crate::output::{FileText, MimeBundle, Output, StoredOutput};

/// A change of the notebook. Cells are named by key, so an operation means the same whatever else was applied before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Puts new cells.
    InsertCells {
        /// Where the first of them stands afterwards.
        at: Position,
        /// The cells.
        cells: Vec<NewCell>,
    },
    /// Deletes cells. They are remembered, and outputs go on flowing to them.
    DeleteCells {
        /// Which.
        cells: Vec<CellKey>,
    },
    /// Moves cells, keeping their order.
    MoveCells {
        /// Which.
        cells: Vec<CellKey>,
        /// Where the first of them stands afterwards; an index counts without the moved cells.
        to: Position,
    },
    /// Brings deleted cells back, or moved ones where they were.
    PlaceCells {
        /// Which and where, in the order of the document.
        cells: Vec<Place>,
    },
    /// Splits a cell. What stands before the position becomes a new cell above; the cell itself keeps the rest, its
    /// outputs and its run, as in Jupyter. One line break at the cut goes.
    SplitCell {
        /// Which.
        cell: CellKey,
        /// The revision that the position means.
        base: u64,
        /// Where, in UTF-16 units.
        at: usize,
        /// The key of the new cell.
        new_cell: CellKey,
    },
    /// Joins neighbouring cells. The others are remembered as deleted cells are.
    MergeCells {
        /// Which.
        cells: Vec<CellKey>,
        /// The one that stays, with its kind and outputs.
        into: CellKey,
        /// What stands between their texts; Jupyter puts an empty line, `"\n\n"`.
        separator: String,
    },
    /// Takes a merge back.
    UnmergeCells(Unmerge),
    /// Changes what a cell is. Outputs of a cell that is no longer code are not written, but remembered.
    SetKind {
        /// Which.
        cell: CellKey,
        /// What it becomes.
        kind: CellKind,
    },
    /// Edits a source, from an editor that may be behind.
    EditSource {
        /// Which cell.
        cell: CellKey,
        /// The revision that the first of the changes means; each other one means the text after the one before it.
        base: u64,
        /// Who edits. Changes that the same author sent before, and that were accepted, are left out.
        author: String,
        /// The changes.
        changes: Vec<Changes>,
    },
    /// Takes an edit of a source back. The journal gets it as the edit that it was.
    RevertSource {
        /// Which cell.
        cell: CellKey,
        /// The revision that the changes mean.
        base: u64,
        /// The inverse changes, the last one first.
        changes: Vec<Changes>,
        /// The text that they mean: where the source says this again, whatever happened between, they fit as they are.
        expected: String,
    },
    /// Replaces a source.
    SetSource {
        /// Which cell.
        cell: CellKey,
        /// The new text.
        source: String,
    },
    /// Sets or removes one value in the metadata of a cell or the notebook.
    SetMetadata {
        /// Which cell; the notebook if absent.
        cell: Option<CellKey>,
        /// The names that lead to the value.
        path: Vec<String>,
        /// The value; removed if absent.
        value: Option<RawJson>,
    },
    /// Clears outputs and numbers, because a person wants it.
    ClearOutputs {
        /// Of which cells.
        cells: Vec<CellKey>,
    },
    /// Takes a clearing back. Outputs that came since stay behind the old ones.
    RestoreOutputs {
        /// Which cell.
        cell: CellKey,
        /// The outputs.
        outputs: Vec<StoredOutput>,
        /// The number.
        execution_count: Option<u64>,
    },
    /// Replaces all outputs and the number.
    ReplaceOutputs {
        /// Which cell.
        cell: CellKey,
        /// The outputs.
        outputs: Vec<StoredOutput>,
        /// The number.
        execution_count: Option<u64>,
    },
    /// Clears outputs because code said so (`clear_output`), or because a run begins.
    ClearOutput {
        /// Which cell.
        cell: CellKey,
        /// Whether the outputs stay until the next one comes.
        wait: bool,
    },
    /// Puts an output behind the others.
    AppendOutput {
        /// Which cell.
        cell: CellKey,
        /// The output.
        output: Output,
    },
    /// Puts stream text behind the last output if that is the same stream, else as a new output.
    AppendStream {
        /// Which cell.
        cell: CellKey,
        /// `stdout` or `stderr`.
        name: String,
        /// The text.
        text: String,
    },
    /// Replaces the end of a stream's text.
    EditStream {
        /// Which cell.
        cell: CellKey,
        /// Which output.
        index: usize,
        /// How many bytes of the text stay.
        keep: usize,
        /// What follows them.
        text: String,
    },
    /// Replaces one output.
    ReplaceOutput {
        /// Which cell.
        cell: CellKey,
        /// Which output.
        index: usize,
        /// The new output.
        output: Output,
    },
    /// Updates every output that has this display id, in any cell.
    UpdateDisplay {
        /// The display id.
        display_id: String,
        /// The new forms.
        data: MimeBundle,
        /// The new metadata.
        metadata: RawJson,
    },
    /// Sets the number in the brackets.
    SetExecutionCount {
        /// Which cell.
        cell: CellKey,
        /// The number.
        count: Option<u64>,
    },
    /// Several operations as one: all or none, and one step of undo.
    Batch(Vec<Operation>),
}

/// Where cells go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Position {
    /// Before the cell with this index; behind the last where there is none.
    Index(usize),
    /// Before this cell.
    Before(CellKey),
    /// Behind this cell.
    After(CellKey),
}

/// A new cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NewCell {
    /// Its key. In format 4.5 and later the file's id is made from it.
    pub key: CellKey,
    /// What is in it.
    pub content: NewContent,
}

/// What is in a new cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NewContent {
    /// A source.
    Source {
        /// What the cell is.
        kind: CellKind,
        /// The source.
        source: String,
    },
    /// The JSON text of a cell of format 4, as a clipboard holds it.
    Json(FileText),
}

impl NewCell {
    /// A cell with a source.
    pub fn new(key: CellKey, kind: CellKind, source: impl Into<String>) -> Self {
        Self { key, content: NewContent::Source { kind, source: source.into() } }
    }
}

/// Where a cell stood.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The cell.
    pub cell: CellKey,
    /// The cell above it.
    pub after: Option<CellKey>,
    /// Its index, for when that cell is gone.
    pub index: usize,
}

/// How a merge is taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unmerge {
    /// The cell that the others were merged into.
    pub cell: CellKey,
    /// The revision that the ranges mean.
    pub base: u64,
    /// The other cells.
    pub parts: Vec<Part>,
    /// The text that the ranges mean: where the source says this again, they fit as they are.
    pub expected: String,
    /// What stood between the texts.
    pub separator: String,
    /// The attachments that the cell had.
    pub attachments: Option<FileText>,
}

/// A piece of a merged text that becomes a cell again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The cell and where it stood.
    pub place: Place,
    /// The range of its text.
    pub text: (usize, usize),
    /// The range that leaves the merged text, with the separator.
    pub cut: (usize, usize),
}
