//! What a page sees beside documents: runtimes, connections, sandboxes, recent notebooks, log lines.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{
    AccountView, ConnectionId, CredentialView, DocumentId, KeyringView, LeaseView, ProtocolError, SandboxId,
    Settings,
};

/// A kind of place where code runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(export)]
pub enum RuntimeKind {
    /// A kernel on this computer or on a Jupyter server.
    Jupyter,
    /// A plain Python of this computer, without isolation.
    Eval,
    /// A container of a Docker or Podman engine on this computer.
    Docker,
    /// Monty: a part of Python in a process without files or network.
    Monty,
    /// The kernel of an open Colab tab.
    Colab,
    /// The kernel of an open Kaggle session.
    Kaggle,
    /// A machine of Datalayer, paid for by the second.
    Datalayer,
    /// A sandbox of an OpenSandbox server.
    Opensandbox,
    /// A sandbox at Modal, paid for by the second.
    Modal,
}

impl RuntimeKind {
    /// Every kind, in the order in which they are offered.
    pub const ALL: &[Self] = &[
        Self::Jupyter,
        Self::Eval,
        Self::Docker,
        Self::Monty,
        Self::Colab,
        Self::Kaggle,
        Self::Datalayer,
        Self::Opensandbox,
        Self::Modal,
    ];

    /// Its name, as in settings and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Jupyter => "jupyter",
            Self::Eval => "eval",
            Self::Docker => "docker",
            Self::Monty => "monty",
            Self::Colab => "colab",
            Self::Kaggle => "kaggle",
            Self::Datalayer => "datalayer",
            Self::Opensandbox => "opensandbox",
            Self::Modal => "modal",
        }
    }

    /// Whether its code runs in a folder of this computer, where it is asked for with these settings of its own. One that
    /// has no files by itself is given some by its setting `folder`.
    pub fn has_folder(self, own: &serde_json::Value) -> bool {
        match self {
            Self::Monty => own.get("folder").is_some_and(|access| access != "none"),
            // what runs elsewhere is where it is
            Self::Colab | Self::Kaggle | Self::Datalayer | Self::Opensandbox | Self::Modal => false,
            Self::Jupyter | Self::Eval | Self::Docker => true,
        }
    }

    /// The kind of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }
}

/// Whether something can be used now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(export)]
pub enum ReadinessState {
    /// Ready.
    Ready,
    /// Being found out.
    Checking,
    /// Something has to be installed or set.
    NeedsSetup,
    /// A credential is missing.
    NeedsCredential,
    /// No answer.
    NotReachable,
}

/// Whether something can be used now, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct Readiness {
    /// The state.
    pub state: ReadinessState,
    /// The reason, in one line.
    pub reason: String,
}

/// A kernel that can be started on this computer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct KernelChoice {
    /// The kernelspec's name, or `python:PATH` for an interpreter without one.
    pub name: String,
    /// What it calls itself.
    pub display_name: String,
    /// Its language.
    pub language: String,
    /// Where it was found: a folder or an interpreter.
    pub origin: String,
}

/// A kind of runtime, on the start screen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct RuntimeView {
    /// Which.
    pub kind: RuntimeKind,
    /// What it is called.
    pub title: String,
    /// Its two letters.
    pub mark: String,
    /// Whether it can be used.
    pub readiness: Readiness,
    /// How far its code is kept away from this computer, where that is known before it starts.
    pub isolation: Option<Capability>,
    /// Kernels that can be started here.
    pub kernels: Vec<KernelChoice>,
}

/// A saved connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct ConnectionView {
    /// Its name for the owner.
    pub id: ConnectionId,
    /// Which runtime.
    pub kind: RuntimeKind,
    /// What the person calls it.
    pub name: String,
    /// Its address, secrets masked.
    pub display_url: String,
    /// The kernel, where the connection is to one.
    pub kernel_id: Option<String>,
    /// Whether it can be used.
    pub readiness: Readiness,
    /// Whether a credential is stored for it.
    pub has_credential: bool,
    /// Whether the server is on another machine and the traffic is not encrypted.
    pub plain_http: bool,
    /// The fingerprint of a self-signed certificate that is trusted for this connection only.
    pub trusted_fingerprint: Option<String>,
}

/// Whether a sandbox can do something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(export)]
pub enum CapabilityState {
    /// It can.
    Yes,
    /// It can, with a limit that the note names.
    Limited,
    /// It cannot; the note says why.
    No,
}

/// Something a sandbox can do, or the reason why it cannot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct Capability {
    /// A stable name: `interrupt`, `input`, `files`, `terminal`, `snapshots`, …
    pub name: String,
    /// Whether.
    pub state: CapabilityState,
    /// One line.
    pub note: String,
}

/// What the runtime pill shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(export)]
pub enum PillState {
    /// Starting.
    Starting,
    /// Idle.
    Idle,
    /// Busy.
    Busy,
    /// Waiting for input.
    Input,
    /// The connection is being restored.
    Reconnecting,
    /// The link to it is not taken any more; the kernel may live on.
    Expired,
    /// It stands still, and goes on when it is asked to.
    Paused,
    /// Stopped by the person.
    Stopped,
    /// The kernel died.
    Died,
}

