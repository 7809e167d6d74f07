//! The person's folders, and the owner that lives there.

use std::path::{Path, PathBuf};

use sandbook_client::Place;
use sandbook_store::folders::Folders;

use crate::error::CommandError;

/// The folders, which may not exist yet.
pub(crate) fn folders() -> Result<Folders, CommandError> {
    Ok(Folders::find()?)
}

/// Where the owner listens.
pub(crate) fn place(folders: &Folders) -> Place {
    Place::new(&folders.runtime, folders.program_logs().join("owner.stderr"))
}

/// This program, which is also the one that becomes the owner.
pub(crate) fn this_program() -> Result<PathBuf, CommandError> {
    std::env::current_exe().map_err(|error| {
        CommandError::infrastructure("internal", format!("This program cannot find itself: {error}."), "")
    })
}

/// Where new notebooks go: the folder of the terminal, or the person's home where there is no terminal.
pub(crate) fn working_directory(detached: bool) -> PathBuf {
    let here = std::env::current_dir().ok().filter(|_| !detached);
    here.or_else(std::env::home_dir).unwrap_or_else(|| PathBuf::from("."))
}

/// An absolute path of a file that exists.
pub(crate) fn existing(file: &Path) -> Result<String, CommandError> {
    let unreadable = |why: String| {
        CommandError::usage(
            "file_unreadable",
            format!("{} cannot be read: {why}.", file.display()),
            "Check the path.",
        )
    };
    let path = std::path::absolute(file).map_err(|error| unreadable(error.to_string()))?;
    let metadata = std::fs::metadata(&path).map_err(|error| unreadable(error.to_string()))?;
    if !metadata.is_file() {
        return Err(unreadable("it is not a file".into()));
    }
    path.into_os_string().into_string().map_err(|_| unreadable("its name is not Unicode".into()))
}
