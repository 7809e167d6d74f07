//! Open documents, and the ones that were opened before.

use jiff::Timestamp;
use rusqlite::params;

use super::{Records, json, time};
use crate::Result;

/// A document that is open, so that a new start can open it again.
#[derive(Clone, Debug, PartialEq)]
pub struct DocumentRecord {
    /// Its file.
    pub path: String,
    /// What the owner needs to restore: sandbox, scroll position, collapsed cells …
    pub session: serde_json::Value,
    /// When it was opened.
    pub opened: Timestamp,
}

/// A line of the start screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecentNotebook {
    /// Its file.
    pub path: String,
    /// What it ran on, for people.
    pub runtime: Option<String>,
    /// When it was last opened.
    pub opened: Timestamp,
}

impl Records {
    /// Puts an open document on record, or replaces its session.
    pub fn put_document(&self, document: &DocumentRecord) -> Result<()> {
        self.change(
            "INSERT OR REPLACE INTO document VALUES (?1, ?2, ?3)",
            params![document.path, document.session.to_string(), document.opened.as_millisecond()],
        )
        .map(drop)
    }

    /// The documents that were open, in the order in which they were opened.
    pub fn documents(&self) -> Result<Vec<DocumentRecord>> {
        self.all("SELECT * FROM document ORDER BY opened, path", [], |row| {
            Ok(DocumentRecord {
                path: row.get("path")?,
                session: json(row, "session")?,
                opened: time(row, "opened")?,
            })
        })
    }

    /// Forgets a document that was closed.
    pub fn remove_document(&self, path: &str) -> Result<bool> {
        self.change("DELETE FROM document WHERE path = ?1", [path])
    }

    /// Notes that a notebook was opened. What it ran on before stays if `runtime` is `None`.
    pub fn note_recent_notebook(&self, path: &str, runtime: Option<&str>, now: Timestamp) -> Result<()> {
        self.change(
            "INSERT INTO recent_notebook VALUES (?1, ?2, ?3)
             ON CONFLICT DO UPDATE SET runtime = coalesce(?2, runtime), opened = ?3",
            params![path, runtime, now.as_millisecond()],
        )
        .map(drop)
    }

    /// The notebooks opened last, newest first.
    pub fn recent_notebooks(&self, count: usize) -> Result<Vec<RecentNotebook>> {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        self.all("SELECT * FROM recent_notebook ORDER BY opened DESC, path LIMIT ?1", [count], |row| {
            Ok(RecentNotebook {
                path: row.get("path")?,
                runtime: row.get("runtime")?,
                opened: time(row, "opened")?,
            })
        })
    }

    /// Takes a notebook from the list.
    pub fn remove_recent_notebook(&self, path: &str) -> Result<bool> {
        self.change("DELETE FROM recent_notebook WHERE path = ?1", [path])
    }
}
