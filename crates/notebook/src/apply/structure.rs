//! Cells coming, going and moving.

use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;

use super::{Done, Outcome};
use crate::applied::Change;
use crate::cell::{Cell, CellKind, Fields};
use crate::error::OperationError;
use crate::json::edit::edit_object;
use crate::key::CellKey;
use crate::layout::member_order;
use crate::notebook::Notebook;
use crate::operation::{NewCell, NewContent, Operation, Place, Position};
use crate::write;

impl Notebook {
    pub(super) fn insert_cells(&mut self, at: Position, cells: Vec<NewCell>) -> Outcome {
        let mut keys = HashSet::new();
        for cell in &cells {
            if self.cell(&cell.key).is_some() || !keys.insert(&cell.key) {
                return Err(OperationError::TakenKey(cell.key.clone()));
            }
        }
        let index = self.resolve(&at)?;
        let mut ids = HashSet::new();
        let made = cells.iter().map(|cell| self.make_cell(cell, &mut ids)).collect::<Result<Vec<_>, _>>()?;
        self.cells.splice(index..index, made.into_iter().map(Arc::new));
        let keys: Vec<CellKey> = cells.iter().map(|cell| cell.key.clone()).collect();
        Ok(Done {
            operation: Operation::InsertCells { at, cells },
            inverse: Some(Operation::DeleteCells { cells: keys.clone() }),
            changes: vec![Change::CellsInserted { index, cells: keys }],
        })
    }

    pub(super) fn delete_cells(&mut self, cells: Vec<CellKey>) -> Outcome {
        let places = self.places(&cells)?;
        for cell in self.take_out(&cells) {
            self.removed.insert(cell.key.clone(), cell);
        }
        Ok(Done {
            operation: Operation::DeleteCells { cells: cells.clone() },
            inverse: Some(Operation::PlaceCells { cells: places }),
            changes: vec![Change::CellsRemoved { cells }],
        })
    }

    pub(super) fn move_cells(&mut self, cells: Vec<CellKey>, to: Position) -> Outcome {
        let places = self.places(&cells)?;
        if let Position::Before(anchor) | Position::After(anchor) = &to
            && (cells.contains(anchor) || self.index(anchor).is_none())
        {
            return Err(OperationError::UnknownCell(anchor.clone()));
        }
        let moved = self.take_out(&cells);
        let index = self.resolve(&to)?;
        self.cells.splice(index..index, moved);
        Ok(Done {
            operation: Operation::MoveCells { cells, to },
            inverse: Some(Operation::PlaceCells { cells: places }),
            changes: vec![Change::CellsReordered],
        })
    }

    pub(super) fn place_cells(&mut self, places: Vec<Place>) -> Outcome {
        let keys: Vec<CellKey> = places.iter().map(|place| place.cell.clone()).collect();
        if let Some(unknown) = keys.iter().find(|key| self.cell(key).is_none()) {
            return Err(OperationError::UnknownCell(unknown.clone()));
        }
        let (live, gone): (Vec<_>, Vec<_>) = keys.into_iter().partition(|key| self.index(key).is_some());
        let before = self.places(&live)?;
        let mut taken = self.take_out(&live);
        taken.extend(gone.iter().filter_map(|key| self.removed.remove(key)));
        let mut changes = Vec::new();
        for place in &places {
            let Some(at) = taken.iter().position(|cell| cell.key == place.cell) else { continue };
            let index = self.place_index(place);
            self.cells.insert(index, taken.swap_remove(at));
            if gone.contains(&place.cell) {
                changes.push(Change::CellsInserted { index, cells: vec![place.cell.clone()] });
            }
        }
        let mut inverses = Vec::new();
        if !live.is_empty() {
            changes.push(Change::CellsReordered);
            inverses.push(Operation::PlaceCells { cells: before });
        }
        if !gone.is_empty() {
            inverses.insert(0, Operation::DeleteCells { cells: gone });
        }
        let inverse = if inverses.len() == 1 { inverses.pop() } else { Some(Operation::Batch(inverses)) };
        Ok(Done { operation: Operation::PlaceCells { cells: places }, inverse, changes })
    }

    /// Where cells stand, in the order of the document.
    pub(super) fn places(&self, cells: &[CellKey]) -> Result<Vec<Place>, OperationError> {
        let wanted: HashSet<&CellKey> = cells.iter().collect();
        let mut places = Vec::with_capacity(cells.len());
        for (index, cell) in self.cells.iter().enumerate() {
            if wanted.contains(&cell.key) {
                let after = index.checked_sub(1).map(|above| self.cells[above].key.clone());
                places.push(Place { cell: cell.key.clone(), after, index });
            }
        }
        if places.len() < wanted.len() {
            let unknown = cells.iter().find(|key| self.index(key).is_none());
            return Err(
                unknown.map_or(OperationError::NotAdjacent, |key| OperationError::UnknownCell(key.clone()))
            );
        }
        Ok(places)
    }

