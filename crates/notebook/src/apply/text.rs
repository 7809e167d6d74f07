//! Sources: edits, splits, merges, kinds.

use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;

use super::{Done, Outcome};
use crate::applied::Change;
use crate::cell::CellKind;
use crate::changes::{Changes, TextEdit, newlines};
use crate::error::{EditError, OperationError};
use crate::json::edit::edit_object;
use crate::json::scan;
use crate::json::string;
use crate::key::CellKey;
use crate::notebook::Notebook;
use crate::operation::{Operation, Part, Place, Unmerge};
use crate::output::FileText;
use crate::utf16;

impl Notebook {
    pub(super) fn edit_source(
        &mut self,
        key: CellKey,
        base: u64,
        author: String,
        updates: &[Changes],
    ) -> Outcome {
        let fail = |error| OperationError::Edit { cell: key.clone(), error };
        let cell = self.editable(&key)?;
        let rebased = cell.history.rebase(base, &author, updates).map_err(fail)?;
        let mut text = cell.source().into_owned();
        let first = cell.revision();
        let (mut inverses, mut changes) =
            (Vec::with_capacity(rebased.len()), Vec::with_capacity(rebased.len()));
        for (update, number) in rebased.iter().zip(1..) {
            inverses.push(update.invert(&text).map_err(fail)?);
            text = update.apply(&text).map_err(fail)?;
            changes.push(Change::Source {
                cell: key.clone(),
                revision: first + number,
                author: author.clone(),
                changes: update.clone(),
            });
        }
        cell.source = Some(text.clone());
        for update in &rebased {
            cell.history.accept(&author, update.clone());
        }
        inverses.reverse();
        let base_after = cell.revision();
        Ok(Done {
            inverse: Some(Operation::RevertSource {
                cell: key.clone(),
                base: base_after,
                changes: inverses,
                expected: text,
            }),
            operation: Operation::EditSource { cell: key, base: first, author, changes: rebased },
            changes,
        })
    }

    pub(super) fn revert_source(
        &mut self,
        key: CellKey,
        base: u64,
        changes: &[Changes],
        expected: &str,
    ) -> Outcome {
        let cell = self.editable(&key)?;
        let base = if cell.source() == expected { cell.revision() } else { base };
        self.edit_source(key, base, String::new(), changes)
    }

    pub(super) fn set_source(&mut self, key: CellKey, source: String) -> Outcome {
        let cell = self.editable(&key)?;
        let changes = Changes::between(&cell.source(), &newlines(&source));
        let base = cell.revision();
        let done = self.edit_source(key.clone(), base, String::new(), &[changes])?;
        Ok(Done { operation: Operation::SetSource { cell: key, source }, ..done })
    }

    pub(super) fn set_kind(&mut self, key: CellKey, kind: CellKind) -> Outcome {
        let cell = self.editable(&key)?;
        if kind == CellKind::Broken {
            return Err(OperationError::BrokenCell(key));
        }
        let old = std::mem::replace(&mut cell.kind, kind);
        Ok(Done {
            operation: Operation::SetKind { cell: key.clone(), kind },
            inverse: Some(Operation::SetKind { cell: key.clone(), kind: old }),
            changes: vec![Change::Cell { cell: key.clone() }, Change::OutputsReplaced { cell: key }],
        })
    }

    pub(super) fn split_cell(&mut self, key: CellKey, base: u64, at: usize, new_key: CellKey) -> Outcome {
        if self.cell(&new_key).is_some() {
            return Err(OperationError::TakenKey(new_key));
        }
        let Some(index) = self.index(&key) else { return Err(OperationError::UnknownCell(key)) };
        let fail = |error| OperationError::Edit { cell: key.clone(), error };
        let cell = self.editable(&key)?;
        if cell.has_halves() {
            return Err(OperationError::HalfCharacter(key));
        }
        let revision = cell.revision();
        let at = cell.history.map_position(base, at, true).map_err(fail)?;
        let source = cell.source().into_owned();
        let kind = cell.kind;
        let cut = utf16::byte_at(&source, at).ok_or_else(|| fail(EditError::Position { position: at }))?;
        let (head, tail) = source.split_at(cut);
        let (head, tail, separator) = match (head.strip_suffix('\n'), tail.strip_prefix('\n')) {
            (Some(head), _) => (head, tail, "\n"),
            (None, Some(tail)) => (head, tail, "\n"),
            (None, None) => (head, tail, ""),
        };
        let changes = Changes::removal(&source, 0, source.len() - tail.len());
        let id = self.file_id(&new_key, &mut HashSet::new());
        let new_cell = self.fresh_cell(new_key.clone(), &id, kind, head);
        let edited = self.edit_source(key.clone(), revision, String::new(), &[changes])?;
        self.cells.insert(index, Arc::new(new_cell));
        let mut all = vec![Change::CellsInserted { index, cells: vec![new_key.clone()] }];
        all.extend(edited.changes);
        let inverse = Operation::MergeCells {
            cells: vec![new_key.clone(), key.clone()],
            into: key.clone(),
            separator: separator.to_owned(),
        };
        Ok(Done {
            operation: Operation::SplitCell { cell: key, base: revision, at, new_cell: new_key },
            inverse: Some(inverse),
            changes: all,
        })
    }

