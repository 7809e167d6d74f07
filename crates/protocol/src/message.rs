//! Messages between a client and the owner.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{
    ClientId, Command, DocumentId, DocumentSnapshot, LogLine, PatchBatch, Progress, ProtocolError, Reply,
    ResourceId, Secret, Toast, WorkspaceView,
};

/// What a client is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(export)]
pub enum ClientKind {
    /// The window.
    Window,
    /// A browser.
    Browser,
    /// The command line.
    CommandLine,
    /// An agent.
    Agent,
}

/// From a client.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(tag = "type", rename_all = "snake_case")]
#[ts(export)]
pub enum ClientMessage {
    /// The first message.
    Hello {
        /// The version of the contract that the client speaks.
        version: u32,
        /// What the client is.
        client: ClientKind,
        /// The session's token, over the network door. The local socket needs none: its folder is the person's own.
        token: Option<Secret>,
    },
    /// A request.
    Request {
        /// Chosen by the client, and not used again.
        id: u32,
        /// The request.
        command: Box<Command>,
    },
    /// A patch batch was drawn.
    Acknowledge {
        /// Which document.
        document: DocumentId,
        /// The batch's sequence.
        sequence: u32,
    },
    /// Asks for bytes of a resource; they come as a binary frame with this id, or as an error response. Only on the
    /// local socket; a browser has a port for it.
    ReadResource {
        /// Chosen by the client, and not used again.
        id: u32,
        /// Which.
        resource: ResourceId,
    },
    /// Gives a request up.
    Cancel {
        /// The request's id.
        id: u32,
    },
}

/// From the owner.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(tag = "type", rename_all = "snake_case")]
#[ts(export)]
pub enum ServerMessage {
    /// The answer to a hello.
    Welcome {
        /// The client's name from now on.
        client: ClientId,
        /// The version of Sandbook.
        version: String,
        /// Where a browser finds resources: `http://127.0.0.1:PORT/SECRET/`. Absent on the local socket.
        resources: Option<String>,
    },
    /// The hello was refused, and the connection is closed.
    Refused {
        /// Why.
        error: ProtocolError,
    },
    /// The answer to a request.
    Response(Response),
    /// Something that was not asked for just now.
    Push {
        /// What.
        push: Box<Push>,
    },
}

/// The answer to a request.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct Response {
    /// The request's id.
    pub id: u32,
    /// The answer, if it went well.
    pub reply: Option<Reply>,
    /// The error, if it did not.
    pub error: Option<ProtocolError>,
}

/// Something that was not asked for just now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(tag = "type", rename_all = "snake_case")]
#[ts(export)]
pub enum Push {
    /// A document, whole.
    Snapshot {
        /// It.
        snapshot: DocumentSnapshot,
    },
    /// Changes of a document.
    Patches {
        /// Them.
        batch: PatchBatch,
    },
    /// A document was closed by some client.
    DocumentClosed {
        /// Which.
        document: DocumentId,
    },
    /// Everything beside documents.
    Workspace {
        /// It.
        workspace: WorkspaceView,
    },
    /// Log lines.
    Logs {
        /// Them.
        lines: Vec<LogLine>,
    },
    /// How far a long call has come.
    Progress {
        /// It.
        progress: Progress,
    },
    /// Another start handed over a file: open it.
    OpenRequested {
        /// Absolute path.
        path: String,
    },
    /// Something to say once.
    Toast {
        /// The message.
        toast: Toast,
    },
}
