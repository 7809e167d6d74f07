//! Payloads that a page fetches by URL, under names that nobody can guess.
//!
//! A name stands for a place (an output and a media type, an attachment, a text), not for bytes: the bytes are looked up
//! when they are fetched. The same place always has the same name, so a page that reconnects finds its images in its
//! cache. Names end with the document.

use std::collections::HashMap;

use sandbook_notebook::CellKey;
use sandbook_protocol::{OutputId, ResourceId};

/// Where a payload is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Source {
    /// An output of a cell.
    Output {
        /// Which cell.
        cell: CellKey,
        /// Which output.
        output: OutputId,
    },
    /// The attachments of a cell, by file name in place of the media type.
    Attachments {
        /// Which cell.
        cell: CellKey,
    },
}

/// The whole text of a stream output, in place of a media type.
pub(crate) const WHOLE_TEXT: &str = "text/x-whole-output";

/// The names of one document.
#[derive(Debug)]
pub(crate) struct Resources {
    key: [u8; 32],
    places: HashMap<ResourceId, (Source, String)>,
}

impl Resources {
    /// `key` is random and stays here: it makes the names unguessable.
    pub(crate) fn new(key: [u8; 32]) -> Self {
        Self { key, places: HashMap::new() }
    }

    /// The name of a place.
    pub(crate) fn name(&mut self, source: &Source, form: &str) -> ResourceId {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        let (kind, cell, output) = match source {
            Source::Output { cell, output } => ("output", cell, output.as_str()),
            Source::Attachments { cell } => ("attachments", cell, ""),
        };
        for part in [kind, cell.as_str(), output, form] {
            hasher.update(part.as_bytes());
            hasher.update(&[0]);
        }
        let name = ResourceId(hasher.finalize().to_hex()[..40].to_owned());
        self.places.entry(name.clone()).or_insert_with(|| (source.clone(), form.to_owned()));
        name
    }

    /// Where a name leads.
    pub(crate) fn place(&self, name: &ResourceId) -> Option<&(Source, String)> {
        self.places.get(name)
    }
}
