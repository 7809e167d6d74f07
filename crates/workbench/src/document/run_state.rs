//! A run as the document shows it: from its start to its end, event by event.

use sandbook_notebook::{CellKey, CellKind, Operation};
use sandbook_protocol::{CellSelection, ErrorCode, LogLevel, Patch, ProtocolError, RunState, RunView, Toast};
use sandbook_sandbox::{End, Event, EventKind, ExecutionId, Payload, SandboxError};

use super::{
    Document,
    journal::Entry as JournalEntry,
    queue::Entry,
    state::{Live, State, inner, outer, revision_number},
};
use crate::{error::sandbox_error, outputs::LiveOutputs, time::millis};

impl State {
    /// The cells of a selection that hold code, with their sources.
    pub(super) fn entries(&self, selection: &CellSelection) -> Result<Vec<Entry>, ProtocolError> {
        let all: Vec<CellKey> = self.notebook.cells().map(|cell| cell.key().clone()).collect();
        let index = |key: &sandbook_protocol::CellKey| {
            self.notebook.index(&inner(key)).ok_or_else(|| ProtocolError::not_found("cell"))
        };
        let keys: Vec<CellKey> = match selection {
            CellSelection::All => all,
            CellSelection::Cells { cells } => cells.iter().map(inner).collect(),
            CellSelection::Above { cell } => all[..index(cell)?].to_vec(),
            CellSelection::Below { cell } => all[index(cell)?..].to_vec(),
        };
        let code = keys
            .iter()
            .filter_map(|key| self.notebook.cell(key))
            .filter(|cell| cell.kind() == CellKind::Code && !cell.source().trim().is_empty());
        let entries = code.map(|cell| Entry {
            cell: outer(cell.key()),
            source: cell.source().into_owned(),
            revision: revision_number(cell.revision()),
        });
        Ok(entries.collect())
    }

    pub(super) fn begin_run(&mut self, entry: &Entry, execution: &ExecutionId) -> Result<(), ProtocolError> {
        let key = inner(&entry.cell);
        let at = millis(Document::now());
        let record = JournalEntry::RunStarted {
            cell: key.clone(),
            execution: execution.clone(),
            revision: entry.revision,
            at,
        };
        self.journal.append(&record).map_err(|error| {
            ProtocolError::new(
                ErrorCode::FileUnwritable,
                format!("The cell was not run, because the journal could not be written: {error}."),
                "Make room on the disk that holds Sandbook's state.",
            )
        })?;
        self.start_run(&key, execution, entry.revision, at);
        self.push(&Patch::OutputsReplaced { cell: outer(&key), outputs: Vec::new() });
        self.show_run(&key);
        self.queue_changed();
        self.status_changed();
        Ok(())
    }

    /// The outputs of a run take the place of the cell's.
    pub(super) fn start_run(&mut self, key: &CellKey, execution: &ExecutionId, revision: u32, at: u64) {
        self.forget_outputs(key);
        let live = Live {
            execution: execution.clone(),
            outputs: LiveOutputs::default(),
            uncommitted: true,
            active: true,
            restarted: false,
            named: 0,
            written: 0,
        };
        self.live.insert(key.clone(), live);
        let run = RunView {
            state: RunState::Running,
            started_at: Some(at),
            ran_revision: Some(revision),
            ..RunView::default()
        };
        self.runs.insert(key.clone(), run);
        self.waiting_on_record.retain(|waiting| waiting != key);
    }

    /// Takes an event of a run in. Answers its end.
    pub(super) fn run_event(&mut self, key: &CellKey, execution: &ExecutionId, event: &Event) -> Option<End> {
        let current = self.live.get_mut(key).filter(|live| live.execution == *execution);
        let Some(live) = current else {
            // A newer run has this cell; what its older one says late stays in the log.
            return None;
        };
        live.written += 1;
        match &event.kind {
            EventKind::Started { execution_count } => self.set_count(key, *execution_count),
            EventKind::InputRequest { prompt, password } => self.open_input(key, prompt, *password, event),
            EventKind::Payload(Payload::SetNextInput { text, .. }) => {
                self.push(&Patch::NextInput { cell: outer(key), text: text.clone() });
            }
            EventKind::Payload(Payload::Page { data }) => self.show_page(key, data, event),
            EventKind::Gap { away_ms, replayed: false } => {
                let text = format!(
                    "[No contact for {:.0} s. Output from that time may be missing here.]\n",
                    std::time::Duration::from_millis(*away_ms).as_secs_f64()
                );
                self.say(key, text, event);
            }
            EventKind::End(end) => {
                self.finish_run(key, event, end);
                return Some(end.clone());
            }
            _ => self.output_event(key, event),
        }
        None
    }

