//! Where everything lies.
//!
//! | variable | default on Linux | holds |
//! | --- | --- | --- |
//! | `SANDBOOK_CONFIG_DIR` | `$XDG_CONFIG_HOME/sandbook`, `~/.config/sandbook` | settings, connections and policies: text files |
//! | `SANDBOOK_DATA_DIR` | `$XDG_DATA_HOME/sandbook`, `~/.local/share/sandbook` | blobs, private environments |
//! | `SANDBOOK_STATE_DIR` | `$XDG_STATE_HOME/sandbook`, `~/.local/state/sandbook` | records, execution logs, journals, program logs |
//! | `SANDBOOK_RUNTIME_DIR` | `$XDG_RUNTIME_DIR/sandbook`, else `run` in the state folder | sockets and connection files, gone after a restart |
//!
//! On macOS and Windows the defaults are the system's own places, as the `directories` crate knows them. A variable
//! must hold an absolute path; an empty one counts as not set.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::{Error, Result};

/// The variables that move a folder, and what it holds; for `sandbook config path`.
pub const ENVIRONMENT: [(&str, &str); 4] = [
    ("SANDBOOK_CONFIG_DIR", "settings, connections and policies"),
    ("SANDBOOK_DATA_DIR", "blobs and private environments"),
    ("SANDBOOK_STATE_DIR", "records, execution logs, journals and program logs"),
    ("SANDBOOK_RUNTIME_DIR", "sockets and connection files"),
];

/// The four folders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folders {
    /// Settings, connections and policies.
    pub config: PathBuf,
    /// Blobs and private environments.
    pub data: PathBuf,
    /// Records, logs and journals.
    pub state: PathBuf,
    /// Sockets and connection files.
    pub runtime: PathBuf,
}

impl Folders {
    /// The folders of the person who runs this process. Nothing is created.
    pub fn find() -> Result<Self> {
        Self::find_with(|name| std::env::var_os(name))
    }

    /// As [`Folders::find`], with the overrides read from `environment`.
    pub fn find_with(environment: impl Fn(&str) -> Option<OsString>) -> Result<Self> {
        let chosen = |name| {
            environment(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
        };
        let [config, data, state, runtime] = ENVIRONMENT.map(|(name, _)| chosen(name));
        let own = directories::ProjectDirs::from("", "", "sandbook");
        let own = |pick: fn(&directories::ProjectDirs) -> &Path| own.as_ref().map(|own| pick(own).to_owned());
        let config = config.or_else(|| own(|own| own.config_dir())).ok_or(Error::NoHome)?;
        let data = data.or_else(|| own(|own| own.data_local_dir())).ok_or(Error::NoHome)?;
        let state = state
            .or_else(|| own(|own| own.state_dir().unwrap_or_else(|| own.data_local_dir())))
            .ok_or(Error::NoHome)?;
        let runtime = runtime
            .or_else(|| own(|own| own.runtime_dir().unwrap_or_else(|| Path::new(""))))
            .filter(|path| path.is_absolute())
            .unwrap_or_else(|| state.join("run"));
        Ok(Self { config, data, state, runtime })
    }

    /// All four inside `root`; for tests and portable use.
    pub fn inside(root: &Path) -> Self {
        Self {
            config: root.join("config"),
            data: root.join("data"),
            state: root.join("state"),
            runtime: root.join("run"),
        }
    }

    /// Makes the folders that are missing, for their owner alone, and closes those that were open to others.
    pub fn create(&self) -> Result<()> {
        for folder in [&self.config, &self.data, &self.state, &self.runtime] {
            create_private_folder(folder)?;
        }
        Ok(())
    }

    /// `settings.toml`.
    pub fn settings_file(&self) -> PathBuf {
        self.config.join("settings.toml")
    }

    /// `connections.toml`.
    pub fn connections_file(&self) -> PathBuf {
        self.config.join("connections.toml")
    }

    /// `policies.toml`.
    pub fn policies_file(&self) -> PathBuf {
        self.config.join("policies.toml")
    }

    /// The database of [`crate::records`].
    pub fn records_file(&self) -> PathBuf {
        self.state.join("records.sqlite3")
    }

    /// Where [`crate::log`] keeps what executions said.
    pub fn execution_logs(&self) -> PathBuf {
        self.state.join("executions")
    }

    /// Where [`crate::journal`] keeps edits that are not saved.
    pub fn journals(&self) -> PathBuf {
        self.state.join("journals")
    }

    /// Where [`crate::blobs`] keeps payloads.
    pub fn blobs(&self) -> PathBuf {
        self.data.join("blobs")
    }

    /// Where the program writes what it does.
    pub fn program_logs(&self) -> PathBuf {
        self.state.join("logs")
    }
}

/// Makes `folder` and what is missing above it, readable by its owner alone.
pub fn create_private_folder(folder: &Path) -> Result<()> {
    let error = |source| Error::io(folder, source);
    platform::create_private(folder).map_err(error)?;
    if !folder.is_dir() {
        return Err(error(std::io::ErrorKind::NotADirectory.into()));
    }
    platform::make_private(folder).map_err(error)
}

/// Options that create a file readable by its owner alone.
pub(crate) fn private_file() -> fs::OpenOptions {
    let mut options = fs::OpenOptions::new();
    platform::private_mode(&mut options);
    options
}

#[cfg(unix)]
mod platform {
    use std::fs::{self, DirBuilder, OpenOptions, Permissions};
    use std::io;
    use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
    use std::path::Path;

