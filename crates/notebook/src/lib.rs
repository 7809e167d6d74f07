//! The `.ipynb` document.
//!
//! Opens any notebook a person has, changes only by [`Operation`]s, and saves with the smallest textual change. It does
//! no I/O: the owner gives bytes and takes bytes.
//!
//! ```
//! use bytes::Bytes;
//! use sandbook_notebook::{CellKey, CellKind, NewCell, Notebook, Operation, Position};
//!
//! let file = Bytes::from_static(b"{\"cells\": [], \"metadata\": {}, \"nbformat\": 4, \"nbformat_minor\": 5}\n");
//! let mut notebook = Notebook::parse(file, CellKey::sequence("c"))?;
//! let cell = NewCell::new(CellKey::new("new"), CellKind::Code, "1 + 1");
//! let applied = notebook.apply(Operation::InsertCells { at: Position::Index(0), cells: vec![cell] })?;
//! // `applied.step` goes to the journal (serde_json), `applied.changes` tell the views what to show anew.
//! let segments = notebook.segments(&mut |blob| Err(std::io::Error::other(blob.hash.clone())))?;
//! // `segments` go to the file, one behind the other.
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Sources have `\n` line breaks here, whatever the file has; positions count UTF-16 units, as editors do.
//! What is deliberately absent: files, journals and their fsync (the store), the terminal rules of streams (outputs come
//! in resolved by [`stream_text`]), trust, and everything about running.

mod applied;
mod apply;
mod cell;
mod changes;
mod checkpoint;
mod clipboard;
mod error;
mod json;
mod key;
mod layout;
mod metadata;
mod notebook;
mod notice;
mod operation;
mod outline;
mod output;
mod output_read;
mod parse;
mod reload;
mod save;
mod source;
pub mod stream_text;
mod undo;
mod upgrade;
mod utf16;
mod write;

pub use applied::{Applied, Cause, Change, Step};
pub use cell::{Cell, CellKind};
pub use changes::{Changes, TextEdit};
pub use checkpoint::{Checkpoint, ResumeError};
pub use clipboard::paste_cells;
pub use error::{EditError, OperationError, ParseError, SaveError};
pub use json::raw::RawJson;
pub use key::CellKey;
pub use notebook::{Format, Notebook};
pub use notice::Notice;
pub use operation::{NewCell, NewContent, Operation, Part, Place, Position, Unmerge};
pub use outline::Heading;
pub use output::{
    Blob, Encoding, FileText, MimeBundle, MimeValue, Output, Payload, StoredOutput, StreamText, is_binary,
    is_json,
};
pub use reload::{Pair, ReloadError};
pub use save::Resolve;
