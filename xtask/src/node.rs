//! Node's packages: the page's and the browser tests'.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process;

/// The oldest Node that the page's tools run on.
const OLDEST: u32 = 20;

/// An npm command in a folder.
pub(crate) fn npm(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("npm");
    command.current_dir(folder).args(arguments);
    command
}

/// Says what to do when Node is missing or too old.
pub(crate) fn require_node() -> Result<()> {
    let version = process::printed(Command::new("node").arg("--version"));
    let version = version.context("Node is missing. Install Node 20 or newer, then try again")?;
    let major = version.trim_start_matches('v').split('.').next().and_then(|text| text.parse::<u32>().ok());
    if major.is_none_or(|major| major < OLDEST) {
        bail!("Node {version} is too old. Install Node {OLDEST} or newer, then try again");
    }
    if !process::is_on_path("npm") {
        bail!("npm is missing. It comes with Node: install Node {OLDEST} or newer, then try again");
    }
    Ok(())
}

/// Whether the installed packages are not the ones the lock file names.
pub(crate) fn is_stale(folder: &Path) -> bool {
    let wanted = std::fs::read(folder.join("package-lock.json")).ok();
    let installed = std::fs::read(installed_lock(folder)).ok();
    wanted.is_none() || wanted != installed
}

/// Installs exactly what the lock file names, if that is not there already.
pub(crate) fn install(folder: &Path) -> Result<()> {
    if !is_stale(folder) {
        return Ok(());
    }
    process::must_succeed(&mut npm(folder, &["ci", "--no-audit", "--no-fund"]))?;
    std::fs::copy(folder.join("package-lock.json"), installed_lock(folder))
        .with_context(|| format!("cannot note what was installed in {}", folder.display()))?;
    Ok(())
}

/// The lock file as it was when the packages were installed. npm removes it together with the packages.
fn installed_lock(folder: &Path) -> std::path::PathBuf {
    folder.join("node_modules/.sandbook-lock.json")
}
