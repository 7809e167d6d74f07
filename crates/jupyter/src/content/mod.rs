//! Typed views of the messages that we know.
//!
//! A view never fails: fields that are missing, null or of another type read as empty, and a message of an unknown
//! type or shape is [`Content::Other`]. The raw bytes stay in the message either way.

mod lenient;
mod mime;
mod request;

use serde::Deserialize;

pub use self::{
    lenient::text_of,
    mime::MimeBundle,
    request::{
        CompleteRequest, ExecuteRequest, HistoryRequest, InputReply, InspectRequest, IsCompleteRequest,
        ShutdownRequest,
    },
};
use crate::{message::Message, raw::RawJson};
use lenient::{count, flag, number, raw_list, string, strings};

/// What a message says.
#[derive(Clone, Debug)]
pub enum Content {
    /// Text of stdout, stderr, or a stream that the kernel invented.
    Stream(Stream),
    /// Something to show.
    Display(Display),
    /// A new state of what was shown under a display id.
    UpdateDisplay(Display),
    /// The value of the last expression.
    Result(Display),
    /// The code raised.
    Error(CodeError),
    /// Wipe the output; with `wait`, only when something new comes.
    Clear {
        /// Keep the old output until the next one.
        wait: bool,
    },
    /// The kernel waits for a line from the person.
    InputRequest(InputRequest),
    /// busy, idle, starting, restarting, dead, or another word.
    Status(String),
    /// The code that somebody runs.
    ExecuteInput {
        /// Its text.
        code: String,
        /// The number in brackets.
        count: Option<i64>,
    },
    /// The end of an execution on `shell`.
    ExecuteReply(ExecuteReply),
    /// Completions.
    CompleteReply(CompleteReply),
    /// Documentation.
    InspectReply(InspectReply),
    /// Whether code can run as it stands.
    IsCompleteReply(IsCompleteReply),
    /// What ran before.
    HistoryReply(HistoryReply),
    /// What the kernel is.
    KernelInfoReply(KernelInfo),
    /// `comm_open`, `comm_msg` or `comm_close`; buffers are in the message.
    Comm(Comm),
    /// Anything else; see the message's raw content.
    Other,
}

/// Text of a stream.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Stream {
    /// stdout, stderr, or another name.
    #[serde(deserialize_with = "string")]
    pub name: String,
    /// The text; a list of texts is joined.
    #[serde(deserialize_with = "string")]
    pub text: String,
}

/// A display, a display update or a result.
#[derive(Clone, Debug, Default)]
pub struct Display {
    /// Representations by MIME type, in the kernel's order, raw.
    pub data: MimeBundle,
    /// Metadata, raw.
    pub metadata: RawJson,
    /// The id under which it can be updated.
    pub display_id: Option<String>,
    /// The number in brackets, of results. Null in some kernels.
    pub count: Option<i64>,
}

/// An exception in the code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct CodeError {
    /// As `ValueError`.
    #[serde(rename = "ename", deserialize_with = "string")]
    pub name: String,
    /// The message.
    #[serde(rename = "evalue", deserialize_with = "string")]
    pub value: String,
    /// Lines, with colour codes.
    #[serde(deserialize_with = "strings")]
    pub traceback: Vec<String>,
}

/// The kernel waits for a line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct InputRequest {
    /// What it asks.
    #[serde(deserialize_with = "string")]
    pub prompt: String,
    /// Whether to mask what is typed.
    #[serde(deserialize_with = "flag")]
    pub password: bool,
}

/// The end of an execution on `shell`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ExecuteReply {
    /// ok, error, or aborted (an earlier cell failed).
    #[serde(deserialize_with = "string")]
    pub status: String,
    /// The number in brackets.
    #[serde(rename = "execution_count", deserialize_with = "count")]
    pub count: Option<i64>,
    /// The exception, with status error.
    #[serde(skip)]
    pub error: CodeError,
    /// Requests to the front end: pager, `set_next_input`, `ask_exit`; raw.
    #[serde(deserialize_with = "raw_list")]
    pub payload: Vec<RawJson>,
    /// Results of user expressions, raw.
    pub user_expressions: Option<RawJson>,
}

/// Completions.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct CompleteReply {
    /// Texts that can replace the range.
    #[serde(deserialize_with = "strings")]
    pub matches: Vec<String>,
    /// Start of the range, in Unicode code points.
    #[serde(deserialize_with = "number")]
    pub cursor_start: u64,
    /// End of the range, in Unicode code points.
    #[serde(deserialize_with = "number")]
    pub cursor_end: u64,
    /// Types and signatures (`_jupyter_types_experimental`), raw.
    pub metadata: Option<RawJson>,
}

