//! Where the worker program is: beside this program, where a package put it, beside a Python, or on the `PATH`.

use std::path::{Path, PathBuf};

use sandbook_sandbox::SandboxError;

use super::settings::MontySettings;
use crate::{Surrounding, python};

#[cfg(windows)]
const PROGRAM: &str = "monty.exe";
#[cfg(not(windows))]
const PROGRAM: &str = "monty";

/// Where a package puts it, beside the folder of this program.
const PACKAGED: &str = "lib/sandbook";

/// The worker that is meant. Reads files; starts nothing.
pub(super) fn find(settings: &MontySettings, surrounding: &Surrounding) -> Result<PathBuf, SandboxError> {
    let not_found =
        |detail: String| SandboxError::NotInstalled { what: "the worker of Monty".into(), detail };
    if let Some(worker) = &settings.worker {
        let found = worker.is_file().then(|| worker.clone());
        return found.ok_or_else(|| not_found(format!("{} is no file", worker.display())));
    }
    let ours = surrounding.supervisor.as_ref().and_then(|words| words.first()).map(PathBuf::from);
    let beside = ours.as_deref().and_then(Path::parent);
    let packaged = beside.and_then(Path::parent).map(|prefix| prefix.join(PACKAGED));
    let beside = beside.map(Path::to_owned).into_iter().chain(packaged).map(|folder| folder.join(PROGRAM));
    let of_pythons = python::find(None, &surrounding.pythons)
        .into_iter()
        .filter_map(|python| Some(python.program.parent()?.join(PROGRAM)));
    let on_path = surrounding.pythons.path.iter().map(|folder| folder.join(PROGRAM));
    let mut places = beside.chain(of_pythons).chain(on_path);
    places
        .find(|place| place.is_file())
        .ok_or_else(|| not_found("pydantic-monty-runtime 0.0.23 has it".into()))
}
