//! What a client can ask of the owner.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{
    CellKey, CellKind, ConnectionId, CredentialId, CredentialKind, DocumentId, OutputId, PastedId,
    ResourceId, RuntimeKind, SandboxId, Secret, Settings,
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
    /// A new sandbox of a runtime.
    New {
        /// Which runtime.
        runtime: RuntimeKind,
        /// What only that runtime knows, in its own words; null for what it does by itself.
        #[ts(type = "unknown")]
        settings: serde_json::Value,
        /// The connection to the account with which it is made, where it needs one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        connection: Option<ConnectionId>,
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

    /// Looks at what a new sandbox of a runtime would be. Starts and fetches nothing. Answer: `Survey`.
    SurveyRuntime {
        /// Which runtime.
        runtime: RuntimeKind,
        /// The document that would run there, and whose folder it would see.
        document: Option<DocumentId>,
        /// What only that runtime knows, in its own words; null for what it does by itself.
        #[ts(type = "unknown")]
        settings: serde_json::Value,
        /// The connection to the account with which it would be made, where it needs one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        connection: Option<ConnectionId>,
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
    /// Puts cells into the queue. A kernel that does not start ends it, and each cell says why. Without a sandbox they stay queued, and the answer is the error `no_sandbox`, unless
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
    /// Puts off the end of a sandbox that ends by itself, to so long from now. Answer: `Done`.
    ProlongSandbox {
        /// Which.
        sandbox: SandboxId,
        /// How many seconds from now.
        seconds: u32,
    },
    /// Lets everything in a sandbox stand still, or go on. Answer: `Done`.
    PauseSandbox {
        /// Which.
        sandbox: SandboxId,
        /// `true`: stand still; `false`: go on.
        pause: bool,
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
        /// The token, in place of the one that was pasted. It goes to the keyring.
        token: Option<Secret>,
        /// The cloud whose page it is, where the person said so; else what the address looks like.
        runtime: Option<RuntimeKind>,
        /// The id of a cloud's kernel, in place of the one that was pasted.
        kernel: Option<String>,
        /// What the person calls it; the host if absent.
        name: Option<String>,
        /// The fingerprint of a self-signed certificate that the person agreed to trust; the one that is trusted for
        /// this address already, if absent.
        trust_fingerprint: Option<String>,
        /// Whether the person agreed that token and code go to this address over plain http. Without it the answer may be
        /// the error `not_encrypted`.
        plain_http: bool,
    },
    /// Saves a connection to an account of a cloud where sandboxes are made, once the cloud took its key. Makes nothing there.
    /// Answer: `Connection`.
    ConnectAccount {
        /// Which cloud.
        runtime: RuntimeKind,
        /// The address of an installation of it, in place of the cloud's own.
        address: Option<String>,
        /// The key. Without one, that of the variable which the account's view names is taken over; a server of a person's own
        /// may need none. It goes to the keyring.
        key: Option<Secret>,
        /// What the person calls it; the cloud's name if absent.
        name: Option<String>,
        /// Whether the person agreed that key and code go to this address over plain http. Without it the answer may be the
        /// error `not_encrypted`.
        #[serde(default)]
        plain_http: bool,
    },
    /// Trusts another certificate of a connection's server, for this connection only, in place of the one that was
    /// trusted. Asks the server: where it shows none with this fingerprint, the old trust stays. Answer: `Done`.
    TrustCertificate {
        /// Which connection.
        connection: ConnectionId,
        /// The fingerprint that the person compared.
        fingerprint: String,
    },
    /// Removes a connection, and the credential that was stored with it where no other connection uses that. Answer: `Done`.
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
    /// Adds a credential: the secret, or the name of a variable that holds it. Where it cannot be kept as asked, the answer is
    /// the error `keyring_unavailable`, and nothing was saved. Answer: `Credential`.
    AddCredential {
        /// What it is. The secret of a link is added by connecting to its page.
        kind: CredentialKind,
        /// What the person calls it; what it is for if absent.
        name: Option<String>,
        /// The secret, in any form in which its makers give it.
        secret: Option<Secret>,
        /// A variable in the owner's environment that holds it, in place of the secret. Its name begins with
        /// `SANDBOOK_CREDENTIAL_`: no child of Sandbook inherits such a one.
        variable: Option<String>,
        /// The connections that shall use it.
        connections: Vec<ConnectionId>,
        /// Whether it is kept in memory until Sandbook ends, and not in the keyring.
        in_memory: bool,
    },
    /// Puts another secret in the place of a credential. Its connections keep it and are asked first: where one refuses the new
    /// secret, the old stays. Answer: `Credential`.
    ReplaceCredential {
        /// Which.
        credential: CredentialId,
        /// The new secret.
        secret: Option<Secret>,
        /// A variable that holds it, as for `AddCredential`.
        variable: Option<String>,
        /// Whether it is kept in memory until Sandbook ends.
        in_memory: bool,
    },
    /// Puts a credential that is in memory into the keyring. Answer: `Credential`.
    KeepCredential {
        /// Which.
        credential: CredentialId,
    },
    /// Asks everybody who takes a credential whether they still do. Starts nothing and costs nothing. Answer:
    /// `CredentialChecked`.
    TestCredential {
        /// Which.
        credential: CredentialId,
    },
    /// Deletes a credential, and takes it from the connections that use it. What runs goes on. Answer: `CredentialDeleted`.
    DeleteCredential {
        /// Which.
        credential: CredentialId,
    },
    /// Looks whether the keyring can be used now, and which part of it is missing. Asks nobody for a password. Answer: `Done`;
    /// the workspace says what was found.
    LookAtKeyring,
    /// Asks the person, through the system, to unlock the keyring. Answer: `Done` once it is.
    UnlockKeyring,
    /// Looks for credentials of other programs on this computer. Takes nothing over. Answer: `CredentialImports`.
    ListCredentialImports,
    /// Takes over one of them. Answer: `Credential`.
    ImportCredential {
        /// Its id.
        import: String,
        /// Whether it is kept in memory until Sandbook ends.
        in_memory: bool,
    },
    /// Goes on in the kernel of a connection with a fresh link to it: for the connection, and for the sandboxes that live.
    /// Answer: `Done`.
    RenewLink {
        /// Which connection.
        connection: ConnectionId,
        /// The pasted link.
        pasted: PastedId,
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
