//! What runtimes need of the program around them.

use std::{ffi::OsString, path::PathBuf};

use crate::python::Surroundings;

/// What runtimes need of the program around them.
#[derive(Debug, Clone, Default)]
pub struct Surrounding {
    /// A short, private folder for sockets and connection files, as `/run/user/1000/sandbook`.
    pub run_folder: PathBuf,
    /// Program and first arguments of the supervisor, as `sandbook supervise`. Without one, children are started
    /// directly.
    pub supervisor: Option<Vec<OsString>>,
    /// Data folders to look for kernelspecs in before Jupyter's own.
    pub data_folders: Vec<PathBuf>,
    /// Where to look for Pythons.
    pub pythons: Surroundings,
}
