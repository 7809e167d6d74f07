//! What is beside documents: the workspace, logs, folders, settings, the end.

use std::{
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use sandbook_protocol::{Command, ErrorCode, FolderEntry, FolderListing, ProtocolError, Reply};

use super::{Caller, misplaced};
use crate::time::millis;

pub(super) async fn handle(caller: &Caller<'_>, command: Command) -> Result<Reply, ProtocolError> {
    let owner = caller.owner;
    match command {
        Command::WatchWorkspace => {
            let workspace = owner.workspace();
            caller.mailbox.watch_workspace(workspace.clone());
            let refreshing = owner.clone();
            tokio::spawn(async move { refreshing.refresh().await });
            Ok(Reply::Workspace { workspace: Box::new(workspace) })
        }
        Command::RefreshRuntimes => {
            owner.refresh().await;
            Ok(Reply::Done)
        }
        Command::WatchLogs => Ok(Reply::Logs { lines: owner.0.options.logs.watch(caller.mailbox) }),
        Command::ListFolder { path } => {
            let path = path.map_or_else(|| owner.0.options.working_directory.clone(), PathBuf::from);
            let listing = tokio::task::spawn_blocking(move || list(&path)).await;
            let folder = listing.map_err(|_| ProtocolError::internal("The folder was not read."))??;
            Ok(Reply::Folder { folder })
        }
        Command::ChangeSettings { settings } => {
            owner.change_settings(settings).await?;
            Ok(Reply::Done)
        }
        Command::Quit { force } => {
            owner.quit(force)?;
            Ok(Reply::Done)
        }
        Command::OpenWebDoor { .. } => Err(ProtocolError::new(
            ErrorCode::Unsupported,
            "This door cannot open another one.",
            "Ask over the local socket, with `sandbook web`.",
        )),
        _ => Err(misplaced()),
    }
}

/// Folders and notebooks of a folder.
fn list(path: &Path) -> Result<FolderListing, ProtocolError> {
    let read = std::fs::read_dir(path).map_err(|error| {
        ProtocolError::new(
            ErrorCode::FileUnreadable,
            format!("The folder {} cannot be read: {error}.", path.display()),
            "Choose another folder.",
        )
    })?;
    let mut entries: Vec<FolderEntry> = read
        .filter_map(Result::ok)
        .filter_map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            let metadata = std::fs::metadata(entry.path()).ok()?;
            let folder = metadata.is_dir();
            let wanted = folder || Path::new(&name).extension().is_some_and(|extension| extension == "ipynb");
            (wanted && !name.starts_with('.')).then(|| FolderEntry {
                name,
                folder,
                size: metadata.len(),
                modified_at: millis(metadata.modified().unwrap_or(UNIX_EPOCH)),
            })
        })
        .collect();
    entries.sort_by(|left, right| {
        right.folder.cmp(&left.folder).then_with(|| left.name.to_lowercase().cmp(&right.name.to_lowercase()))
    });
    Ok(FolderListing {
        path: path.display().to_string(),
        parent: path.parent().map(|parent| parent.display().to_string()),
        entries,
    })
}
