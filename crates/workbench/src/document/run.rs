//! Running cells: from the queue into the sandbox, and from its events into the document.
//!
//! The events of a run go to its log first. The task that drives a run does nothing but that and taking them in; it
//! never waits for a page.

use std::{sync::Arc, time::Duration};

use sandbook_notebook::{CellKey, CellKind, Operation};
use sandbook_protocol::{
    CellSelection, ErrorCode, InputRequest, LogLevel, Patch, ProtocolError, RunState, RunView, Toast,
};
use sandbook_sandbox::{
    End, Event, EventKind, ExecuteRequest, Execution, ExecutionId, Payload, SandboxError,
};
use sandbook_store::{config::Rule, log::Refusal};
use secrecy::SecretString;
use tracing::Instrument;
use uuid::Uuid;

use super::{
    Document,
    journal::Entry as JournalEntry,
    queue::Entry,
    state::{Live, State, inner, outer, revision_number},
};
use crate::{
    disk::{EventLog, Kept},
    error::sandbox_error,
    outputs::LiveOutputs,
    sandboxes::LiveSandbox,
    time::millis,
};

/// How many events are taken in at once.
const MOST_EVENTS: usize = 1_024;

impl Document {
    /// Puts cells into the queue, with their sources of this moment.
    pub(crate) fn enqueue(self: &Arc<Self>, selection: &CellSelection) -> Result<(), ProtocolError> {
        {
            let mut state = self.state();
            let entries = state.entries(selection)?;
            state.queue.push(entries);
            state.queue_changed();
        }
        self.run_next();
        Ok(())
    }

    /// Goes on with what a failure held.
    pub(crate) fn continue_queue(self: &Arc<Self>) {
        {
            let mut state = self.state();
            state.queue.resume();
            state.queue_changed();
        }
        self.run_next();
    }

    /// Empties the queue; what runs goes on.
    pub(crate) fn clear_queue(&self) {
        self.state().drop_queue();
    }

    /// Starts the next cell, if the sandbox can take it.
    pub(crate) fn run_next(self: &Arc<Self>) {
        let mut state = self.state();
        let Some(sandbox) = state.sandbox.clone().filter(|sandbox| sandbox.is_usable()) else { return };
        let Some(entry) = state.queue.start_next() else { return };
        let execution = ExecutionId(Uuid::now_v7().simple().to_string());
        match state.begin_run(&entry, &execution) {
            Ok(()) => {
                drop(state);
                (self.surroundings.workspace_changed)();
                let span = tracing::info_span!("execution", id = %execution, document = %self.id, cell = %entry.cell);
                tokio::spawn(drive(self.clone(), sandbox, entry, execution).instrument(span));
            }
            Err(error) => {
                state.queue.end(true);
                state.toast(LogLevel::Error, error);
                state.queue_changed();
            }
        }
    }

    /// Answers what the code asks.
    pub(crate) fn answer_input(&self, value: SecretString) -> Result<(), ProtocolError> {
        let mut state = self.state();
        let door = state.input_door.clone().filter(|_| state.input.is_some());
        let sent = door.is_some_and(|door| door.send(value).is_ok());
        if !sent {
            return Err(ProtocolError::new(
                ErrorCode::NotFound,
                "Nothing waits for input. What was typed was not sent.",
                "Run the cell again if it should ask.",
            ));
        }
        state.close_input();
        Ok(())
    }

    /// Every cell up to and with the one that was running when the kernel died.
    pub(crate) fn up_to_death(&self) -> CellSelection {
        let state = self.state();
        let Some(last) = state.died_at.as_ref().and_then(|key| state.notebook.index(key)) else {
            return CellSelection::Cells { cells: Vec::new() };
        };
        let cells = state.notebook.cells().take(last + 1).map(|cell| outer(cell.key())).collect();
        CellSelection::Cells { cells }
    }

    /// The death of the kernel was dealt with.
    pub(crate) fn dismiss_death(&self) {
        self.state().died_at = None;
    }

    /// The kernel is gone and with it every value: finished cells say so, and what waited is dropped.
    pub(crate) fn values_lost(&self) {
        let mut state = self.state();
        state.died_at =
            state.queue.running().map(|entry| inner(&entry.cell)).or_else(|| state.died_at.clone());
        let lost: Vec<CellKey> = state
            .runs
            .iter()
            .filter(|(_, run)| matches!(run.state, RunState::Done))
            .map(|(key, _)| key.clone())
            .collect();
        for key in lost {
            if let Some(run) = state.runs.get_mut(&key) {
                run.state = RunState::Lost;
            }
            state.show_run(&key);
        }
        state.drop_queue();
    }

