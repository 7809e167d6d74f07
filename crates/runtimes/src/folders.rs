//! Folders of this computer that a sandbox is given.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Where the sandbox's working directory is inside, where nobody says otherwise.
pub(crate) const WORKING_DIRECTORY: &str = "/work";

/// What a sandbox may do in the folder of this computer that it works in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FolderAccess {
    /// Read and write.
    #[default]
    Write,
    /// Read.
    Read,
    /// It does not see it.
    None,
}

/// A folder of this computer inside a sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mount {
    /// The folder.
    pub source: PathBuf,
    /// Where it is inside.
    pub target: String,
    /// Whether it can only be read.
    #[serde(default)]
    pub read_only: bool,
}
