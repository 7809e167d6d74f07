//! `sandbook sandboxes list`: what runs, whoever started it.

use sandbook_client::{ClientError, Owner};
use sandbook_protocol::{ClientKind, Command, PillState, Reply, SandboxView};
use serde_json::json;

use crate::{Ended, error::CommandError, home, output};

pub(crate) async fn list(json: bool) -> Ended {
    let place = home::place(&home::folders()?);
    let sandboxes = match Owner::connect(&place, ClientKind::CommandLine).await {
        Ok((owner, pushes)) => {
            drop(pushes);
            let Reply::Workspace { workspace } = owner.request(Command::WatchWorkspace).await? else {
                return Err(CommandError::infrastructure("internal", "The owner told nothing.", ""));
            };
            workspace.sandboxes
        }
        Err(ClientError::NobodyListens) => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    if json {
        output::line(&json!({ "type": "sandboxes", "sandboxes": sandboxes }));
    } else if sandboxes.is_empty() {
        println!("No sandbox runs.");
    } else {
        let rows: Vec<_> = sandboxes.iter().map(row).collect();
        for line in table(&["ID", "NAME", "KERNEL", "STATE", "FOLDER"], &rows) {
            println!("{line}");
        }
    }
    Ok(0)
}

fn row(sandbox: &SandboxView) -> [String; 5] {
    let name = [sandbox.title.as_str(), sandbox.subtitle.as_str()];
    [
        sandbox.id.to_string(),
        name.iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join(" · "),
        sandbox.kernel.display_name.clone(),
        state(sandbox.kernel.state).into(),
        sandbox.working_directory.clone().unwrap_or_else(|| "not reported".into()),
    ]
}

fn state(state: PillState) -> &'static str {
    match state {
        PillState::Starting => "starting",
        PillState::Idle => "idle",
        PillState::Busy => "busy",
        PillState::Input => "waiting for input",
        PillState::Reconnecting => "reconnecting",
        PillState::Stopped => "stopped",
        PillState::Died => "died",
    }
}

/// Columns as wide as their widest cell.
fn table<const N: usize>(head: &[&str; N], rows: &[[String; N]]) -> Vec<String> {
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .chain([head[column].len()])
            .max()
            .unwrap_or_default()
    };
    let line = |cells: &[&str; N]| {
        let padded = cells.iter().enumerate().map(|(column, cell)| format!("{cell:<0$}", width(column)));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let body = rows.iter().map(|row| line(&row.each_ref().map(String::as_str)));
    std::iter::once(line(head)).chain(body).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["1".to_owned(), "long name".to_owned()], ["200".to_owned(), "b".to_owned()]];
        assert_eq!(table(&["ID", "NAME"], &rows), ["ID   NAME", "1    long name", "200  b"]);
    }
}
