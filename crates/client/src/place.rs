//! Where an owner is found.

use std::path::{Path, PathBuf};

/// The folder of an owner's socket and locks, and the file that takes its last words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    folder: PathBuf,
    log: PathBuf,
}

impl Place {
    /// The place of the owner that uses this runtime folder. `log` takes what a detached owner prints.
    pub fn new(folder: impl Into<PathBuf>, log: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), log: log.into() }
    }

    /// The runtime folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The local socket. On Windows its path names a pipe instead.
    pub fn socket(&self) -> PathBuf {
        self.folder.join("owner.sock")
    }

    /// Whether the last owner ended without being asked to: it was killed, or crashed. Where sockets are no files, as
    /// on Windows, this is not known, and never said.
    pub fn is_left_behind(&self) -> bool {
        self.socket().exists()
    }

    /// Locked as long as an owner lives; holds its process id.
    pub fn lock(&self) -> PathBuf {
        self.folder.join("owner.lock")
    }

    /// Locked while somebody starts an owner.
    pub fn starting(&self) -> PathBuf {
        self.folder.join("starting.lock")
    }

    /// What a detached owner prints goes here.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// The process id of the owner, where one is written down. It may be of an owner that is gone.
    pub fn owner_process(&self) -> Option<u32> {
        std::fs::read_to_string(self.lock()).ok()?.trim().parse().ok()
    }
}
