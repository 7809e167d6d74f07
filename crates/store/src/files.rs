//! A person's own files: replaced whole or not at all, and never silently over someone else's change.
//!
//! [`Replacement::prepare`] writes the new content beside the file and brings it to the disk; [`Replacement::commit`]
//! puts it in place in one step. Between the two, the digest of what is coming is known: that is when a journal must
//! hear of it. A crash leaves the old file or the new one.
//!
//! The price of replacing: hard links to the old file keep the old content, and extended attributes other than mode
//! and owner are not carried over.

use std::fmt;
use std::fs::{self, File, Metadata};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::sync::sync_path;
use crate::{Error, Result};

/// How many symbolic links are followed before they count as a circle.
const LINKS: usize = 32;
/// Prefix of what is written beside a file until it is complete.
const TEMPORARY: &str = ".sandbook-";

/// The BLAKE3 digest of a file's content.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Of bytes in memory.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// Of pieces in a row.
    pub fn of_segments<'a>(segments: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hasher = blake3::Hasher::new();
        for segment in segments {
            hasher.update(segment);
        }
        Self(*hasher.finalize().as_bytes())
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
        blake3::Hash::from_hex(hex).ok().map(|hash| Self(*hash.as_bytes()))
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
        Self::from_metadata(&metadata, Digest(*hasher.finalize().as_bytes())).map_err(error)
    }

    /// Of content that was just read from `file`.
    pub fn of_content(file: &File, path: &Path, content: &[u8]) -> Result<Self> {
        let metadata = file.metadata().map_err(|source| Error::io(path, source))?;
        Self::from_metadata(&metadata, Digest::of(content)).map_err(|source| Error::io(path, source))
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

    fn from_metadata(metadata: &Metadata, digest: Digest) -> io::Result<Self> {
        Ok(Self { size: metadata.len(), modified: metadata.modified()?, digest })
    }
}

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
        Ok(Self { digest: Digest(*hasher.finalize().as_bytes()), temporary, target })
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
    let target = follow_links(path)?;
    let error = |source| Error::io(&target, source);
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let existing = match fs::metadata(&target) {
        Ok(metadata) if metadata.is_dir() => return Err(Error::IsFolder { path: target }),
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

#[cfg(unix)]
mod platform {
    use std::fs::{Metadata, Permissions};
    use std::io;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown};
    use std::path::Path;

    use tempfile::NamedTempFile;

    /// Replacing a file needs no right to write to it, so that right is asked for.
    pub(super) fn check_writable(target: &Path) -> io::Result<()> {
        Ok(nix::unistd::access(target, nix::unistd::AccessFlags::W_OK)?)
    }

    /// An empty file in `folder` with the mode and owner of `existing`.
    pub(super) fn create_beside(folder: &Path, existing: Option<&Metadata>) -> io::Result<NamedTempFile> {
        let mode = existing.map_or(0o666, |existing| existing.mode() & 0o7777);
        let mut builder = tempfile::Builder::new();
        // The process's mask applies to this, as it does to any new file.
        builder.prefix(super::TEMPORARY).permissions(Permissions::from_mode(mode));
        let temporary = builder.tempfile_in(folder)?;
        if let Some(existing) = existing {
            let file = temporary.as_file();
            let own = file.metadata()?;
            if own.uid() != existing.uid() || own.gid() != existing.gid() {
                // Only root may give files away; the group may still be one of ours.
                let _ = fchown(file, Some(existing.uid()), Some(existing.gid()))
                    .or_else(|_| fchown(file, None, Some(existing.gid())));
            }
            file.set_permissions(Permissions::from_mode(mode))?;
        }
        Ok(temporary)
    }
}

#[cfg(not(unix))]
mod platform {
    use std::fs::Metadata;
    use std::io;
    use std::path::Path;

    use tempfile::NamedTempFile;

    /// The read-only attribute was looked at already.
    pub(super) fn check_writable(_target: &Path) -> io::Result<()> {
        Ok(())
    }

