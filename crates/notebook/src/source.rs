//! The accepted edits of a source, so that edits made from an older revision can be rebased over them.

use std::collections::VecDeque;

use crate::changes::Changes;
use crate::error::EditError;
use crate::key::CellKey;
use crate::notebook::Notebook;
use crate::utf16;

/// How many accepted edits a cell remembers. An editor that is further behind asks for the source anew.
const REMEMBERED: usize = 2_000;
/// How many units of text they may hold together.
const REMEMBERED_UNITS: usize = 4 << 20;

/// The last accepted edits of one source.
#[derive(Debug, Clone, Default)]
pub(crate) struct History {
    /// The revision before the first remembered edit.
    base: u64,
    accepted: VecDeque<Accepted>,
    units: usize,
}

#[derive(Debug, Clone)]
struct Accepted {
    author: String,
    changes: Changes,
}

impl Notebook {
    /// The length of a source at a revision, in UTF-16 units, while that revision is remembered.
    pub fn source_length(&self, key: &CellKey, revision: u64) -> Option<usize> {
        let cell = self.cell(key)?;
        cell.history.length_at(revision, utf16::length(&cell.source()))
    }
}

impl History {
    /// A history that begins at a revision.
    pub(crate) fn at(revision: u64) -> Self {
        Self { base: revision, ..Self::default() }
    }

    pub(crate) fn revision(&self) -> u64 {
        self.base + self.accepted.len() as u64
    }

    pub(crate) fn accept(&mut self, author: &str, changes: Changes) {
        self.units += changes.inserted();
        self.accepted.push_back(Accepted { author: author.to_owned(), changes });
        while self.accepted.len() > REMEMBERED || (self.units > REMEMBERED_UNITS && self.accepted.len() > 1) {
            if let Some(first) = self.accepted.pop_front() {
                self.units -= first.changes.inserted();
                self.base += 1;
            }
        }
    }

    /// The edits accepted since `base`.
    fn since(&self, base: u64) -> Result<impl Iterator<Item = &Accepted>, EditError> {
        let skip = base.checked_sub(self.base).and_then(|skip| usize::try_from(skip).ok());
        match skip {
            Some(skip) if skip <= self.accepted.len() => Ok(self.accepted.iter().skip(skip)),
            _ => Err(EditError::Revision { base, current: self.revision() }),
        }
    }

    /// The length of the source at revision `base`, in UTF-16 units, when the current one has `length`.
    pub(crate) fn length_at(&self, base: u64, length: usize) -> Option<usize> {
        let since = self.since(base).ok()?;
        since.into_iter().try_fold(length, |length, accepted| {
            (length + accepted.changes.length()).checked_sub(accepted.changes.new_length())
        })
    }

    /// `updates`, made one behind the other from revision `base`, so that they apply to the current source. Updates of
    /// the same author that are among the accepted ones already are left out.
    ///
    /// This is `rebaseUpdates` of `@codemirror/collab` but for one thing: the accepted edits are not composed first. A
    /// composed edit maps differently in corner cases (a deletion and an insertion become one replacement), so the
    /// result would hang on how many edits an editor happened to receive at once.
    pub(crate) fn rebase(
        &self,
        base: u64,
        author: &str,
        updates: &[Changes],
    ) -> Result<Vec<Changes>, EditError> {
        let mut over: Vec<Changes> = Vec::new();
        let mut known = 0;
        for accepted in self.since(base)? {
            match updates.get(known) {
                Some(own) if !author.is_empty() && accepted.author == author => {
                    pass(own.clone(), &mut over)?;
                    known += 1;
                }
                _ => over.push(accepted.changes.clone()),
            }
        }
        updates[known..].iter().map(|update| pass(update.clone(), &mut over)).collect()
    }

    /// Where a position of revision `base` stands now.
    pub(crate) fn map_position(&self, base: u64, position: usize, after: bool) -> Result<usize, EditError> {
        Ok(self
            .since(base)?
            .fold(position, |position, accepted| accepted.changes.map_position(position, after)))
    }
}

/// Maps an update over others, and those over the update.
fn pass(mut update: Changes, over: &mut [Changes]) -> Result<Changes, EditError> {
    for other in over {
        let mapped = update.map(other, false)?;
        *other = other.map(&update, true)?;
        update = mapped;
    }
    Ok(update)
}

#[cfg(test)]
mod tests {
    use crate::{CellKind, NewCell, Notebook, Operation, Position};

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
