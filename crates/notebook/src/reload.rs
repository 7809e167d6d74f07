//! Takes over what somebody else wrote to the file, and keeps the cells that are still the same ones.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;
use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::applied::{Applied, Cause, Step};
use crate::cell::{Cell, CellKind};
use crate::error::{OperationError, ParseError};
use crate::json::raw::RawJson;
use crate::key::CellKey;
use crate::notebook::Notebook;
use crate::operation::{NewCell, NewContent, Operation, Position};
use crate::output::FileText;

/// A cell of this document, of the other one, or of both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// Index of the cell here.
    pub ours: Option<usize>,
    /// Index of the cell there.
    pub theirs: Option<usize>,
    /// Whether they differ, in source, kind, metadata or outputs.
    pub changed: bool,
}

impl Notebook {
    /// Which cells of the two documents belong together: those with the same id, then those with the same content, then
    /// those of the same kind in the same gap. In the order of the other document; cells that are only here stand
    /// before the first that is behind them in both.
    pub fn compare(&self, other: &Self) -> Vec<Pair> {
        let partners = align(&self.cells, &other.cells);
        let mut taken: HashMap<usize, usize> = HashMap::new();
        for (ours, theirs) in partners.iter().enumerate() {
            if let Some(theirs) = theirs {
                taken.insert(*theirs, ours);
            }
        }
        let mut only_here =
            partners.iter().enumerate().filter(|(_, theirs)| theirs.is_none()).map(|(ours, _)| ours);
        let mut next_only = only_here.next();
        let mut pairs = Vec::new();
        for theirs in 0..other.cells.len() {
            let ours = taken.get(&theirs).copied();
            while let (Some(gone), Some(ours)) = (next_only, ours)
                && gone < ours
            {
                pairs.push(Pair { ours: Some(gone), theirs: None, changed: true });
                next_only = only_here.next();
            }
            let changed = ours.is_none_or(|ours| !same_cell(&self.cells[ours], &other.cells[theirs]));
            pairs.push(Pair { ours, theirs: Some(theirs), changed });
        }
        let rest = next_only.into_iter().chain(only_here);
        pairs.extend(rest.map(|gone| Pair { ours: Some(gone), theirs: None, changed: true }));
        pairs
    }

    /// The operations that turn this document into the other one. New cells get their keys from `next_key`.
    pub fn operations_towards(&self, other: &Self, mut next_key: impl FnMut() -> CellKey) -> Vec<Operation> {
        let pairs = self.compare(other);
        let mut operations = Vec::new();
        let gone = pairs.iter().filter(|pair| pair.theirs.is_none()).filter_map(|pair| pair.ours);
        let gone: Vec<CellKey> = gone.map(|ours| self.cells[ours].key.clone()).collect();
        let mut order: Vec<CellKey> =
            self.cells.iter().map(|cell| cell.key.clone()).filter(|key| !gone.contains(key)).collect();
        if !gone.is_empty() {
            operations.push(Operation::DeleteCells { cells: gone });
        }
        let mut wanted = pairs.iter().filter_map(|pair| Some((pair.ours, pair.theirs?))).collect::<Vec<_>>();
        wanted.sort_by_key(|(_, theirs)| *theirs);
        for (index, (ours, theirs)) in wanted.into_iter().enumerate() {
            let theirs = &other.cells[theirs];
            let Some(ours) = ours else {
                let key = next_key();
                let content = NewContent::Json(FileText(theirs.text.clone()));
                let content = match theirs.kind {
                    CellKind::Broken if theirs.text.first() != Some(&b'{') => {
                        NewContent::Source { kind: CellKind::Raw, source: theirs.source().into_owned() }
                    }
                    _ => content,
                };
                order.insert(index, key.clone());
                let cells = vec![NewCell { key, content }];
                operations.push(Operation::InsertCells { at: Position::Index(index), cells });
                continue;
            };
            let ours = &self.cells[ours];
            if order.get(index) != Some(&ours.key) {
                order.retain(|key| *key != ours.key);
                order.insert(index, ours.key.clone());
                operations
                    .push(Operation::MoveCells { cells: vec![ours.key.clone()], to: Position::Index(index) });
            }
            cell_operations(ours, theirs, &mut operations);
        }
        let metadata = other.metadata();
        if !same_json(&self.metadata(), &metadata) {
            operations.push(Operation::SetMetadata { cell: None, path: Vec::new(), value: Some(metadata) });
        }
        operations
    }

    /// Becomes what `file` says, because somebody else wrote it and their version is taken. Cells that are still the
    /// same keep their keys, editors get the change of each source, and an undo brings the own version back.
    ///
    /// From here on the document stands on `file`: the owner begins a new journal, with a checkpoint.
    pub fn reload(
        &mut self,
        file: Bytes,
        mut next_key: impl FnMut() -> CellKey,
    ) -> Result<Applied, ReloadError> {
        let theirs = Self::parse(file, CellKey::sequence("theirs"))?;
        let operations = self.operations_towards(&theirs, &mut next_key);
        let step = Step { operation: Operation::Batch(operations), cause: Cause::Edit };
        let applied = self.apply_step(step, true)?;
        if self.cells.len() == theirs.cells.len() {
            for (held, found) in self.cells.iter_mut().zip(&theirs.cells) {
                let held = Arc::make_mut(held);
                let mut fresh = Cell { key: held.key.clone(), ..found.as_ref().clone() };
                fresh.history = std::mem::take(&mut held.history);
                fresh.outputs.generation = held.outputs.generation;
                fresh.outputs.clear_pending = held.outputs.clear_pending;
                *held = fresh;
            }
            self.file = theirs.file;
            self.layout = theirs.layout;
            self.style = theirs.style;
            self.format = theirs.format;
            self.original = theirs.original;
            self.notices = theirs.notices;
            self.file_version = self.version;
        }
        Ok(applied)
    }
}

