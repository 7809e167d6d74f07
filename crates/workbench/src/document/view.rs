//! Cells and outputs as a page sees them.

use sandbook_notebook::{Cell, MimeBundle, MimeValue, Output, Payload, RawJson, stream_text::StreamText};
use sandbook_protocol::{
    CellKind, ErrorView, OutputBody, OutputId, OutputView, Representation, StreamName, TextView, is_framed,
};
use sandbook_sandbox::CodeError;

use super::{
    resources::{Resources, Source},
    text_view::{self, Seen},
};
use crate::outputs::{LiveBody, LiveOutput, RichOutput};

/// A form that is text of at most this many bytes is given with the output.
const TEXT_LIMIT: usize = 64 * 1024;
/// A form that is text of at most this many bytes is given when a page asks for it: more than that it never holds.
pub(crate) const FETCH_LIMIT: usize = 512 * 1024;
/// How far into HTML a table is looked for: pandas puts nothing but its style sheet before it.
const TABLE_WITHIN: usize = 4 * 1024;
/// The most bytes of an error's message.
const VALUE_LIMIT: usize = 4 * 1024;
/// The most bytes of an error's traceback.
const TRACEBACK_LIMIT: usize = 64 * 1024;

/// The kinds of cells are the same on both sides.
pub(crate) const fn kind(kind: sandbook_notebook::CellKind) -> CellKind {
    match kind {
        sandbook_notebook::CellKind::Code => CellKind::Code,
        sandbook_notebook::CellKind::Markdown => CellKind::Markdown,
        sandbook_notebook::CellKind::Raw => CellKind::Raw,
        sandbook_notebook::CellKind::Broken => CellKind::Broken,
    }
}

/// Whether source and outputs of a cell are folded: source, outputs.
pub(crate) fn folding(cell: &Cell) -> (bool, bool) {
    let metadata = cell.metadata();
    if metadata.get() == "{}" {
        return (false, false);
    }
    let metadata: serde_json::Value = metadata.parse().unwrap_or_default();
    let jupyter = &metadata["jupyter"];
    let on = |value: &serde_json::Value| value.as_bool().unwrap_or(false);
    (on(&jupyter["source_hidden"]), on(&jupyter["outputs_hidden"]) || on(&metadata["collapsed"]))
}

/// What Jupyter's own part of a cell's metadata holds.
pub(crate) fn jupyter(cell: &Cell) -> serde_json::Map<String, serde_json::Value> {
    let metadata: serde_json::Value = cell.metadata().parse().unwrap_or_default();
    metadata.get("jupyter").and_then(serde_json::Value::as_object).cloned().unwrap_or_default()
}

/// The name of an output that came with the file.
pub(crate) fn file_output_id(cell: &Cell, index: usize) -> OutputId {
    OutputId(format!("{}.{}.{index}", cell.key(), cell.output_generation()))
}

/// Where the name of an output that came with the file leads, if it is still there.
pub(crate) fn file_output_index(cell: &Cell, id: &OutputId) -> Option<usize> {
    let rest = id.as_str().strip_prefix(cell.key().as_str())?.strip_prefix('.')?;
    let (generation, index) = rest.split_once('.')?;
    (generation.parse() == Ok(cell.output_generation())).then(|| index.parse().ok())?
}

/// An output that came with the file.
pub(crate) fn file_output(
    output: &Output,
    id: OutputId,
    source: &Source,
    resources: &mut Resources,
) -> OutputView {
    let body = match output {
        Output::Stream { name, text } => OutputBody::Text {
            stream: match name.as_str() {
                "stderr" => StreamName::Stderr,
                "stdin" => StreamName::Stdin,
                _ => StreamName::Stdout,
            },
            text: text_view::view(&mut lines_of(text)).0,
        },
        Output::Display { data, metadata, .. } => rich(data, metadata, false, None, source, resources),
        Output::Result { data, metadata, execution_count, .. } => rich(
            data,
            metadata,
            true,
            execution_count.and_then(|count| count.try_into().ok()),
            source,
            resources,
        ),
        Output::Error { ename, evalue, traceback } => error(ename, evalue, traceback),
        Output::Unknown(raw) => OutputBody::Unknown { output_type: output_type(raw) },
    };
    OutputView { id, body }
}

/// The lines of a stream output that came with the file.
pub(crate) fn lines_of(text: &sandbook_notebook::StreamText) -> StreamText {
    let mut lines = StreamText::new();
    if let sandbook_notebook::StreamText::Inline(text) = text {
        lines.push(text.as_bytes());
    }
    lines
}

/// An output of a run, and how much of its text the page has with it.
pub(crate) fn live_output(
    output: &mut LiveOutput,
    source: &Source,
    resources: &mut Resources,
) -> (OutputView, Option<Seen>) {
    let (body, seen) = match &mut output.body {
        LiveBody::Stream { name, text } => {
            let (text, seen) = text_view::view(text);
            (OutputBody::Text { stream: stream(*name), text }, Some(seen))
        }
        body => (fixed(body, source, resources), None),
    };
    (OutputView { id: output.id.clone(), body }, seen)
}

/// An output of a run without its text, which follows as a change.
pub(crate) fn live_output_without_text(
    output: &LiveOutput,
    source: &Source,
    resources: &mut Resources,
) -> OutputView {
    OutputView { id: output.id.clone(), body: fixed(&output.body, source, resources) }
}

