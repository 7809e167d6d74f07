//! A piece of JSON that is kept as the bytes that arrived.
//!
//! A 20 MB image must not be copied through a tree of values to be passed on, so content and metadata stay raw:
//! cloning shares the buffer, and [`RawJson::view`] reads only what it is asked for.

use std::fmt;

use bytes::Bytes;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use crate::repair;

/// JSON text, shared, never re-encoded. Not checked on arrival: reading it says whether it is JSON.
#[derive(Clone, PartialEq, Eq)]
pub struct RawJson(Bytes);

impl RawJson {
    /// `{}`.
    pub const fn empty_object() -> Self {
        Self(Bytes::from_static(b"{}"))
    }

    /// Takes bytes as they arrived.
    pub const fn from_bytes(bytes: Bytes) -> Self {
        Self(bytes)
    }

    /// Encodes a value. A value that JSON cannot hold (a map with odd keys) becomes `{}`, which no type here has.
    pub fn encode(value: &impl Serialize) -> Self {
        serde_json::to_vec(value).map_or_else(|_| Self::empty_object(), |bytes| Self(bytes.into()))
    }

    /// The bytes.
    pub const fn bytes(&self) -> &Bytes {
        &self.0
    }

    /// The text, or `None` when it is not UTF-8.
    pub fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }

    /// Reads the whole as `T`; `None` when it does not fit. What Python writes beside the JSON standard (NaN, lone
    /// surrogates, bytes that are not UTF-8) is read with null and U+FFFD in its place.
    pub fn view<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_slice(&self.0).or_else(|_| serde_json::from_slice(&self.repaired().0)).ok()
    }

    /// The same text with what is not JSON replaced.
    pub(crate) fn repaired(&self) -> Self {
        Self(repair::repaired(&self.0).into())
    }

    /// As a tree of values; text that is not JSON gives null.
    pub fn to_value(&self) -> serde_json::Value {
        self.view().unwrap_or(serde_json::Value::Null)
    }

    /// The part of this buffer that `raw` (borrowed from it) covers, without a copy.
    pub(crate) fn share(buffer: &Bytes, raw: &RawValue) -> Self {
        Self(buffer.slice_ref(raw.get().as_bytes()))
    }

    pub(crate) fn is_null(&self) -> bool {
        self.0.as_ref() == b"null"
    }
}

impl Default for RawJson {
    fn default() -> Self {
        Self::empty_object()
    }
}

impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 200;
        match self.as_str() {
            Some(text) if text.len() <= SHOWN => f.write_str(text),
            _ => write!(f, "<{} bytes of JSON>", self.0.len()),
        }
    }
}

impl Serialize for RawJson {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_slice(&self.0).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl<'de> serde::Deserialize<'de> for RawJson {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Ok(Self(Bytes::from(String::from(Box::<str>::from(raw)))))
    }
}
