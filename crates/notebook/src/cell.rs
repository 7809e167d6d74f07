//! One cell: the text it has in the file, and what differs from that text by now.

use std::borrow::Cow;
use std::ops::Range;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::changes::newlines;
use crate::json::halves;
use crate::json::raw::{RawJson, joined};
use crate::json::scan::{self, Fault};
use crate::json::string;
use crate::key::CellKey;
use crate::output::{FileText, Output, StoredOutput};
use crate::output_read::read_object;
use crate::source::History;

/// What a cell is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CellKind {
    /// Code.
    Code,
    /// Markdown.
    Markdown,
    /// Raw text.
    Raw,
    /// A cell that could not be read. It is written back as it was.
    Broken,
}

impl CellKind {
    /// The name in the file.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Markdown => "markdown",
            Self::Raw | Self::Broken => "raw",
        }
    }
}

/// Where the members that the document knows stand in a cell's text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Fields {
    pub(crate) cell_type: Option<Range<usize>>,
    pub(crate) id: Option<Range<usize>>,
    pub(crate) source: Option<Range<usize>>,
    pub(crate) metadata: Option<Range<usize>>,
    pub(crate) attachments: Option<Range<usize>>,
    pub(crate) outputs: Option<Range<usize>>,
    pub(crate) execution_count: Option<Range<usize>>,
}

impl Fields {
    /// Scans the value at `start`: the members relative to `start`, if it is an object, and where it ends.
    pub(crate) fn scan(text: &[u8], start: usize) -> Result<(Option<Self>, usize), Fault> {
        if text.get(start) != Some(&b'{') {
            return Ok((None, scan::skip_value(text, start)?));
        }
        let mut fields = Self::default();
        let (_, end) = scan::walk_object(text, start, |_, key, value| {
            let end = scan::skip_value(text, value)?;
            if let Some(field) = fields.named(&text[key.clone()]) {
                *field = Some(value - start..end - start);
            }
            Ok(end)
        })?;
        Ok((Some(fields), end))
    }

    /// The field of a key with its quotes, which may spell its name with escapes.
    fn named(&mut self, key: &[u8]) -> Option<&mut Option<Range<usize>>> {
        Some(match &*string::decode(key)? {
            "cell_type" => &mut self.cell_type,
            "id" => &mut self.id,
            "source" => &mut self.source,
            "metadata" => &mut self.metadata,
            "attachments" => &mut self.attachments,
            "outputs" => &mut self.outputs,
            "execution_count" => &mut self.execution_count,
            _ => return None,
        })
    }

    /// What the cell is, or `Broken` where something needed is not what it should be.
    fn kind(&self, text: &[u8]) -> CellKind {
        let value = |range: &Option<Range<usize>>| range.as_ref().map(|range| &text[range.clone()]);
        let source = value(&self.source).is_none_or(is_text);
        let outputs =
            value(&self.outputs).is_none_or(|value| value.first() == Some(&b'[') || value == b"null");
        let kind = value(&self.cell_type).and_then(string::decode);
        match kind.as_deref() {
            Some("code") if source && outputs => CellKind::Code,
            Some("markdown") if source => CellKind::Markdown,
            Some("raw") if source => CellKind::Raw,
            _ => CellKind::Broken,
        }
    }
}

fn is_text(value: &[u8]) -> bool {
    match value.first() {
        Some(b'"') => true,
        Some(b'[') => scan::elements(value, 0)
            .is_ok_and(|list| list.items.iter().all(|element| value[element.value.start] == b'"')),
        _ => value == b"null",
    }
}

/// The outputs of a cell and what is known about them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outputs {
    /// The outputs, once something touched them; until then they are what the text says.
    pub(crate) held: Option<Vec<StoredOutput>>,
    /// Counts how often the outputs were cleared or replaced as a whole.
    pub(crate) generation: u32,
    /// Whether the next output clears the others first.
    pub(crate) clear_pending: bool,
}

/// The number in the brackets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExecutionCount {
    /// As in the text.
    Found,
    /// Something else by now.
    Set(Option<u64>),
}

/// A cell of a notebook.
#[derive(Debug, Clone)]
pub struct Cell {
    pub(crate) key: CellKey,
    /// The JSON text, as found in the file or as written when the cell was made.
    pub(crate) text: Bytes,
    pub(crate) fields: Fields,
    /// White space before the cell in a list, if it was found behind a comma.
    pub(crate) lead: Option<Bytes>,
    /// White space between the cell and the comma behind it.
    pub(crate) trail: Bytes,
    pub(crate) kind: CellKind,
    /// The source, once it was edited.
    pub(crate) source: Option<String>,
    pub(crate) history: History,
    pub(crate) outputs: Outputs,
    pub(crate) execution_count: ExecutionCount,
    pub(crate) metadata: Option<Bytes>,
    pub(crate) attachments: Option<Bytes>,
}

impl Cell {
    /// The cell that `text` says.
    pub(crate) fn read(key: CellKey, text: Bytes, fields: Option<Fields>) -> Self {
        let kind = fields.as_ref().map_or(CellKind::Broken, |fields| fields.kind(&text));
        Self {
            key,
            text,
            fields: fields.unwrap_or_default(),
            lead: None,
            trail: Bytes::new(),
            kind,
            source: None,
            history: History::default(),
            outputs: Outputs::default(),
            execution_count: ExecutionCount::Found,
            metadata: None,
            attachments: None,
        }
    }

