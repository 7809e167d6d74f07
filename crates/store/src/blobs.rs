//! Large payloads, kept once under the digest of their content.
//!
//! An image that is shown ten times lies on the disk once. Who shows it holds a counted reference under a name of its
//! own (an execution, a document); what nothing refers to is removed by [`Blobs::collect`], after a time of grace in
//! which somebody may still be about to refer to it. A file appears under its name only when it is whole.

mod index;
#[cfg(test)]
mod tests;

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::files::Digest;
use crate::folders::create_private_folder;
use crate::sync::{Synchroniser, sync_path};
use crate::{Error, Result};
use index::Index;

/// How long a blob without references is kept.
pub const GRACE: Duration = Duration::from_hours(1);

/// When a blob is safe from a power cut. It is safe from a kill of the process at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Within a second.
    Soon,
    /// When the call returns.
    Now,
}

/// What [`Blobs::collect`] removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// Number of blobs.
    pub blobs: usize,
    /// Bytes that are free again.
    pub bytes: u64,
}

/// The store of payloads.
#[derive(Debug)]
pub struct Blobs {
    folder: PathBuf,
    index: Index,
    synchroniser: Arc<Synchroniser>,
}

impl Blobs {
    /// Keeps blobs in `folder`, which is made if it is missing.
    pub fn open(folder: &Path, synchroniser: &Arc<Synchroniser>) -> Result<Self> {
        create_private_folder(&folder.join("incoming"))?;
        create_private_folder(folder)?;
        let index = Index::open(&folder.join("references.sqlite3"), synchroniser)?;
        Ok(Self { folder: folder.to_owned(), index, synchroniser: Arc::clone(synchroniser) })
    }

    /// Keeps `bytes` and refers to them as `owner`.
    pub fn put(&self, owner: &str, bytes: &[u8], durability: Durability) -> Result<Digest> {
        let digest = Digest::of(bytes);
        if self.size(digest).is_some_and(|size| size == bytes.len() as u64) {
            self.refer(owner, digest)?;
            return Ok(digest);
        }
        let mut incoming = self.incoming()?;
        incoming.write(bytes)?;
        incoming.finish(owner, durability)
    }

    /// Begins a blob whose content comes bit by bit.
    pub fn incoming(&self) -> Result<Incoming<'_>> {
        let folder = self.folder.join("incoming");
        let file = tempfile::NamedTempFile::new_in(&folder).map_err(|source| Error::io(&folder, source))?;
        Ok(Incoming { blobs: self, file, hasher: blake3::Hasher::new(), size: 0 })
    }

    /// The whole content. One that does not fit its digest is reported, never returned.
    pub fn read(&self, digest: Digest) -> Result<Vec<u8>> {
        let path = self.path_of(digest);
        let bytes = fs::read(&path).map_err(|source| missing(digest, &path, source))?;
        if Digest::of(&bytes) == digest {
            Ok(bytes)
        } else {
            Err(Error::Damaged { path, what: "its content does not fit its name".into() })
        }
    }

    /// The file with the content, to be read in parts.
    pub fn open_file(&self, digest: Digest) -> Result<File> {
        let path = self.path_of(digest);
        File::open(&path).map_err(|source| missing(digest, &path, source))
    }

    /// Size in bytes, if it is kept.
    pub fn size(&self, digest: Digest) -> Option<u64> {
        fs::metadata(self.path_of(digest)).ok().map(|metadata| metadata.len())
    }

    /// Refers once more to a blob as `owner`.
    pub fn refer(&self, owner: &str, digest: Digest) -> Result<()> {
        if self.size(digest).is_none() {
            return Err(Error::NoSuchBlob(digest.to_string()));
        }
        self.index.refer(owner, digest)
    }

    /// Takes back one reference of `owner`; having none is no error.
    pub fn release(&self, owner: &str, digest: Digest) -> Result<()> {
        self.index.release(owner, digest)
    }

    /// Takes back all references of `owner`.
    pub fn release_all(&self, owner: &str) -> Result<()> {
        self.index.release_all(owner)
    }

    /// How many references there are to a blob.
    pub fn references(&self, digest: Digest) -> Result<u64> {
        self.index.references(digest)
    }

    /// Removes blobs that nothing refers to and that were not touched for `grace`, and what a crash left of
    /// unfinished ones.
    pub fn collect(&self, now: SystemTime, grace: Duration) -> Result<Collected> {
        let mut collected = Collected::default();
        let is_old = |path: &Path| {
            let modified = fs::metadata(path).and_then(|metadata| metadata.modified());
            modified.is_ok_and(|modified| now.duration_since(modified).unwrap_or_default() >= grace)
        };
        for path in entries(&self.folder.join("incoming"))? {
            if is_old(&path) {
                fs::remove_file(&path).map_err(|source| Error::io(&path, source))?;
            }
        }
        for folder in entries(&self.folder)?.into_iter().filter(|path| is_shard(path)) {
            for path in entries(&folder)? {
                let digest = path.file_name().and_then(|name| name.to_str()).and_then(Digest::from_hex);
                let Some(digest) = digest.filter(|_| is_old(&path)) else { continue };
                let size = fs::metadata(&path).map_or(0, |metadata| metadata.len());
                if self.index.remove_if_unreferenced(digest, || remove(&path))? {
                    collected.blobs += 1;
                    collected.bytes += size;
                }
            }
        }
        Ok(collected)
    }

    fn path_of(&self, digest: Digest) -> PathBuf {
        let name = digest.to_string();
        self.folder.join(&name[..2]).join(name)
    }
}

/// A blob that is being written. Dropped before [`Incoming::finish`], nothing is kept.
#[derive(Debug)]
pub struct Incoming<'a> {
    blobs: &'a Blobs,
    file: tempfile::NamedTempFile,
    hasher: blake3::Hasher,
    size: u64,
}

impl Incoming<'_> {
    /// Appends to the content.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(|source| Error::io(self.file.path(), source))?;
        self.hasher.update(bytes);
        self.size += bytes.len() as u64;
        Ok(())
    }

    /// Bytes so far.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Keeps the content and refers to it as `owner`.
    pub fn finish(self, owner: &str, durability: Durability) -> Result<Digest> {
        let Self { blobs, file, hasher, .. } = self;
        let digest = Digest::from_bytes(*hasher.finalize().as_bytes());
        let path = blobs.path_of(digest);
        let error = |source| Error::io(&path, source);
        if durability == Durability::Now {
            file.as_file().sync_all().map_err(error)?;
        }
        let folder = path.parent().unwrap_or(&blobs.folder);
        create_private_folder(folder)?;
        file.persist(&path).map_err(|failed| error(failed.error))?;
        match durability {
            Durability::Now => sync_path(folder)?,
            Durability::Soon => {
                blobs.synchroniser.queue_path(&path);
                blobs.synchroniser.queue_path(folder);
            }
        }
        blobs.index.refer(owner, digest)?;
        Ok(digest)
    }
}

/// The paths in `folder`.
fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).and_then(|entries| {
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>()
    });
    entries.map_err(|source| Error::io(folder, source))
}

/// Whether `path` is one of the 256 folders that blobs lie in.
fn is_shard(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.len() == 2 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn remove(path: &Path) -> Result<()> {
    fs::remove_file(path).map_err(|source| Error::io(path, source))
}

fn missing(digest: Digest, path: &Path, source: io::Error) -> Error {
    if source.kind() == io::ErrorKind::NotFound {
        Error::NoSuchBlob(digest.to_string())
    } else {
        Error::io(path, source)
    }
}
