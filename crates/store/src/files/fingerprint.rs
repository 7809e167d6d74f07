//! How a file's content is known again.

use std::fmt;
use std::fs::{self, File, Metadata};
use std::io;
use std::path::Path;
use std::time::SystemTime;

use crate::{Error, Result};

/// The BLAKE3 digest of a file's content.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Of bytes in memory.
    pub fn of(bytes: &[u8]) -> Self {
        blake3::hash(bytes).into()
    }

    /// Of pieces in a row.
    pub fn of_segments<'a>(segments: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hasher = blake3::Hasher::new();
        for segment in segments {
            hasher.update(segment);
        }
        hasher.finalize().into()
    }

    /// From its 32 bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Its 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// From 64 hexadecimal digits.
    pub fn from_hex(hex: &str) -> Option<Self> {
        blake3::Hash::from_hex(hex).ok().map(Self::from)
    }
}

impl From<blake3::Hash> for Digest {
    fn from(hash: blake3::Hash) -> Self {
        Self(*hash.as_bytes())
    }
}

/// 64 hexadecimal digits.
impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(blake3::Hash::from(self.0).to_hex().as_str())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Digest({self})")
    }
}

/// What a file was when it was last read or written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    /// In bytes.
    pub size: u64,
    /// Of the last change, as the file system has it.
    pub modified: SystemTime,
    /// Of the content.
    pub digest: Digest,
}

impl Fingerprint {
    /// Reads the whole file.
    pub fn of_file(path: &Path) -> Result<Self> {
        let error = |source| Error::io(path, source);
        let mut file = File::open(path).map_err(error)?;
        let mut hasher = blake3::Hasher::new();
        io::copy(&mut file, &mut hasher).map_err(error)?;
        let metadata = file.metadata().map_err(error)?;
        Self::from_metadata(&metadata, hasher.finalize().into()).map_err(error)
    }

    /// Of content that was just read from `file`.
    pub fn of_content(file: &File, path: &Path, content: &[u8]) -> Result<Self> {
        let metadata = file.metadata().map_err(|source| Error::io(path, source))?;
        Self::from_metadata(&metadata, Digest::of(content)).map_err(|source| Error::io(path, source))
    }

    /// Of content that was in a file once, and is not any more.
    pub fn of_gone(content: &[u8]) -> Self {
        Self { size: content.len() as u64, modified: SystemTime::UNIX_EPOCH, digest: Digest::of(content) }
    }

    /// Whether the file at `path` still has this content. It is read only if size or time differ; a file that is gone
    /// counts as changed.
    pub fn is_current(&self, path: &Path) -> Result<bool> {
        let metadata = match fs::metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(source) => return Err(Error::io(path, source)),
        };
        if metadata.len() != self.size {
            return Ok(false);
        }
        let modified = metadata.modified().map_err(|source| Error::io(path, source))?;
        Ok(modified == self.modified || Self::of_file(path)?.digest == self.digest)
    }

    pub(super) fn from_metadata(metadata: &Metadata, digest: Digest) -> io::Result<Self> {
        Ok(Self { size: metadata.len(), modified: metadata.modified()?, digest })
    }
}
