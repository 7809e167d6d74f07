//! The internal name of a cell.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Names a cell as long as the document is open. It never changes, is not the id in the file, and is not written.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CellKey(Arc<str>);

impl CellKey {
    /// A key of this text.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A source of keys `PREFIX1`, `PREFIX2`, …
    pub fn sequence(prefix: &str) -> impl FnMut() -> Self + use<'_> {
        let mut number = 0_u64;
        move || {
            number += 1;
            Self::new(format!("{prefix}{number}"))
        }
    }
}

impl fmt::Display for CellKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl From<&str> for CellKey {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}