    /// Takes cells out of the list, in their order.
    pub(super) fn take_out(&mut self, cells: &[CellKey]) -> Vec<Arc<Cell>> {
        let wanted: HashSet<&CellKey> = cells.iter().collect();
        self.cells.extract_if(.., |cell| wanted.contains(&cell.key)).collect()
    }

    pub(super) fn place_index(&self, place: &Place) -> usize {
        let above = place.after.as_ref().and_then(|after| self.index(after));
        above.map_or_else(|| place.index.min(self.cells.len()), |above| above + 1)
    }

    fn resolve(&self, position: &Position) -> Result<usize, OperationError> {
        let known = |key: &CellKey| self.index(key).ok_or_else(|| OperationError::UnknownCell(key.clone()));
        match position {
            Position::Index(index) => Ok((*index).min(self.cells.len())),
            Position::Before(key) => known(key),
            Position::After(key) => known(key).map(|index| index + 1),
        }
    }

    /// Makes a cell in the style of the file.
    fn make_cell(&self, new: &NewCell, ids: &mut HashSet<String>) -> Result<Cell, OperationError> {
        let id = self.file_id(&new.key, ids);
        match &new.content {
            NewContent::Source { kind, source } => Ok(self.fresh_cell(new.key.clone(), &id, *kind, source)),
            NewContent::Json(text) => self.pasted_cell(new.key.clone(), &id, &text.0),
        }
    }

    /// A cell with this source and nothing else.
    pub(super) fn fresh_cell(&self, key: CellKey, id: &str, kind: CellKind, source: &str) -> Cell {
        let style = self.file_style();
        let kind = if kind == CellKind::Broken { CellKind::Raw } else { kind };
        let source = crate::changes::newlines(source);
        let mut members = vec![
            ("cell_type", format!("\"{}\"", kind.name()).into_bytes()),
            ("metadata", b"{}".to_vec()),
            ("source", write::source(None, &source, style, "")),
        ];
        if kind == CellKind::Code {
            members.extend([("execution_count", b"null".to_vec()), ("outputs", b"[]".to_vec())]);
        }
        if self.format.has_cell_ids() {
            members.push(("id", format!("\"{id}\"").into_bytes()));
        }
        let text = write::new_cell(&members, &member_order(self, kind));
        self.laid_out(key, &text)
    }

    /// A cell of another notebook; its id is replaced, or left out where this format has none.
    fn pasted_cell(&self, key: CellKey, id: &str, text: &Bytes) -> Result<Cell, OperationError> {
        let start = crate::json::scan::skip_space(text, 0);
        match Fields::scan(text, start) {
            Ok((Some(_), end)) if crate::json::scan::skip_space(text, end) == text.len() => {}
            _ => return Err(OperationError::NotACell),
        }
        let id = self.format.has_cell_ids().then(|| format!("\"{id}\"").into_bytes());
        let text = edit_object(&text[start..], &[("id", id)], &self.file_style().json, "");
        Ok(self.laid_out(key, &text))
    }

    fn laid_out(&self, key: CellKey, value: &[u8]) -> Cell {
        let mut text = Vec::with_capacity(value.len() + 64);
        self.file_style().json.write(value, self.layout.cell_indent(), &mut text);
        let fields = Fields::scan(&text, 0).ok().and_then(|(fields, _)| fields);
        Cell::read(key, text.into(), fields)
    }

    /// An id for the file, made from the key: letters, digits, `-` and `_`, at most 64, used by no other cell. It joins
    /// `made`, the ids that cells get which are not in the notebook yet.
    pub(super) fn file_id(&self, key: &CellKey, made: &mut HashSet<String>) -> String {
        let allowed = |character: &char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_');
        let mut id: String = key.as_str().chars().filter(allowed).take(56).collect();
        if id.is_empty() {
            id.push_str("cell");
        }
        let taken = |id: &String| {
            let mut cells = self.cells.iter().chain(self.removed.values());
            made.contains(id) || cells.any(|cell| cell.id().as_deref() == Some(id))
        };
        let mut numbered =
            std::iter::once(id.clone()).chain((2_u32..).map(|number| format!("{id}-{number}")));
        let free = numbered.find(|id| !taken(id)).unwrap_or(id);
        made.insert(free.clone());
        free
    }
}
