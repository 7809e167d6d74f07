//! Sources, outputs and lists as JSON text in the style of a file.

use bytes::Bytes;

use crate::changes::newlines;
use crate::error::SaveError;
use crate::json::raw::{RawJson, joined};
use crate::json::string::{self, lines};
use crate::json::style::{Style, newline_of, white};
use crate::json::{halves, scan};
use crate::layout::FileStyle;
use crate::output::{Blob, Encoding, MimeBundle, MimeValue, Output, StreamText, is_split};
use crate::save::Resolve;

/// The value of a `source` member: in the form that `found` has, else in that of the file. Lines that did not change
/// keep their bytes, line breaks inside the source stay of the kind they were, and halves of surrogate pairs stay where
/// the edit left them.
pub(crate) fn source(found: Option<&[u8]>, text: &str, style: &FileStyle, indent: &str) -> Vec<u8> {
    let old = found.and_then(joined);
    let carriage = old.is_some_and(|old| {
        memchr::memchr(b'\n', old.as_bytes()).is_some_and(|at| at > 0 && old.as_bytes()[at - 1] == b'\r')
    });
    let text = if carriage { text.replace('\n', "\r\n").into() } else { std::borrow::Cow::Borrowed(text) };
    let list = match found.and_then(|found| found.first()) {
        Some(b'[') => true,
        Some(b'"') => false,
        _ => style.lists,
    };
    let found_halves = found.filter(|found| halves::are_in(found)).and_then(halves::read);
    let halves = found_halves.map(|(old, found)| halves::carried(&old, &found, &text)).unwrap_or_default();
    let encode = |line: &str, from: usize| {
        let mut out = Vec::with_capacity(line.len() + 8);
        halves::encode(line, from, &halves, style.json.ascii, &mut out);
        out
    };
    if !list {
        return encode(&text, 0);
    }
    let lines = lines(&text);
    let kept = found.map_or_else(Vec::new, |found| {
        scan::elements(found, 0).map_or_else(|_| Vec::new(), |list| list.items)
    });
    let kept: Vec<&[u8]> = kept.iter().filter_map(|element| found?.get(element.value.clone())).collect();
    let same = |old: &[u8], new: &str| string::decode(old).is_some_and(|old| newlines(&old) == newlines(new));
    let prefix = kept.iter().zip(&lines).take_while(|(old, new)| same(old, new)).count();
    let rest = kept[prefix..].iter().rev().zip(lines[prefix..].iter().rev());
    let suffix = rest.take_while(|(old, new)| same(old, new)).count();
    let starts = lines.iter().scan(0, |at, line| Some(std::mem::replace(at, *at + line.len())));
    let starts: Vec<usize> = starts.collect();
    let changed = prefix..lines.len() - suffix;
    let items: Vec<Bytes> = kept[..prefix]
        .iter()
        .map(|old| Bytes::copy_from_slice(old))
        .chain(changed.map(|line| encode(lines[line], starts[line]).into()))
        .chain(kept[kept.len() - suffix..].iter().map(|old| Bytes::copy_from_slice(old)))
        .collect();
    self::list(found, &items, &style.json, indent)
}

/// A list of values that are laid out already, spaced as the list `found` is.
pub(crate) fn list(found: Option<&[u8]>, items: &[Bytes], style: &Style, indent: &str) -> Vec<u8> {
    if items.is_empty() {
        return b"[]".to_vec();
    }
    let mut first = style.line(&format!("{indent}{}", style.indent));
    let mut between = if style.newline.is_some() { first.clone() } else { style.comma[1..].to_owned() };
    let mut tail = style.line(indent);
    if let Some(found) = found
        && let Ok(contents) = scan::elements(found, 0)
        && let Some(head) = contents.items.first()
    {
        white(&found[head.lead..head.value.start]).clone_into(&mut first);
        white(&found[contents.tail..contents.end - 1]).clone_into(&mut tail);
        let second =
            contents.items.get(1).map(|second| white(&found[second.lead..second.value.start]).to_owned());
        between = second.unwrap_or_else(|| match newline_of(&first) {
            Some(_) => first.clone(),
            None => " ".into(),
        });
    }
    let mut out =
        Vec::with_capacity(items.iter().map(|item| item.len() + between.len() + 1).sum::<usize>() + 16);
    out.push(b'[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(if index == 0 { first.as_bytes() } else { between.as_bytes() });
        out.extend_from_slice(item);
    }
    out.extend_from_slice(tail.as_bytes());
    out.push(b']');
    out
}

/// Writes an object member by member, dense.
struct Object(Vec<u8>);

impl Object {
    fn new() -> Self {
        Self(vec![b'{'])
    }