    /// The connection is away, or back: running cells say so.
    pub(crate) fn no_signal(&self, away: bool) {
        let mut state = self.state();
        let (from, to) = if away {
            (RunState::Running, RunState::NoSignal)
        } else {
            (RunState::NoSignal, RunState::Running)
        };
        let Some(key) = state.queue.running().map(|entry| inner(&entry.cell)) else { return };
        if let Some(run) = state.runs.get_mut(&key).filter(|run| run.state == from) {
            run.state = to;
            state.show_run(&key);
        }
    }

    /// What the kernel says about itself goes into the notebook's metadata, where it differs.
    pub(crate) fn set_language(
        &self,
        kernelspec: &serde_json::Value,
        language_info: Option<&serde_json::Value>,
    ) {
        let mut state = self.state();
        let known: serde_json::Value = state.notebook.metadata().parse().unwrap_or_default();
        let mut operations = Vec::new();
        for (name, value) in [("kernelspec", Some(kernelspec)), ("language_info", language_info)] {
            if let Some(value) = value.filter(|value| known[name] != **value && !value.is_null()) {
                operations.push(Operation::SetMetadata {
                    cell: None,
                    path: vec![name.into()],
                    value: Some(sandbook_notebook::RawJson::from_value(value)),
                });
            }
        }
        if !operations.is_empty()
            && let Err(error) = state.perform(Operation::Batch(operations))
        {
            tracing::warn!(message = error.message, "the kernel's name was not put into the notebook");
        }
    }

    /// A run met a limit of what is kept: the person's rule says whether it goes on.
    fn output_limit_met(&self, sandbox: &Arc<LiveSandbox>, refusal: Refusal) {
        let rule = self.surroundings.disk.policies().go_on_past_limit;
        tracing::warn!(?refusal, ?rule, "a limit of kept output is reached");
        if rule == Rule::Refuse {
            let sandbox = sandbox.clone();
            tokio::spawn(async move { sandbox.sandbox.interrupt().await });
        }
    }

    fn take_events(&self, key: &CellKey, execution: &ExecutionId, events: &[Event]) -> Option<End> {
        let mut state = self.state();
        let mut end = None;
        for event in events {
            if let Some(ended) = state.run_event(key, execution, event) {
                end = Some(ended);
            }
        }
        end
    }
}

/// Runs one cell to its end, and takes in what comes late.
async fn drive(document: Arc<Document>, sandbox: Arc<LiveSandbox>, entry: Entry, execution: ExecutionId) {
    let key = inner(&entry.cell);
    let mut log = match document.surroundings.disk.write_log(&execution.0) {
        Ok(log) => log,
        Err(error) => {
            let error = SandboxError::Failed(format!("its output could not be logged: {error}"));
            return end_run(&document, &sandbox, &key, &execution, failed_to_start(error));
        }
    };
    let timeout = (document.surroundings.settings)().page_timeout_ms;
    let timeout = (timeout > 0).then(|| Duration::from_millis(u64::from(timeout)));
    let request = ExecuteRequest { timeout, ..ExecuteRequest::new(entry.source) };
    let mut running: Execution = match sandbox.sandbox.execute(request).await {
        Ok(running) => running,
        Err(error) => return end_run(&document, &sandbox, &key, &execution, failed_to_start(error)),
    };
    document.state().input_door = Some(running.input());
    let mut events = Vec::new();
    let mut ended = false;
    while running.next_many(&mut events, MOST_EVENTS).await > 0 {
        let kept = keep(&mut log, &mut events);
        let end = document.take_events(&key, &execution, &events);
        events.clear();
        if let Some(refusal) = kept {
            document.output_limit_met(&sandbox, refusal);
        }
        document.changed.notify_one();
        if end.is_some() {
            ended = true;
            after_end(&document, &sandbox);
        }
    }
    if !ended {
        let error = SandboxError::Disconnected { detail: "the sandbox ended before the cell did".into() };
        end_run(&document, &sandbox, &key, &execution, failed_to_start(error));
    }
}

