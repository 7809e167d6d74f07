//! One JSON value as text, shared and not copied.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::{scan, string};

/// A valid JSON value as its text, a shared slice of the file or message it came in. Cloning copies nothing.
///
/// It serialises as the value itself, and only with `serde_json`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RawJson(Bytes);

impl RawJson {
    /// Takes a text if it is one JSON value.
    pub fn new(mut text: Bytes) -> Option<Self> {
        let value: &RawValue = serde_json::from_slice(&text).ok()?;
        let length = value.get().len();
        let mut value = text.split_off(scan::skip_space(&text, 0));
        value.truncate(length);
        Some(Self(value))
    }

    /// The JSON string that says `text`.
    pub fn string(text: &str) -> Self {
        let mut out = Vec::with_capacity(text.len() + 16);
        string::encode(text, false, &mut out);
        Self(out.into())
    }

    /// The JSON text of a value.
    pub fn from_value(value: &serde_json::Value) -> Self {
        Self(value.to_string().into())
    }

    /// What a file holds at this place. Where that is not JSON (Python's `NaN`), the odd words become `null`.
    pub(crate) fn from_file(text: &Bytes) -> Self {
        if is_plain_string(text) {
            return Self(text.clone());
        }
        if let Some(valid) = Self::new(text.clone()) {
            return valid;
        }
        Self::new(without_odd_numbers(text).into())
            .unwrap_or_else(|| Self::string(&String::from_utf8_lossy(text)))
    }

    /// A text that our own writer made.
    pub(crate) fn trusted(text: Bytes) -> Self {
        Self(text)
    }

    /// The JSON text.
    pub fn get(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or("null")
    }

    /// The JSON text as shared bytes.
    pub fn bytes(&self) -> &Bytes {
        &self.0
    }

    /// The value as a tree, if it is not nested too deeply for one (128 levels).
    pub fn parse<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_slice(&self.0).ok()
    }

    /// The text of a JSON string, or of a list of strings joined; `None` for any other value.
    pub fn text(&self) -> Option<Cow<'_, str>> {
        joined(&self.0)
    }
}

impl fmt::Debug for RawJson {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.get())
    }
}

impl Serialize for RawJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // A line break between values would end a line of a journal.
        let text = if memchr::memchr2(b'\n', b'\r', &self.0).is_some() {
            Cow::Owned(compact(&self.0))
        } else {
            Cow::Borrowed(self.get())
        };
        let value: &RawValue = serde_json::from_str(&text).map_err(serde::ser::Error::custom)?;
        value.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RawJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Box::<RawValue>::deserialize(deserializer)?;
        Ok(Self(Bytes::from(String::from(Box::<str>::from(value)))))
    }
}

/// The text of a JSON string or of a list of strings.
pub(crate) fn joined(value: &[u8]) -> Option<Cow<'_, str>> {
    if value.first() == Some(&b'"') {
        return string::decode(value);
    }
    let mut text = String::with_capacity(value.len());
    let mut strings = true;
    scan::walk_array(value, 0, |_, start| {
        let end = scan::skip_value(value, start)?;
        strings = strings && string::decode_into(&value[start..end], &mut text).is_some();
        Ok(end)
    })
    .ok()?;
    strings.then_some(Cow::Owned(text))
}

/// Whether a value that the scanner found is a string without escapes, such as an image in base64: it needs no reader
/// to know that it is valid.
fn is_plain_string(value: &[u8]) -> bool {
    let inner = value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\""));
    let odd = |chunk: &[u8]| chunk.iter().filter(|byte| **byte < 0x20 || **byte == b'\\').count();
    inner.is_some_and(|inner| inner.chunks(4096).all(|chunk| odd(chunk) == 0))
}

/// The value without white space between its tokens.
fn compact(value: &[u8]) -> String {
    let style = super::style::Style {
        newline: None,
        indent: String::new(),
        colon: ":".into(),
        comma: ",".into(),
        ascii: false,
    };
    let mut out = Vec::with_capacity(value.len());
    style.write(value, "", &mut out);
    String::from_utf8(out).unwrap_or_default()
}

fn without_odd_numbers(value: &[u8]) -> Vec<u8> {
    const ODD: [&[u8]; 3] = [b"NaN", b"Infinity", b"-Infinity"];
    let mut out = Vec::with_capacity(value.len());
    let mut at = 0;
    while at < value.len() {
        if value[at] == b'"' {
            let end = scan::skip_value(value, at).unwrap_or(value.len());
            let token = &value[at..end];
            // Half a surrogate pair is the other thing that JSON readers refuse.
            match string::decode(token) {
                Some(text) if text.contains(char::REPLACEMENT_CHARACTER) => {
                    string::encode(&text, false, &mut out);
                }
                _ => out.extend_from_slice(token),
            }
            at = end;
        } else if let Some(word) = ODD.iter().find(|word| value[at..].starts_with(word)) {
            out.extend_from_slice(b"null");
            at += word.len();
        } else {
            out.push(value[at]);
            at += 1;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pythons_odd_numbers_become_null() {
        let raw = RawJson::from_file(&Bytes::from_static(br#"{"a": [NaN, -Infinity], "b": "NaN"}"#));
        assert_eq!(raw.get(), r#"{"a": [null, null], "b": "NaN"}"#);
    }

    #[test]
    fn a_value_crosses_a_journal_line_unchanged() {
        let raw = RawJson::new(Bytes::from_static(b"{\n \"a\": 1e400,\n \"b\": \"x\\ny\"\n}")).unwrap();
        let line = serde_json::to_string(&raw).unwrap();
        assert_eq!(line, r#"{"a":1e400,"b":"x\ny"}"#);
        let back: RawJson = serde_json::from_str(&line).unwrap();
        assert_eq!(back.get(), line);
    }
}
