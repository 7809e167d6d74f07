//! Writes the notebook with the smallest textual change.
//!
//! What nobody touched goes out as the bytes that came in. In a changed cell only the changed members are written anew,
//! in a list of lines only the lines that differ.

use std::io;

use bytes::Bytes;

use crate::cell::{Cell, CellKind, ExecutionCount};
use crate::error::SaveError;
use crate::json::edit::{MemberEdit, edit_object, member_indent};
use crate::json::style::Style;
use crate::layout::FileStyle;
use crate::notebook::Notebook;
use crate::output::{Blob, StoredOutput};
use crate::write;

/// Gives the bytes of a payload that the owner holds.
pub type Resolve<'a> = dyn FnMut(&Blob) -> io::Result<Bytes> + 'a;

impl Notebook {
    /// The notebook as the pieces of a file, to be written one behind the other. Untouched stretches are slices of the
    /// text that was opened, so this copies only what changed. `resolve` is asked for payloads that the owner holds.
    pub fn segments(&self, resolve: &mut Resolve<'_>) -> Result<Vec<Bytes>, SaveError> {
        if let Some(original) = &self.original
            && self.version == self.file_version
        {
            return Ok(vec![original.clone()]);
        }
        let mut segments = Segments { file: &self.file, parts: Vec::new() };
        segments.push(self.layout.head.clone());
        for (index, cell) in self.cells.iter().enumerate() {
            let between = &self.layout.between;
            if index == 0 {
                segments.push(self.layout.list_start.clone());
            } else {
                segments.push(Bytes::from_static(b","));
                segments.push(cell.lead.clone().unwrap_or_else(|| between.clone()));
            }
            segments.push(self.cell_text(cell, resolve)?);
            if index + 1 < self.cells.len() {
                segments.push(cell.trail.clone());
            }
        }
        let end = if self.cells.is_empty() { &self.layout.when_empty } else { &self.layout.list_end };
        segments.push(end.clone());
        segments.push(self.layout.tail.clone());
        Ok(segments.parts)
    }

    /// The notebook as one text.
    pub fn to_bytes(&self, resolve: &mut Resolve<'_>) -> Result<Bytes, SaveError> {
        let mut segments = self.segments(resolve)?;
        Ok(if segments.len() == 1 { segments.remove(0) } else { segments.concat().into() })
    }

    /// The text of one cell as it is written now.
    pub(crate) fn cell_text(&self, cell: &Cell, resolve: &mut Resolve<'_>) -> Result<Bytes, SaveError> {
        if !cell.is_changed() {
            return Ok(cell.text.clone());
        }
        let style = self.file_style();
        let member_indent = member_indent(&cell.text);
        let cell_indent = self.layout.cell_indent();
        let indent = member_indent.unwrap_or_else(|| format!("{cell_indent}{}", style.json.indent));
        // A cell that stands on one line stays on one line.
        let mut local = Style::of(&cell.text);
        if local.newline.is_some() {
            local.indent.clone_from(&style.json.indent);
        }
        local.ascii = style.json.ascii;
        let local = FileStyle { json: local, ..style.clone() };
        let edits = cell_edits(cell, &local, &indent, resolve)?;
        if edits.is_empty() {
            return Ok(cell.text.clone());
        }
        Ok(edit_object(&cell.text, &edits, &local.json, cell_indent).into())
    }
}

impl Cell {
    /// Whether anything may differ from the text.
    fn is_changed(&self) -> bool {
        self.source.is_some()
            || self.outputs.held.is_some()
            || self.execution_count != ExecutionCount::Found
            || self.metadata.is_some()
            || self.attachments.is_some()
            || self.field(self.fields.cell_type.as_ref()).is_some_and(|found| {
                self.kind != CellKind::Broken
                    && crate::json::string::decode(found).as_deref() != Some(self.kind.name())
            })
    }
}