    /// The internal name.
    pub fn key(&self) -> &CellKey {
        &self.key
    }

    /// What it is.
    pub fn kind(&self) -> CellKind {
        self.kind
    }

    /// The id in the file, as found; it may be missing, too long, or the id of another cell too.
    pub fn id(&self) -> Option<Cow<'_, str>> {
        string::decode(self.field(self.fields.id.as_ref())?)
    }

    /// The source with `\n` line breaks. A broken cell gives its JSON text.
    pub fn source(&self) -> Cow<'_, str> {
        if let Some(source) = &self.source {
            return Cow::Borrowed(source);
        }
        if self.kind == CellKind::Broken {
            return String::from_utf8_lossy(&self.text);
        }
        self.found_source()
    }

    /// The source as the text has it, with `\n` line breaks.
    pub(crate) fn found_source(&self) -> Cow<'_, str> {
        match self.field(self.fields.source.as_ref()).and_then(joined) {
            Some(source) if source.contains('\r') => Cow::Owned(newlines(&source).into_owned()),
            Some(source) => source,
            None => Cow::Borrowed(""),
        }
    }

    /// Whether half of a character stands in the source, which only the cell's own text in the file can hold.
    pub(crate) fn has_halves(&self) -> bool {
        self.field(self.fields.source.as_ref()).is_some_and(halves::are_in)
            && self.source().contains(char::REPLACEMENT_CHARACTER)
    }

    /// Counts the accepted edits of the source.
    pub fn revision(&self) -> u64 {
        self.history.revision()
    }

    /// The metadata, an object.
    pub fn metadata(&self) -> RawJson {
        read_object(Some(&self.metadata_text()))
    }

    /// The attachments, an object from file names to mime bundles.
    pub fn attachments(&self) -> Option<RawJson> {
        self.attachments_text().map(|text| read_object(Some(&text)))
    }

    /// The attachments as they stand now.
    pub(crate) fn attachments_text(&self) -> Option<Bytes> {
        let text = self.attachments.clone().or_else(|| self.slice(self.fields.attachments.as_ref()));
        text.filter(|text| text.as_ref() != b"{}")
    }

    /// The number in the brackets.
    pub fn execution_count(&self) -> Option<u64> {
        match self.execution_count {
            ExecutionCount::Found => self.found_execution_count(),
            ExecutionCount::Set(count) => count,
        }
    }

    /// The number in the brackets as the text has it.
    pub(crate) fn found_execution_count(&self) -> Option<u64> {
        serde_json::from_slice(self.field(self.fields.execution_count.as_ref())?).ok()
    }

    /// The outputs. Those of the file are read anew at each call. Only code cells show outputs.
    pub fn outputs(&self) -> Vec<Output> {
        self.stored_outputs().iter().map(|output| output.read().into_owned()).collect()
    }

    /// How many outputs there are.
    pub fn output_count(&self) -> usize {
        self.outputs.held.as_ref().map_or_else(|| self.file_outputs().len(), Vec::len)
    }

    /// One output.
    pub fn output(&self, index: usize) -> Option<Output> {
        self.stored_outputs().get(index).map(|output| output.read().into_owned())
    }

    /// Counts how often the outputs were cleared or replaced as a whole. The number and an output's index together name
    /// that output.
    pub fn output_generation(&self) -> u32 {
        self.outputs.generation
    }

    /// The outputs in the form they are kept in.
    pub(crate) fn stored_outputs(&self) -> Cow<'_, [StoredOutput]> {
        match &self.outputs.held {
            Some(held) => Cow::Borrowed(held),
            None => Cow::Owned(self.file_outputs()),
        }
    }

    /// The outputs to change, read from the text at the first time.
    pub(crate) fn outputs_mut(&mut self) -> &mut Vec<StoredOutput> {
        if self.outputs.held.is_none() {
            self.outputs.held = Some(self.file_outputs());
        }
        self.outputs.held.get_or_insert_default()
    }

    /// The outputs as the text has them.
    pub(crate) fn file_outputs(&self) -> Vec<StoredOutput> {
        let Some(list) = self.slice(self.fields.outputs.as_ref()) else { return Vec::new() };
        let Ok(contents) = scan::elements(&list, 0) else { return Vec::new() };
        let items = contents.items.into_iter();
        items.map(|element| StoredOutput::File(FileText(list.slice(element.value)))).collect()
    }

    /// The metadata as it stands now.
    pub(crate) fn metadata_text(&self) -> Bytes {
        let found = self.metadata.clone().or_else(|| self.slice(self.fields.metadata.as_ref()));
        found.unwrap_or_else(|| Bytes::from_static(b"{}"))
    }

    pub(crate) fn field(&self, range: Option<&Range<usize>>) -> Option<&[u8]> {
        range.map(|range| &self.text[range.clone()])
    }

    pub(crate) fn slice(&self, range: Option<&Range<usize>>) -> Option<Bytes> {
        range.map(|range| self.text.slice(range.clone()))
    }
}
