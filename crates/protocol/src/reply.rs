//! What the owner answers.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{
    CellKey, ConnectionView, CredentialCheck, CredentialImport, CredentialView, DocumentId, DocumentStatus,
    KernelChoice, LogLine, OutputId, PastedId, ResourceId, RuntimeKind, SandboxView, Secret, SurveyView,
    TextLine, WorkspaceView,
};

/// An answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(tag = "type", rename_all = "snake_case")]
#[ts(export)]
pub enum Reply {
    /// It is done.
    Done,
    /// Everything beside documents.
    Workspace {
        /// It.
        workspace: Box<WorkspaceView>,
    },
    /// The newest log lines, oldest first.
    Logs {
        /// Them.
        lines: Vec<LogLine>,
    },
    /// A folder.
    Folder {
        /// It.
        folder: FolderListing,
    },
    /// A document.
    Document {
        /// Which.
        document: DocumentId,
        /// Its status.
        status: DocumentStatus,
    },
    /// The open documents.
    Documents {
        /// Them.
        documents: Vec<(DocumentId, DocumentStatus)>,
    },
    /// It was saved.
    Saved {
        /// When, in milliseconds since 1970.
        #[ts(type = "number")]
        at: u64,
        /// Where.
        path: String,
    },
    /// Two texts to compare.
    Comparison {
        /// Sources of the cells on disk.
        theirs: Vec<String>,
        /// Sources of the cells here.
        mine: Vec<String>,
    },
    /// An edit was accepted and is on disk.
    Edited {
        /// The revision after it.
        revision: u32,
    },
    /// Cells that came or were touched.
    Cells {
        /// Their keys.
        cells: Vec<CellKey>,
    },
    /// A text.
    Text {
        /// It.
        text: String,
    },
    /// What a new sandbox would be.
    Survey {
        /// It.
        survey: Box<SurveyView>,
    },
    /// A sandbox.
    Sandbox {
        /// It.
        sandbox: Box<SandboxView>,
    },
    /// Completions.
    Completion {
        /// Them.
        completion: Completion,
    },
    /// What the kernel knows.
    Inspection {
        /// It.
        inspection: Inspection,
    },
    /// Lines of an output.
    Lines {
        /// Them.
        slice: OutputSlice,
    },
    /// Matches in outputs.
    Matches {
        /// Them.
        matches: Vec<OutputMatch>,
        /// Whether there are more.
        more: bool,
    },
    /// A resource.
    Resource {
        /// Which.
        resource: ResourceId,
        /// Its size in bytes.
        #[ts(type = "number")]
        size: u64,
    },
    /// What a pasted text is.
    Recognised {
        /// It.
        recognised: Recognised,
    },
    /// A connection.
    Connection {
        /// It.
        connection: Box<ConnectionView>,
    },
    /// A credential.
    Credential {
        /// It, without its secret.
        credential: Box<CredentialView>,
    },
    /// What came of asking with a credential.
    CredentialChecked {
        /// An answer of each that could be asked; none where nobody can be without cost.
        checks: Vec<CredentialCheck>,
    },
    /// A credential was deleted.
    CredentialDeleted {
        /// The names of the connections that lost it.
        lost: Vec<String>,
    },
    /// Credentials of other programs on this computer.
    CredentialImports {
        /// Them, without their secrets.
        imports: Vec<CredentialImport>,
    },
    /// Kernels on a server.
    ServerKernels {
        /// Those that run.
        running: Vec<ServerKernel>,
        /// Whether the server lets them be listed; a Kernel Gateway may not.
        listable: bool,
        /// Those that can be started.
        startable: Vec<KernelChoice>,
    },
    /// A kernel that can be started here.
    Kernel {
        /// It.
        kernel: KernelChoice,
    },
    /// The door for browsers is open.
    WebDoor {
        /// Where: `http://127.0.0.1:PORT/`.
        address: String,
        /// What stands behind `#token=` in the address that a person opens. It can be used once.
        token: Secret,
    },
}

/// How a text goes on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct Completion {
    /// Start of the range to replace, in UTF-16 units.
    pub from: u32,
    /// End of the range to replace.
    pub to: u32,
    /// The texts, each with its kind (`function`, `module`, …) where the kernel tells.
    pub matches: Vec<(String, Option<String>)>,
}

/// What the kernel knows of a thing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct Inspection {
    /// Whether it knows anything.
    pub found: bool,
    /// Plain text with colour codes.
    pub text: String,
}

/// Lines of a text output.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct OutputSlice {
    /// The first line's number, from 0.
    pub from: u32,
    /// The lines.
    pub lines: Vec<TextLine>,
    /// How many lines there are.
    pub total_lines: u32,
}

/// A place in an output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct OutputMatch {
    /// Which cell.
    pub cell: CellKey,
    /// Which output.
    pub output: OutputId,
    /// Which line, from 0.
    pub line: u32,
    /// Where in the line, in UTF-16 units.
    pub column: u32,
    /// Length of the match, in UTF-16 units.
    pub length: u32,
    /// Text around it, at most 200 characters, without colour codes.
    pub excerpt: String,
}

/// A fact about a pasted text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct RecognisedFact {
    /// Its label: `Host`, `Kernel`, `Token`, `Check`.
    pub label: String,
    /// What it is, secrets never.
    pub value: String,
    /// Whether it is fine; `false` for something that stands in the way.
    pub good: bool,
}

/// What a pasted text is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct Recognised {
    /// The name under which the owner holds it.
    pub pasted: PastedId,
    /// Which runtime; none for a notebook's path.
    pub kind: Option<RuntimeKind>,
    /// What it is, in a few words.
    pub title: String,
    /// The text with every secret replaced by `***`.
    pub display_text: String,
    /// The address with every secret replaced by `***`.
    pub display_url: Option<String>,
    /// Facts.
    pub facts: Vec<RecognisedFact>,
    /// What one gets: label and one line.
    pub gets: Vec<(String, String)>,
    /// The path, where the text is the path of a notebook on this computer.
    pub notebook: Option<String>,
    /// Whether it can be connected as it is.
    pub complete: bool,
    /// Whether a secret was taken out.
    pub has_secret: bool,
}

/// A kernel that runs on a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct ServerKernel {
    /// Its id.
    pub id: String,
    /// Its kernelspec.
    pub name: String,
    /// `idle`, `busy`, `starting`, … as the server says.
    pub state: String,
    /// How many clients are attached, where the server tells.
    pub connections: Option<u32>,
    /// How long since it did something, in seconds, where the server tells.
    #[ts(type = "number | null")]
    pub idle_seconds: Option<u64>,
    /// The notebook that uses it, where the server tells.
    pub used_by: Option<String>,
    /// Whether Sandbook made it and kept it.
    pub kept: bool,
}

/// A folder on this computer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct FolderListing {
    /// Absolute path.
    pub path: String,
    /// The folder above.
    pub parent: Option<String>,
    /// Folders and notebooks in it, folders first, by name.
    pub entries: Vec<FolderEntry>,
}

/// An entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct FolderEntry {
    /// Its name.
    pub name: String,
    /// Whether it is a folder.
    pub folder: bool,
    /// Its size in bytes.
    #[ts(type = "number")]
    pub size: u64,
    /// When it was last changed, in milliseconds since 1970.
    #[ts(type = "number")]
    pub modified_at: u64,
}
