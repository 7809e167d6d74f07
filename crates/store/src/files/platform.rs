//! Mode and owner of a file, where the system has them.

#[cfg(not(unix))]
pub(super) use other::{check_writable, create_beside};
#[cfg(unix)]
pub(super) use unix::{check_writable, create_beside};

#[cfg(unix)]
mod unix {
    use std::fs::{Metadata, Permissions};
    use std::io;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown};
    use std::path::Path;

    use tempfile::NamedTempFile;

    /// Replacing a file needs no right to write to it, so that right is asked for.
    pub(in super::super) fn check_writable(target: &Path) -> io::Result<()> {
        Ok(nix::unistd::access(target, nix::unistd::AccessFlags::W_OK)?)
    }

    /// An empty file in `folder` with the mode and owner of `existing`.
    pub(in super::super) fn create_beside(
        folder: &Path,
        existing: Option<&Metadata>,
    ) -> io::Result<NamedTempFile> {
        let mode = existing.map_or(0o666, |existing| existing.mode() & 0o7777);
        let mut builder = tempfile::Builder::new();
        // The process's mask applies to this, as it does to any new file.
        builder.prefix(super::super::TEMPORARY).permissions(Permissions::from_mode(mode));
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
mod other {
    use std::fs::Metadata;
    use std::io;
    use std::path::Path;

    use tempfile::NamedTempFile;

    /// The read-only attribute was looked at already.
    pub(in super::super) fn check_writable(_target: &Path) -> io::Result<()> {
        Ok(())
    }

    /// An empty file in `folder`. Windows hands down the folder's access rights.
    pub(in super::super) fn create_beside(
        folder: &Path,
        _existing: Option<&Metadata>,
    ) -> io::Result<NamedTempFile> {
        tempfile::Builder::new().prefix(super::super::TEMPORARY).tempfile_in(folder)
    }
}
