//! The state of an open notebook.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::Arc,
    time::{Instant, SystemTime},
};

use sandbook_notebook::{Applied, CellKey, Change, Notebook, Operation};
use sandbook_protocol::{
    ClientId, DocumentStatus, ErrorCode, InputRequest, OutputId, Patch, ProtocolError, RunState, RunView,
    SourceEdit,
};
use sandbook_sandbox::ExecutionId;

use super::{
    input::InputDoor,
    journal::{Entry, JournalFile},
    page::Page,
    queue::RunQueue,
    resources::Resources,
    view,
};
use crate::{outputs::LiveOutputs, sandboxes::LiveSandbox, session::Mailbox, time::millis};

/// What a run left at a cell.
#[derive(Debug)]
pub(super) struct Live {
    pub(super) execution: ExecutionId,
    pub(super) outputs: LiveOutputs,
    /// Whether the notebook does not have these outputs yet.
    pub(super) uncommitted: bool,
    pub(super) active: bool,
    /// Whether the person asked for a restart of its kernel.
    pub(super) restarted: bool,
    /// How many outputs were named.
    pub(super) named: u32,
    /// How many events of the run were taken in.
    pub(super) written: u64,
}

/// The file behind the document.
#[derive(Debug, Default)]
pub(super) struct FileState {
    pub(super) fingerprint: Option<sandbook_store::files::Fingerprint>,
    /// The notebook's version that the file holds.
    pub(super) saved_version: u64,
    pub(super) saved_at: Option<SystemTime>,
    pub(super) changed_on_disk: bool,
    pub(super) read_only: bool,
    /// How long the last save took.
    pub(super) last_save: std::time::Duration,
}

/// A page that looks at the document.
#[derive(Debug)]
pub(super) struct Viewer {
    pub(super) mailbox: Arc<Mailbox>,
    pub(super) page: Page,
}

/// Everything about an open notebook.
pub(crate) struct State {
    pub(super) notebook: Notebook,
    pub(super) path: Option<PathBuf>,
    pub(super) title: String,
    pub(super) file: FileState,
    pub(super) journal: JournalFile,
    pub(super) journal_name: String,
    pub(super) runs: HashMap<CellKey, RunView>,
    pub(super) live: HashMap<CellKey, Live>,
    pub(super) queue: RunQueue,
    /// The cells that wait, as the journal has it.
    pub(super) waiting_on_record: Vec<CellKey>,
    pub(super) input: Option<InputRequest>,
    pub(super) input_door: Option<InputDoor>,
    pub(super) sandbox: Option<Arc<LiveSandbox>>,
    /// The cell that was running when the kernel died.
    pub(super) died_at: Option<CellKey>,
    pub(super) resources: Resources,
    pub(super) viewers: Vec<Viewer>,
    pub(super) notices: Vec<String>,
    /// Makes keys of new cells.
    pub(super) next_key: u64,
    pub(super) key_prefix: String,
}

/// The protocol's key of a cell.
pub(super) fn outer(key: &CellKey) -> sandbook_protocol::CellKey {
    sandbook_protocol::CellKey(key.as_str().to_owned())
}

/// The notebook's key of a cell.
pub(super) fn inner(key: &sandbook_protocol::CellKey) -> CellKey {
    CellKey::new(key.as_str())
}

impl State {
    /// A key for a new cell.
    pub(super) fn new_key(&mut self) -> CellKey {
        self.next_key += 1;
        CellKey::new(format!("{}{}", self.key_prefix, self.next_key))
    }

    /// Whether there is something that the file does not hold.
    pub(super) fn is_dirty(&self) -> bool {
        self.notebook.version() != self.file.saved_version || self.live.values().any(|live| live.uncommitted)
    }

    pub(super) fn status(&self) -> DocumentStatus {
        DocumentStatus {
            title: self.title.clone(),
            path: self.path.as_ref().map(|path| path.display().to_string()),
            dirty: self.is_dirty(),
            saved_at: self.file.saved_at.map(millis),
            changed_on_disk: self.file.changed_on_disk,
            read_only: self.file.read_only,
            language: self.notebook.language(),
            kernel_name: self.notebook.kernel_name(),
            sandbox: self.sandbox.as_ref().map(|sandbox| sandbox.id.clone()),
            can_undo: self.notebook.can_undo(),
            can_redo: self.notebook.can_redo(),
            notices: self.notices.clone(),
        }
    }

    /// Tells every page the status.
    pub(super) fn status_changed(&mut self) {
        let status = self.status();
        self.push(&Patch::Status { status });
    }

    /// Tells every page.
    pub(super) fn push(&mut self, patch: &Patch) {
        let now = Instant::now();
        for viewer in &mut self.viewers {
            viewer.page.push(patch.clone(), now);
            viewer.mailbox.wake();
        }
    }

    /// Applies what a person or client does: in the journal first, then in front of the pages.
    pub(super) fn perform(&mut self, operation: Operation) -> Result<Applied, ProtocolError> {
        let dirty = self.is_dirty();
        let undo = (self.notebook.can_undo(), self.notebook.can_redo());
        let applied = self.notebook.apply(operation).map_err(|error| refused(&error))?;
        self.record(&applied)?;
        self.show(&applied.changes);
        if !dirty || undo != (self.notebook.can_undo(), self.notebook.can_redo()) {
            self.status_changed();
        }
        Ok(applied)
    }

