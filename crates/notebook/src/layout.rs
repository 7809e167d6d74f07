//! The text around the cells, and the style in which new ones are written.

use bytes::Bytes;

use crate::cell::{Cell, CellKind};
use crate::json::edit::edit_object;
use crate::json::scan::{self, find_member};
use crate::json::string;
use crate::json::style::{Style, indent_of, newline_of, white};
use crate::notebook::Notebook;

/// The text of the file outside the cells.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    /// From the start of the file to the `[` that opens the list of cells.
    pub(crate) head: Bytes,
    /// White space before the first cell.
    pub(crate) list_start: Bytes,
    /// White space before a cell behind a comma.
    pub(crate) between: Bytes,
    /// White space behind the last cell.
    pub(crate) list_end: Bytes,
    /// What stands in the list when it has no cells.
    pub(crate) when_empty: Bytes,
    /// From the `]` to the end of the file.
    pub(crate) tail: Bytes,
}

impl Layout {
    /// The whole text with an empty list of cells.
    pub(crate) fn skeleton(&self) -> Bytes {
        [self.head.as_ref(), self.tail.as_ref()].concat().into()
    }

    /// The length of a byte order mark.
    pub(crate) fn prefix(&self) -> usize {
        if self.head.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 }
    }

    /// Sets a member of the notebook's own object, which begins at `start`.
    pub(crate) fn set_member(&mut self, start: usize, name: &str, value: Vec<u8>, style: &Style) {
        let skeleton = self.skeleton();
        let object_end = scan::skip_value(&skeleton, start).unwrap_or(skeleton.len());
        let object = edit_object(&skeleton[start..object_end], &[(name, Some(value))], style, "");
        let Some(cells) = find_member(&object, "cells") else { return };
        let head = start + cells.start + 1;
        let text: Bytes = [&skeleton[..start], &object, &skeleton[object_end..]].concat().into();
        self.head = text.slice(..head);
        self.tail = text.slice(head..);
    }

    /// The indent of a cell's own line.
    pub(crate) fn cell_indent(&self) -> &str {
        indent_of(white(&self.between))
    }
}

/// How the file writes things.
#[derive(Debug, Clone)]
pub(crate) struct FileStyle {
    pub(crate) json: Style,
    /// Whether texts are lists of lines (as Jupyter writes them) or strings.
    pub(crate) lists: bool,
    /// Whether members stand in alphabetical order (as Jupyter writes them).
    pub(crate) sorted: bool,
}

impl FileStyle {
    pub(crate) fn of(notebook: &Notebook) -> Self {
        let skeleton = notebook.layout.skeleton();
        let mut json = Style::of(&skeleton[notebook.layout.prefix()..]);
        // Escapes may stand in cells only, and one character outside ASCII anywhere decides against them.
        json.ascii = Style::escapes_everything(&notebook.file);
        if json.newline.is_none() {
            json.newline = newline_of(white(&notebook.layout.between));
        }
        let sources = notebook.cells.iter().filter_map(|cell| cell.field(cell.fields.source.as_ref()));
        let lists = sources.map(|source| source.first() == Some(&b'[')).next().unwrap_or(true);
        let sorted = notebook.cells().next().is_none_or(|cell| names(cell).is_sorted());
        Self { json, lists, sorted }
    }
}

/// The names of a cell's members in their order.
fn names(cell: &Cell) -> Vec<String> {
    let Ok(contents) = scan::members(&cell.text, 0) else { return Vec::new() };
    let keys = contents.items.iter();
    keys.filter_map(|member| Some(string::decode(&cell.text[member.key.clone()])?.into_owned())).collect()
}

/// The order in which a new cell of this kind has its members: that of its like in the file.
pub(crate) fn member_order(notebook: &Notebook, kind: CellKind) -> Vec<String> {
    let like = notebook.cells().rev().find(|cell| cell.kind == kind && cell.source.is_none());
    let any = || notebook.cells().rev().find(|cell| cell.kind != CellKind::Broken);
    like.or_else(any).map_or_else(Vec::new, names)
}
