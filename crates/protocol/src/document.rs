//! What a page sees of an open notebook.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{CellKey, DocumentId, OutputId, ResourceId, SandboxId};

/// What a cell is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(export)]
pub enum CellKind {
    /// Code.
    Code,
    /// Markdown.
    Markdown,
    /// Raw text.
    Raw,
    /// A cell that could not be read. It is shown as its JSON and written back as it was.
    Broken,
}

/// Where a cell is between new and done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(export)]
pub enum RunState {
    /// Not run since the notebook was opened here.
    #[default]
    New,
    /// Waiting; `place` says where in the queue.
    Queued,
    /// Held back because an earlier cell failed.
    Held,
    /// Running.
    Running,
    /// Waiting for input.
    Input,
    /// Ended well.
    Done,
    /// Ended with an error.
    Failed,
    /// Interrupted.
    Stopped,
    /// Ran out of time.
    TimedOut,
    /// Running, as far as is known: the connection is being restored.
    NoSignal,
    /// Ended, and its value went with the kernel.
    Lost,
}

/// One cell's run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct RunView {
    /// Where it is.
    pub state: RunState,
    /// Its place in the queue, from 1.
    pub place: Option<u32>,
    /// When it started, in milliseconds since 1970.
    #[ts(type = "number | null")]
    pub started_at: Option<u64>,
    /// How long it ran, in milliseconds, once it ended.
    #[ts(type = "number | null")]
    pub duration_ms: Option<u64>,
    /// The source revision that ran. When the cell has a newer one, it was edited since.
    pub ran_revision: Option<u32>,
    /// The exit code, where the code called for an exit that was not 0.
    pub exit_code: Option<i32>,
    /// Who ran it, if not this person.
    pub author: Option<String>,
    /// Why it was not run, where it waited for a kernel that did not start.
    pub not_run: Option<String>,
}

/// A cell as the page sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct CellView {
    /// Its internal key.
    pub key: CellKey,
    /// What it is.
    pub kind: CellKind,
    /// Its source.
    pub source: String,
    /// Counts the edits of the source.
    pub revision: u32,
    /// The number in the brackets.
    pub execution_count: Option<u32>,
    /// Whether the source is folded.
    pub source_hidden: bool,
    /// Whether the outputs are folded.
    pub outputs_hidden: bool,
    /// Its run.
    pub run: RunView,
    /// Its outputs.
    pub outputs: Vec<OutputView>,
    /// Attachments of a markdown cell: name, and the resource that holds it.
    pub attachments: Vec<(String, ResourceId)>,
}

/// One output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct OutputView {
    /// Its name.
    pub id: OutputId,
    /// What it holds.
    pub body: OutputBody,
}

/// Which stream a text came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(export)]
pub enum StreamName {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
    /// What the code asked and a person answered; a password stands there as dots.
    Stdin,
    /// What the owner says of the run: that the kernel died, that output may be missing. Code never wrote it. In the file it
    /// is standard error.
    Owner,
}

/// What an output holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(tag = "type", rename_all = "snake_case")]
#[ts(export)]
pub enum OutputBody {
    /// Stream text.
    Text {
        /// Which stream.
        stream: StreamName,
        /// The text.
        text: TextView,
    },
    /// Display data or a result.
    Rich {
        /// The number of a result; absent for display data.
        execution_count: Option<u32>,
        /// Whether it is the cell's result.
        result: bool,
        /// The forms it comes in, richest first.
        representations: Vec<Representation>,
    },
    /// An error of the code.
    Error(ErrorView),
    /// Something no program here knows; it is kept in the file.
    Unknown {
        /// What it calls itself.
        output_type: String,
    },
}

/// An error of the code.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct ErrorView {
    /// Its class.
    pub name: String,
    /// Its message, at most 4 KB.
    pub value: String,
    /// The traceback's lines with their colour codes, at most 64 KB.
    pub traceback: Vec<String>,
}

