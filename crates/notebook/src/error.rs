//! What can go wrong with a document.

use thiserror::Error;

use crate::CellKey;

/// Why a file cannot be opened as a notebook. The file is never touched.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ParseError {
    /// Nothing in it.
    #[error("the file is empty")]
    Empty,
    /// Not UTF-8.
    #[error(
        "the file is not UTF-8 text (first odd byte at position {at}); save it as UTF-8 and open it again"
    )]
    NotText {
        /// Byte offset.
        at: usize,
    },
    /// Two versions of the notebook, as a version control system leaves them.
    #[error(
        "the file holds an unresolved merge conflict at line {line}; resolve it in a text editor and open it again"
    )]
    MergeConflict {
        /// Line number, from 1.
        line: usize,
    },
    /// Not JSON.
    #[error("the file is not complete JSON: line {line}, column {column} should have {wanted}")]
    NotJson {
        /// Line number, from 1.
        line: usize,
        /// Column in bytes, from 1.
        column: usize,
        /// What was wanted there.
        wanted: &'static str,
    },
    /// JSON, but not a notebook.
    #[error("the file is JSON but not a notebook: {why}")]
    NotANotebook {
        /// What is missing.
        why: &'static str,
    },
    /// Version 1 of the format, older than 2011.
    #[error(
        "the file has notebook format {major}, which no program of today opens; convert it with IPython 0.12"
    )]
    TooOld {
        /// Its major version.
        major: u64,
    },
}

/// Why an edit of a text does not apply.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EditError {
    /// A range outside the text, or out of order.
    #[error("the range {from}..{to} does not fit a text of {length} UTF-16 units")]
    Range {
        /// Start.
        from: usize,
        /// End.
        to: usize,
        /// Length of the text.
        length: usize,
    },
    /// A position that lies outside the text or inside a character.
    #[error("{position} is no position in the text")]
    Position {
        /// In UTF-16 units.
        position: usize,
    },
    /// Changes of a text of another length.
    #[error("the changes are for a text of {expected} UTF-16 units")]
    Length {
        /// Length that the changes mean.
        expected: usize,
    },
    /// Two changes that do not start from the same text.
    #[error("the changes do not start from the same text")]
    Mismatch,
    /// Changes that mean a revision which is no longer, or not yet, known.
    #[error("revision {base} of the source is not known; the current one is {current}")]
    Revision {
        /// The revision that was named.
        base: u64,
        /// The current revision.
        current: u64,
    },
}

/// Why an operation does not apply. The document stays as it was.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum OperationError {
    /// No such cell.
    #[error("there is no cell {0}")]
    UnknownCell(CellKey),
    /// A new cell under a key that is taken.
    #[error("there is already a cell {0}")]
    TakenKey(CellKey),
    /// A cell that could not be read can be moved and deleted, not changed.
    #[error("cell {0} could not be read, so it can only be moved or deleted")]
    BrokenCell(CellKey),
    /// Half of a surrogate pair can be kept in its cell, and nowhere else.
    #[error(
        "cell {0} holds half of a character, which only this cell can keep as it is in the file; it can be edited, moved and \
         copied, but not split or merged before that is deleted"
    )]
    HalfCharacter(CellKey),
    /// No such output.
    #[error("cell {cell} has no output {index}")]
    UnknownOutput {
        /// The cell.
        cell: CellKey,
        /// Position in its outputs.
        index: usize,
    },
    /// The output is something else than the operation means.
    #[error("output {index} of cell {cell} is not stream text that can grow")]
    NotText {
        /// The cell.
        cell: CellKey,
        /// Position in its outputs.
        index: usize,
    },
    /// The text of a pasted cell is no cell.
    #[error("this is not the text of a cell")]
    NotACell,
    /// An operation on no cells, or on cells that do not belong together.
    #[error("this needs cells that stand next to each other")]
    NotAdjacent,
    /// The edit of a source does not apply.
    #[error("cell {cell}: {error}")]
    Edit {
        /// The cell.
        cell: CellKey,
        /// Why.
        error: EditError,
    },
}

/// Why a notebook cannot be written out.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SaveError {
    /// The owner could not give the bytes of a payload.
    #[error("the payload {hash} of an output cannot be read: {source}")]
    Blob {
        /// The name of the payload.
        hash: String,
        /// Why.
        source: std::io::Error,
    },
}
