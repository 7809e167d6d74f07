//! The content that the operations of a generation belong to, kept beside it.
//!
//! Someone else may replace the file while nobody holds it, after a crash for instance. The operations then say what
//! changed, but not what; with this copy the document that they led to can be shown again, and a person can choose
//! between the two. Nobody waits for the copy: it is made after the first operation, and one that is not whole, because
//! the process or the power went, has another digest and counts as none.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::reading::Generation;
use crate::files::{Digest, Fingerprint};
use crate::folders::private_file;
use crate::{Error, Result};

/// A copy that is to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseCopy {
    pub(super) journal: PathBuf,
    /// What the file was when the generation began.
    pub(super) known: Fingerprint,
}

impl BaseCopy {
    /// Copies the file at `path`. Answers whether the copy is there: it is not where the file was changed meanwhile, or
    /// a save has ended the generation.
    pub fn make(&self, path: &Path) -> Result<bool> {
        if !self.journal.exists() {
            return Ok(false);
        }
        let target = beside(&self.journal);
        let copied = copy(path, &target);
        let is_it = copied.is_ok() && self.known.is_current(path)? && self.journal.exists();
        if !is_it {
            super::reading::remove(&target)?;
        }
        copied.map(|()| is_it)
    }
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    let mut source = fs::File::open(from).map_err(|source| Error::io(from, source))?;
    let mut options = private_file();
    let target = options.write(true).create(true).truncate(true).open(to);
    let mut target = target.map_err(|source| Error::io(to, source))?;
    io::copy(&mut source, &mut target).map_err(|source| Error::io(to, source))?;
    Ok(())
}

/// The last generation whose content was kept, and that content.
pub(super) fn last_kept(generations: &[(u32, PathBuf, Generation)]) -> Option<(usize, Vec<u8>)> {
    generations.iter().enumerate().rev().find_map(|(index, (_, path, generation))| {
        let content = fs::read(beside(path)).ok()?;
        (Digest::of(&content) == generation.base).then_some((index, content))
    })
}

/// Where the content of a generation lies.
pub(super) fn beside(journal: &Path) -> PathBuf {
    journal.with_extension("base")
}
