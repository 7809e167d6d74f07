//! A registry for the test that pulls an image: Debian's program, unpacked and not installed.
//!
//! Installed, its package would start a service for everybody who can reach the machine, and leave it there.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::packages;
use crate::repository::Repository;

/// The program, taken out of its package where that was not done before.
pub(crate) fn program(repository: &Repository) -> Result<PathBuf> {
    let folder = repository.cache("registry");
    let program = folder.join("usr/bin/docker-registry");
    if program.is_file() {
        return Ok(program);
    }
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    packages::unpack("docker-registry", &folder)?;
    if !program.is_file() {
        bail!("the package docker-registry has no {}", program.display());
    }
    Ok(program)
}