    /// Writes an applied step into the journal. Where that fails the step is taken back.
    pub(super) fn record(&mut self, applied: &Applied) -> Result<(), ProtocolError> {
        let Err(error) = self.journal.append(&Entry::Step(Box::new(applied.step.clone()))) else {
            return Ok(());
        };
        if let Some(inverse) = applied.inverse.clone()
            && let Err(fault) = self.notebook.apply(inverse)
        {
            tracing::error!(%fault, "a change that could not be journaled could not be taken back either");
        }
        Err(ProtocolError::new(
            ErrorCode::FileUnwritable,
            format!("The change was not made, because it could not be written to the journal: {error}."),
            "Make room on the disk that holds Sandbook's state. Everything before this change is safe.",
        )
        .retryable())
    }

    /// Tells the pages what changed.
    pub(super) fn show(&mut self, changes: &[Change]) {
        for change in changes {
            match change {
                Change::CellsInserted { index, cells } => self.show_inserted(*index, cells),
                Change::CellsRemoved { cells } => {
                    let removed: Vec<_> = cells.iter().map(outer).collect();
                    self.queue.forget(&removed);
                    self.push(&Patch::CellsRemoved { cells: removed });
                    self.queue_changed();
                }
                Change::CellsReordered => {
                    let order = self.notebook.cells().map(|cell| outer(cell.key())).collect();
                    self.push(&Patch::CellsReordered { order });
                }
                Change::Source { cell, revision, author, changes } => {
                    let patch = Patch::SourceEdited {
                        cell: outer(cell),
                        revision: revision_number(*revision),
                        author: ClientId(author.clone()),
                        edits: changes.edits().into_iter().map(source_edit).collect(),
                    };
                    self.push(&patch);
                }
                Change::Cell { cell } => self.show_cell(cell),
                Change::OutputsReplaced { cell }
                | Change::OutputAppended { cell, .. }
                | Change::OutputChanged { cell, .. }
                | Change::StreamChanged { cell, .. } => self.show_outputs(cell),
                Change::Metadata => self.status_changed(),
            }
        }
    }

    /// Tells the pages what a cell is, besides source and outputs.
    pub(super) fn show_cell(&mut self, key: &CellKey) {
        let Some(cell) = self.notebook.cell(key) else { return };
        let (source_hidden, outputs_hidden) = view::folding(cell);
        let patch = Patch::CellChanged {
            cell: outer(key),
            kind: view::kind(cell.kind()),
            source_hidden,
            outputs_hidden,
            execution_count: cell.execution_count().and_then(|count| count.try_into().ok()),
        };
        self.push(&patch);
    }

    /// The notebook's outputs of a cell changed by hand: what a run left there is not shown any more, unless it runs
    /// on.
    fn show_outputs(&mut self, key: &CellKey) {
        if self.live.get(key).is_some_and(|live| live.active) {
            return;
        }
        self.live.remove(key);
        self.forget_outputs(key);
        let outputs = self.output_views(key);
        self.push(&Patch::OutputsReplaced { cell: outer(key), outputs });
        self.show_cell(key);
    }

    /// Pages need not remember texts that are not shown any more.
    pub(super) fn forget_outputs(&mut self, key: &CellKey) {
        let prefix = format!("{}.", key.as_str());
        let gone = |output: &OutputId| output.as_str().starts_with(&prefix);
        for viewer in &mut self.viewers {
            viewer.page.forget(gone);
        }
    }

    /// Tells every page the run of a cell.
    pub(super) fn show_run(&mut self, key: &CellKey) {
        let run = self.run_view(key);
        self.push(&Patch::Run { cell: outer(key), run });
    }

    /// The run of a cell, with its place in the queue.
    pub(super) fn run_view(&self, key: &CellKey) -> RunView {
        let outer = outer(key);
        let known = self.runs.get(key).cloned().unwrap_or_default();
        if let Some(place) = self.queue.place(&outer) {
            return RunView { state: RunState::Queued, place: Some(place), ..known };
        }
        if self.queue.is_held(&outer) {
            return RunView { state: RunState::Held, ..known };
        }
        known
    }

    /// Tells every page the queue, and the cells in it their places.
    pub(super) fn queue_changed(&mut self) {
        let queue = self.queue.view();
        self.push(&Patch::Queue { queue });
        let waiting: Vec<CellKey> = self.queue.pending().map(inner).collect();
        for key in waiting {
            self.show_run(&key);
        }
    }
}

/// An edit in the protocol's form.
fn source_edit(edit: sandbook_notebook::TextEdit) -> SourceEdit {
    let unit = |position: usize| u32::try_from(position).unwrap_or(u32::MAX);
    SourceEdit { from: unit(edit.from), to: unit(edit.to), insert: edit.insert }
}

/// A revision in the protocol's form.
pub(super) fn revision_number(revision: u64) -> u32 {
    u32::try_from(revision).unwrap_or(u32::MAX)
}

/// Why an operation does not apply, as a person reads it.
pub(super) fn refused(error: &sandbook_notebook::OperationError) -> ProtocolError {
    use sandbook_notebook::{EditError, OperationError};
    let code = match error {
        OperationError::UnknownCell(_) => ErrorCode::NotFound,
        OperationError::Edit { error: EditError::Revision { .. }, .. } => ErrorCode::StaleRevision,
        _ => ErrorCode::BadRequest,
    };
    ProtocolError::new(
        code,
        format!("The notebook was not changed: {error}."),
        "Look at the cell again and repeat the change.",
    )
}
