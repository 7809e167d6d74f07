//! Contents of the requests that we send.

use std::fmt;

use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use serde_json::Map;

/// Run code.
#[derive(Clone, Debug, Serialize)]
#[allow(clippy::struct_excessive_bools)] // the protocol's own fields
pub struct ExecuteRequest {
    /// Its text.
    pub code: String,
    /// No output, no history, no count.
    pub silent: bool,
    /// Whether it goes into the history.
    pub store_history: bool,
    /// Expressions to evaluate afterwards.
    pub user_expressions: Map<String, serde_json::Value>,
    /// Whether the kernel may ask for input.
    pub allow_stdin: bool,
    /// Whether an error makes the kernel drop the requests behind this one.
    pub stop_on_error: bool,
}

impl ExecuteRequest {
    /// Code that a person runs: kept in history, may ask for input.
    pub fn new(code: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            silent: false,
            store_history: true,
            user_expressions: Map::new(),
            allow_stdin: true,
            stop_on_error: true,
        }
    }

    /// Code of our own: not in the history, asks nothing, and stops nothing that waits behind it.
    pub fn quiet(code: impl Into<String>) -> Self {
        Self { store_history: false, allow_stdin: false, stop_on_error: false, ..Self::new(code) }
    }
}

/// Ask for completions.
#[derive(Clone, Debug, Serialize)]
pub struct CompleteRequest<'a> {
    /// The code.
    pub code: &'a str,
    /// In Unicode code points.
    pub cursor_pos: usize,
}

/// Ask for documentation.
#[derive(Clone, Debug, Serialize)]
pub struct InspectRequest<'a> {
    /// The code.
    pub code: &'a str,
    /// In Unicode code points.
    pub cursor_pos: usize,
    /// 0, or 1 for the source as well.
    pub detail_level: u8,
}

/// Ask whether code can run as it stands.
#[derive(Clone, Debug, Serialize)]
pub struct IsCompleteRequest<'a> {
    /// The code.
    pub code: &'a str,
}

/// Ask for the last entries of the history.
#[derive(Clone, Debug, Serialize)]
pub struct HistoryRequest {
    /// With outputs.
    pub output: bool,
    /// Without IPython's transformations.
    pub raw: bool,
    /// `tail`, `range` or `search`.
    pub hist_access_type: &'static str,
    /// How many.
    pub n: usize,
}

impl HistoryRequest {
    /// The last `n` inputs.
    pub const fn tail(n: usize) -> Self {
        Self { output: false, raw: true, hist_access_type: "tail", n }
    }
}

/// Ask the kernel to end itself.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ShutdownRequest {
    /// Whether another one will be started in its place.
    pub restart: bool,
}

/// The line that the kernel asked for. May be a password, so it never shows.
pub struct InputReply(SecretString);

impl InputReply {
    /// The line, without its end.
    pub const fn new(value: SecretString) -> Self {
        Self(value)
    }
}

impl fmt::Debug for InputReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InputReply(***)")
    }
}

impl Serialize for InputReply {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Out<'a> {
            status: &'static str,
            value: &'a str,
        }
        Out { status: "ok", value: self.0.expose_secret() }.serialize(serializer)
    }
}
