//! Who the cells of a saved file are.
//!
//! Keys and revisions are not written to the file. A journal that goes on after a save needs them all the same: its
//! next steps name cells by key and sources by revision, and an undo among them may bring back a cell that the file
//! does not have. So the owner stores an identity at each save and gives it back to the notebook that is read from
//! that file.

use serde::{Deserialize, Serialize};

use crate::cell::{Cell, Fields};
use crate::key::CellKey;
use crate::notebook::Notebook;
use crate::output::FileText;
use crate::source::History;
use crate::utf16;
use std::sync::Arc;

/// Keys and revisions of the cells, and what is remembered of removed ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Identity {
    cells: Vec<(CellKey, u64)>,
    removed: Vec<(CellKey, u64, FileText)>,
}

impl Notebook {
    /// Who the cells are now.
    pub fn identity(&self) -> Identity {
        let named = |cell: &Cell| (cell.key.clone(), cell.revision());
        let removed = self.removed.values().filter_map(|cell| {
            let text = self.cell_text(cell, &mut |blob| Err(std::io::Error::other(blob.hash.clone()))).ok()?;
            Some((cell.key.clone(), cell.revision(), FileText(text)))
        });
        Identity { cells: self.cells().map(named).collect(), removed: removed.collect() }
    }

    /// Gives the cells the keys and revisions of an identity that was taken of the same content.
    pub fn adopt(&mut self, identity: Identity) {
        for (cell, (key, revision)) in self.cells.iter_mut().zip(identity.cells) {
            let cell = Arc::make_mut(cell);
            if cell.key != key || cell.revision() != revision {
                cell.history = History::at(revision);
                cell.key = key;
            }
        }
        for (key, revision, text) in identity.removed {
            let fields = Fields::scan(&text.0, 0).ok().and_then(|(fields, _)| fields);
            let mut cell = Cell::read(key.clone(), text.0, fields);
            cell.history = History::at(revision);
            self.removed.entry(key).or_insert_with(|| Arc::new(cell));
        }
    }

    /// The length of a source at a revision, in UTF-16 units, while that revision is remembered.
    pub fn source_length(&self, key: &CellKey, revision: u64) -> Option<usize> {
        let cell = self.cell(key)?;
        cell.history.length_at(revision, utf16::length(&cell.source()))
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::{CellKind, NewCell, Operation, Position};

    fn blobless(notebook: &Notebook) -> Bytes {
        notebook.to_bytes(&mut |blob| Err(std::io::Error::other(blob.hash.clone()))).unwrap()
    }

    #[test]
    fn steps_after_a_save_apply_to_the_notebook_that_is_read_from_the_saved_file() {
        let mut notebook = Notebook::empty();
        let new = |key: &str, source: &str| NewCell::new(CellKey::new(key), CellKind::Code, source);
        let cells = vec![new("n-1", "a"), new("n-2", "b")];
        notebook.apply(Operation::InsertCells { at: Position::Index(0), cells }).unwrap();
        notebook.apply(Operation::SetSource { cell: "n-1".into(), source: "aa".into() }).unwrap();
        notebook.apply(Operation::DeleteCells { cells: vec!["n-2".into()] }).unwrap();
        let saved = blobless(&notebook);
        let identity = serde_json::to_vec(&notebook.identity()).unwrap();

        let steps = [
            notebook.apply(Operation::SetSource { cell: "n-1".into(), source: "aaa".into() }).unwrap().step,
            notebook.undo().unwrap().unwrap().step,
            notebook.undo().unwrap().unwrap().step,
        ];
        let mut read = Notebook::parse(saved, CellKey::sequence("c")).unwrap();
        read.adopt(serde_json::from_slice(&identity).unwrap());
        for step in steps {
            read.replay(step).unwrap();
        }
        assert_eq!(blobless(&read), blobless(&notebook));
        assert_eq!(read.cells().count(), 2, "the deleted cell is back");
    }

    #[test]
    fn the_length_of_a_former_source_is_known_as_long_as_its_revision_is() {
        let mut notebook = Notebook::empty();
        let cells = vec![NewCell::new("a".into(), CellKind::Code, "x😀")];
        notebook.apply(Operation::InsertCells { at: Position::Index(0), cells }).unwrap();
        let base = notebook.cell(&"a".into()).unwrap().revision();
        notebook.apply(Operation::SetSource { cell: "a".into(), source: "longer".into() }).unwrap();
        assert_eq!(notebook.source_length(&"a".into(), base), Some(3));
        assert_eq!(notebook.source_length(&"a".into(), base + 1), Some(6));
        assert_eq!(notebook.source_length(&"a".into(), base + 2), None);
    }
}