fn fixed(body: &LiveBody, source: &Source, resources: &mut Resources) -> OutputBody {
    match body {
        LiveBody::Stream { name, .. } => {
            OutputBody::Text { stream: stream(*name), text: TextView::default() }
        }
        LiveBody::Rich(RichOutput { data, metadata, result, execution_count, .. }) => {
            rich(data, metadata, *result, *execution_count, source, resources)
        }
        LiveBody::Error(CodeError { name, value, traceback }) => error(name, value, traceback),
    }
}

const fn stream(name: sandbook_sandbox::StreamName) -> StreamName {
    match name {
        sandbook_sandbox::StreamName::Stdout => StreamName::Stdout,
        sandbook_sandbox::StreamName::Stderr => StreamName::Stderr,
        sandbook_sandbox::StreamName::Stdin => StreamName::Stdin,
        sandbook_sandbox::StreamName::Owner => StreamName::Owner,
    }
}

fn output_type(raw: &RawJson) -> String {
    let value: serde_json::Value = raw.parse().unwrap_or_default();
    value["output_type"].as_str().unwrap_or("unknown").chars().take(80).collect()
}

fn error(name: &str, value: &str, traceback: &[String]) -> OutputBody {
    let mut room = TRACEBACK_LIMIT;
    let mut lines: Vec<String> = Vec::new();
    for line in traceback.iter().flat_map(|entry| entry.split('\n')) {
        if line.len() > room {
            lines.push("…".into());
            break;
        }
        room -= line.len();
        lines.push(line.to_owned());
    }
    OutputBody::Error(ErrorView {
        name: name.to_owned(),
        value: shortened(value, VALUE_LIMIT).to_owned(),
        traceback: lines,
    })
}

fn shortened(text: &str, limit: usize) -> &str {
    text.get(..text.floor_char_boundary(limit)).unwrap_or(text)
}

fn rich(
    data: &MimeBundle,
    metadata: &RawJson,
    result: bool,
    execution_count: Option<u32>,
    source: &Source,
    resources: &mut Resources,
) -> OutputBody {
    let metadata: serde_json::Value = metadata.parse().unwrap_or_default();
    let mut forms: Vec<&(String, MimeValue)> = data.0.iter().collect();
    forms.sort_by_key(|(media_type, _)| richness(media_type));
    let representations = forms
        .into_iter()
        .map(|(media_type, value)| representation(media_type, value, &metadata, source, resources))
        .collect();
    OutputBody::Rich { execution_count, result, representations }
}

fn representation(
    media_type: &str,
    value: &MimeValue,
    metadata: &serde_json::Value,
    source: &Source,
    resources: &mut Resources,
) -> Representation {
    let own = &metadata[media_type];
    let number = |name: &str| own[name].as_u64().and_then(|number| u32::try_from(number).ok());
    let payload = value.payload(media_type);
    let (size, table, pixels) = match &payload {
        Some(Payload::Text(text)) => (text.len(), media_type == "text/html" && seems_a_table(text), None),
        Some(Payload::Json(text)) => (text.len(), false, None),
        Some(Payload::Binary(bytes)) => (bytes.len(), false, pixels(bytes)),
        None => (0, false, None),
    };
    // What stands in a frame is fetched by the frame.
    let framed = is_framed(media_type);
    let text = match payload {
        _ if framed && !table => None,
        Some(Payload::Text(text)) if size <= TEXT_LIMIT => Some(text.into_owned()),
        Some(Payload::Json(text)) if size <= TEXT_LIMIT => Some(text.to_owned()),
        _ => None,
    };
    Representation {
        media_type: media_type.to_owned(),
        text,
        resource: resources.name(source, media_type),
        size: size as u64,
        framed,
        table,
        width: number("width"),
        height: number("height"),
        pixels,
        alt: own["alt"].as_str().map(|alt| shortened(alt, VALUE_LIMIT).to_owned()),
    }
}

/// Whether this HTML begins as pandas begins a table. The page looks closer before it draws one.
fn seems_a_table(html: &str) -> bool {
    let head = html.get(..html.floor_char_boundary(TABLE_WITHIN)).unwrap_or(html);
    html.len() <= FETCH_LIMIT && head.contains("class=\"dataframe") && !head.contains("<script")
}

/// A picture's size, so that a page can leave room for it before it is there.
fn pixels(picture: &[u8]) -> Option<(u32, u32)> {
    let size = imagesize::blob_size(picture).ok()?;
    Some((size.width.try_into().ok()?, size.height.try_into().ok()?))
}

/// The richest forms first; what is not known comes behind plain text.
fn richness(media_type: &str) -> u8 {
    match media_type {
        _ if media_type.starts_with("application/vnd.") && media_type.ends_with("+json") => 0,
        "text/html" => 1,
        "application/javascript" | "text/javascript" => 2,
        "text/markdown" => 3,
        "image/svg+xml" => 4,
        "text/latex" => 5,
        "image/png" => 6,
        _ if media_type.starts_with("image/") => 7,
        _ if media_type.starts_with("video/") || media_type.starts_with("audio/") => 8,
        "application/pdf" => 9,
        "application/json" => 10,
        "text/plain" => 20,
        _ => 30,
    }
}