/// Writes events into the log. Those that are past a limit are dropped, but for a line that says so, once.
fn keep(log: &mut EventLog, events: &mut Vec<Event>) -> Option<Refusal> {
    let mut met = None;
    events.retain_mut(|event| match log.append(event) {
        Ok(Kept::Yes) => true,
        Ok(Kept::No) => false,
        Ok(Kept::NoMore(refusal)) => {
            met = Some(refusal);
            let text = "\n[The limit of kept output is reached. What follows is not kept. Stop the cell, or let it go on.]\n";
            event.kind = EventKind::Stream { name: sandbook_sandbox::StreamName::Stderr, text: text.into() };
            true
        }
        Err(error) => {
            tracing::error!(%error, "an event could not be logged");
            true
        }
    });
    met
}

fn failed_to_start(error: SandboxError) -> Event {
    let end = End { infrastructure: Some(error), ..End::default() };
    Event { at: Document::now(), late: false, kind: EventKind::End(end) }
}

fn end_run(
    document: &Arc<Document>,
    sandbox: &Arc<LiveSandbox>,
    key: &CellKey,
    execution: &ExecutionId,
    event: Event,
) {
    document.take_events(key, execution, &[event]);
    after_end(document, sandbox);
}

fn after_end(document: &Arc<Document>, sandbox: &Arc<LiveSandbox>) {
    sandbox.waits_for_input(false);
    document.run_next();
    (document.surroundings.workspace_changed)();
}

impl State {
    /// The cells of a selection that hold code, with their sources.
    fn entries(&self, selection: &CellSelection) -> Result<Vec<Entry>, ProtocolError> {
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

    fn begin_run(&mut self, entry: &Entry, execution: &ExecutionId) -> Result<(), ProtocolError> {
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
                    "\n[No contact for {:.0} s. Output from that time was not kept by the server.]\n",
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
        let kind = EventKind::Stream { name: sandbook_sandbox::StreamName::Stderr, text };
        self.output_event(key, &Event { at: event.at, late: event.late, kind });
    }

    /// Help that a kernel wants to show: it stands among the outputs.
    fn show_page(&mut self, key: &CellKey, data: &str, event: &Event) {
        let Ok(data) = serde_json::from_str(data) else { return };
        let Ok(metadata) = serde_json::value::RawValue::from_string("{}".into()) else { return };
        let kind = EventKind::Display { data, metadata: metadata.into(), display_id: None };
        self.output_event(key, &Event { at: event.at, late: event.late, kind });
    }

    fn open_input(&mut self, key: &CellKey, prompt: &str, password: bool, event: &Event) {
        let input = InputRequest {
            cell: outer(key),
            prompt: prompt.to_owned(),
            password,
            asked_at: millis(event.at),
        };
        self.input = Some(input.clone());
        self.push(&Patch::Input { input: Some(input) });
        if let Some(run) = self.runs.get_mut(key) {
            run.state = RunState::Input;
        }
        if let Some(sandbox) = &self.sandbox {
            sandbox.waits_for_input(true);
        }
        self.show_run(key);
    }

    fn close_input(&mut self) {
        if let Some(input) = self.input.take() {
            self.push(&Patch::Input { input: None });
            let key = inner(&input.cell);
            if let Some(run) = self.runs.get_mut(&key).filter(|run| run.state == RunState::Input) {
                run.state = RunState::Running;
                self.show_run(&key);
            }
        }
        if let Some(sandbox) = &self.sandbox {
            sandbox.waits_for_input(false);
        }
    }

    fn finish_run(&mut self, key: &CellKey, event: &Event, end: &End) {
        if let Some(error) = &end.infrastructure {
            let error = sandbox_error(error);
            self.say(key, format!("\n[{} {}]\n", error.message, error.hint), event);
        }
        if let Some(live) = self.live.get_mut(key) {
            live.active = false;
        }
        let failed = end.code_error.is_some()
            || end.infrastructure.is_some()
            || end.interrupted
            || end.timed_out
            || end.exit_code.is_some_and(|code| code != 0);
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

    fn drop_queue(&mut self) {
        let dropped: Vec<CellKey> = self.queue.clear().iter().map(inner).collect();
        for key in dropped {
            self.show_run(&key);
        }
        self.queue_changed();
    }

    fn toast(&mut self, level: LogLevel, error: ProtocolError) {
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
