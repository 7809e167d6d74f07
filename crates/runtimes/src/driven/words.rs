//! What an engine is told, and what it says.

use std::sync::Arc;

use sandbook_sandbox::{CodeError, MimeBundle, StreamName};
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

/// What an engine is told.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Order {
    /// Run this, after what was given before.
    Execute { id: String, code: String, silent: bool, allow_input: bool, stop_on_error: bool },
    /// What a person typed.
    AnswerInput { value: String },
    /// Answer this, also while code runs where that is possible.
    Ask { id: u64, question: Question },
    /// End when nothing runs.
    Quit {},
}

/// What can be asked beside running code. Positions are in Unicode code points.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Question {
    /// Answered with start, end, and pairs of a text and its kind.
    Complete { code: String, position: usize },
    /// Answered with a text, or nothing.
    Inspect { code: String, position: usize, detail: u8 },
    /// Answered with `complete`, `incomplete`, `invalid` or `unknown`, and an indent.
    IsComplete { code: String },
    /// Answered with sessions, lines and sources.
    History { count: u32 },
}

/// What an engine says.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Said {
    Started {
        id: String,
        count: u32,
    },
    #[serde(skip)]
    Text {
        name: StreamName,
        text: String,
    },
    Display {
        data: MimeBundle,
        metadata: Arc<RawValue>,
        display_id: Option<String>,
        update: bool,
    },
    Result {
        data: MimeBundle,
        metadata: Arc<RawValue>,
        count: u32,
    },
    Error(CodeError),
    Clear {
        wait: bool,
    },
    Input {
        prompt: String,
        password: bool,
    },
    End(Ended),
    Answer {
        id: u64,
        #[serde(default)]
        value: Value,
        failed: Option<String>,
    },
}

/// How a run ended; its error was said before.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Ended {
    pub(crate) id: String,
    pub(crate) count: Option<u32>,
    pub(crate) aborted: bool,
    pub(crate) exit_code: Option<i32>,
}
