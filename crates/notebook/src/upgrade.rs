//! Converts formats 2 and 3 to format 4.4, by the rules of `nbformat.v4.convert`.
//!
//! 4.4 and not 4.5, because a conversion should not make up cell ids. Everything the rules do not name is kept.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::error::ParseError;
use crate::json::raw::RawJson;
use crate::json::string::lines;
use crate::json::style::Style;
use crate::output::is_split;

const MIME_NAMES: [(&str, &str); 8] = [
    ("text", "text/plain"),
    ("html", "text/html"),
    ("svg", "image/svg+xml"),
    ("png", "image/png"),
    ("jpeg", "image/jpeg"),
    ("latex", "text/latex"),
    ("json", "application/json"),
    ("javascript", "application/javascript"),
];

/// The text of the file as a notebook of format 4.
pub(crate) fn to_version_4(file: &Bytes) -> Result<Vec<u8>, ParseError> {
    let start = if file.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 };
    let parsed: Option<Value> = RawJson::from_file(&file.slice(start..)).parse();
    let Some(Value::Object(mut notebook)) = parsed else {
        return Err(ParseError::NotANotebook { why: "it is nested too deeply" });
    };
    let worksheets = match notebook.shift_remove("worksheets") {
        Some(Value::Array(worksheets)) => worksheets,
        Some(_) => return Err(ParseError::NotANotebook { why: "its `worksheets` are not a list" }),
        None => Vec::new(),
    };
    let lists = worksheets.into_iter().filter_map(|mut worksheet| match worksheet.get_mut("cells")?.take() {
        Value::Array(cells) => Some(cells),
        _ => None,
    });
    let cells: Vec<Value> = lists.flatten().map(upgrade_cell).collect();
    for name in ["nbformat", "nbformat_minor", "orig_nbformat", "orig_nbformat_minor"] {
        notebook.shift_remove(name);
    }
    let mut metadata = match notebook.shift_remove("metadata") {
        Some(Value::Object(metadata)) => metadata,
        _ => Map::new(),
    };
    metadata.shift_remove("name");
    metadata.shift_remove("signature");
    let mut upgraded = Map::new();
    upgraded.insert("cells".into(), cells.into());
    upgraded.insert("metadata".into(), metadata.into());
    upgraded.insert("nbformat".into(), 4.into());
    upgraded.insert("nbformat_minor".into(), 4.into());
    upgraded.extend(notebook);
    let mut upgraded = Value::Object(upgraded);
    upgraded.sort_all_objects();
    let mut out = Vec::with_capacity(file.len());
    Style::default().write(upgraded.to_string().as_bytes(), "", &mut out);
    out.push(b'\n');
    Ok(out)
}

fn upgrade_cell(cell: Value) -> Value {
    let Value::Object(mut cell) = cell else { return cell };
    if !cell.get("metadata").is_some_and(Value::is_object) {
        cell.insert("metadata".into(), json!({}));
    }
    match cell.get("cell_type").and_then(Value::as_str) {
        Some("code") => upgrade_code(&mut cell),
        Some("heading") => {
            let level = cell.shift_remove("level").and_then(|level| level.as_u64()).unwrap_or(1).clamp(1, 6);
            let text = text_of(cell.get("source"));
            let line = text.lines().collect::<Vec<_>>().join(" ");
            cell.insert("cell_type".into(), "markdown".into());
            cell.insert(
                "source".into(),
                split(&format!("{} {line}", "#".repeat(usize::try_from(level).unwrap_or(1)))),
            );
        }
        Some("html") => {
            cell.insert("cell_type".into(), "markdown".into());
        }
        _ => {}
    }
    if let Some(Value::String(source)) = cell.get("source") {
        let source = split(source);
        cell.insert("source".into(), source);
    }
    cell.into()
}

fn upgrade_code(cell: &mut Map<String, Value>) {
    cell.shift_remove("language");
    if let Some(collapsed) = cell.shift_remove("collapsed") {
        cell["metadata"]["collapsed"] = collapsed;
    }
    let input = cell.shift_remove("input").or_else(|| cell.shift_remove("source"));
    cell.insert("source".into(), split(&text_of(input.as_ref())));
    let number = cell.shift_remove("prompt_number").filter(Value::is_u64);
    cell.insert("execution_count".into(), number.unwrap_or_default());
    let outputs = match cell.shift_remove("outputs") {
        Some(Value::Array(outputs)) => outputs.into_iter().map(upgrade_output).collect(),
        _ => Vec::new(),
    };
    cell.insert("outputs".into(), outputs.into());
}

fn upgrade_output(output: Value) -> Value {
    let Value::Object(mut output) = output else { return output };
    match output.get("output_type").and_then(Value::as_str) {
        Some(kind @ ("pyout" | "display_data")) => {
            let result = kind == "pyout";
            let kind = if result { "execute_result" } else { "display_data" };
            let mut upgraded = Map::new();
            if result {
                let number = output.shift_remove("prompt_number").filter(Value::is_u64);
                upgraded.insert("execution_count".into(), number.unwrap_or_default());
            }
            let metadata =
                output.shift_remove("metadata").filter(Value::is_object).unwrap_or_else(|| json!({}));
            output.shift_remove("output_type");
            output.shift_remove("prompt_number");
            upgraded.insert("data".into(), upgrade_bundle(output));
            upgraded.insert("metadata".into(), rename(metadata));
            upgraded.insert("output_type".into(), kind.into());
            output = upgraded;
        }
        Some("pyerr") => {
            output.insert("output_type".into(), "error".into());
        }
        Some("stream") => {
            let name = output.shift_remove("stream").unwrap_or_else(|| "stdout".into());
            output.insert("name".into(), name);
            if let Some(Value::String(text)) = output.get("text") {
                let text = split(text);
                output.insert("text".into(), text);
            }
        }
        _ => {}
    }
    output.into()
}

fn rename(object: Value) -> Value {
    let Value::Object(object) = object else { return object };
    let renamed = object.into_iter().map(|(name, value)| {
        let known = MIME_NAMES.iter().find(|(alias, _)| *alias == name);
        (known.map_or(name, |(_, mime)| (*mime).to_owned()), value)
    });
    Value::Object(renamed.collect())
}

fn upgrade_bundle(bundle: Map<String, Value>) -> Value {
    let mut bundle = rename(Value::Object(bundle));
    if let Some(json) = bundle.get_mut("application/json") {
        let text = text_of(Some(json));
        if let Ok(value) = serde_json::from_str(&text) {
            *json = value;
        }
    }
    for (media_type, value) in bundle.as_object_mut().into_iter().flatten() {
        if is_split(media_type)
            && let Value::String(text) = value
        {
            *value = split(text);
        }
    }
    bundle
}

fn text_of(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    }
}

fn split(text: &str) -> Value {
    lines(text).into_iter().map(Value::from).collect()
}
