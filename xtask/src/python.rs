//! The Python that the tests run their kernels and servers with, the one that has the official clients of Datalayer, the one
//! that has the server and the client of OpenSandbox, the one that has the bench's peers, and the one that brings the worker
//! of Monty, which is a program and needs no Python where it runs.
//!
//! Each is a virtual environment with pinned packages in the cache, shared by all clones that ask for the same packages.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use crate::process;
use crate::repository::Repository;

const OF_THE_TESTS: &str = "tests/python-requirements.txt";
const OF_DATALAYER: &str = "tests/datalayer-requirements.txt";
const OF_OPENSANDBOX: &str = "tests/opensandbox-requirements.txt";
const OF_THE_BENCH: &str = "tests/bench/requirements.txt";
const OF_MONTY: &str = "xtask/monty-worker.txt";

/// The file that says that an environment is whole.
const COMPLETE: &str = "complete";

/// The name of the worker's program.
pub(crate) const WORKER: &str = "monty";

/// A Python that can make virtual environments with pip in them. Debian's can't before `python3-venv` is installed.
pub(crate) fn interpreter() -> Option<PathBuf> {
    ["python3", "/usr/bin/python3"].into_iter().map(PathBuf::from).find(|python| {
        process::printed(Command::new(python).args(["-c", "import ensurepip, venv"])).is_some()
    })
}

/// The Python of the test environment, which is made first where it is missing.
pub(crate) fn environment(repository: &Repository) -> Result<PathBuf> {
    with(repository, OF_THE_TESTS, |python| {
        process::must_succeed(Command::new(python).args(["-m", "bash_kernel.install", "--sys-prefix"]))?;
        // Each of hundreds of servers would work for two seconds at its start on a grammar of addresses that nobody asks for.
        process::must_succeed(Command::new(python).args([
            "-m",
            "pip",
            "uninstall",
            "--quiet",
            "--yes",
            "rfc3987-syntax",
        ]))
    })
}

/// The Python of Datalayer's official clients, which is made first where it is missing.
pub(crate) fn datalayer(repository: &Repository) -> Result<PathBuf> {
    with(repository, OF_DATALAYER, |_| Ok(()))
}

/// The Python with the server and the client of OpenSandbox, which is made first where it is missing.
pub(crate) fn opensandbox(repository: &Repository) -> Result<PathBuf> {
    with(repository, OF_OPENSANDBOX, |_| Ok(()))
}

/// The Python of the bench's peers, which is made first where it is missing.
pub(crate) fn peers(repository: &Repository) -> Result<PathBuf> {
    with(repository, OF_THE_BENCH, |_| Ok(()))
}

/// The worker of Monty, which is fetched first where it is missing.
pub(crate) fn worker(repository: &Repository) -> Result<PathBuf> {
    let python = with(repository, OF_MONTY, |_| Ok(()))?;
    Ok(python.with_file_name(WORKER))
}

/// Whether it was fetched already.
pub(crate) fn has_worker(repository: &Repository) -> bool {
    place(repository, OF_MONTY).is_ok_and(|(_, folder)| folder.join(COMPLETE).exists())
}

fn with(
    repository: &Repository,
    requirements: &str,
    finish: impl FnOnce(&Path) -> Result<()>,
) -> Result<PathBuf> {
    let (base, folder) = place(repository, requirements)?;
    let requirements = repository.root().join(requirements);
    let python = folder.join("bin/python");

    // Two gates may want the same environment at the same time. The lock goes with the file when we end.
    let parent = repository.cache("python");
    std::fs::create_dir_all(&parent).with_context(|| format!("cannot make {}", parent.display()))?;
    let lock =
        std::fs::File::create(parent.join("lock")).context("cannot open the lock of the Python cache")?;
    lock.lock().context("cannot lock the Python cache")?;
    let complete = folder.join(COMPLETE);
    if !complete.exists() {
        make(&base, &folder, &python, &requirements)?;
        finish(&python)?;
        std::fs::write(&complete, "").context("cannot mark the Python environment as complete")?;
    }
    Ok(python)
}

/// The Python that an environment is made with, and the folder where it is.
fn place(repository: &Repository, requirements: &str) -> Result<(PathBuf, PathBuf)> {
    let requirements = repository.root().join(requirements);
    let text =
        std::fs::read(&requirements).with_context(|| format!("cannot read {}", requirements.display()))?;
    let base = interpreter().context("no Python that can make a virtual environment was found")?;
    let version = process::printed(Command::new(&base).args(["-c", "import sys; print(sys.version)"]));
    let folder = repository.cache("python").join(key(&text, version.unwrap_or_default().as_bytes()));
    Ok((base, folder))
}

fn make(base: &Path, folder: &Path, python: &Path, requirements: &Path) -> Result<()> {
    println!("making a Python environment of {} in {}", requirements.display(), folder.display());
    process::must_succeed(Command::new(base).args(["-m", "venv", "--clear"]).arg(folder))?;
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"];
    process::must_succeed(Command::new(python).args(install).arg(requirements))
}

/// Names an environment after everything that decides what is in it.
fn key(requirements: &[u8], version: &[u8]) -> String {
    let digest = Sha256::new().chain_update(requirements).chain_update([0]).chain_update(version).finalize();
    digest.iter().take(8).fold(String::new(), |name, byte| format!("{name}{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use super::key;

    #[test]
    fn other_requirements_or_another_python_make_another_environment() {
        let name = key(b"numpy==2", b"3.11");
        assert_eq!(name.len(), 16);
        assert_eq!(name, key(b"numpy==2", b"3.11"));
        assert_ne!(name, key(b"numpy==3", b"3.11"));
        assert_ne!(name, key(b"numpy==2", b"3.13"));
    }
}