    pub(super) fn merge_cells(&mut self, cells: Vec<CellKey>, into: CellKey, separator: String) -> Outcome {
        let places = self.places(&cells)?;
        let neighbours = places.windows(2).all(|pair| pair[0].index + 1 == pair[1].index);
        if places.len() < 2 || !neighbours || !cells.contains(&into) {
            return Err(OperationError::NotAdjacent);
        }
        if let Some(broken) = places.iter().find(|place| self.cells[place.index].kind == CellKind::Broken) {
            return Err(OperationError::BrokenCell(broken.cell.clone()));
        }
        if let Some(halves) = places.iter().find(|place| self.cells[place.index].has_halves()) {
            return Err(OperationError::HalfCharacter(halves.cell.clone()));
        }
        let gap = utf16::length(&newlines(&separator));
        let sources: Vec<String> =
            places.iter().map(|place| self.cells[place.index].source().into_owned()).collect();
        let own = places.iter().position(|place| place.cell == into).unwrap_or_default();
        let before: String = sources[..own].iter().flat_map(|source| [source.as_str(), &separator]).collect();
        let behind: String =
            sources[own + 1..].iter().flat_map(|source| [separator.as_str(), source]).collect();
        let length = utf16::length(&sources[own]);
        let edits = [(0, before), (length, behind)].map(|(at, insert)| TextEdit { from: at, to: at, insert });
        let changes = Changes::new(length, &edits)
            .map_err(|error| OperationError::Edit { cell: into.clone(), error })?;
        let parts = parts_of(&places, &sources, own, gap);
        let attachments = self.merge_attachments(&places, own)?;

        let revision = self.editable(&into)?.revision();
        let edited = self.edit_source(into.clone(), revision, String::new(), &[changes])?;
        let merged = self.editable(&into)?;
        let (base, expected) = (merged.revision(), merged.source().into_owned());
        let others: Vec<CellKey> = cells.iter().filter(|key| **key != into).cloned().collect();
        for cell in self.take_out(&others) {
            self.removed.insert(cell.key.clone(), cell);
        }
        let mut all = edited.changes;
        all.push(Change::CellsRemoved { cells: others });
        all.push(Change::Cell { cell: into.clone() });
        let unmerge =
            Unmerge { cell: into.clone(), base, parts, expected, separator: separator.clone(), attachments };
        Ok(Done {
            operation: Operation::MergeCells { cells, into, separator },
            inverse: Some(Operation::UnmergeCells(unmerge)),
            changes: all,
        })
    }

