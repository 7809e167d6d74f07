//! Readers that take what kernels really send: null for a text, a list of lines for a text, a number as text.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::raw::RawJson;

/// A text from whatever stands in its place: lists are joined, null is empty, other values are their JSON.
pub fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Array(parts) => parts.iter().map(text_of).collect(),
        other => other.to_string(),
    }
}

/// Reads a text; the usual case takes the string without building a [`Value`] of it first.
pub(super) fn string<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::String(text) => text,
        other => text_of(&other),
    })
}

pub(super) fn strings<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Array(items) => items.iter().map(text_of).collect(),
        Value::Null => Vec::new(),
        other => vec![text_of(&other)],
    })
}

pub(super) fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Bool(flag) => flag,
        Value::Number(number) => number.as_f64() != Some(0.0),
        _ => false,
    })
}

pub(super) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Number(number) => number.as_i64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    })
}

pub(super) fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    Ok(count(deserializer)?.and_then(|number| u64::try_from(number).ok()).unwrap_or(0))
}

pub(super) fn raw_list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<RawJson>, D::Error> {
    let raw = RawJson::deserialize(deserializer)?;
    Ok(raw.view().unwrap_or_default())
}