    fn set_count(&mut self, key: &CellKey, count: Option<u32>) {
        let count = count.map(u64::from);
        if self.notebook.cell(key).is_some_and(|cell| cell.execution_count() != count) {
            let operation = Operation::SetExecutionCount { cell: key.clone(), count };
            if self.notebook.apply(operation).is_ok() {
                self.show_cell(key);
            }
        }
    }

    /// A text of our own, among the outputs.
    fn say(&mut self, key: &CellKey, text: String, event: &Event) {
        let kind = EventKind::Stream { name: sandbook_sandbox::StreamName::Owner, text };
        self.output_event(key, &Event { at: event.at, late: event.late, kind });
    }

    /// Help that a kernel wants to show: it stands among the outputs.
    fn show_page(&mut self, key: &CellKey, data: &str, event: &Event) {
        let Ok(data) = serde_json::from_str(data) else { return };
        let Ok(metadata) = serde_json::value::RawValue::from_string("{}".into()) else { return };
        let kind = EventKind::Display { data, metadata: metadata.into(), display_id: None };
        self.output_event(key, &Event { at: event.at, late: event.late, kind });
    }

    fn finish_run(&mut self, key: &CellKey, event: &Event, end: &End) {
        if let Some(error) = &end.infrastructure {
            let error = sandbox_error(error);
            self.say(key, format!("[{} {}]\n", error.message, error.hint), event);
        }
        if let Some(live) = self.live.get_mut(key) {
            live.active = false;
        }
        // What a restart ended has not failed: what waits was asked for after it.
        let restarted = self.live.get(key).is_some_and(|live| live.restarted);
        let failed = !restarted
            && (end.code_error.is_some()
                || end.infrastructure.is_some()
                || end.interrupted
                || end.timed_out
                || end.exit_code.is_some_and(|code| code != 0));
        let started = self.runs.get(key).and_then(|run| run.started_at);
        if let Some(run) = self.runs.get_mut(key) {
            run.state = state_of(end);
            run.exit_code = end.exit_code.filter(|code| *code != 0);
            run.duration_ms = started.map(|started| millis(event.at).saturating_sub(started));
        }
        if end.execution_count.is_some() {
            self.set_count(key, end.execution_count);
        }
        if matches!(end.infrastructure, Some(SandboxError::Died { .. })) {
            self.died_at = Some(key.clone());
        }
        if self.queue.running().is_some_and(|entry| inner(&entry.cell) == *key) {
            self.queue.end(failed);
        }
        self.close_input();
        self.commit_live();
        self.show_run(key);
        self.queue_changed();
        self.status_changed();
    }

    /// Every run in one state goes into another.
    pub(super) fn exchange_runs(&mut self, from: RunState, to: RunState) {
        let keys: Vec<CellKey> =
            self.runs.iter().filter(|(_, run)| run.state == from).map(|(key, _)| key.clone()).collect();
        for key in keys {
            if let Some(run) = self.runs.get_mut(&key) {
                run.state = to;
            }
            self.show_run(&key);
        }
    }

    pub(super) fn drop_queue(&mut self) {
        let dropped: Vec<CellKey> = self.queue.clear().iter().map(inner).collect();
        for key in dropped {
            self.show_run(&key);
        }
        self.queue_changed();
        self.record_waiting();
    }

    /// Whether the end of what runs is one that the person asked for.
    pub(super) fn mark_as_restarted(&mut self, restarted: bool) {
        let running = self.queue.running().map(|entry| inner(&entry.cell));
        if let Some(live) = running.and_then(|key| self.live.get_mut(&key)) {
            live.restarted = restarted;
        }
    }

    /// What would have run the cells that wait did not start: nothing will run them, and each says why.
    pub(super) fn give_up_queue(&mut self, why: &str) {
        for cell in self.queue.clear() {
            let key = inner(&cell);
            self.runs.entry(key.clone()).or_default().not_run = Some(why.to_owned());
            self.show_run(&key);
        }
        self.queue_changed();
        self.record_waiting();
    }

    pub(super) fn toast(&mut self, level: LogLevel, error: ProtocolError) {
        let toast = Toast { level, message: error.message.clone(), error: Some(error) };
        self.push(&Patch::Toast { toast });
    }
}

const fn state_of(end: &End) -> RunState {
    if end.timed_out {
        RunState::TimedOut
    } else if end.interrupted {
        RunState::Stopped
    } else if end.code_error.is_some()
        || end.infrastructure.is_some()
        || matches!(end.exit_code, Some(code) if code != 0)
    {
        RunState::Failed
    } else if end.aborted {
        RunState::New
    } else {
        RunState::Done
    }
}