    pub(super) fn unmerge_cells(&mut self, unmerge: Unmerge) -> Outcome {
        let key = unmerge.cell.clone();
        let fail = |error| OperationError::Edit { cell: key.clone(), error };
        if self.index(&key).is_none() {
            return Err(OperationError::UnknownCell(key));
        }
        if let Some(part) = unmerge.parts.iter().find(|part| !self.removed.contains_key(&part.place.cell)) {
            return Err(OperationError::UnknownCell(part.place.cell.clone()));
        }
        let cell = self.editable(&key)?;
        let revision = cell.revision();
        let source = cell.source().into_owned();
        let base = if source == unmerge.expected { revision } else { unmerge.base };
        let mut parts = unmerge.parts.clone();
        let mut texts = Vec::with_capacity(parts.len());
        let mut edits: Vec<TextEdit> = Vec::with_capacity(parts.len());
        for part in &mut parts {
            for (range, outward) in [(&mut part.text, true), (&mut part.cut, false)] {
                range.0 = cell.history.map_position(base, range.0, !outward).map_err(fail)?;
                range.1 = cell.history.map_position(base, range.1, outward).map_err(fail)?;
            }
            part.cut = (part.cut.0.min(part.text.0), part.cut.1.max(part.text.1));
            texts.push(utf16::slice(&source, part.text.0, part.text.1).to_owned());
            let from = edits.last().map_or(part.cut.0, |last| part.cut.0.max(last.to));
            edits.push(TextEdit { from, to: part.cut.1.max(from), insert: String::new() });
        }
        let changes = Changes::new(utf16::length(&source), &edits).map_err(fail)?;
        if unmerge.attachments.is_some() {
            cell.attachments = unmerge.attachments.as_ref().map(|text| text.0.clone());
        }
        let mut all = self.edit_source(key.clone(), revision, String::new(), &[changes])?.changes;
        let mut keys = vec![key.clone()];
        for (part, text) in parts.iter().zip(texts) {
            let place = &part.place;
            let Some(returning) = self.removed.remove(&place.cell) else { continue };
            let index = self.place_beside(place, &key);
            self.cells.insert(index, returning);
            all.push(Change::CellsInserted { index, cells: vec![place.cell.clone()] });
            all.extend(self.set_source(place.cell.clone(), text)?.changes);
            keys.push(place.cell.clone());
        }
        all.push(Change::Cell { cell: key.clone() });
        let inverse = Operation::MergeCells { cells: keys, into: key, separator: unmerge.separator.clone() };
        Ok(Done {
            operation: Operation::UnmergeCells(Unmerge {
                base: revision,
                parts,
                expected: String::new(),
                ..unmerge
            }),
            inverse: Some(inverse),
            changes: all,
        })
    }

    /// Where a cell returns to: beside the merged one, on the side it was on.
    fn place_beside(&self, place: &Place, merged: &CellKey) -> usize {
        let Some(own) = self.index(merged) else { return self.place_index(place) };
        match place.after.as_ref().and_then(|after| self.index(after)) {
            Some(above) if above >= own => above + 1,
            Some(above) if above + 1 == own => own,
            _ => own,
        }
    }

    /// Adds the attachments of merged cells. Returns those that the cell had, if they change.
    fn merge_attachments(
        &mut self,
        places: &[Place],
        own: usize,
    ) -> Result<Option<FileText>, OperationError> {
        let style = self.file_style().json.clone();
        let others = places.iter().enumerate().filter(|(index, _)| *index != own);
        let found: Vec<Bytes> =
            others.filter_map(|(_, place)| self.cells[place.index].attachments_text()).collect();
        if found.is_empty() {
            return Ok(None);
        }
        let indent = format!("{}{}", self.layout.cell_indent(), style.indent);
        let cell = self.editable(&places[own].cell)?;
        let old = cell.attachments_text().unwrap_or_else(|| Bytes::from_static(b"{}"));
        let mut merged = old.clone();
        for attachments in found {
            let Ok(contents) = scan::members(&attachments, 0) else { continue };
            for member in contents.items {
                let name = string::decode(&attachments[member.key]).unwrap_or_default();
                if scan::find_member(&merged, &name).is_none() {
                    let value = attachments[member.value].to_vec();
                    merged = edit_object(&merged, &[(&name, Some(value))], &style, &indent).into();
                }
            }
        }
        cell.attachments = Some(merged);
        Ok(Some(FileText(old)))
    }
}

/// Where the texts of merged cells stand in the merged text.
fn parts_of(places: &[Place], sources: &[String], own: usize, gap: usize) -> Vec<Part> {
    let mut parts = Vec::with_capacity(places.len() - 1);
    let mut at = 0;
    for (index, (place, source)) in places.iter().zip(sources).enumerate() {
        let text = (at, at + utf16::length(source));
        at = text.1 + gap;
        if index < own {
            parts.push(Part { place: place.clone(), text, cut: (text.0, at) });
        } else if index > own {
            parts.push(Part { place: place.clone(), text, cut: (text.0 - gap, text.1) });
        }
    }
    parts
}
