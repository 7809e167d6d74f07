//! Folders of this computer that a container sees: whether they are there, and to whom they belong.

use std::path::{Path, PathBuf};

use sandbook_sandbox::{Problem, SandboxError, SandboxSettings};

use super::settings::DockerSettings;

/// The folder that a container works in.
pub(super) struct Shared {
    /// Absent where it gets an empty one of its own.
    pub(super) folder: Option<PathBuf>,
    pub(super) owner: Option<Owner>,
}

/// To whom a folder belongs.
#[derive(Clone, Copy)]
pub(super) struct Owner {
    pub(super) user: u32,
    pub(super) group: u32,
    /// Whether everybody else can look into it.
    is_open: bool,
}

impl Shared {
    /// Looks at it. One that nobody but root could use is refused.
    pub(super) fn of(settings: &DockerSettings, general: &SandboxSettings) -> Result<Self, SandboxError> {
        let folder = settings.shared_folder(general).map(|folder| existing(&folder)).transpose()?;
        let owner = folder.as_deref().and_then(platform::owner);
        match (&folder, &owner, &settings.user) {
            (Some(folder), Some(Owner { user: 0, is_open: false, .. }), None) => {
                let reason = format!(
                    "the folder {} belongs to root and is closed to everybody else, and no code runs as root in a \
                     container unless you say so: set `user` to 0:0, or `folder` to none for an empty folder",
                    folder.display()
                );
                Err(Problem::new("user", reason).into())
            }
            _ => Ok(Self { folder, owner }),
        }
    }
}

/// What is wrong with the folders of settings.
pub(super) fn problems(settings: &DockerSettings, general: &SandboxSettings) -> Vec<Problem> {
    let mut problems = Vec::new();
    match Shared::of(settings, general) {
        Err(SandboxError::Setting { setting, reason }) => problems.push(Problem { setting, reason }),
        Err(error) => problems.push(Problem::new("folder", error.to_string())),
        Ok(_) => {}
    }
    for (index, mount) in settings.mounts.iter().enumerate() {
        if !mount.source.is_absolute() || !mount.source.exists() {
            let reason = format!("there is no folder {} on this computer", mount.source.display());
            problems.push(Problem::new(format!("mounts[{index}]"), reason));
        }
    }
    problems
}

/// Lets everybody write to a folder.
pub(super) fn open_to_all(folder: &Path) -> std::io::Result<()> {
    platform::open_to_all(folder)
}

/// A folder of this computer in the form in which an engine takes it.
pub(super) fn existing(folder: &Path) -> Result<PathBuf, SandboxError> {
    let missing = |_| SandboxError::FolderMissing { folder: folder.display().to_string() };
    std::fs::canonicalize(folder).map_err(missing)
}

mod platform {
    use std::path::Path;

    use super::Owner;

    #[cfg(unix)]
    pub(super) fn owner(folder: &Path) -> Option<Owner> {
        use std::os::unix::fs::MetadataExt as _;
        let metadata = std::fs::metadata(folder).ok()?;
        Some(Owner { user: metadata.uid(), group: metadata.gid(), is_open: metadata.mode() & 0o5 == 0o5 })
    }

    /// Engines elsewhere translate ownership themselves.
    #[cfg(not(unix))]
    pub(super) fn owner(_: &Path) -> Option<Owner> {
        None
    }

    #[cfg(unix)]
    pub(super) fn open_to_all(folder: &Path) -> std::io::Result<()> {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o777))
    }

    #[cfg(not(unix))]
    pub(super) fn open_to_all(_: &Path) -> std::io::Result<()> {
        Ok(())
    }
}
