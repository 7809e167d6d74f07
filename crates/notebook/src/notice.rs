//! What a person should know about a file that was opened.

use std::fmt;

/// Something worth saying about the file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// The file has an older major format; it is written as format 4 once something changes.
    Upgraded {
        /// The format of the file.
        major: u64,
    },
    /// The file has a newer major format than is known.
    Newer {
        /// The format of the file.
        major: u64,
    },
    /// Some cells could not be read.
    BrokenCells {
        /// How many.
        count: usize,
    },
}

impl Notice {
    /// For programs: stable.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Upgraded { .. } => "older_format",
            Self::Newer { .. } => "newer_format",
            Self::BrokenCells { .. } => "broken_cells",
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Upgraded { major } => write!(
                formatter,
                "This file has the old notebook format {major}. It stays as it is until you change something; then it \
                 is saved in format 4."
            ),
            Self::Newer { major } => write!(
                formatter,
                "This file has notebook format {major}, which is newer than what this program knows (4). It is read as \
                 far as it is understood; everything else in it is kept as it is, and it stays in format {major}. \
                 Change a copy of it, or use a newer program."
            ),
            Self::BrokenCells { count: 1 } => {
                write!(formatter, "One cell could not be read. It is shown as JSON and saved as it was.")
            }
            Self::BrokenCells { count } => {
                write!(
                    formatter,
                    "{count} cells could not be read. They are shown as JSON and saved as they were."
                )
            }
        }
    }
}