    /// An empty file in `folder`. Windows hands down the folder's access rights.
    pub(super) fn create_beside(folder: &Path, _existing: Option<&Metadata>) -> io::Result<NamedTempFile> {
        tempfile::Builder::new().prefix(super::TEMPORARY).tempfile_in(folder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, content: &str) -> Result<Fingerprint> {
        write_atomically(path, [content.as_bytes()])
    }

    fn only_file_in(folder: &Path) -> PathBuf {
        let files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(files.len(), 1, "{files:?}");
        files.into_iter().next().unwrap()
    }

    #[test]
    fn segments_are_joined_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let written = write_atomically(&path, ["one ".as_bytes(), b"", b"two"]).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "one two");
        assert_eq!(written, Fingerprint::of_file(&path).unwrap());
        assert_eq!(only_file_in(folder.path()), path);
    }

    #[test]
    fn until_it_is_committed_the_old_file_is_there_and_dropping_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        write(&path, "old").unwrap();
        let replacement = Replacement::prepare(&path, [b"new".as_slice()]).unwrap();
        assert_eq!(replacement.digest(), Digest::of(b"new"));
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        drop(replacement);
        assert_eq!(only_file_in(folder.path()), path);
    }

    #[test]
    fn a_digest_that_is_known_is_taken_over_and_not_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let known = Digest::of(b"told");
        let written = Replacement::prepare_hashed(&path, [b"one".as_slice(), b"two"], known).unwrap();
        assert_eq!(written.commit().unwrap().digest, known);
        assert_eq!(fs::read_to_string(&path).unwrap(), "onetwo");
    }

    #[cfg(unix)]
    #[test]
    fn mode_is_kept_and_a_link_leads_to_its_target() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("inner");
        fs::create_dir(&inner).unwrap();
        let (target, link, second) = (inner.join("a"), folder.path().join("b"), folder.path().join("c"));
        write(&target, "old").unwrap();
        fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).unwrap();
        symlink("inner/a", &link).unwrap();
        symlink(&link, &second).unwrap();
        write(&second, "new").unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o640);
        // A link to what is not there yet makes it.
        fs::remove_file(&target).unwrap();
        write(&second, "again").unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "again");
        // A circle is an error.
        symlink("x", folder.path().join("y")).unwrap();
        symlink("y", folder.path().join("x")).unwrap();
        assert!(write(&folder.path().join("x"), "").is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_new_file_gets_the_mode_of_any_new_file() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let mode = |name: &str| fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
        fs::write(folder.path().join("plain"), "").unwrap();
        write(&folder.path().join("ours"), "").unwrap();
        assert_eq!(mode("ours"), mode("plain"));
    }

    #[test]
    fn failures_are_told_apart_and_leave_the_old_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        write(&path, "old").unwrap();
        let mut permissions = fs::metadata(&path).unwrap().permissions();
        permissions.set_readonly(true);
        fs::set_permissions(&path, permissions).unwrap();
        assert!(matches!(write(&path, "new"), Err(Error::ReadOnly { .. })));
        assert!(matches!(write(folder.path(), "new"), Err(Error::IsFolder { .. })));
        let gone = folder.path().join("gone/a");
        assert!(matches!(write(&gone, "new"), Err(Error::FolderGone { .. })));
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(only_file_in(folder.path()), path);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_said_and_nothing_is_half_written() {
        // Writing to this device always fails with "no space left".
        let Ok(mut full) = fs::OpenOptions::new().write(true).open("/dev/full") else { return };
        let source = full.write_all(b"x").unwrap_err();
        let error = Error::io(Path::new("/some/file"), source);
        assert!(matches!(error, Error::DiskFull { .. }), "{error}");
    }

    #[test]
    fn a_change_by_someone_else_is_noticed_and_a_mere_touch_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let fingerprint = write(&path, "same").unwrap();
        assert!(fingerprint.is_current(&path).unwrap());
        std::thread::sleep(std::time::Duration::from_millis(20));
        fs::write(&path, "same").unwrap();
        assert!(fingerprint.is_current(&path).unwrap());
        fs::write(&path, "othr").unwrap();
        assert!(!fingerprint.is_current(&path).unwrap());
        fs::remove_file(&path).unwrap();
        assert!(!fingerprint.is_current(&path).unwrap());
    }
}
