//! A person's own files: replaced whole or not at all, and never silently over someone else's change.
//!
//! [`Replacement::prepare`] writes the new content beside the file and brings it to the disk; [`Replacement::commit`]
//! puts it in place in one step. Between the two, the digest of what is coming is known: that is when a journal must
//! hear of it. A crash leaves the old file or the new one.
//!
//! The price of replacing: hard links to the old file keep the old content, and extended attributes other than mode
//! and owner are not carried over.

mod fingerprint;
mod platform;
#[cfg(test)]
mod tests;

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::sync::sync_path;
use crate::{Error, Result};

pub use fingerprint::{Digest, Fingerprint};

/// How many symbolic links are followed before they count as a circle.
const LINKS: usize = 32;
/// Prefix of what is written beside a file until it is complete.
const TEMPORARY: &str = ".sandbook-";

/// A new content that lies ready beside the file. Dropped without [`Replacement::commit`], it is removed.
#[derive(Debug)]
pub struct Replacement {
    target: PathBuf,
    temporary: tempfile::NamedTempFile,
    digest: Digest,
}

impl Replacement {
    /// Writes `segments` beside the file at `path` (or what a symbolic link there leads to) and waits until they are
    /// on the disk. The file need not exist; its folder must.
    pub fn prepare<'a>(path: &Path, segments: impl IntoIterator<Item = &'a [u8]>) -> Result<Self> {
        let mut hasher = blake3::Hasher::new();
        let read_through = segments.into_iter().inspect(|segment| {
            hasher.update(segment);
        });
        let (target, temporary) = write_beside(path, read_through)?;
        Ok(Self { digest: hasher.finalize().into(), temporary, target })
    }

    /// The same for a content whose digest is known: hashing a large one again would take as long as writing it.
    pub fn prepare_hashed<'a>(
        path: &Path,
        segments: impl IntoIterator<Item = &'a [u8]>,
        digest: Digest,
    ) -> Result<Self> {
        let (target, temporary) = write_beside(path, segments)?;
        Ok(Self { target, temporary, digest })
    }

    /// Of the new content.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Puts the new content in place. When this returns, it is there even after a power cut.
    pub fn commit(self) -> Result<Fingerprint> {
        let error = |source| Error::io(&self.target, source);
        check_kind(&self.target)?;
        let file = self.temporary.persist(&self.target).map_err(|failed| error(failed.error))?;
        let metadata = file.metadata().map_err(error)?;
        if let Some(folder) = self.target.parent() {
            sync_path(if folder.as_os_str().is_empty() { Path::new(".") } else { folder })?;
        }
        Fingerprint::from_metadata(&metadata, self.digest).map_err(error)
    }
}

/// Writes `segments` beside the file that `path` means, and waits until they are on the disk.
fn write_beside<'a>(
    path: &Path,
    segments: impl IntoIterator<Item = &'a [u8]>,
) -> Result<(PathBuf, tempfile::NamedTempFile)> {
    // The system knows of links that lead to no path, such as that of standard output to a pipe.
    check_kind(path)?;
    let target = follow_links(path)?;
    let error = |source| Error::io(&target, source);
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let existing = match fs::metadata(&target) {
        Ok(metadata) if metadata.permissions().readonly() => return Err(Error::ReadOnly { path: target }),
        Ok(metadata) => {
            platform::check_writable(&target).map_err(error)?;
            Some(metadata)
        }
        Err(found) if found.kind() == io::ErrorKind::NotFound => None,
        Err(source) => return Err(error(source)),
    };
    if !folder.exists() {
        return Err(Error::FolderGone { path: folder.to_owned() });
    }
    let temporary = platform::create_beside(folder, existing.as_ref()).map_err(error)?;
    let mut writer = BufWriter::with_capacity(256 * 1024, temporary.as_file());
    for segment in segments {
        writer.write_all(segment).map_err(error)?;
    }
    writer.flush().map_err(error)?;
    drop(writer);
    temporary.as_file().sync_all().map_err(error)?;
    Ok((target, temporary))
}

/// Only a file may be replaced, or nothing: a device or a pipe would be gone for every program that uses it.
fn check_kind(target: &Path) -> Result<()> {
    let path = target.to_owned();
    match fs::metadata(target) {
        Ok(metadata) if metadata.is_dir() => Err(Error::IsFolder { path }),
        Ok(metadata) if !metadata.is_file() => Err(Error::NotRegular { path }),
        // What is not there is made; any other failure is met where it is in the way.
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Replaces the file at `path` by `segments` in a row, keeping its permissions and, where allowed, its owner.
pub fn write_atomically<'a>(
    path: &Path,
    segments: impl IntoIterator<Item = &'a [u8]>,
) -> Result<Fingerprint> {
    Replacement::prepare(path, segments)?.commit()
}

/// The file that `path` means, whether it exists or not.
fn follow_links(path: &Path) -> Result<PathBuf> {
    let mut target = path.to_owned();
    for _ in 0..LINKS {
        let Ok(next) = fs::read_link(&target) else { return Ok(target) };
        target = target.parent().unwrap_or(Path::new("")).join(next);
    }
    Err(Error::io(path, io::Error::other("its symbolic links lead in a circle")))
}