    pub(super) fn create_private(folder: &Path) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)
    }

    pub(super) fn make_private(folder: &Path) -> io::Result<()> {
        let others = fs::metadata(folder)?.mode() & 0o077;
        if others == 0 {
            return Ok(());
        }
        fs::set_permissions(folder, Permissions::from_mode(0o700))
    }

    pub(super) fn private_mode(options: &mut OpenOptions) {
        options.mode(0o600);
    }
}

/// A person's profile folder on Windows is closed to others already.
#[cfg(not(unix))]
mod platform {
    use std::fs::{self, OpenOptions};
    use std::io;
    use std::path::Path;

    pub(super) fn create_private(folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)
    }

    pub(super) fn make_private(_folder: &Path) -> io::Result<()> {
        Ok(())
    }

    pub(super) fn private_mode(_options: &mut OpenOptions) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_moves_its_folder_and_an_empty_or_relative_one_does_not() {
        let found = Folders::find_with(|name| match name {
            "SANDBOOK_CONFIG_DIR" => Some("/elsewhere/config".into()),
            "SANDBOOK_DATA_DIR" => Some("".into()),
            "SANDBOOK_STATE_DIR" => Some("relative".into()),
            _ => None,
        })
        .unwrap();
        assert_eq!(found.settings_file(), Path::new("/elsewhere/config/settings.toml"));
        for own in [&found.data, &found.state, &found.runtime] {
            assert!(own.is_absolute() && !own.starts_with("/elsewhere"), "{}", own.display());
        }
    }

    #[test]
    fn without_a_runtime_folder_of_the_system_sockets_lie_in_the_state_folder() {
        let found = Folders::find_with(|name| (name != "SANDBOOK_RUNTIME_DIR").then(|| "/x".into())).unwrap();
        let system = std::env::var_os("XDG_RUNTIME_DIR").filter(|folder| Path::new(folder).is_absolute());
        assert_eq!(
            found.runtime,
            system.map_or("/x/run".into(), |system| Path::new(&system).join("sandbook"))
        );
    }

    #[cfg(unix)]
    #[test]
    fn folders_are_made_for_their_owner_alone_and_open_ones_are_closed() {
        use std::os::unix::fs::PermissionsExt as _;
        let root = tempfile::tempdir().unwrap();
        let folders = Folders::inside(root.path());
        fs::create_dir(&folders.config).unwrap();
        fs::set_permissions(&folders.config, fs::Permissions::from_mode(0o755)).unwrap();
        folders.create().unwrap();
        for folder in [&folders.config, &folders.data, &folders.state, &folders.runtime] {
            assert_eq!(fs::metadata(folder).unwrap().permissions().mode() & 0o777, 0o700);
        }
    }

    #[test]
    fn a_file_where_a_folder_should_be_is_an_error() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("config"), "").unwrap();
        assert!(Folders::inside(root.path()).create().is_err());
    }
}
