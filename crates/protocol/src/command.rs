//! What a client can ask of the owner.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{
    CellKey, CellKind, ConnectionId, DocumentId, OutputId, PastedId, ResourceId, SandboxId, Secret, Settings,
};

/// A change of a range of a source, in UTF-16 code units.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct SourceEdit {
    /// Start of the replaced range.
    pub from: u32,
    /// End of the replaced range.
    pub to: u32,
    /// The text put there.
    pub insert: String,
}

/// A cell's source as it shall be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct NewSource {
    /// Which cell.
    pub cell: CellKey,
    /// The revision that it replaces.
    pub base_revision: u32,
    /// The whole source.
    pub source: String,
}

/// Which cells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "type", rename_all = "snake_case")]
#[ts(export)]
pub enum CellSelection {
    /// Every cell.
    All,
    /// These.
    Cells {
        /// Their keys, in the order to run them.
        cells: Vec<CellKey>,
    },
    /// All before this one.
    Above {
        /// The cell.
        cell: CellKey,
    },
    /// This one and all that follow.
    Below {
        /// The cell.
        cell: CellKey,
    },
}

/// What to do where the file on disk is not what was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(export)]
pub enum SaveChoice {
    /// Refuse with `changed_on_disk`.
    #[default]
    Ask,
    /// Write over it.
    KeepMine,
    /// Drop what is here and read it again. It can be undone.
    TakeTheirs,
}

/// Where a document shall run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "type", rename_all = "snake_case")]
#[ts(export)]
pub enum SandboxChoice {
    /// A new kernel on this computer.
    KernelHere {
        /// Name of a `KernelChoice`.
        kernel: String,
    },
    /// A new kernel on a Jupyter server.
    NewOnServer {
        /// The connection.
        connection: ConnectionId,
        /// The kernelspec there; the server's default if absent.
        kernel: Option<String>,
        /// Whether the kernel stays when the notebook is closed.
        keep: bool,
    },
    /// A kernel that runs on a Jupyter server.
    AttachOnServer {
        /// The connection.
        connection: ConnectionId,
        /// The kernel's id.
        kernel: String,
        /// Whether the person agreed to join a kernel that others use.
        shared: bool,
    },
    /// A Jupyter server started on this computer for this notebook.
    ManagedServer {
        /// The interpreter or kernelspec that has `jupyter_server`.
        kernel: String,
    },
    /// A sandbox that runs already.
    Existing {
        /// Which.
        sandbox: SandboxId,
    },
}

/// What to do about a dead kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(export)]
pub enum DeathOfKernel {
    /// Start a new one.
    Restart,
    /// Start a new one and run every cell up to and with the one that was running.
    RestartAndRun,
    /// Leave it.
    Dismiss,
}

/// What to look for in outputs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct OutputSearch {
    /// The text or pattern.
    pub query: String,
    /// Whether upper and lower case differ.
    pub case_sensitive: bool,
    /// Only this output, or all of the document.
    pub output: Option<OutputId>,
    /// The most matches wanted.
    pub limit: u32,
}

/// A request. The name of a command is its `type`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(tag = "type", rename_all = "snake_case")]
#[ts(export)]
pub enum Command {
    /// Everything beside documents; from then on it is pushed at each change. Answer: `Workspace`.
    WatchWorkspace,
    /// Looks again for kernels and asks every server. Answer: `Done`.
    RefreshRuntimes,
    /// The owner's log lines; from then on they are pushed. Answer: `Logs`.
    WatchLogs,
    /// Entries of a folder on this computer, for the page's own open dialog. Answer: `Folder`.
    ListFolder {
        /// Absolute path; the working directory if absent.
        path: Option<String>,
    },

    /// Opens a notebook, or gives the open one. Answer: `Document`.
    OpenDocument {
        /// Absolute path.
        path: String,
    },
    /// Hands a notebook to the windows and browsers that are connected. Answer: `Done`, or `not_found` where there is
    /// none.
    RequestOpen {
        /// Absolute path.
        path: String,
    },
    /// Makes a notebook that has no file yet. Answer: `Document`.
    NewDocument,
    /// The documents that are open. Answer: `Documents`.
    ListDocuments,
    /// Closes a document for every client. Unsaved changes stay in the journal. Answer: `Done`.
    CloseDocument {
        /// Which.
        document: DocumentId,
        /// Whether unsaved changes are dropped.
        discard: bool,
    },
    /// Starts the pushes of a document: a snapshot, then patches. Answer: `Done`.
    Subscribe {
        /// Which.
        document: DocumentId,
    },
    /// Ends the pushes of a document. Answer: `Done`.
    Unsubscribe {
        /// Which.
        document: DocumentId,
    },
    /// Writes the file. Answer: `Saved`.
    Save {
        /// Which.
        document: DocumentId,
        /// Where, if not where it came from.
        path: Option<String>,
        /// What to do where the file was changed by someone else.
        #[serde(default)]
        choice: SaveChoice,
    },
    /// The file's text on disk and the text that a save would write. Answer: `Comparison`.
    CompareWithDisk {
        /// Which.
        document: DocumentId,
    },
    /// Takes a notice away. Answer: `Done`.
    DismissNotices {
        /// Which.
        document: DocumentId,
    },

