//! `sandbook run`: all cells of a notebook, and the notebook with its outputs.
//!
//! Outputs are gathered and written by the code that the page's owner uses, so a notebook that was run here is the
//! notebook that would have been saved there.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    time::SystemTime,
};

use sandbook_notebook::{CellKey, CellKind, NewCell, Notebook, Operation, Position, RawJson, StoredOutput};
use sandbook_protocol::OutputId;
use sandbook_sandbox::{Event, EventKind, ExecuteRequest, Outcome, Payload, StreamName, sentence};
use sandbook_store::files::{Fingerprint, Replacement, write_atomically};
use sandbook_workbench::outputs::LiveOutputs;
use serde_json::{Value, json};

use crate::{
    Ended,
    arguments::{Run, limit},
    error::CommandError,
    events, execution, home, logging, output,
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
        let ended = execution::execute(own.sandbox(), request, run.json, &mut signals, |events| {
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

fn read(path: &Path) -> Result<(Notebook, Fingerprint), CommandError> {
    let unreadable = |why: String| {
        let message = sentence(&format!("{} cannot be read: {why}", path.display()));
        CommandError::usage("file_unreadable", message, "Check the path, and that you may read the file.")
    };
    let bytes = std::fs::read(path).map_err(|error| unreadable(error.to_string()))?;
    let fingerprint = Fingerprint::of_file(path).map_err(|error| unreadable(error.to_string()))?;
    let notebook = Notebook::parse(bytes.into(), CellKey::sequence("c")).map_err(|error| {
        let message = sentence(&format!("{} is not a notebook: {error}", path.display()));
        CommandError::usage("not_a_notebook", message, "The file is untouched.")
    })?;
    Ok((notebook, fingerprint))
}

fn folder(notebook: &Path) -> PathBuf {
    let absolute = std::path::absolute(notebook).unwrap_or_else(|_| notebook.to_owned());
    absolute.parent().map_or_else(|| PathBuf::from("."), Path::to_owned)
}

fn target(run: &Run) -> PathBuf {
    match &run.output {
        Some(output) => output.clone(),
        None if run.in_place => run.notebook.clone(),
        None => beside(&run.notebook),
    }
}

/// `IN.out.ipynb`
fn beside(notebook: &Path) -> PathBuf {
    notebook.with_extension("out.ipynb")
}

fn todo(notebook: &Notebook) -> Vec<Todo> {
    let cells = notebook.cells().zip(1..);
    let code = cells.filter(|(cell, _)| cell.kind() == CellKind::Code && !cell.source().trim().is_empty());
    code.map(|(cell, number)| Todo { key: cell.key().clone(), number, source: cell.source().into_owned() })
        .collect()
}

/// What the kernel says about itself goes into the notebook, as the page does it.
async fn describe(notebook: &mut Notebook, own: &Own) -> Result<(), CommandError> {
    let info = own.sandbox().kernel_info().await?;
    let Some(language) = info.language_info.and_then(|text| serde_json::from_str::<Value>(&text).ok()) else {
        return Ok(());
    };
    let known: Value = notebook.metadata().parse().unwrap_or_default();
    if known["language_info"] == language {
        return Ok(());
    }
    let value = Some(RawJson::from_value(&language));
    apply(notebook, Operation::SetMetadata { cell: None, path: vec!["language_info".into()], value })
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

fn put_next_inputs(
    notebook: &mut Notebook,
    next_inputs: HashMap<CellKey, (String, bool)>,
) -> Result<(), CommandError> {
    for (cell, (source, replace)) in next_inputs {
        let operation = if replace {
            Operation::SetSource { cell, source }
        } else {
            let key = CellKey::new(uuid::Uuid::now_v7().simple().to_string());
            let cells = vec![NewCell::new(key, CellKind::Code, source)];
            Operation::InsertCells { at: Position::After(cell), cells }
        };
        apply(notebook, operation)?;
    }
    Ok(())
}

fn put_outputs(notebook: &mut Notebook, outputs: &HashMap<CellKey, LiveOutputs>) -> Result<(), CommandError> {
    for (cell, outputs) in outputs {
        let execution_count = notebook.cell(cell).and_then(sandbook_notebook::Cell::execution_count);
        let outputs = outputs.to_notebook().into_iter().map(StoredOutput::Held).collect();
        apply(notebook, Operation::ReplaceOutputs { cell: cell.clone(), outputs, execution_count })?;
    }
    Ok(())
}

fn set_count(notebook: &mut Notebook, cell: &CellKey, outcome: &Outcome) -> Result<(), CommandError> {
    let count = outcome.execution_count.map(u64::from);
    apply(notebook, Operation::SetExecutionCount { cell: cell.clone(), count })
}

fn apply(notebook: &mut Notebook, operation: Operation) -> Result<(), CommandError> {
    notebook.apply(operation).map(drop).map_err(|error| {
        CommandError::infrastructure("internal", sentence(&error.to_string()), "The notebook is untouched.")
    })
}

/// Refuses a target that cannot be written, before hours of work are done for it. What is there stays untouched.
fn check_writable(target: &Path) -> Result<(), CommandError> {
    Replacement::prepare(target, []).map(drop).map_err(|error| {
        let message = sentence(&format!("{} cannot be written: {error}", target.display()));
        CommandError::usage("file_unwritable", message, "Nothing was run. Name another file with -o.")
    })
}

/// Writes the notebook. A file that somebody changed meanwhile is not written over: the result goes beside it.
fn write(
    notebook: &Notebook,
    target: &Path,
    unchanged: Option<&Fingerprint>,
    original: &Path,
) -> Result<PathBuf, CommandError> {
    let failed = |path: &Path, why: String| {
        let message = sentence(&format!("{} cannot be written: {why}", path.display()));
        CommandError::infrastructure("file_unwritable", message, "Name another file with -o.")
    };
    let segments = notebook
        .segments(&mut |blob| Err(std::io::Error::other(format!("{} is not in this notebook", blob.hash))))
        .map_err(|error| failed(target, error.to_string()))?;
    let put = |path: &Path| {
        write_atomically(path, segments.iter().map(AsRef::as_ref))
            .map_err(|error| failed(path, error.to_string()))
    };
    let changed = unchanged.is_some_and(|known| !known.is_current(target).unwrap_or(false));
    if !changed {
        return put(target).map(|_| target.to_owned());
    }
    let other = beside(original);
    put(&other)?;
    let message = format!("{} was changed by someone else while it ran, and is untouched.", target.display());
    let hint = format!("The result is in {}.", other.display());
    Err(CommandError::infrastructure("changed_on_disk", message, &hint))
}

fn begin(json: bool, cell: &Todo, total: usize) {
    if json {
        output::line(&json!({ "type": "cell_started", "cell": cell.number, "cells": total }));
    }
}

fn print(cell: &Todo, events: &[Event]) -> std::io::Result<()> {
    for mut line in events.iter().filter_map(events::line) {
        line["cell"] = cell.number.into();
        output::try_line(&line)?;
    }
    Ok(())
}

fn end(json: bool, cell: &Todo, total: usize, outcome: &Outcome, status: u8) {
    if json {
        let mut line = events::outcome(outcome, status);
        line["type"] = "cell_outcome".into();
        line["cell"] = cell.number.into();
        return output::line(&line);
    }
    let what = match (&outcome.infrastructure, &outcome.code_error) {
        (Some(error), _) => error.to_string(),
        (None, _) if outcome.timed_out => "timed out".into(),
        (None, _) if outcome.interrupted => "interrupted".into(),
        (None, Some(error)) => format!("{}: {}", error.name, error.value),
        (None, None) if status == 0 => "done".into(),
        (None, None) => format!("exit status {status}"),
    };
    let seconds = outcome.duration.as_secs_f64();
    eprintln!("cell {} of {total}: {what} ({seconds:.1} s)", cell.number);
}

fn finish(json: bool, progress: &Progress, cells: usize, written: Option<&Path>) {
    if json {
        output::line(&json!({
            "type": "outcome",
            "success": progress.failed == 0 && progress.run == cells && progress.error.is_none(),
            "exit_status": progress.status,
            "cells": cells,
            "cells_run": progress.run,
            "cells_failed": progress.failed,
            "file": written,
            "infrastructure_error": progress.error,
        }));
    } else if let Some(path) = written {
        let Progress { run, failed, .. } = progress;
        eprintln!("{run} of {cells} code cells run, {failed} failed. Written: {}", path.display());
    }
}
