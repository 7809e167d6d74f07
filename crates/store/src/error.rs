//! What can go wrong on disk, in sentences for a person.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A failure of the store. `Display` says what happened and what is kept; [`Error::hint`] what to do next.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file, its folder or its file system allows no writing.
    #[error("{} can't be written: it is read-only. What was there before is unchanged.", path.display())]
    ReadOnly {
        /// The file or folder.
        path: PathBuf,
    },
    /// No space, or a quota is used up.
    #[error("{} can't be written: the disk is full. What was there before is unchanged.", path.display())]
    DiskFull {
        /// The file.
        path: PathBuf,
    },
    /// The folder that should hold the file is not there, or not any more.
    #[error("There is no folder {}.", path.display())]
    FolderGone {
        /// The folder.
        path: PathBuf,
    },
    /// A folder is where a file was expected.
    #[error("{} is a folder, not a file.", path.display())]
    IsFolder {
        /// The folder.
        path: PathBuf,
    },
    /// A device, a pipe or a socket is where a file was expected.
    #[error("{} is a device, a pipe or a socket, not a file. It is untouched.", path.display())]
    NotRegular {
        /// What is there.
        path: PathBuf,
    },
    /// The person may not read or write it.
    #[error("{} can't be used: permission denied.", path.display())]
    NotPermitted {
        /// The file or folder.
        path: PathBuf,
    },
    /// Any other failure of the file system.
    #[error("{} can't be used: {source}.", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Written by a newer Sandbook. It was not touched.
    #[error(
        "{} was written by a newer Sandbook (format {found}; this one knows up to {known}). It was not changed.",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u64,
        /// The newest format known here.
        known: u64,
    },
    /// Not what was written there.
    #[error("{} is damaged: {what}.", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// A settings file says something that can't be followed.
    #[error("{}", list(.0))]
    Config(Vec<ConfigProblem>),
    /// The database refused.
    #[error("The records in {} can't be used: {source}.", path.display())]
    Database {
        /// The database file.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// There is no home folder to keep anything in.
    #[error("No home folder was found, so there is nowhere to keep settings and records.")]
    NoHome,
    /// Somebody in this process writes it already.
    #[error("{} is being written already.", path.display())]
    InUse {
        /// The file or folder.
        path: PathBuf,
    },
    /// An id that can't be the name of a file.
    #[error("\"{0}\" can't be an id: only letters, digits, \"-\" and \"_\" are allowed, 128 at most.")]
    InvalidId(String),
    /// A piece larger than a record may be.
    #[error("A record of {size} bytes is too large; {limit} is the most.")]
    TooLarge {
        /// Its size in bytes.
        size: usize,
        /// The most.
        limit: usize,
    },
    /// A blob that is not, or no longer, kept.
    #[error("The payload {0} is no longer kept.")]
    NoSuchBlob(String),
    /// A document was changed by someone else, and its journal waits for the person's word.
    #[error(
        "{document} was changed by someone else, and it is not decided yet which state counts. Both are kept."
    )]
    Undecided {
        /// The document.
        document: String,
    },
    /// A setting or policy that does not exist.
    #[error("There is no setting \"{key}\".{}", nearest.map_or_else(String::new, |name| format!(" Did you mean \"{name}\"?")))]
    NoSuchSetting {
        /// What was asked for.
        key: String,
        /// The known name that is closest to it.
        nearest: Option<&'static str>,
    },
}

impl Error {
    /// Sorts a failure of the file system by what a person can do about it.
    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::ReadOnlyFilesystem => Self::ReadOnly { path },
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                Self::DiskFull { path }
            }
            io::ErrorKind::PermissionDenied => Self::NotPermitted { path },
            io::ErrorKind::IsADirectory => Self::IsFolder { path },
            io::ErrorKind::NotFound if path.parent().is_some_and(|folder| !folder.exists()) => {
                Self::FolderGone { path: path.parent().map(Path::to_owned).unwrap_or_default() }
            }
            _ => Self::Io { path, source },
        }
    }

    /// A stable name for this kind of failure.
    pub fn code(&self) -> &'static str {
        match self {
            Self::ReadOnly { .. } => "store.read_only",
            Self::DiskFull { .. } => "store.disk_full",
            Self::FolderGone { .. } => "store.folder_gone",
            Self::IsFolder { .. } => "store.is_folder",
            Self::NotRegular { .. } => "store.not_regular",
            Self::NotPermitted { .. } => "store.not_permitted",
            Self::Io { .. } => "store.io",
            Self::Newer { .. } => "store.newer_format",
            Self::Damaged { .. } => "store.damaged",
            Self::Config(_) => "store.config",
            Self::Database { .. } => "store.database",
            Self::NoHome => "store.no_home",
            Self::InUse { .. } => "store.in_use",
            Self::InvalidId(_) => "store.invalid_id",
            Self::TooLarge { .. } => "store.too_large",
            Self::NoSuchBlob(_) => "store.no_such_blob",
            Self::Undecided { .. } => "store.undecided",
            Self::NoSuchSetting { .. } => "store.no_such_setting",
        }
    }

    /// The next step.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::ReadOnly { .. } | Self::NotPermitted { .. } => {
                "Save under another name, or change the permissions of the file or its folder."
            }
            Self::DiskFull { .. } => "Free some space and try again, or save to another disk.",
            Self::FolderGone { .. } => "Make the folder, or save under another name.",
            Self::IsFolder { .. } | Self::NotRegular { .. } => "Choose a file name.",
            Self::Newer { .. } => {
                "Update Sandbook, or set SANDBOOK_CONFIG_DIR and SANDBOOK_STATE_DIR to other folders."
            }
            Self::Damaged { .. } | Self::Database { .. } => {
                "Move the file away to begin anew; a backup may lie beside it."
            }
            Self::Config(_) => "Correct the file. \"sandbook config check\" says when it is right.",
            Self::NoHome => "Set HOME, or SANDBOOK_CONFIG_DIR, SANDBOOK_DATA_DIR and SANDBOOK_STATE_DIR.",
            Self::NoSuchSetting { .. } => "\"sandbook config show\" lists all of them.",
            Self::Undecided { .. } => "Choose which one to keep.",
            Self::NoSuchBlob(_) => "Run the cell again to make it anew.",
            Self::Io { .. } | Self::InUse { .. } | Self::InvalidId(_) | Self::TooLarge { .. } => return None,
        })
    }

    /// Whether the same call can succeed later without anything being changed by hand in Sandbook.
    pub fn is_worth_retrying(&self) -> bool {
        matches!(
            self,
            Self::DiskFull { .. } | Self::FolderGone { .. } | Self::Io { .. } | Self::Database { .. }
        )
    }
}

/// One thing that is wrong in a settings file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigProblem {
    /// The file.
    pub file: PathBuf,
    /// The line, the first being 1; 0 when it concerns the whole file.
    pub line: usize,
    /// The key as it is written there; empty when it concerns no key.
    pub key: String,
    /// What is wrong with it.
    pub message: String,
    /// The known name that is closest to an unknown one.
    pub nearest: Option<&'static str>,
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.file.display())?;
        if self.line > 0 {
            write!(formatter, ", line {}", self.line)?;
        }
        if !self.key.is_empty() {
            write!(formatter, ", \"{}\"", self.key)?;
        }
        write!(formatter, ": {}", self.message)?;
        if let Some(nearest) = self.nearest {
            write!(formatter, " Did you mean \"{nearest}\"?")?;
        }
        Ok(())
    }
}

fn list(problems: &[ConfigProblem]) -> String {
    problems.iter().map(ConfigProblem::to_string).collect::<Vec<_>>().join("\n")
}
