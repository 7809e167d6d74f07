//! What a run says: a line a cell and one at the end, for people or for programs.

use std::path::Path;

use sandbook_notebook::Notebook;
use sandbook_sandbox::{Event, Outcome};
use serde_json::json;

use super::{Progress, Todo};
use crate::{events, output};

/// Says what the page says when it opens the file.
pub(super) fn notices(json: bool, notebook: &Notebook) {
    for notice in notebook.notices() {
        let message = notice.to_string();
        if json {
            output::line(&json!({ "type": "notice", "code": notice.code(), "message": message }));
        } else {
            eprintln!("warning: {message}");
        }
    }
}

pub(super) fn begin(json: bool, cell: &Todo, total: usize) {
    if json {
        output::line(&json!({ "type": "cell_started", "cell": cell.number, "cells": total }));
    }
}

pub(super) fn print(cell: &Todo, events: &[Event]) -> std::io::Result<()> {
    for mut line in events.iter().filter_map(events::line) {
        line["cell"] = cell.number.into();
        output::try_line(&line)?;
    }
    Ok(())
}

pub(super) fn end(json: bool, cell: &Todo, total: usize, outcome: &Outcome, status: u8) {
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

pub(super) fn finish(json: bool, progress: &Progress, cells: usize, written: Option<&Path>) {
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
