//! What a run leaves in the notebook.

use std::collections::HashMap;

use sandbook_notebook::{CellKey, CellKind, NewCell, Notebook, Operation, Position, RawJson, StoredOutput};
use sandbook_sandbox::{Outcome, sentence};
use sandbook_workbench::outputs::LiveOutputs;
use serde_json::Value;

use crate::{error::CommandError, sandbox::Own};

/// What the kernel says about itself goes into the notebook, as the page does it.
pub(super) async fn describe(notebook: &mut Notebook, own: &Own) -> Result<(), CommandError> {
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

pub(super) fn put_next_inputs(
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

pub(super) fn put_outputs(
    notebook: &mut Notebook,
    outputs: &HashMap<CellKey, LiveOutputs>,
) -> Result<(), CommandError> {
    for (cell, outputs) in outputs {
        let execution_count = notebook.cell(cell).and_then(sandbook_notebook::Cell::execution_count);
        let outputs = outputs.to_notebook().into_iter().map(StoredOutput::Held).collect();
        apply(notebook, Operation::ReplaceOutputs { cell: cell.clone(), outputs, execution_count })?;
    }
    Ok(())
}

pub(super) fn set_count(
    notebook: &mut Notebook,
    cell: &CellKey,
    outcome: &Outcome,
) -> Result<(), CommandError> {
    let count = outcome.execution_count.map(u64::from);
    apply(notebook, Operation::SetExecutionCount { cell: cell.clone(), count })
}

fn apply(notebook: &mut Notebook, operation: Operation) -> Result<(), CommandError> {
    notebook.apply(operation).map(drop).map_err(|error| {
        CommandError::infrastructure("internal", sentence(&error.to_string()), "The notebook is untouched.")
    })
}
