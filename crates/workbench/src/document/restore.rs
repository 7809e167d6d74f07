//! Puts back what a document had and its file has not: after a crash, or after closing without saving.

use std::collections::HashMap;

use sandbook_notebook::Checkpoint;
use sandbook_protocol::{ProtocolError, RunState};
use sandbook_sandbox::ExecutionId;
use sandbook_store::{files::Digest, journal::Recovered};

use super::{journal::Entry, state::State};
use crate::{disk::Disk, error::store_error};

/// What a journal kept.
#[derive(Default)]
pub(super) struct Unsaved {
    entries: Vec<Entry>,
    operations: Vec<Vec<u8>>,
    /// The content of the file that it belongs to, where another program has changed the file since.
    pub(super) base: Option<Vec<u8>>,
    /// It belongs to a content of the file that is gone.
    pub(super) is_foreign: bool,
}

impl Unsaved {
    pub(super) fn read(recovered: Recovered) -> Self {
        let mut entries = Vec::with_capacity(recovered.operations.len());
        for bytes in &recovered.operations {
            match serde_json::from_slice(bytes) {
                Ok(entry) => entries.push(entry),
                Err(error) => tracing::error!(%error, "a record of a journal cannot be read"),
            }
        }
        let Recovered { operations, base, is_foreign, .. } = recovered;
        Self { entries, operations, base, is_foreign }
    }

    /// How much of it the file that it belongs to does not hold.
    pub(super) fn changes(&self) -> usize {
        let is_change = |entry: &&Entry| match entry {
            Entry::Checkpoint(_) => false,
            Entry::Waiting { cells } => !cells.is_empty(),
            Entry::Step(_) | Entry::RunStarted { .. } | Entry::OutputsCleared { .. } => true,
        };
        self.entries.iter().filter(is_change).count()
    }

    /// What the journal says first: what the file does not say of the document.
    pub(super) fn take_checkpoint(&mut self) -> Option<Checkpoint> {
        if self.is_foreign || !matches!(self.entries.first(), Some(Entry::Checkpoint(_))) {
            return None;
        }
        match self.entries.remove(0) {
            Entry::Checkpoint(checkpoint) => Some(*checkpoint),
            _ => None,
        }
    }
}

/// Applies what a journal kept to the state that was just read from the file.
pub(super) fn restore(
    state: &mut State,
    unsaved: Unsaved,
    digest: Digest,
    disk: &Disk,
) -> Result<(), ProtocolError> {
    if unsaved.is_foreign {
        return set_aside(state, &unsaved, digest, disk);
    }
    let entries = unsaved.entries;
    let cleared = clearings(&entries);
    let mut runs = 0;
    let mut steps = 0;
    for entry in entries {
        match entry {
            Entry::Step(step) => match state.notebook.replay(*step) {
                Ok(_) => steps += 1,
                Err(error) => {
                    tracing::error!(%error, "a step in a journal does not apply");
                    state.notices.push(format!("One unsaved change could not be restored: {error}."));
                }
            },
            Entry::RunStarted { cell, execution, revision, at } => {
                runs += 1;
                state.start_run(&cell, &execution, revision, at);
                replay_log(state, &cell, &execution, cleared.get(&execution), disk)?;
            }
            Entry::Waiting { cells } => state.waiting_on_record = cells,
            Entry::OutputsCleared { .. } | Entry::Checkpoint(_) => {}
        }
    }
    if steps + runs > 0 {
        state.notices.push(notice(steps, runs));
    }
    state.tell_not_run();
    Ok(())
}

/// After how many events each run's outputs were cleared by hand.
fn clearings(entries: &[Entry]) -> HashMap<ExecutionId, Vec<u64>> {
    let mut cleared: HashMap<ExecutionId, Vec<u64>> = HashMap::new();
    for entry in entries {
        if let Entry::OutputsCleared { execution, at } = entry {
            cleared.entry(execution.clone()).or_default().push(*at);
        }
    }
    cleared
}

/// Takes the events of a run in again, as far as its log has them.
fn replay_log(
    state: &mut State,
    cell: &sandbook_notebook::CellKey,
    execution: &ExecutionId,
    cleared: Option<&Vec<u64>>,
    disk: &Disk,
) -> Result<(), ProtocolError> {
    let mut taken = 0_u64;
    let read = disk.read_log(&execution.0, |event| {
        state.run_event(cell, execution, &event);
        taken += 1;
        if cleared.is_some_and(|moments| moments.contains(&taken))
            && let Some(live) = state.live.get_mut(cell)
        {
            live.outputs.clear();
        }
    });
    read.map_err(|error| store_error(&error))?;
    // The kernel went with the owner: what ended has lost its value, what did not end was stopped by that.
    let cut = state.live.get_mut(cell).is_some_and(|live| std::mem::take(&mut live.active));
    if let Some(run) = state.runs.get_mut(cell) {
        match run.state {
            _ if cut => run.state = RunState::Stopped,
            RunState::Done => run.state = RunState::Lost,
            _ => {}
        }
    }
    state.input = None;
    state.died_at = None;
    state.commit_live();
    Ok(())
}

fn notice(steps: usize, runs: usize) -> String {
    let part = |count: usize, one: &str, many: &str| match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        _ => Some(format!("{count} {many}")),
    };
    let parts: Vec<String> =
        [part(steps, "change", "changes"), part(runs, "run with its output", "runs with their output")]
            .into_iter()
            .flatten()
            .collect();
    format!("Restored what was not saved: {}.", parts.join(" and "))
}

/// The file is not the one that the journal belongs to, and that one was not kept. What is in the journal goes into a file of its own, and edits
/// start from the file as it is.
fn set_aside(state: &mut State, unsaved: &Unsaved, digest: Digest, disk: &Disk) -> Result<(), ProtocolError> {
    let count = unsaved.changes();
    if count > 0 {
        let folder = disk.folders.state.join("set-aside");
        let path = folder.join(format!("{}.jsonl", uuid::Uuid::now_v7().simple()));
        let lines: Vec<&[u8]> =
            unsaved.operations.iter().flat_map(|operation| [operation.as_slice(), b"\n"]).collect();
        sandbook_store::folders::create_private_folder(&folder).map_err(|error| store_error(&error))?;
        sandbook_store::files::write_atomically(&path, lines).map_err(|error| store_error(&error))?;
        let changes = match count {
            1 => "1 change was".to_owned(),
            count => format!("{count} changes were"),
        };
        state.notices.push(format!(
            "{changes} not saved when Sandbook ended, and another program changed the file since. The file is shown as \
             it is now; what is not in it is kept in {}, a change a line.",
            path.display()
        ));
    }
    state.journal.resolve(digest).map_err(|error| store_error(&error))
}