    fn member(&mut self, name: &str, value: &[u8]) -> &mut Self {
        if self.0.len() > 1 {
            self.0.push(b',');
        }
        string::encode(name, false, &mut self.0);
        self.0.push(b':');
        self.0.extend_from_slice(value);
        self
    }

    fn end(&mut self) -> Vec<u8> {
        self.0.push(b'}');
        std::mem::take(&mut self.0)
    }
}

/// An output as dense JSON.
pub(crate) fn output(
    output: &Output,
    style: &FileStyle,
    resolve: &mut Resolve<'_>,
) -> Result<Vec<u8>, SaveError> {
    let (kind, members): (&str, Vec<(&str, Vec<u8>)>) = match output {
        Output::Unknown(raw) => return Ok(raw.bytes().to_vec()),
        Output::Stream { name, text } => {
            let text = match text {
                StreamText::Inline(text) => self::text(text, style.lists),
                StreamText::Blob(blob) => blob_value(blob, style.lists, resolve)?,
            };
            ("stream", vec![("name", quoted(name)), ("text", text)])
        }
        Output::Display { data, metadata, .. } => (
            "display_data",
            vec![("data", bundle(data, style, resolve)?), ("metadata", metadata.bytes().to_vec())],
        ),
        Output::Result { data, metadata, execution_count, .. } => {
            let count =
                execution_count.map_or_else(|| b"null".to_vec(), |count| count.to_string().into_bytes());
            let data = bundle(data, style, resolve)?;
            (
                "execute_result",
                vec![("data", data), ("execution_count", count), ("metadata", metadata.bytes().to_vec())],
            )
        }
        Output::Error { ename, evalue, traceback } => {
            let traceback = dense_list(traceback.iter().map(|line| quoted(line)));
            ("error", vec![("ename", quoted(ename)), ("evalue", quoted(evalue)), ("traceback", traceback)])
        }
    };
    let mut members = members;
    members.push(("output_type", quoted(kind)));
    if style.sorted {
        members.sort_by_key(|(name, _)| *name);
    } else {
        members.rotate_right(1);
    }
    let mut object = Object::new();
    for (name, value) in members {
        object.member(name, &value);
    }
    Ok(object.end())
}

fn bundle(data: &MimeBundle, style: &FileStyle, resolve: &mut Resolve<'_>) -> Result<Vec<u8>, SaveError> {
    let mut object = Object::new();
    let mut forms: Vec<_> = data.0.iter().collect();
    if style.sorted {
        forms.sort_by(|(left, _), (right, _)| left.cmp(right));
    }
    for (media_type, value) in forms {
        let lists = style.lists && is_split(media_type);
        let value = match value {
            MimeValue::Blob(blob) => blob_value(blob, lists, resolve)?,
            MimeValue::Inline(raw) if lists && raw.get().starts_with('"') => {
                raw.text().map_or_else(|| raw.bytes().to_vec(), |text| self::text(&text, true))
            }
            MimeValue::Inline(raw) => raw.bytes().to_vec(),
        };
        object.member(media_type, &value);
    }
    Ok(object.end())
}

fn blob_value(blob: &Blob, lists: bool, resolve: &mut Resolve<'_>) -> Result<Vec<u8>, SaveError> {
    let bytes = resolve(blob).map_err(|source| SaveError::Blob { hash: blob.hash.clone(), source })?;
    Ok(match blob.encoding {
        Encoding::Text => text(&String::from_utf8_lossy(&bytes), lists),
        Encoding::Base64 => {
            use base64::Engine as _;
            format!("\"{}\"", base64::engine::general_purpose::STANDARD.encode(&bytes)).into_bytes()
        }
        Encoding::Json => RawJson::from_file(&bytes).bytes().to_vec(),
    })
}

fn quoted(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 8);
    string::encode(text, false, &mut out);
    out
}

fn text(text: &str, list: bool) -> Vec<u8> {
    if list { dense_list(lines(text).into_iter().map(quoted)) } else { quoted(text) }
}

fn dense_list(items: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut out = vec![b'['];
    for item in items {
        if out.len() > 1 {
            out.push(b',');
        }
        out.extend_from_slice(&item);
    }
    out.push(b']');
    out
}

/// The text of a new cell as dense JSON, its members in `order` as far as that names them.
pub(crate) fn new_cell(members: &[(&str, Vec<u8>)], order: &[String]) -> Vec<u8> {
    let place = |name: &str| order.iter().position(|other| other == name);
    let mut members: Vec<_> = members.iter().collect();
    members.sort_by_key(|(name, _)| *name);
    if !order.is_sorted() {
        members.sort_by_key(|(name, _)| place(name).unwrap_or(usize::MAX));
    }
    let mut object = Object::new();
    for (name, value) in members {
        object.member(name, value);
    }
    object.end()
}