/// Why a file cannot be taken over. The document stays as it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReloadError {
    /// It is no notebook.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// It cannot be reached by operations.
    #[error(transparent)]
    Operation(#[from] OperationError),
}

/// For each of our cells, the index of the one of theirs that it is.
fn align(ours: &[Arc<Cell>], theirs: &[Arc<Cell>]) -> Vec<Option<usize>> {
    let mut partners: Vec<Option<usize>> = vec![None; ours.len()];
    let mut free: HashSet<usize> = (0..theirs.len()).collect();
    let their_ids = unique_ids(theirs);
    for (id, index) in unique_ids(ours) {
        if let Some(partner) = their_ids.get(&id)
            && (ours[index].kind == CellKind::Broken) == (theirs[*partner].kind == CellKind::Broken)
        {
            partners[index] = Some(*partner);
            free.remove(partner);
        }
    }
    match_equal(ours, theirs, &mut partners, &mut free);
    match_gaps(ours, theirs, &mut partners, &mut free);
    // A broken cell cannot be edited: it is the same one only if it says the same.
    for (index, partner) in partners.iter_mut().enumerate() {
        let broken = ours[index].kind == CellKind::Broken;
        if partner.is_some_and(|partner| broken && ours[index].text != theirs[partner].text) {
            *partner = None;
        }
    }
    partners
}

fn unique_ids(cells: &[Arc<Cell>]) -> HashMap<String, usize> {
    let mut seen: HashMap<String, Option<usize>> = HashMap::new();
    for (index, cell) in cells.iter().enumerate() {
        if let Some(id) = cell.id() {
            seen.entry(id.into_owned()).and_modify(|index| *index = None).or_insert(Some(index));
        }
    }
    seen.into_iter().filter_map(|(id, index)| Some((id, index?))).collect()
}

/// Cells with the same kind and source, in the order of both.
fn match_equal(
    ours: &[Arc<Cell>],
    theirs: &[Arc<Cell>],
    partners: &mut [Option<usize>],
    free: &mut HashSet<usize>,
) {
    let here: Vec<usize> = (0..ours.len()).filter(|index| partners[*index].is_none()).collect();
    let mut there: Vec<usize> = free.iter().copied().collect();
    there.sort_unstable();
    let content = |cell: &Arc<Cell>| (cell.kind, cell.source().into_owned());
    let left: Vec<_> = here.iter().map(|index| content(&ours[*index])).collect();
    let right: Vec<_> = there.iter().map(|index| content(&theirs[*index])).collect();
    for operation in capture_diff_slices(Algorithm::Patience, &left, &right) {
        if let DiffOp::Equal { old_index, new_index, len } = operation {
            for step in 0..len {
                partners[here[old_index + step]] = Some(there[new_index + step]);
                free.remove(&there[new_index + step]);
            }
        }
    }
}

/// Cells of the same kind between the same neighbours: edited ones of a file without ids.
fn match_gaps(
    ours: &[Arc<Cell>],
    theirs: &[Arc<Cell>],
    partners: &mut [Option<usize>],
    free: &mut HashSet<usize>,
) {
    let mut next = 0;
    for index in 0..ours.len() {
        if let Some(partner) = partners[index] {
            next = partner + 1;
        } else if free.contains(&next)
            && ours[index].kind == theirs[next].kind
            && (ours[index].id().is_none() || theirs[next].id().is_none())
        {
            partners[index] = Some(next);
            free.remove(&next);
            next += 1;
        }
    }
}

fn cell_operations(ours: &Cell, theirs: &Cell, operations: &mut Vec<Operation>) {
    if theirs.kind == CellKind::Broken {
        return;
    }
    let cell = ours.key.clone();
    if ours.kind != theirs.kind {
        operations.push(Operation::SetKind { cell: cell.clone(), kind: theirs.kind });
    }
    if ours.source() != theirs.source() {
        operations.push(Operation::SetSource { cell: cell.clone(), source: theirs.source().into_owned() });
    }
    if !same_json(&ours.metadata(), &theirs.metadata()) {
        let value = Some(theirs.metadata());
        operations.push(Operation::SetMetadata { cell: Some(cell.clone()), path: Vec::new(), value });
    }
    if !same_outputs(ours, theirs) {
        let outputs = theirs.stored_outputs().into_owned();
        operations.push(Operation::ReplaceOutputs {
            cell,
            outputs,
            execution_count: theirs.execution_count(),
        });
    }
}

fn same_cell(ours: &Cell, theirs: &Cell) -> bool {
    ours.kind == theirs.kind
        && ours.source() == theirs.source()
        && same_json(&ours.metadata(), &theirs.metadata())
        && same_outputs(ours, theirs)
}

fn same_outputs(ours: &Cell, theirs: &Cell) -> bool {
    let (left, right) = (ours.stored_outputs(), theirs.stored_outputs());
    let same = left.len() == right.len()
        && left.iter().zip(right.iter()).all(|(left, right)| left == right || left.read() == right.read());
    same && ours.execution_count() == theirs.execution_count()
}

fn same_json(left: &RawJson, right: &RawJson) -> bool {
    left == right || left.parse::<serde_json::Value>() == right.parse::<serde_json::Value>()
}