    /// Edits a source. The ranges are rebased over edits accepted since `base_revision`. Answer: `Edited`.
    EditSource {
        /// Which document.
        document: DocumentId,
        /// Which cell.
        cell: CellKey,
        /// The revision that the ranges mean.
        base_revision: u32,
        /// Ranges, ascending, in UTF-16 units.
        edits: Vec<SourceEdit>,
    },
    /// Replaces sources, all of them as one change that can be undone. Where one was edited since, all stay as they are:
    /// `stale_revision`. Answer: `Done`.
    ReplaceSources {
        /// Which document.
        document: DocumentId,
        /// What they become.
        sources: Vec<NewSource>,
    },
    /// Puts a new cell. Answer: `Cells`.
    InsertCell {
        /// Which document.
        document: DocumentId,
        /// Before which position.
        index: u32,
        /// What it is.
        kind: CellKind,
        /// Its source.
        source: String,
    },
    /// Deletes cells. Answer: `Done`.
    DeleteCells {
        /// Which document.
        document: DocumentId,
        /// Which.
        cells: Vec<CellKey>,
    },
    /// Moves cells, keeping their order. Answer: `Done`.
    MoveCells {
        /// Which document.
        document: DocumentId,
        /// Which.
        cells: Vec<CellKey>,
        /// The position of the first of them afterwards.
        index: u32,
    },
    /// Splits a cell. Answer: `Cells` with the new one.
    SplitCell {
        /// Which document.
        document: DocumentId,
        /// Which.
        cell: CellKey,
        /// Where, in UTF-16 units.
        position: u32,
    },
    /// Joins cells into the first. Answer: `Done`.
    MergeCells {
        /// Which document.
        document: DocumentId,
        /// Which, in order.
        cells: Vec<CellKey>,
    },
    /// Changes what cells are. Answer: `Done`.
    ChangeKind {
        /// Which document.
        document: DocumentId,
        /// Which.
        cells: Vec<CellKey>,
        /// What they become.
        kind: CellKind,
    },
    /// Folds or unfolds. Answer: `Done`.
    Fold {
        /// Which document.
        document: DocumentId,
        /// Which.
        cells: Vec<CellKey>,
        /// Whether sources are hidden; unchanged if absent.
        source_hidden: Option<bool>,
        /// Whether outputs are hidden; unchanged if absent.
        outputs_hidden: Option<bool>,
    },
    /// Clears outputs. Answer: `Done`.
    ClearOutputs {
        /// Which document.
        document: DocumentId,
        /// Which; all if absent.
        cells: Option<Vec<CellKey>>,
    },
    /// Cells as a text for the clipboard. Answer: `Text`.
    CopyCells {
        /// Which document.
        document: DocumentId,
        /// Which.
        cells: Vec<CellKey>,
    },
    /// Puts cells from a clipboard text. Answer: `Cells`.
    PasteCells {
        /// Which document.
        document: DocumentId,
        /// Before which position.
        index: u32,
        /// What `CopyCells` gave, perhaps in another notebook; any other text becomes one code cell.
        text: String,
    },
    /// Takes back the last change of cells. Answer: `Cells` with the cells it touched.
    Undo {
        /// Which document.
        document: DocumentId,
    },
    /// Does it again. Answer: `Cells` with the cells it touched.
    Redo {
        /// Which document.
        document: DocumentId,
    },

    /// Chooses where a document runs, and starts it. Answer: `Sandbox`.
    ChooseSandbox {
        /// Which document.
        document: DocumentId,
        /// Where.
        choice: SandboxChoice,
    },
    /// Takes a document away from its sandbox; the sandbox lives on if `keep`. Answer: `Done`.
    Detach {
        /// Which document.
        document: DocumentId,
        /// Whether the sandbox lives on.
        keep: bool,
    },
    /// Puts cells into the queue. Without a sandbox they stay queued, and the answer is the error `no_sandbox`, unless
    /// the file's kernel is on this computer, which is then started. Answer: `Done`.
    Run {
        /// Which document.
        document: DocumentId,
        /// Which cells.
        selection: CellSelection,
    },
    /// Goes on with cells that a failure held. Answer: `Done`.
    ContinueQueue {
        /// Which document.
        document: DocumentId,
    },
    /// Empties the queue; what runs goes on. Answer: `Done`.
    ClearQueue {
        /// Which document.
        document: DocumentId,
    },
    /// Interrupts what runs. Answer: `Done`.
    Interrupt {
        /// Which document.
        document: DocumentId,
    },
    /// Restarts the kernel. Answer: `Done`.
    Restart {
        /// Which document.
        document: DocumentId,
        /// Whether all cells are run then.
        run_all: bool,
    },
    /// Says what to do about a dead kernel. Answer: `Done`.
    AfterDeath {
        /// Which document.
        document: DocumentId,
        /// What.
        choice: DeathOfKernel,
    },
    /// Stops trying to reconnect, or tries at once. Answer: `Done`.
    Reconnect {
        /// Which sandbox.
        sandbox: SandboxId,
        /// `true`: now; `false`: give up.
        now: bool,
    },
    /// Ends a sandbox. Answer: `Done`.
    StopSandbox {
        /// Which.
        sandbox: SandboxId,
    },
    /// Whether a sandbox lives on after its notebook is closed. Answer: `Done`.
    KeepSandbox {
        /// Which.
        sandbox: SandboxId,
        /// Whether.
        keep: bool,
    },
    /// Answers a request for input. Answer: `Done`.
    AnswerInput {
        /// Which document.
        document: DocumentId,
        /// What was typed. It may be a password.
        value: Secret,
    },
    /// Asks the kernel how a text goes on. Answer: `Completion`.
    Complete {
        /// Which document.
        document: DocumentId,
        /// The source.
        code: String,
        /// The caret, in UTF-16 units.
        position: u32,
    },
    /// Asks the kernel about the thing at the caret. Answer: `Inspection`.
    Inspect {
        /// Which document.
        document: DocumentId,
        /// The source.
        code: String,
        /// The caret, in UTF-16 units.
        position: u32,
        /// 0, or 1 for the source of it.
        detail: u32,
    },

