//! The settings of a sandbox.

use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Serialize};

/// What a person asks of a sandbox. A runtime that cannot keep one of these refuses with
/// [`crate::SandboxError::Setting`]; none is ignored.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SandboxSettings {
    /// The id under which it is on record here. What a provider lets us name or label carries it.
    pub id: Option<String>,
    /// What it is called.
    pub name: Option<String>,
    /// Where the code runs: for runtimes on this computer a folder of it, for others a folder in the sandbox.
    pub working_directory: Option<PathBuf>,
    /// Environment variables of the kernel. Never credentials.
    pub environment: BTreeMap<String, String>,
    /// What only this runtime knows; its own types refuse unknown names.
    pub runtime: serde_json::Value,
}
