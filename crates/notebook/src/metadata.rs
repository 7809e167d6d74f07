//! Sets single values in a metadata object, in its text.

use bytes::Bytes;

use crate::json::edit::{edit_object, member_indent};
use crate::json::raw::RawJson;
use crate::json::scan::find_member;
use crate::json::style::Style;

/// The value that `path` leads to.
pub(crate) fn at(object: &Bytes, path: &[String]) -> Option<RawJson> {
    let mut value = object.clone();
    for name in path {
        value = value.slice(find_member(&value, name)?);
    }
    Some(RawJson::from_file(&value))
}

/// The path and value that undo a change of what `path` leads to, with the objects that the change would make.
pub(crate) fn before(object: &Bytes, path: &[String]) -> (Vec<String>, Option<RawJson>) {
    for length in 1..path.len() {
        match at(object, &path[..length]) {
            Some(value) if value.get().starts_with('{') => {}
            found => return (path[..length].to_vec(), found),
        }
    }
    (path.to_vec(), at(object, path))
}

/// The text of `object` with the value that `path` leads to set, or removed. Missing objects on the way are made. An
/// empty path means the whole object.
pub(crate) fn set(
    object: &[u8],
    path: &[String],
    value: Option<&RawJson>,
    style: &Style,
    indent: &str,
) -> Vec<u8> {
    let Some((name, rest)) = path.split_first() else {
        let mut out = Vec::new();
        style.write(value.map_or(b"{}", |value| value.bytes().as_ref()), indent, &mut out);
        return out;
    };
    let inner_indent = member_indent(object).unwrap_or_else(|| format!("{indent}{}", style.indent));
    let found = find_member(object, name).map(|range| &object[range]);
    if value.is_none() && found.is_none() {
        return if object.is_empty() { b"{}".to_vec() } else { object.to_vec() };
    }
    let changed = match value {
        None if rest.is_empty() => None,
        _ => Some(set(found.unwrap_or_default(), rest, value, style, &inner_indent)),
    };
    edit_object(object, &[(name, changed)], style, indent)
}
