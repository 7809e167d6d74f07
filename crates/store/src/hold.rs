//! Sandboxes that a process beside the owner holds, such as a command that made its own.
//!
//! The records tell what lives, not who has it. A process that makes a sandbox for itself takes a [`Hold`] on it first; the
//! lock under it goes with the process, however that ends. So an owner that finds the record knows whether somebody uses
//! the sandbox, or whether it was left behind.

use std::fs::{self, File, TryLockError};
use std::path::PathBuf;

use crate::folders::{Folders, create_private_folder, private_file};
use crate::log::check_id;
use crate::{Error, Result};

/// A sandbox held by this process, for as long as this lives.
#[derive(Debug)]
pub struct Hold {
    path: PathBuf,
    _lock: File,
}

impl Hold {
    /// Holds the sandbox with this id, which nobody else has.
    pub fn take(folders: &Folders, id: &str) -> Result<Self> {
        let path = path(folders, id)?;
        if let Some(folder) = path.parent() {
            create_private_folder(folder)?;
        }
        let error = |source| Error::io(&path, source);
        let lock = private_file().create(true).truncate(false).write(true).open(&path).map_err(error)?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path, _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(Error::InUse { path }),
            Err(TryLockError::Error(source)) => Err(error(source)),
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        // What is left is an empty file without a lock, which holds nothing.
        let _ = fs::remove_file(&self.path);
    }
}

/// Whether a living process holds the sandbox with this id.
pub fn is_held(folders: &Folders, id: &str) -> bool {
    let lock = path(folders, id).ok().and_then(|path| File::open(path).ok());
    lock.is_some_and(|lock| matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// Whether a process that held the sandbox with this id ended without letting it go, because it was killed.
pub fn is_left(folders: &Folders, id: &str) -> bool {
    path(folders, id).is_ok_and(|path| path.exists()) && !is_held(folders, id)
}

/// Forgets that it was left: what was made then is gone.
pub fn forget_left(folders: &Folders, id: &str) {
    if is_left(folders, id)
        && let Ok(path) = path(folders, id)
    {
        let _ = fs::remove_file(path);
    }
}

fn path(folders: &Folders, id: &str) -> Result<PathBuf> {
    check_id(id)?;
    Ok(folders.state.join("held").join(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sandbox_is_held_as_long_as_its_holder_lives() {
        let root = tempfile::tempdir().unwrap();
        let folders = Folders::inside(root.path());
        assert!(!is_held(&folders, "a"));
        let hold = Hold::take(&folders, "a").unwrap();
        assert!(is_held(&folders, "a"));
        assert!(!is_held(&folders, "b"));
        assert!(matches!(Hold::take(&folders, "a"), Err(Error::InUse { .. })));
        drop(hold);
        assert!(!is_held(&folders, "a"));
        assert!(matches!(Hold::take(&folders, "../a"), Err(Error::InvalidId(_))));
    }
    #[test]
    fn what_a_killed_holder_leaves_is_known_until_it_is_forgotten() {
        let root = tempfile::tempdir().unwrap();
        let folders = Folders::inside(root.path());
        assert!(!is_left(&folders, "a"));
        let hold = Hold::take(&folders, "a").unwrap();
        assert!(!is_left(&folders, "a"));
        forget_left(&folders, "a");
        assert!(is_held(&folders, "a"), "what is held is not forgotten");
        drop(hold);
        assert!(!is_left(&folders, "a"), "it was let go");
        // a kill leaves the file, and no lock
        std::fs::write(path(&folders, "a").unwrap(), "").unwrap();
        assert!(is_left(&folders, "a"));
        forget_left(&folders, "a");
        assert!(!is_left(&folders, "a"));
    }
}
