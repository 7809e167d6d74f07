//! Changes of a document, as pages receive them.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{
    CellKey, CellKind, CellView, ClientId, DocumentId, DocumentStatus, InputRequest, OutputId, OutputView,
    QueueView, RunView, SourceEdit, TextLine, Toast,
};

/// Changes that follow each other without a gap. A page that sees a gap in `sequence` subscribes again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct PatchBatch {
    /// Which document.
    pub document: DocumentId,
    /// One more than the batch before. The page acknowledges it with this number.
    pub sequence: u32,
    /// The changes, in order.
    pub patches: Vec<Patch>,
}

/// One change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(tag = "type", rename_all = "snake_case")]
#[ts(export)]
pub enum Patch {
    /// Title, path, saved or not.
    Status {
        /// The new status.
        status: DocumentStatus,
    },
    /// Cells came in.
    CellsInserted {
        /// Before which position.
        index: u32,
        /// The cells.
        cells: Vec<CellView>,
    },
    /// Cells went.
    CellsRemoved {
        /// Which.
        cells: Vec<CellKey>,
    },
    /// The cells stand in this order now.
    CellsReordered {
        /// Every cell's key.
        order: Vec<CellKey>,
    },
    /// A cell's source changed.
    SourceEdited {
        /// Which cell.
        cell: CellKey,
        /// The revision after this change.
        revision: u32,
        /// Whose edit it is. A page that finds its own name has its edit acknowledged.
        author: ClientId,
        /// Ranges of the source before this change, ascending, in UTF-16 units.
        edits: Vec<SourceEdit>,
    },
    /// A cell's kind, folding or number changed.
    CellChanged {
        /// Which cell.
        cell: CellKey,
        /// What it is now.
        kind: CellKind,
        /// Whether the source is folded.
        source_hidden: bool,
        /// Whether the outputs are folded.
        outputs_hidden: bool,
        /// The number in the brackets.
        execution_count: Option<u32>,
    },
    /// A cell's run changed.
    Run {
        /// Which cell.
        cell: CellKey,
        /// Its run.
        run: RunView,
    },
    /// A cell's outputs are these now.
    OutputsReplaced {
        /// Which cell.
        cell: CellKey,
        /// The outputs.
        outputs: Vec<OutputView>,
    },
    /// Outputs came at the end of a cell's outputs.
    OutputsAppended {
        /// Which cell.
        cell: CellKey,
        /// The outputs.
        outputs: Vec<OutputView>,
    },
    /// One output changed.
    OutputChanged {
        /// Which cell.
        cell: CellKey,
        /// The output.
        output: OutputView,
    },
    /// A text grew or was redrawn: keep the first `keep` lines of `head`, put `append` behind them, replace `tail`.
    TextChanged {
        /// Which cell.
        cell: CellKey,
        /// Which output.
        output: OutputId,
        /// Lines of `head` that stay.
        keep: u32,
        /// Lines that follow them.
        append: Vec<TextLine>,
        /// The last lines; empty while `head` holds all.
        tail: Vec<TextLine>,
        /// How many lines there are.
        total_lines: u32,
        /// How many bytes the text has.
        #[ts(type = "number")]
        total_bytes: u64,
    },
    /// The queue changed.
    Queue {
        /// The queue.
        queue: QueueView,
    },
    /// A request for input opened or closed.
    Input {
        /// The request, or nothing.
        input: Option<InputRequest>,
    },
    /// A kernel put a text for a new cell below this one.
    NextInput {
        /// The cell that ran.
        cell: CellKey,
        /// The text.
        text: String,
    },
    /// Something to say once.
    Toast {
        /// The message.
        toast: Toast,
    },
}
