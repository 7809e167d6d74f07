//! The document: cells in their order, and everything around them.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use crate::cell::Cell;
use crate::error::ParseError;
use crate::json::raw::RawJson;
use crate::json::scan::{self, find_member};
use crate::key::CellKey;
use crate::layout::{FileStyle, Layout};
use crate::notice::Notice;
use crate::output_read::read_object;
use crate::undo::UndoHistory;

/// What Jupyter writes for a notebook without cells.
const EMPTY: &[u8] =
    b"{\n \"cells\": [],\n \"metadata\": {},\n \"nbformat\": 4,\n \"nbformat_minor\": 5\n}\n";

/// The version of the notebook format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Format {
    /// Major version.
    pub major: u64,
    /// Minor version.
    pub minor: u64,
}

impl Format {
    /// Whether cells of this format have ids.
    pub fn has_cell_ids(self) -> bool {
        self >= Self { major: 4, minor: 5 }
    }
}

/// An open notebook. Cloning it is cheap (cells are shared until changed), so a copy can be written elsewhere.
#[derive(Debug, Clone)]
pub struct Notebook {
    /// The text that the cells are slices of.
    pub(crate) file: Bytes,
    /// The file as it was, where `file` is a conversion of it. Written while nothing was changed.
    pub(crate) original: Option<Bytes>,
    pub(crate) layout: Layout,
    pub(crate) style: OnceLock<FileStyle>,
    pub(crate) format: Format,
    pub(crate) cells: Vec<Arc<Cell>>,
    /// Deleted and merged cells that an undo can bring back. Outputs go on flowing to them.
    pub(crate) removed: HashMap<CellKey, Arc<Cell>>,
    /// In which cells a display id was seen.
    pub(crate) displays: HashMap<String, BTreeSet<CellKey>>,
    pub(crate) undo: UndoHistory,
    pub(crate) version: u64,
    /// The version at which the document was what the file says.
    pub(crate) file_version: u64,
    pub(crate) notices: Vec<Notice>,
}

impl Notebook {
    /// Opens the bytes of a file. `next_key` names the cells, in order; the names must differ.
    pub fn parse(file: Bytes, next_key: impl FnMut() -> CellKey) -> Result<Self, ParseError> {
        crate::parse::parse(file, next_key)
    }

    /// A new notebook without cells, format 4.5.
    pub fn empty() -> Self {
        let text = Bytes::from_static(EMPTY);
        let head = memchr::memchr(b'[', &text).unwrap_or_default() + 1;
        Self {
            layout: Layout {
                head: text.slice(..head),
                list_start: Bytes::from_static(b"\n  "),
                between: Bytes::from_static(b"\n  "),
                list_end: Bytes::from_static(b"\n "),
                when_empty: Bytes::new(),
                tail: text.slice(head..),
            },
            file: text,
            original: None,
            style: OnceLock::new(),
            format: Format { major: 4, minor: 5 },
            cells: Vec::new(),
            removed: HashMap::new(),
            displays: HashMap::new(),
            undo: UndoHistory::default(),
            version: 0,
            file_version: 0,
            notices: Vec::new(),
        }
    }

    /// Counts the applied operations.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The format that the notebook is written in.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Things worth saying about the file.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// The cells in their order.
    pub fn cells(&self) -> impl ExactSizeIterator<Item = &Cell> + DoubleEndedIterator {
        self.cells.iter().map(AsRef::as_ref)
    }

    /// A cell of the notebook, or one that was deleted and is remembered.
    pub fn cell(&self, key: &CellKey) -> Option<&Cell> {
        let live = self.cells.iter().find(|cell| cell.key == *key);
        live.or_else(|| self.removed.get(key)).map(AsRef::as_ref)
    }

    /// Where a cell stands.
    pub fn index(&self, key: &CellKey) -> Option<usize> {
        self.cells.iter().position(|cell| cell.key == *key)
    }

    /// The notebook's metadata, an object.
    pub fn metadata(&self) -> RawJson {
        let skeleton = self.layout.skeleton();
        let start = scan::skip_space(&skeleton, self.layout.prefix());
        let object = skeleton.slice(start..);
        read_object(find_member(&object, "metadata").map(|range| object.slice(range)).as_ref())
    }

    /// The language of the code, lower case, as the file says it: `python` where it says nothing.
    pub fn language(&self) -> String {
        let metadata: serde_json::Value = self.metadata().parse().unwrap_or_default();
        let named =
            metadata["language_info"]["name"].as_str().or(metadata["kernelspec"]["language"].as_str());
        named.unwrap_or("python").to_lowercase()
    }

    /// The name of the kernel that the file asks for.
    pub fn kernel_name(&self) -> Option<String> {
        let metadata: serde_json::Value = self.metadata().parse()?;
        metadata["kernelspec"]["name"].as_str().map(str::to_owned)
    }

    /// How the file is laid out.
    pub(crate) fn file_style(&self) -> &FileStyle {
        self.style.get_or_init(|| FileStyle::of(self))
    }
}
