//! Opens a file.
//!
//! One pass over the text finds the list of cells and, in each cell, where its members stand. Nothing is decoded and
//! nothing copied: a cell is a slice of the file. What a cell says is read when somebody asks.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use crate::cell::{Cell, CellKind, Fields};
use crate::error::ParseError;
use crate::json::scan::{self, Fault};
use crate::json::style::{Style, newline_of, white};
use crate::key::CellKey;
use crate::layout::Layout;
use crate::notebook::{Format, Notebook};
use crate::notice::Notice;
use crate::undo::UndoHistory;

/// What the pass found.
#[derive(Default)]
struct Found {
    nbformat: Option<Range<usize>>,
    nbformat_minor: Option<Range<usize>>,
    worksheets: Option<Range<usize>>,
    cells: Option<FoundCells>,
    /// Whether `cells` is there but no list.
    cells_not_a_list: bool,
}

struct FoundCells {
    /// Just behind the opening bracket.
    start: usize,
    /// Where the white space before the closing bracket begins.
    tail: usize,
    /// The closing bracket.
    close: usize,
    items: Vec<FoundCell>,
}

struct FoundCell {
    lead: usize,
    range: Range<usize>,
    fields: Option<Fields>,
}

pub(crate) fn parse(file: Bytes, mut next_key: impl FnMut() -> CellKey) -> Result<Notebook, ParseError> {
    let found = survey(&file)?;
    let number = |range: &Option<Range<usize>>| {
        range.as_ref().and_then(|range| serde_json::from_slice::<u64>(&file[range.clone()]).ok())
    };
    let major = number(&found.nbformat);
    match (major, &found.cells, &found.worksheets) {
        (Some(1), _, _) => Err(ParseError::TooOld { major: 1 }),
        (Some(2 | 3), _, _) | (None, None, Some(_)) => {
            let text = crate::upgrade::to_version_4(&file)?;
            let mut notebook = parse(text.into(), next_key)?;
            notebook.notices.insert(0, Notice::Upgraded { major: major.unwrap_or(3) });
            notebook.original = Some(file);
            Ok(notebook)
        }
        (_, Some(_), _) => {
            let minor = number(&found.nbformat_minor).unwrap_or(0);
            let format = Format { major: major.unwrap_or(4), minor };
            Ok(build(file, found, format, &mut next_key))
        }
        _ if found.cells_not_a_list => Err(ParseError::NotANotebook { why: "its `cells` are not a list" }),
        (None, None, None) => Err(ParseError::NotANotebook { why: "it has neither `nbformat` nor `cells`" }),
        _ => Err(ParseError::NotANotebook { why: "it has no `cells`" }),
    }
}

fn survey(file: &[u8]) -> Result<Found, ParseError> {
    if let Err(error) = std::str::from_utf8(file) {
        return Err(ParseError::NotText { at: error.valid_up_to() });
    }
    let mark = if file.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 };
    let start = scan::skip_space(file, mark);
    if start == file.len() {
        return Err(ParseError::Empty);
    }
    if file[start] != b'{' {
        let whole = scan::skip_value(file, start).map_err(|fault| not_json(file, &fault))?;
        only_space_from(file, whole)?;
        return Err(ParseError::NotANotebook { why: "it is not an object" });
    }
    let mut found = Found::default();
    let walked = scan::walk_object(file, start, |_, key, value| match &file[key.clone()] {
        b"\"cells\"" => survey_cells(file, value, &mut found),
        b"\"nbformat\"" => remember(file, value, &mut found.nbformat),
        b"\"nbformat_minor\"" => remember(file, value, &mut found.nbformat_minor),
        b"\"worksheets\"" => remember(file, value, &mut found.worksheets),
        _ => scan::skip_value(file, value),
    });
    let (_, end) = walked.map_err(|fault| not_json(file, &fault))?;
    only_space_from(file, end)?;
    Ok(found)
}

fn remember(file: &[u8], value: usize, slot: &mut Option<Range<usize>>) -> Result<usize, Fault> {
    let end = scan::skip_value(file, value)?;
    *slot = Some(value..end);
    Ok(end)
}

