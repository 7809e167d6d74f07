//! Cells as a text that a clipboard carries to another notebook, of this program or of JupyterLab.

use std::collections::HashSet;

use bytes::Bytes;

use crate::cell::CellKind;
use crate::error::SaveError;
use crate::json::scan::{self, find_member};
use crate::json::string;
use crate::json::style::Style;
use crate::key::CellKey;
use crate::notebook::Notebook;
use crate::operation::{NewCell, NewContent};
use crate::output::FileText;
use crate::save::Resolve;

/// The media type under which JupyterLab keeps cells.
const MEDIA_TYPE: &str = "application/vnd.jupyter.cells";

impl Notebook {
    /// These cells as a text, in the order of the document.
    pub fn copy_cells(&self, cells: &[CellKey], resolve: &mut Resolve<'_>) -> Result<String, SaveError> {
        let wanted: HashSet<&CellKey> = cells.iter().collect();
        let mut list = vec![b'['];
        for cell in self.cells.iter().filter(|cell| wanted.contains(&cell.key)) {
            if list.len() > 1 {
                list.push(b',');
            }
            list.extend_from_slice(&self.cell_text(cell, resolve)?);
        }
        list.push(b']');
        let mut text = format!("{{\"{MEDIA_TYPE}\": ").into_bytes();
        Style::default().write(&list, "", &mut text);
        text.push(b'}');
        Ok(String::from_utf8_lossy(&text).into_owned())
    }
}

/// The cells in a text: those of [`Notebook::copy_cells`], a list of cells, or those of a whole notebook of format 4.
/// Any other text becomes one code cell.
pub fn paste_cells(text: &str, mut next_key: impl FnMut() -> CellKey) -> Vec<NewCell> {
    let found = cells_in(text.trim()).unwrap_or_default();
    if found.is_empty() {
        return vec![NewCell::new(next_key(), CellKind::Code, text)];
    }
    let new = |text: Bytes| NewCell { key: next_key(), content: NewContent::Json(FileText(text)) };
    found.into_iter().map(new).collect()
}

fn cells_in(text: &str) -> Option<Vec<Bytes>> {
    let text = Bytes::copy_from_slice(text.as_bytes());
    let whole = scan::skip_value(&text, 0).ok()? == text.len();
    let list = match text.first() {
        Some(b'{') if whole => {
            let range = find_member(&text, MEDIA_TYPE).or_else(|| {
                find_member(&text, "nbformat")?;
                find_member(&text, "cells")
            })?;
            text.slice(range)
        }
        Some(b'[') if whole => text,
        _ => return None,
    };
    let contents = scan::elements(&list, 0).ok()?;
    let cells = contents.items.into_iter().map(|element| list.slice(element.value));
    cells.map(|cell| is_cell(&cell).then_some(cell)).collect()
}

fn is_cell(text: &[u8]) -> bool {
    let Some(range) = find_member(text, "cell_type") else { return false };
    string::decode(&text[range]).is_some()
}