/// Documentation of what the cursor is on.
#[derive(Clone, Debug, Default)]
pub struct InspectReply {
    /// Whether there is anything.
    pub found: bool,
    /// Representations by MIME type.
    pub data: MimeBundle,
}

/// Whether code can run as it stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct IsCompleteReply {
    /// complete, incomplete, invalid or unknown.
    #[serde(deserialize_with = "string")]
    pub status: String,
    /// What the next line should begin with.
    #[serde(deserialize_with = "string")]
    pub indent: String,
}

/// What ran before: session, line, and input (or input and output) per entry, raw.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct HistoryReply {
    /// Entries, oldest first.
    #[serde(deserialize_with = "raw_list")]
    pub history: Vec<RawJson>,
}

impl HistoryReply {
    /// The source of each entry, oldest first.
    pub fn sources(&self) -> Vec<String> {
        self.history
            .iter()
            .filter_map(|entry| match entry.to_value() {
                serde_json::Value::Array(fields) => match fields.get(2) {
                    Some(serde_json::Value::Array(both)) => both.first().map(text_of),
                    Some(source) => Some(text_of(source)),
                    None => None,
                },
                _ => None,
            })
            .collect()
    }
}

/// What the kernel is.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct KernelInfo {
    /// As `ipython`.
    #[serde(deserialize_with = "string")]
    pub implementation: String,
    /// Its version.
    #[serde(deserialize_with = "string")]
    pub implementation_version: String,
    /// A line or more of greeting.
    #[serde(deserialize_with = "string")]
    pub banner: String,
    /// The messaging protocol.
    #[serde(deserialize_with = "string")]
    pub protocol_version: String,
    /// The `language_info` of notebooks, raw.
    pub language_info: Option<RawJson>,
    /// As `kernel subshells`.
    #[serde(deserialize_with = "strings")]
    pub supported_features: Vec<String>,
}

impl KernelInfo {
    /// The name of the language, as `python`; empty when not said.
    pub fn language(&self) -> String {
        let info = self.language_info.as_ref().map(RawJson::to_value).unwrap_or_default();
        info.get("name").map(text_of).unwrap_or_default()
    }
}

/// A message of a comm.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Comm {
    /// The comm.
    #[serde(deserialize_with = "string")]
    pub comm_id: String,
    /// Who should take it, of `comm_open`.
    #[serde(deserialize_with = "string")]
    pub target_name: String,
    /// Raw; anything JSON.
    pub data: Option<RawJson>,
}

impl Message {
    /// The typed view of the content. Reads (and unescapes) only now.
    pub fn content(&self) -> Content {
        let raw = &self.content;
        match self.msg_type() {
            "stream" => Content::Stream(raw.view().unwrap_or_default()),
            "display_data" => Content::Display(mime::display(raw)),
            "update_display_data" => Content::UpdateDisplay(mime::display(raw)),
            "execute_result" | "pyout" => Content::Result(mime::display(raw)),
            "error" | "pyerr" => Content::Error(raw.view().unwrap_or_default()),
            "clear_output" => Content::Clear { wait: raw.view::<Wait>().is_some_and(|view| view.wait) },
            "input_request" => Content::InputRequest(raw.view().unwrap_or_default()),
            "status" => Content::Status(raw.view::<State>().unwrap_or_default().execution_state),
            "execute_input" | "pyin" => {
                let view: Input = raw.view().unwrap_or_default();
                Content::ExecuteInput { code: view.code, count: view.count }
            }
            "execute_reply" => Content::ExecuteReply(ExecuteReply {
                error: raw.view().unwrap_or_default(),
                ..raw.view().unwrap_or_default()
            }),
            "complete_reply" => Content::CompleteReply(raw.view().unwrap_or_default()),
            "inspect_reply" => Content::InspectReply(mime::inspect(raw)),
            "is_complete_reply" => Content::IsCompleteReply(raw.view().unwrap_or_default()),
            "history_reply" => Content::HistoryReply(raw.view().unwrap_or_default()),
            "kernel_info_reply" => Content::KernelInfoReply(raw.view().unwrap_or_default()),
            "comm_open" | "comm_msg" | "comm_close" => Content::Comm(raw.view().unwrap_or_default()),
            _ => Content::Other,
        }
    }

    /// Whether this is `status: idle`.
    pub fn is_idle(&self) -> bool {
        self.msg_type() == "status" && matches!(self.content(), Content::Status(state) if state == "idle")
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Wait {
    #[serde(deserialize_with = "flag")]
    wait: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct State {
    #[serde(deserialize_with = "string")]
    execution_state: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Input {
    #[serde(deserialize_with = "string")]
    code: String,
    #[serde(rename = "execution_count", deserialize_with = "count")]
    count: Option<i64>,
}