fn cell_edits<'a>(
    cell: &Cell,
    style: &FileStyle,
    indent: &str,
    resolve: &mut Resolve<'_>,
) -> Result<Vec<MemberEdit<'a>>, SaveError> {
    let mut edits: Vec<MemberEdit<'a>> = Vec::new();
    let found_kind = cell.field(cell.fields.cell_type.as_ref()).and_then(crate::json::string::decode);
    let kind_changed = found_kind.as_deref() != Some(cell.kind.name());
    if kind_changed {
        edits.push(("cell_type", Some(format!("\"{}\"", cell.kind.name()).into_bytes())));
    }
    if let Some(source) = &cell.source
        && cell.found_source() != *source
    {
        let found = cell.field(cell.fields.source.as_ref());
        edits.push(("source", Some(write::source(found, source, style, indent))));
    }
    if let Some(metadata) = &cell.metadata {
        edits.push(("metadata", Some(metadata.to_vec())));
    }
    if let Some(attachments) = &cell.attachments
        && cell.kind != CellKind::Code
        && cell.field(cell.fields.attachments.as_ref()) != Some(attachments.as_ref())
    {
        let value = (attachments.as_ref() != b"{}").then(|| attachments.to_vec());
        edits.push(("attachments", value));
    }
    if cell.kind == CellKind::Code {
        code_edits(cell, kind_changed, style, indent, resolve, &mut edits)?;
    } else if kind_changed {
        edits.extend([("outputs", None), ("execution_count", None)]);
    }
    Ok(edits)
}

fn code_edits(
    cell: &Cell,
    kind_changed: bool,
    style: &FileStyle,
    indent: &str,
    resolve: &mut Resolve<'_>,
    edits: &mut Vec<MemberEdit<'_>>,
) -> Result<(), SaveError> {
    let count =
        |count: Option<u64>| count.map_or_else(|| b"null".to_vec(), |count| count.to_string().into_bytes());
    let missing = kind_changed && cell.fields.execution_count.is_none();
    if missing || cell.execution_count() != cell.found_execution_count() {
        edits.push(("execution_count", Some(count(cell.execution_count()))));
    }
    let found = cell.field(cell.fields.outputs.as_ref());
    match &cell.outputs.held {
        Some(held) if *held != cell.file_outputs() => {
            edits.push(("outputs", Some(write_outputs(found, held, style, indent, resolve)?)));
        }
        _ if kind_changed && found.is_none() => edits.push(("outputs", Some(b"[]".to_vec()))),
        _ => {}
    }
    if kind_changed {
        edits.push(("attachments", None));
    }
    Ok(())
}

fn write_outputs(
    found: Option<&[u8]>,
    held: &[StoredOutput],
    style: &FileStyle,
    indent: &str,
    resolve: &mut Resolve<'_>,
) -> Result<Vec<u8>, SaveError> {
    let item_indent = format!("{indent}{}", style.json.indent);
    let mut items = Vec::with_capacity(held.len());
    for output in held {
        items.push(match output {
            StoredOutput::File(text) => text.0.clone(),
            StoredOutput::Held(output) => {
                let value = write::output(output, style, resolve)?;
                let mut laid_out = Vec::with_capacity(value.len());
                style.json.write(&value, &item_indent, &mut laid_out);
                laid_out.into()
            }
        });
    }
    Ok(write::list(found, &items, &style.json, indent))
}

/// Pieces of a file; neighbours in the text that was opened become one.
struct Segments<'a> {
    file: &'a Bytes,
    parts: Vec<Bytes>,
}

impl Segments<'_> {
    fn push(&mut self, part: Bytes) {
        if part.is_empty() {
            return;
        }
        if let Some(last) = self.parts.last_mut()
            && let (Some(left), Some(right)) = (offset_in(self.file, last), offset_in(self.file, &part))
            && left + last.len() == right
        {
            *last = self.file.slice(left..right + part.len());
        } else if part.len() == 1 && part[0] == b',' {
            self.push_comma(part);
        } else {
            self.parts.push(part);
        }
    }

    /// A comma is taken from the file where one follows there anyway.
    fn push_comma(&mut self, comma: Bytes) {
        if let Some(last) = self.parts.last_mut()
            && let Some(start) = offset_in(self.file, last)
            && self.file.get(start + last.len()) == Some(&b',')
        {
            *last = self.file.slice(start..=start + last.len());
        } else {
            self.parts.push(comma);
        }
    }
}

/// Where `part` stands in `file`, if it is a slice of it.
fn offset_in(file: &Bytes, part: &Bytes) -> Option<usize> {
    let offset = (part.as_ptr() as usize).checked_sub(file.as_ptr() as usize)?;
    (offset + part.len() <= file.len()).then_some(offset)
}