    /// Lines of a text output. Answer: `Lines`.
    OutputLines {
        /// Which document.
        document: DocumentId,
        /// Which output.
        output: OutputId,
        /// The first line wanted, from 0.
        from: u32,
        /// How many; at most 2,000 are given, and at most 512 KB.
        count: u32,
        /// Where to begin in the first line: the `next` of a line that was cut. Then only that line is given.
        #[serde(default)]
        offset: u32,
    },
    /// Looks for a text in all of the outputs. Answer: `Matches`.
    SearchOutputs {
        /// Which document.
        document: DocumentId,
        /// What.
        search: OutputSearch,
    },
    /// A resource that holds the whole of a text output, for copy all and save. Answer: `Resource`.
    OutputText {
        /// Which document.
        document: DocumentId,
        /// Which output.
        output: OutputId,
    },
    /// A form of an output that is text and was too long to come with it. Answer: `Text`; an error above 512 KB, which
    /// is more than a page holds of one output.
    ResourceText {
        /// Which.
        resource: ResourceId,
    },
    /// Writes a resource to a file of the person's choice. Answer: `Done`, or the error `file_exists`, and then nothing
    /// was written.
    SaveResource {
        /// Which.
        resource: ResourceId,
        /// Absolute path.
        path: String,
        /// Whether the person agreed that a file that is there is replaced.
        #[serde(default)]
        replace: bool,
    },

    /// Reads a pasted text, takes the secret out of it and says what it is. Answer: `Recognised`.
    ReadPasted {
        /// The text.
        text: Secret,
    },
    /// Forgets a pasted text. Answer: `Done`.
    DismissPasted {
        /// Which.
        pasted: PastedId,
    },
    /// Saves a connection, from a pasted text or from fields. Asks the server first. Answer: `Connection`.
    Connect {
        /// The pasted text that holds address and token.
        pasted: Option<PastedId>,
        /// The address, where nothing was pasted.
        address: Option<String>,
        /// The token, where nothing was pasted. It goes to the keyring.
        token: Option<Secret>,
        /// What the person calls it; the host if absent.
        name: Option<String>,
        /// The fingerprint of a self-signed certificate that the person agreed to trust.
        trust_fingerprint: Option<String>,
    },
    /// Removes a connection and its credential. Answer: `Done`.
    RemoveConnection {
        /// Which.
        connection: ConnectionId,
    },
    /// Stores a connection's credential in the keyring. Answer: `Done`.
    StoreCredential {
        /// Which connection.
        connection: ConnectionId,
        /// The credential.
        secret: Secret,
    },
    /// The kernels that run on a server, and the kinds it can start. Answer: `ServerKernels`.
    ListServerKernels {
        /// Which.
        connection: ConnectionId,
    },
    /// Removes a kernel on a server. Answer: `Done`.
    DeleteServerKernel {
        /// Which connection.
        connection: ConnectionId,
        /// The kernel's id.
        kernel: String,
    },
    /// Makes a private Python environment with ipykernel. Pushes progress. Answer: `Kernel`.
    CreateEnvironment {
        /// The interpreter to make it from; the newest found if absent.
        python: Option<String>,
    },

    /// Changes the settings. Answer: `Done`.
    ChangeSettings {
        /// All of them.
        settings: Settings,
    },
    /// Opens the door for browsers on this computer, and keeps it open as long as this client stays. Only over the
    /// local socket. Answer: `WebDoor`.
    OpenWebDoor {
        /// The port; any free one if absent.
        port: Option<u16>,
    },
    /// Ends the owner. Refused while something would be lost, unless forced. Answer: `Done`.
    Quit {
        /// Whether.
        force: bool,
    },
}
