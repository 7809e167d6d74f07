//! The notebook's file, and the one with its outputs.

use std::path::{Path, PathBuf};

use sandbook_notebook::{CellKey, Notebook};
use sandbook_store::files::{Fingerprint, Replacement, write_atomically};

use crate::{arguments::Run, error::CommandError};

pub(super) fn read(path: &Path) -> Result<(Notebook, Fingerprint), CommandError> {
    let unreadable = |why: String| {
        let message = about(path, &format!("cannot be read: {why}"));
        CommandError::usage("file_unreadable", message, "Check the path, and that you may read the file.")
    };
    let bytes = std::fs::read(path).map_err(|error| unreadable(error.to_string()))?;
    let fingerprint = Fingerprint::of_file(path).map_err(|error| unreadable(error.to_string()))?;
    let notebook = Notebook::parse(bytes.into(), CellKey::sequence("c")).map_err(|error| {
        let message = about(path, &format!("is not a notebook: {error}"));
        CommandError::usage("not_a_notebook", message, "The file is untouched.")
    })?;
    Ok((notebook, fingerprint))
}

/// A sentence that begins with a path, which is never written large.
fn about(path: &Path, what: &str) -> String {
    format!("{} {}.", path.display(), what.trim_end_matches('.'))
}

pub(super) fn folder(notebook: &Path) -> PathBuf {
    let absolute = std::path::absolute(notebook).unwrap_or_else(|_| notebook.to_owned());
    absolute.parent().map_or_else(|| PathBuf::from("."), Path::to_owned)
}

pub(super) fn target(run: &Run) -> PathBuf {
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

/// Refuses a target that cannot be written, before hours of work are done for it. What is there stays untouched.
pub(super) fn check_writable(target: &Path) -> Result<(), CommandError> {
    Replacement::prepare(target, []).map(drop).map_err(|error| {
        let message = about(target, &format!("cannot be written: {error}"));
        CommandError::usage("file_unwritable", message, "Nothing was run. Name another file with -o.")
    })
}

/// Writes the notebook. A file that somebody changed meanwhile is not written over: the result goes beside it.
pub(super) fn write(
    notebook: &Notebook,
    target: &Path,
    unchanged: Option<&Fingerprint>,
    original: &Path,
) -> Result<PathBuf, CommandError> {
    let failed = |path: &Path, why: String| {
        let message = about(path, &format!("cannot be written: {why}"));
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
