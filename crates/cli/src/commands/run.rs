//! `sandbook run`: all cells of a notebook, and the notebook with its outputs.
//!
//! Outputs are gathered and written by the code that the page's owner uses, so a notebook that was run here is the
//! notebook that would have been saved there.

mod files;
mod into_notebook;
mod report;

use std::{collections::HashMap, time::SystemTime};

use sandbook_notebook::{CellKey, CellKind, Notebook};
use sandbook_protocol::OutputId;
use sandbook_sandbox::{Event, EventKind, ExecuteRequest, Payload, StreamName};
use sandbook_workbench::outputs::LiveOutputs;

use self::{
    files::{check_writable, folder, read, target, write},
    into_notebook::{describe, put_next_inputs, put_outputs, set_count},
    report::{begin, end, finish, notices, print},
};
use crate::{
    Ended,
    arguments::{Run, limit},
    error::CommandError,
    execution::{self, Watch},
    home, logging,
    sandbox::Own,
    signals::Signals,
};

/// A cell to run.
struct Todo {
    key: CellKey,
    /// Its place among all cells, from 1.
    number: usize,
    source: String,
}

/// How far a run came.
#[derive(Default)]
struct Progress {
    run: usize,
    failed: usize,
    /// The status of the first cell that failed.
    status: u8,
    /// What ended the run before its last cell, beside a cell's failure.
    error: Option<CommandError>,
}

pub(crate) async fn run(run: Run) -> Ended {
    let json = run.json;
    match run_all(run).await {
        // The last line is an outcome, whatever happened.
        Err(error) if json => {
            let progress = Progress { status: error.status, error: Some(error), ..Progress::default() };
            let status = progress.status;
            finish(true, &progress, 0, None);
            Ok(status)
        }
        ended => ended,
    }
}

async fn run_all(run: Run) -> Ended {
    let folders = home::folders()?;
    let _logging = logging::begin(&folders, "command", None);
    let mut signals = Signals::watch()?;
    let (mut notebook, fingerprint) = read(&run.notebook)?;
    let target = target(&run);
    check_writable(&target)?;
    notices(run.json, &notebook);
    let todo = todo(&notebook);
    let total = notebook.cells().len();
    let folder = folder(&run.notebook);
    let own = Own::start(folders, run.place, &folder, Some(&notebook), &mut signals).await?;

    describe(&mut notebook, &own).await?;
    let mut outputs = HashMap::new();
    let mut next_inputs = HashMap::new();
    let mut progress = Progress::default();
    for cell in &todo {
        begin(run.json, cell, total);
        let request = ExecuteRequest {
            allow_input: false,
            timeout: run.timeout.and_then(limit),
            ..ExecuteRequest::new(&cell.source)
        };
        outputs.insert(cell.key.clone(), LiveOutputs::default());
        let ended =
            execution::execute(own.sandbox(), request, Watch::once(run.json), &mut signals, |events| {
                take(&mut outputs, &cell.key, events);
                next_inputs.extend(events.iter().filter_map(next_input).map(|next| (cell.key.clone(), next)));
                if run.json { print(cell, events) } else { Ok(()) }
            })
            .await;
        progress.run += 1;
        let outcome = match ended {
            Ok(outcome) => outcome,
            Err(error) => {
                say(&mut outputs, &cell.key, &error);
                progress.status = error.status;
                progress.error = Some(error);
                break;
            }
        };
        if let Some(error) = &outcome.infrastructure {
            say(&mut outputs, &cell.key, &error.into());
        }
        let status = execution::status(&outcome);
        end(run.json, cell, total, &outcome, status);
        set_count(&mut notebook, &cell.key, &outcome)?;
        if status != 0 {
            progress.failed += 1;
            if outcome.infrastructure.is_some() || outcome.interrupted || !run.allow_errors {
                progress.status = status;
                progress.error = outcome.infrastructure.as_ref().map(CommandError::from);
                break;
            }
        }
    }
    own.stop().await;
    put_outputs(&mut notebook, &outputs)?;
    put_next_inputs(&mut notebook, next_inputs)?;
    let written = match write(&notebook, &target, run.in_place.then_some(&fingerprint), &run.notebook) {
        Ok(path) => Some(path),
        Err(error) => {
            progress.status = error.status;
            progress.error = Some(error);
            None
        }
    };
    finish(run.json, &progress, todo.len(), written.as_deref());
    match progress.error {
        Some(error) if !run.json => Err(error),
        _ => Ok(progress.status),
    }
}

fn todo(notebook: &Notebook) -> Vec<Todo> {
    let cells = notebook.cells().zip(1..);
    let code = cells.filter(|(cell, _)| cell.kind() == CellKind::Code && !cell.source().trim().is_empty());
    code.map(|(cell, number)| Todo { key: cell.key().clone(), number, source: cell.source().into_owned() })
        .collect()
}

/// Takes events into the outputs of their cell; an update by display id reaches every cell.
fn take(outputs: &mut HashMap<CellKey, LiveOutputs>, cell: &CellKey, events: &[Event]) {
    for event in events {
        if let EventKind::DisplayUpdate { data, metadata, display_id } = &event.kind {
            for cell in outputs.values_mut() {
                cell.update(display_id, data, metadata);
            }
        } else if let Some(cell) = outputs.get_mut(cell) {
            // Names are for pages.
            cell.apply(event, || OutputId::from("output"));
        }
    }
}

/// Puts what became of a run among the cell's outputs, as the page does: whoever reads the file has to see it.
fn say(outputs: &mut HashMap<CellKey, LiveOutputs>, cell: &CellKey, error: &CommandError) {
    let text = format!("\n[{} {}]\n", error.message, error.hint);
    let kind = EventKind::Stream { name: StreamName::Stderr, text };
    take(outputs, cell, &[Event { at: SystemTime::now(), late: false, kind }]);
}

/// The text that code asks to put into the next cell, as `%load` does, and whether it is for its own.
fn next_input(event: &Event) -> Option<(String, bool)> {
    match &event.kind {
        EventKind::Payload(Payload::SetNextInput { text, replace }) => Some((text.clone(), *replace)),
        _ => None,
    }
}
