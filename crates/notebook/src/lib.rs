//! The `.ipynb` document.
//!
//! Opens any notebook a person has, changes only by [`Operation`]s, and saves with the smallest textual change. It does
//! no I/O: the owner gives bytes and takes bytes.
//!
//! ```
//! use bytes::Bytes;
//! use sandbook_notebook::{CellKey, CellKind, NewCell, Notebook, Operation, Position};
//!
//! // Open. Keys name the cells from here on; the ids in the file are left alone.
//! let file = Bytes::from_static(b"{\"cells\": [], \"metadata\": {}, \"nbformat\": 4, \"nbformat_minor\": 5}\n");
//! let mut notebook = Notebook::parse(file.clone(), CellKey::sequence("c"))?;
//! // A journal begins with what the file does not say …
//! let checkpoint = serde_json::to_string(&notebook.checkpoint())?;
//!
//! // … then every applied step goes into it, and the changes to the views.
//! let cell = NewCell::new(CellKey::new("new"), CellKind::Code, "1 + 1");
//! let applied = notebook.apply(Operation::InsertCells { at: Position::Index(0), cells: vec![cell] })?;
//! let step = serde_json::to_string(&applied.step)?;
//!
//! // Save: pieces to write one behind the other, mostly slices of the file. A clone of the notebook can do it elsewhere.
//! let segments = notebook.segments(&mut |blob| Err(std::io::Error::other(blob.hash.clone())))?;
//!
//! // After a crash: the file, the checkpoint, the steps.
//! let mut again = Notebook::resume(file, &serde_json::from_str(&checkpoint)?)?;
//! again.replay(serde_json::from_str(&step)?)?;
//! assert_eq!(segments.concat(), again.to_bytes(&mut |_| unreachable!())?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What to know:
//! - Sources have `\n` line breaks here, whatever the file has; positions count UTF-16 units, as editors do.
//! - An editor sends [`Operation::EditSource`] against the revision it knows, one at a time, and maps what it receives
//!   over what it has not got through, one [`Change::Source`] at a time and with the ranges apart
//!   ([`Changes::edits`]); then it ends with the text that is here, whoever else types.
//! - Outputs keep flowing to deleted cells ([`Notebook::cell`] finds them), and an undo brings them back with them.
//! - An output is named by its cell, [`Cell::output_generation`] and its index.
//! - Outputs of the file stay text until somebody asks; [`Cell::outputs`] reads them anew each time.
//!
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
