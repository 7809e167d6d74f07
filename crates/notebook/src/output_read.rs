//! Reads an output of a file as a typed value.

use bytes::Bytes;

use crate::json::raw::{RawJson, joined};
use crate::json::scan::{self, find_member};
use crate::json::string;
use crate::output::{MimeBundle, MimeValue, Output, StreamText, is_json};

/// The output that `text` says. What does not fit its own type becomes [`Output::Unknown`].
pub(crate) fn read_output(text: &Bytes) -> Output {
    read_known(text).unwrap_or_else(|| Output::Unknown(RawJson::from_file(text)))
}

fn read_known(text: &Bytes) -> Option<Output> {
    let member = |name: &str| find_member(text, name).map(|range| text.slice(range));
    let string = |name: &str| member(name).and_then(|value| Some(joined(&value)?.into_owned()));
    match string("output_type")?.as_str() {
        "stream" => Some(Output::Stream {
            name: string("name").unwrap_or_else(|| "stdout".into()),
            text: StreamText::Inline(string("text")?),
        }),
        "display_data" => Some(Output::Display {
            data: read_bundle(&member("data")?)?,
            metadata: read_object(member("metadata").as_ref()),
            display_id: None,
        }),
        "execute_result" => Some(Output::Result {
            data: read_bundle(&member("data")?)?,
            metadata: read_object(member("metadata").as_ref()),
            display_id: None,
            execution_count: member("execution_count").and_then(|value| serde_json::from_slice(&value).ok()),
        }),
        "error" => Some(Output::Error {
            ename: string("ename").unwrap_or_default(),
            evalue: string("evalue").unwrap_or_default(),
            traceback: member("traceback").map_or_else(Vec::new, |value| read_lines(&value)),
        }),
        _ => None,
    }
}

fn read_bundle(object: &Bytes) -> Option<MimeBundle> {
    let contents = scan::members(object, 0).ok()?;
    let forms = contents.items.iter().map(|member| {
        let media_type = string::decode(&object[member.key.clone()])?.into_owned();
        let value = read_payload(&media_type, &object.slice(member.value.clone()));
        Some((media_type, MimeValue::Inline(value)))
    });
    forms.collect::<Option<Vec<_>>>().map(MimeBundle)
}

fn read_payload(media_type: &str, value: &Bytes) -> RawJson {
    if value.first() == Some(&b'[')
        && !is_json(media_type)
        && let Some(text) = joined(value)
    {
        return RawJson::string(&text);
    }
    RawJson::from_file(value)
}

/// An object of the file, or an empty one where it is missing or something else.
pub(crate) fn read_object(value: Option<&Bytes>) -> RawJson {
    match value {
        Some(value) if value.first() == Some(&b'{') => RawJson::from_file(value),
        _ => RawJson::trusted(Bytes::from_static(b"{}")),
    }
}

fn read_lines(value: &[u8]) -> Vec<String> {
    if let Some(text) = string::decode(value) {
        return text.lines().map(str::to_owned).collect();
    }
    let Ok(contents) = scan::elements(value, 0) else { return Vec::new() };
    let lines =
        contents.items.into_iter().filter_map(|element| joined(&value[element.value]).map(String::from));
    lines.collect()
}