fn survey_cells(file: &[u8], value: usize, found: &mut Found) -> Result<usize, Fault> {
    if file.get(value) != Some(&b'[') {
        found.cells_not_a_list = true;
        return scan::skip_value(file, value);
    }
    let mut items = Vec::new();
    let (tail, end) = scan::walk_array(file, value, |lead, start| {
        let (fields, end) = Fields::scan(file, start)?;
        items.push(FoundCell { lead, range: start..end, fields });
        Ok(end)
    })?;
    found.cells = Some(FoundCells { start: value + 1, tail, close: end - 1, items });
    Ok(end)
}

fn only_space_from(file: &[u8], at: usize) -> Result<(), ParseError> {
    let rest = scan::skip_space(file, at);
    if rest == file.len() {
        return Ok(());
    }
    Err(not_json(file, &Fault { at: rest, wanted: "the end of the file" }))
}

fn not_json(file: &[u8], fault: &Fault) -> ParseError {
    let before = &file[..fault.at.min(file.len())];
    let line = memchr::memchr_iter(b'\n', before).count() + 1;
    let from = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
    let rest = file.get(from..).unwrap_or_default();
    if [b"<<<<<<<".as_slice(), b"=======", b">>>>>>>", b"|||||||"].iter().any(|mark| rest.starts_with(mark)) {
        return ParseError::MergeConflict { line };
    }
    ParseError::NotJson { line, column: before.len() - from + 1, wanted: fault.wanted }
}

fn build(file: Bytes, found: Found, format: Format, next_key: &mut impl FnMut() -> CellKey) -> Notebook {
    // `parse` has checked that there are cells.
    let list = found.cells.unwrap_or(FoundCells { start: 0, tail: 0, close: 0, items: Vec::new() });
    let layout = layout_of(&file, &list);
    let cells: Vec<_> = list.items.into_iter().map(|found| read_cell(&file, found, next_key())).collect();
    let broken = cells.iter().filter(|cell| cell.kind() == CellKind::Broken).count();
    let mut notices = Vec::new();
    if format.major > 4 {
        notices.push(Notice::Newer { major: format.major });
    }
    if broken > 0 {
        notices.push(Notice::BrokenCells { count: broken });
    }
    Notebook {
        file,
        original: None,
        layout,
        style: OnceLock::new(),
        format,
        cells: cells.into_iter().map(Arc::new).collect(),
        removed: HashMap::new(),
        displays: HashMap::new(),
        undo: UndoHistory::default(),
        version: 0,
        file_version: 0,
        notices,
    }
}

fn read_cell(file: &Bytes, found: FoundCell, key: CellKey) -> Cell {
    let lead = file.slice(found.lead..found.range.start);
    let trail = found.range.end..scan::skip_space(file, found.range.end);
    let behind_comma = found.lead > 0 && file[found.lead - 1] == b',';
    let before_comma = file.get(trail.end) == Some(&b',');
    let mut cell = Cell::read(key, file.slice(found.range), found.fields);
    cell.lead = behind_comma.then_some(lead);
    if before_comma {
        cell.trail = file.slice(trail);
    }
    cell
}

fn layout_of(file: &Bytes, list: &FoundCells) -> Layout {
    let head = file.slice(..list.start);
    let tail = file.slice(list.close..);
    let style = Style::of(&[&head[mark_length(&head)..], &tail].concat());
    let white_before = |found: &FoundCell| file.slice(found.lead..found.range.start);
    let line = |levels: usize| Bytes::from(style.line(&style.indent.repeat(levels)));
    let (list_start, list_end) = match list.items.first() {
        Some(first) => (white_before(first), file.slice(list.tail..list.close)),
        None => (line(2), line(1)),
    };
    let between = match list.items.get(1) {
        Some(second) => white_before(second),
        None if newline_of(white(&list_start)).is_some() => list_start.clone(),
        None => Bytes::from(style.comma[1..].to_owned()),
    };
    let when_empty = if list.items.is_empty() { file.slice(list.tail..list.close) } else { Bytes::new() };
    Layout { head, list_start, between, list_end, when_empty, tail }
}

fn mark_length(text: &[u8]) -> usize {
    if text.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 }
}
