//! Representations by MIME type, shared with the buffer they arrived in.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::{Value, value::RawValue};

use super::{Display, InspectReply, lenient::text_of};
use crate::raw::RawJson;

/// MIME type and raw JSON value, in the order of the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MimeBundle(Vec<(String, RawJson)>);

impl MimeBundle {
    /// All representations.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &RawJson)> {
        self.0.iter().map(|(mime, value)| (mime.as_str(), value))
    }

    /// The raw value of one MIME type.
    pub fn get(&self, mime: &str) -> Option<&RawJson> {
        self.0.iter().find(|(name, _)| name == mime).map(|(_, value)| value)
    }

    /// One MIME type as text: a string unescaped, a list of lines joined, other JSON as it stands.
    pub fn text(&self, mime: &str) -> Option<String> {
        self.get(mime).map(|value| text_of(&value.to_value()))
    }

    /// How many representations there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn read(raw: &RawJson) -> Self {
        Self(entries(raw))
    }
}

impl IntoIterator for MimeBundle {
    type Item = (String, RawJson);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// The members of a JSON object, values shared with its buffer. Anything but an object has none.
fn entries(raw: &RawJson) -> Vec<(String, RawJson)> {
    let read = |raw: &RawJson| {
        serde_json::from_slice::<Entries<'_>>(raw.bytes()).map(|read| {
            read.0
                .into_iter()
                .map(|(key, value)| (key.into_owned(), RawJson::share(raw.bytes(), value)))
                .collect()
        })
    };
    read(raw).or_else(|_| read(&raw.repaired())).unwrap_or_default()
}

pub(super) fn display(raw: &RawJson) -> Display {
    let mut display = Display::default();
    for (key, value) in entries(raw) {
        match key.as_str() {
            "data" => display.data = MimeBundle::read(&value),
            "metadata" if !value.is_null() => display.metadata = value,
            "execution_count" => display.count = value.to_value().as_i64(),
            "transient" => {
                let id = entries(&value).into_iter().find(|(key, _)| key == "display_id");
                display.display_id = id.map(|(_, id)| text_of(&id.to_value())).filter(|id| !id.is_empty());
            }
            _ => {}
        }
    }
    display
}

pub(super) fn inspect(raw: &RawJson) -> InspectReply {
    let mut reply = InspectReply::default();
    for (key, value) in entries(raw) {
        match key.as_str() {
            "found" => reply.found = value.to_value() == Value::Bool(true),
            "data" => reply.data = MimeBundle::read(&value),
            _ => {}
        }
    }
    reply
}

struct Entries<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de> Deserialize<'de> for Entries<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Entries<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some((key, value)) = map.next_entry::<Key<'de>, &'de RawValue>()? {
                    members.push((key.0, value));
                }
                Ok(Entries(members))
            }
        }
        deserializer.deserialize_map(Members)
    }
}
