//! `sandbook sandboxes list`: what runs, whoever started it.

use sandbook_client::{ClientError, Owner};
use sandbook_protocol::{ClientKind, Command, PillState, Reply, SandboxView};
use sandbook_store::{
    folders::Folders,
    hold::is_held,
    records::{Records, SandboxRecord},
    sync::Synchroniser,
};
use serde_json::json;

use crate::{Ended, error::CommandError, home, output};

pub(crate) async fn list(json: bool) -> Ended {
    let folders = home::folders()?;
    let place = home::place(&folders);
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
    let of_commands = of_commands(&folders)?;
    if json {
        let of_commands: Vec<_> = of_commands
            .iter()
            .map(|record| {
                json!({
                    "id": record.id, "kind": record.runtime, "title": record.name, "connection": record.connection,
                    "state": record.state.to_string(), "created_at": record.created.as_millisecond(),
                })
            })
            .collect();
        output::line(&json!({ "type": "sandboxes", "sandboxes": sandboxes, "of_commands": of_commands }));
    } else if sandboxes.is_empty() && of_commands.is_empty() {
        println!("No sandbox runs.");
    } else {
        let rows: Vec<_> = sandboxes.iter().map(row).chain(of_commands.iter().map(row_of_command)).collect();
        for line in table(&["ID", "NAME", "KERNEL", "STATE", "FOLDER"], &rows) {
            println!("{line}");
        }
    }
    Ok(0)
}

/// The sandboxes that commands such as `exec` made for themselves and use at this moment.
fn of_commands(folders: &Folders) -> Result<Vec<SandboxRecord>, CommandError> {
    let file = folders.records_file();
    if !file.exists() {
        return Ok(Vec::new());
    }
    let records = Records::open(&file, &Synchroniser::start()?)?;
    let mut living = records.living_sandboxes()?;
    living.retain(|record| is_held(folders, &record.id));
    Ok(living)
}

fn row_of_command(record: &SandboxRecord) -> [String; 5] {
    let here = "of a command".to_owned();
    [record.id.clone(), record.name.clone(), here, record.state.to_string(), "not reported".into()]
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
        PillState::Expired => "link expired",
        PillState::Paused => "paused",
        PillState::Stopped => "stopped",
        PillState::Died => "died",
    }
}

/// Columns as wide as their widest cell.
pub(super) fn table<const N: usize>(head: &[&str; N], rows: &[[String; N]]) -> Vec<String> {
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
