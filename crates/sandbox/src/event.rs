//! What an execution says while it runs.

use std::{sync::Arc, time::SystemTime};

use indexmap::IndexMap;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::sync::mpsc;

use crate::{CodeError, SandboxError};

/// Names one execution.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ExecutionId(pub String);

impl std::fmt::Display for ExecutionId {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The forms of one output by media type, as the kernel sent them: JSON values in its own words.
pub type MimeBundle = IndexMap<String, Arc<RawValue>>;

/// Which stream a text came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StreamName {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
    /// What the code asked and a person answered. No runtime sends it: whoever passes an answer on adds it.
    Stdin,
    /// What was said of a run from outside: that its kernel died, that contact was lost. No runtime sends it either.
    Owner,
}

/// One thing that an execution said.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Event {
    /// When it arrived here.
    pub at: SystemTime,
    /// Whether it came after the end of its execution.
    pub late: bool,
    /// What it is.
    pub kind: EventKind,
}

/// What an event is.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EventKind {
    /// The kernel began with it, and gave it this number.
    Started {
        /// The number, where the kernel counts.
        execution_count: Option<u32>,
    },
    /// Text.
    Stream {
        /// Which stream.
        name: StreamName,
        /// The text, raw.
        text: String,
    },
    /// Something to show.
    Display {
        /// Its forms.
        data: MimeBundle,
        /// What the library says about them.
        metadata: Arc<RawValue>,
        /// A name under which it can be updated, anywhere in the document.
        display_id: Option<String>,
    },
    /// Something shown before changes.
    DisplayUpdate {
        /// Its forms.
        data: MimeBundle,
        /// What the library says about them.
        metadata: Arc<RawValue>,
        /// The name.
        display_id: String,
    },
    /// The value of the last expression.
    Result {
        /// Its forms.
        data: MimeBundle,
        /// What the library says about them.
        metadata: Arc<RawValue>,
        /// A name under which it can be updated.
        display_id: Option<String>,
        /// The number, where the kernel counts.
        execution_count: Option<u32>,
    },
    /// The code failed.
    Error(CodeError),
    /// Outputs shall be cleared.
    Clear {
        /// Not before the next output comes.
        wait: bool,
    },
    /// The code waits for input.
    InputRequest {
        /// What it says.
        prompt: String,
        /// Whether what is typed must not be shown.
        password: bool,
    },
    /// Something for the front end to do.
    Payload(Payload),
    /// A message of a widget or another comm, whole, as JSON.
    Comm(Arc<RawValue>),
    /// The connection was away for a while.
    Gap {
        /// How long, in milliseconds.
        away_ms: u64,
        /// Whether what was missed came afterwards. A second gap of the same length says that it did not, where that was
        /// seen only later.
        replayed: bool,
    },
    /// The end. There is exactly one.
    End(End),
}

/// Something that a kernel asks a front end to do after a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Payload {
    /// Put a text into the next cell.
    SetNextInput {
        /// The text.
        text: String,
        /// Whether it replaces the cell that ran.
        replace: bool,
    },
    /// Show a text, as help does.
    Page {
        /// Its forms as JSON: media type to value.
        data: String,
    },
}

/// How an execution ended.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct End {
    /// The number, where the kernel counts.
    pub execution_count: Option<u32>,
    /// The error of the code, as the reply has it.
    pub code_error: Option<CodeError>,
    /// The code called for an exit with this code.
    pub exit_code: Option<i32>,
    /// It was interrupted.
    pub interrupted: bool,
    /// It ran out of time.
    pub timed_out: bool,
    /// It was never run, because one before it failed.
    pub aborted: bool,
    /// The sandbox failed, not the code.
    pub infrastructure: Option<SandboxError>,
}

/// A running execution: its name and its events.
///
/// The channel is not bounded, because the reader behind it must never wait: whoever holds an execution reads it into
/// a log or drops it. It goes on after [`EventKind::End`] with late events, until the sandbox ends.
#[derive(Debug)]
pub struct Execution {
    /// Its name.
    pub id: ExecutionId,
    events: mpsc::UnboundedReceiver<Event>,
    input: mpsc::UnboundedSender<SecretString>,
}

impl Execution {
    /// Puts an execution together: for implementers.
    pub fn new(
        id: ExecutionId,
        events: mpsc::UnboundedReceiver<Event>,
        input: mpsc::UnboundedSender<SecretString>,
    ) -> Self {
        Self { id, events, input }
    }

    /// The next event, or nothing once the sandbox has ended.
    pub async fn next(&mut self) -> Option<Event> {
        self.events.recv().await
    }

    /// All events that are there now, at most `limit`, added to `events`. Waits for the first.
    pub async fn next_many(&mut self, events: &mut Vec<Event>, limit: usize) -> usize {
        self.events.recv_many(events, limit).await
    }

    /// The door for answers to [`EventKind::InputRequest`]; it can be handed to another task.
    pub fn input(&self) -> mpsc::UnboundedSender<SecretString> {
        self.input.clone()
    }
}