/// Details of a sandbox's kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct KernelState {
    /// What the pill shows.
    pub state: PillState,
    /// Since when, in milliseconds since 1970.
    #[ts(type = "number")]
    pub since: u64,
    /// The kernel's own name, such as `Python 3 (ipykernel)`.
    pub display_name: String,
    /// The language and its version, such as `Python 3.12.4`.
    pub language_version: Option<String>,
    /// Why it stopped or died: exit code, signal, `not reported`.
    pub cause: Option<String>,
    /// The number of reconnection attempts so far.
    pub attempt: u32,
    /// When the next attempt is made, in milliseconds since 1970.
    #[ts(type = "number | null")]
    pub next_attempt_at: Option<u64>,
}

/// A cloud whose open pages have kernels that can be joined by their links.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct CloudView {
    /// Which.
    pub kind: RuntimeKind,
    /// What it is called.
    pub title: String,
    /// Its two letters.
    pub mark: String,
    /// What a sandbox there can do.
    pub capabilities: Vec<Capability>,
}

/// The link that leads to a sandbox, where its secret ends before the kernel does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct LinkView {
    /// The latest moment until which it is good, in milliseconds since 1970, where that is known.
    #[ts(type = "number | null")]
    pub good_until: Option<u64>,
    /// Whether it was refused, so that a fresh one is needed to go on.
    pub refused: bool,
}

/// A live sandbox.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct SandboxView {
    /// Its name for the owner.
    pub id: SandboxId,
    /// Which runtime.
    pub kind: RuntimeKind,
    /// Its two letters.
    pub mark: String,
    /// What it is called: `Python 3`, `lab.example.org`.
    pub title: String,
    /// A second part of the title: the kernel on a server.
    pub subtitle: String,
    /// The connection it was made from.
    pub connection: Option<ConnectionId>,
    /// The documents that run in it.
    pub documents: Vec<DocumentId>,
    /// Its kernel.
    pub kernel: KernelState,
    /// What it can do.
    pub capabilities: Vec<Capability>,
    /// When it was made, in milliseconds since 1970.
    #[ts(type = "number")]
    pub created_at: u64,
    /// Whether Sandbook made the kernel, and so removes it on close.
    pub owned: bool,
    /// Whether it lives on after its notebook is closed.
    pub kept: bool,
    /// Working directory of the code.
    pub working_directory: Option<String>,
    /// The link that leads to it, where it is reached by one.
    pub link: Option<LinkView>,
    /// Until when it lives and what that costs, where it ends by itself or costs something.
    pub lease: Option<LeaseView>,
}

/// A notebook opened before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct RecentNotebook {
    /// Absolute path.
    pub path: String,
    /// File name.
    pub title: String,
    /// Folder, with the home directory as `~`.
    pub folder: String,
    /// When it was last opened, in milliseconds since 1970.
    #[ts(type = "number")]
    pub opened_at: u64,
    /// What it last ran on, in words.
    pub last_sandbox: Option<String>,
    /// The document, if it is open now.
    pub document: Option<DocumentId>,
    /// The sandbox, if it still runs.
    pub sandbox: Option<SandboxId>,
}

/// Everything beside documents, whole at every change: it is small.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct WorkspaceView {
    /// Kinds of runtimes.
    pub runtimes: Vec<RuntimeView>,
    /// Clouds whose kernels are joined by a link.
    pub clouds: Vec<CloudView>,
    /// Clouds where sandboxes are made with the key of an account.
    pub accounts: Vec<AccountView>,
    /// Saved connections.
    pub connections: Vec<ConnectionView>,
    /// Live sandboxes.
    pub sandboxes: Vec<SandboxView>,
    /// Recent notebooks, newest first.
    pub recent: Vec<RecentNotebook>,
    /// Settings.
    pub settings: Settings,
    /// Every credential, without its secret.
    pub credentials: Vec<CredentialView>,
    /// Whether the system keyring can be used, and why not.
    pub keyring: KeyringView,
    /// The person's home directory.
    pub home: String,
    /// The folder a new notebook goes to.
    pub working_directory: String,
    /// Sandbook's version.
    pub version: String,
}

/// How a message looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(export)]
pub enum LogLevel {
    /// A detail.
    Debug,
    /// A fact.
    Info,
    /// Something to look at.
    Warn,
    /// Something failed.
    Error,
}

/// A line of the Logs panel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct LogLine {
    /// When, in milliseconds since 1970.
    #[ts(type = "number")]
    pub at: u64,
    /// How important.
    pub level: LogLevel,
    /// Which part of Sandbook.
    pub target: String,
    /// What. Secrets are masked.
    pub message: String,
}

/// Something to say once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct Toast {
    /// How important.
    pub level: LogLevel,
    /// What.
    pub message: String,
    /// The error behind it.
    pub error: Option<ProtocolError>,
}

/// How far a long call has come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct Progress {
    /// The request it belongs to.
    pub request: u32,
    /// What is done now.
    pub message: String,
    /// Share done, 0 to 1, where it is known.
    pub fraction: Option<f64>,
}
