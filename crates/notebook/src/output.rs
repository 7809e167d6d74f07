//! Outputs as typed values, and the form in which cells keep them.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::json::raw::RawJson;

/// One output of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Output {
    /// Text of a stream, with its colour codes; carriage returns and cursor moves are already resolved.
    Stream {
        /// `stdout` or `stderr`, or what else a kernel calls it.
        name: String,
        /// The text.
        text: StreamText,
    },
    /// Display data.
    Display {
        /// The forms it comes in.
        data: MimeBundle,
        /// What the library says about them, an object.
        metadata: RawJson,
        /// By what name it can be updated. Not written to the file.
        display_id: Option<String>,
    },
    /// The value of the cell.
    Result {
        /// The forms it comes in.
        data: MimeBundle,
        /// What the library says about them, an object.
        metadata: RawJson,
        /// By what name it can be updated. Not written to the file.
        display_id: Option<String>,
        /// The number in the brackets; some kernels leave it out.
        execution_count: Option<u64>,
    },
    /// An error of the code.
    Error {
        /// Its class.
        ename: String,
        /// Its message.
        evalue: String,
        /// The traceback's lines with their colour codes.
        traceback: Vec<String>,
    },
    /// Something that no rule here covers; it is kept as it is.
    Unknown(RawJson),
}

impl Output {
    /// The display id, for display data and results that have one.
    pub fn display_id(&self) -> Option<&str> {
        match self {
            Self::Display { display_id, .. } | Self::Result { display_id, .. } => display_id.as_deref(),
            _ => None,
        }
    }
}

/// The text of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StreamText {
    /// Held here.
    Inline(String),
    /// Held by the owner, as UTF-8.
    Blob(Blob),
}

/// The forms of an output in their order: media type and payload.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MimeBundle(pub Vec<(String, MimeValue)>);

impl MimeBundle {
    /// The payload of one form.
    pub fn get(&self, media_type: &str) -> Option<&MimeValue> {
        self.0.iter().find(|(name, _)| name == media_type).map(|(_, value)| value)
    }
}

/// One payload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MimeValue {
    /// The JSON value as it stands in a file or message; lists of lines are joined, except for JSON media types.
    Inline(RawJson),
    /// Bytes that the owner holds; fetched when the notebook is saved.
    Blob(Blob),
}

/// Bytes that the owner of the document holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blob {
    /// Their name, a content hash.
    pub hash: String,
    /// Their media type.
    pub media_type: String,
    /// How many bytes.
    pub size: u64,
    /// How the bytes become a JSON value.
    pub encoding: Encoding,
}

/// How bytes stand in a notebook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Encoding {
    /// UTF-8 text, as a string.
    Text,
    /// Anything, as a base64 string.
    Base64,
    /// JSON text, as the value.
    Json,
}

/// A payload decoded to what it means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Payload<'a> {
    /// Text.
    Text(Cow<'a, str>),
    /// Bytes, such as an image.
    Binary(Vec<u8>),
    /// A JSON text.
    Json(&'a str),
}

impl MimeValue {
    /// What an inline value means under `media_type`; `None` for a blob.
    pub fn payload(&self, media_type: &str) -> Option<Payload<'_>> {
        let Self::Inline(raw) = self else { return None };
        if is_json(media_type) {
            return Some(Payload::Json(raw.get()));
        }
        let Some(text) = raw.text() else { return Some(Payload::Json(raw.get())) };
        if is_binary(media_type) {
            let dense: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
            if let Ok(bytes) = STANDARD.decode(dense) {
                return Some(Payload::Binary(bytes));
            }
        }
        Some(Payload::Text(text))
    }
}

/// Whether a payload of this type is a JSON value and not text.
pub fn is_json(media_type: &str) -> bool {
    media_type == "application/json"
        || (media_type.starts_with("application/") && media_type.ends_with("+json"))
}

/// Whether a payload of this type is bytes in base64.
pub fn is_binary(media_type: &str) -> bool {
    let kind = media_type.split('/').next().unwrap_or_default();
    let exact = matches!(media_type, "application/pdf" | "application/octet-stream" | "application/zip");
    exact || (matches!(kind, "image" | "audio" | "video" | "font") && media_type != "image/svg+xml")
}

/// Whether Jupyter writes a payload of this type as a list of lines.
pub(crate) fn is_split(media_type: &str) -> bool {
    media_type.starts_with("text/") || matches!(media_type, "application/javascript" | "image/svg+xml")
}

/// An output as a cell keeps it: as the text of the file until something changes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoredOutput {
    /// As in the file.
    File(FileText),
    /// As a value.
    Held(Output),
}

impl StoredOutput {
    /// The output as a value.
    pub fn read(&self) -> Cow<'_, Output> {
        match self {
            Self::File(text) => Cow::Owned(crate::output_read::read_output(&text.0)),
            Self::Held(output) => Cow::Borrowed(output),
        }
    }
}

/// A piece of a file, kept to the byte. It serialises as a string, so that white space survives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileText(pub(crate) Bytes);

impl FileText {
    /// The text.
    pub fn get(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl Serialize for FileText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.get())
    }
}

impl<'de> Deserialize<'de> for FileText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self(text.into()))
    }
}
