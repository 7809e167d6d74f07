//! Running cells: from the queue into the sandbox, and from its events into the document.
//!
//! The events of a run go to its log first. The task that drives a run does nothing but that and taking them in; it
//! never waits for a page.

use std::{sync::Arc, time::Duration};

use sandbook_notebook::{CellKey, Operation};
use sandbook_protocol::{CellSelection, LogLevel, ProtocolError, RunState};
use sandbook_sandbox::{End, Event, EventKind, ExecuteRequest, Execution, ExecutionId, SandboxError};
use sandbook_store::{config::Rule, log::Refusal};
use tokio::sync::mpsc;
use tracing::Instrument;
use uuid::Uuid;

use super::{
    Document,
    input::InputDoor,
    queue::Entry,
    state::{inner, outer},
};
use crate::{
    disk::{EventLog, Kept},
    sandboxes::LiveSandbox,
};

/// How many events are taken in at once.
const MOST_EVENTS: usize = 1_024;

impl Document {
    /// Puts cells into the queue, with their sources of this moment.
    pub(crate) fn enqueue(self: &Arc<Self>, selection: &CellSelection) -> Result<(), ProtocolError> {
        {
            let mut state = self.state();
            let entries = state.entries(selection)?;
            for entry in &entries {
                if let Some(run) = state.runs.get_mut(&inner(&entry.cell)) {
                    run.not_run = None;
                }
            }
            let no_more_held = state.queue.push(entries);
            state.queue_changed();
            for cell in &no_more_held {
                state.show_run(&inner(cell));
            }
        }
        self.run_next();
        self.state().record_waiting();
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

    /// Empties the queue, because what would have run it did not start.
    pub(crate) fn give_up_queue(&self, why: &str) {
        self.state().give_up_queue(why);
    }

    /// The person stops what was asked for: what waits behind a running cell is held, and without one it is dropped.
    /// Answers whether there is anything for the kernel to interrupt.
    pub(crate) fn stop_waiting(&self) -> bool {
        let mut state = self.state();
        if state.queue.running().is_some() {
            state.queue.hold();
            state.queue_changed();
            state.record_waiting();
            return true;
        }
        if state.queue.is_idle() {
            return true;
        }
        state.drop_queue();
        drop(state);
        (self.surroundings.workspace_changed)();
        false
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

    /// The person asks for a restart of the kernel: what waits is dropped, and what runs is told apart from code whose
    /// kernel died.
    pub(crate) fn restart_begins(&self) {
        let mut state = self.state();
        state.drop_queue();
        state.queue.restart_begins();
        state.mark_as_restarted(true);
    }

    /// It did not come to the restart: what runs goes on.
    pub(crate) fn restart_failed(&self) {
        self.state().mark_as_restarted(false);
    }

    /// A restart ended, either way: what was asked for meanwhile runs.
    pub(crate) fn restart_is_over(self: &Arc<Self>) {
        self.state().queue.restart_is_over();
        self.run_next();
    }

    /// What a kernel says while it is ended for a restart is for the log, and its end is what the person wanted.
    fn take_as_restarted(&self, key: &CellKey, execution: &ExecutionId, events: &mut Vec<Event>) {
        let state = self.state();
        if !state.live.get(key).is_some_and(|live| live.restarted && live.execution == *execution) {
            return;
        }
        drop(state);
        for event in std::mem::take(events) {
            match event.kind {
                EventKind::Stream { name: sandbook_sandbox::StreamName::Stderr, text } => {
                    tracing::info!(%text, "a kernel said this while it was restarted");
                }
                EventKind::End(end) if matches!(end.infrastructure, Some(SandboxError::Died { .. })) => {
                    let text = "[The kernel was restarted.]\n".into();
                    let kind = EventKind::Stream { name: sandbook_sandbox::StreamName::Owner, text };
                    events.push(Event { at: event.at, late: event.late, kind });
                    let end = End { infrastructure: None, interrupted: true, ..end };
                    events.push(Event { kind: EventKind::End(end), ..event });
                }
                kind => events.push(Event { kind, ..event }),
            }
        }
    }

    /// The kernel died: the cell that was running is remembered, and every value is lost.
    pub(crate) fn kernel_died(&self) {
        {
            let mut state = self.state();
            state.died_at =
                state.queue.running().map(|entry| inner(&entry.cell)).or_else(|| state.died_at.clone());
        }
        self.values_lost();
    }

    /// The kernel is gone and with it every value: finished cells say so, and what waited for it is dropped. What was
    /// asked for during a restart waits for the new kernel.
    pub(crate) fn values_lost(&self) {
        let mut state = self.state();
        state.exchange_runs(RunState::Done, RunState::Lost);
        if !state.queue.is_restarting() {
            state.drop_queue();
        }
    }

    /// The kernel of before is there again, and with it its values.
    pub(crate) fn values_back(&self) {
        self.state().exchange_runs(RunState::Lost, RunState::Done);
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
            tracing::warn!(reason = error.message, "the kernel's name was not put into the notebook");
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
        let asked = state.input.is_some();
        let mut end = None;
        for event in events {
            if let Some(ended) = state.run_event(key, execution, event) {
                end = Some(ended);
            }
        }
        if asked != state.input.is_some() {
            drop(state);
            (self.surroundings.workspace_changed)();
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
    let (door, mut answered) = InputDoor::new(running.input());
    document.state().input_door = Some(door);
    let mut events = Vec::new();
    // What comes late comes for as long as the kernel lives, which may be longer than anybody wants the document.
    let late = Arc::downgrade(&document);
    let mut runs = Some(document);
    while next(&mut running, &mut answered, &mut events).await {
        let Some(document) = runs.clone().or_else(|| late.upgrade()) else { return };
        document.take_as_restarted(&key, &execution, &mut events);
        let kept = keep(&mut log, &mut events);
        let end = document.take_events(&key, &execution, &events);
        events.clear();
        if let Some(refusal) = kept {
            document.output_limit_met(&sandbox, refusal);
        }
        document.changed.notify_one();
        if end.is_some() {
            runs = None;
            after_end(&document, &sandbox);
        }
    }
    if let Some(document) = runs {
        let error = SandboxError::Disconnected { detail: "the sandbox ended before the cell did".into() };
        end_run(&document, &sandbox, &key, &execution, failed_to_start(error));
    }
}

/// Waits for what happens next: a person answered the code, or the kernel said something. An answer stands before what
/// the code did with it.
async fn next(
    running: &mut Execution,
    answered: &mut mpsc::UnboundedReceiver<Event>,
    events: &mut Vec<Event>,
) -> bool {
    tokio::select! {
        biased;
        Some(answer) = answered.recv() => events.push(answer),
        count = running.next_many(events, MOST_EVENTS) => {
            while let Ok(answer) = answered.try_recv() {
                events.insert(0, answer);
            }
            return count > 0;
        }
    }
    true
}

/// Writes events into the log. Those that are past a limit are dropped, but for a line that says so, once.
fn keep(log: &mut EventLog, events: &mut Vec<Event>) -> Option<Refusal> {
    let mut met = None;
    events.retain_mut(|event| match log.append(event) {
        Ok(Kept::Yes) => true,
        Ok(Kept::No) => false,
        Ok(Kept::NoMore(refusal)) => {
            met = Some(refusal);
            let text = "[The limit of kept output is reached. What follows is not kept. Stop the cell, or let it go on.]\n";
            event.kind = EventKind::Stream { name: sandbook_sandbox::StreamName::Owner, text: text.into() };
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