/// Text, cut to what a page shows: all lines while there are at most 200, else some from the start and some from the
/// end. A page asks for more with `output_lines`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct TextView {
    /// The first lines.
    pub head: Vec<TextLine>,
    /// The last lines; empty while `head` holds all.
    pub tail: Vec<TextLine>,
    /// How many lines there are.
    pub total_lines: u32,
    /// How many bytes the text has.
    #[ts(type = "number")]
    pub total_bytes: u64,
}

/// One line, without its newline, with its own colour codes (SGR), starting from the plain state.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct TextLine {
    /// The text, at most about 2,048 characters.
    pub text: String,
    /// How many characters follow that are not here.
    pub hidden: u32,
    /// The `offset` with which `output_lines` goes on in this line; 0 if nothing is hidden.
    pub next: u32,
}

/// One form of an output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct Representation {
    /// Its media type, such as `image/png`.
    pub media_type: String,
    /// The text, where the form is text of at most 64 KB that a page draws itself. JSON is given as its text. A page asks for a longer one with
    /// `resource_text`.
    pub text: Option<String>,
    /// The whole payload, for an image, a frame or a fetch.
    pub resource: ResourceId,
    /// Its size in bytes.
    #[ts(type = "number")]
    pub size: u64,
    /// Whether it can run code and therefore belongs in a frame.
    pub framed: bool,
    /// Whether it is HTML that seems to be a table as pandas writes it: a page may draw that itself.
    pub table: bool,
    /// Width in CSS pixels, if the library said so.
    pub width: Option<u32>,
    /// Height in CSS pixels, if the library said so.
    pub height: Option<u32>,
    /// Width and height of a picture in its own pixels, as far as its first bytes say them.
    pub pixels: Option<(u32, u32)>,
    /// A description, if the library gave one.
    pub alt: Option<String>,
}

/// A kernel asks for input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct InputRequest {
    /// The cell that asks.
    pub cell: CellKey,
    /// The prompt.
    pub prompt: String,
    /// Whether what is typed must not be shown.
    pub password: bool,
    /// When it was asked, in milliseconds since 1970.
    #[ts(type = "number")]
    pub asked_at: u64,
}

/// The document's run queue.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct QueueView {
    /// The cell that runs.
    pub running: Option<CellKey>,
    /// The cells that wait, in order.
    pub waiting: Vec<CellKey>,
    /// The cells held back, because this cell failed.
    pub held: Vec<CellKey>,
    /// The cell whose failure holds the others.
    pub held_by: Option<CellKey>,
}

/// What the title, toolbar and status bar say of a document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[ts(export)]
#[allow(clippy::struct_excessive_bools, reason = "each is its own fact on the page")]
pub struct DocumentStatus {
    /// File name.
    pub title: String,
    /// Absolute path; absent while the notebook was never saved.
    pub path: Option<String>,
    /// Whether there is something that the file does not hold.
    pub dirty: bool,
    /// When it was last saved, in milliseconds since 1970.
    #[ts(type = "number | null")]
    pub saved_at: Option<u64>,
    /// Whether somebody else changed the file.
    pub changed_on_disk: bool,
    /// Whether the file cannot be written.
    pub read_only: bool,
    /// The language of the kernel, for highlighting: `python`, `r`, …
    pub language: String,
    /// The kernel that the file names.
    pub kernel_name: Option<String>,
    /// The sandbox it runs in.
    pub sandbox: Option<SandboxId>,
    /// Whether there is something to undo.
    pub can_undo: bool,
    /// Whether there is something to redo.
    pub can_redo: bool,
    /// Things worth saying about the file: a conversion, broken cells, restored edits.
    pub notices: Vec<String>,
}

/// All of a document, as the start of a subscription.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct DocumentSnapshot {
    /// Which document.
    pub document: DocumentId,
    /// The sequence that the next patch batch follows.
    pub sequence: u32,
    /// Title, path, state.
    pub status: DocumentStatus,
    /// The cells.
    pub cells: Vec<CellView>,
    /// The queue.
    pub queue: QueueView,
    /// An open request for input.
    pub input: Option<InputRequest>,
}
