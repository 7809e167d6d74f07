//! What Sandbook remembers about its own doings: sandboxes, kept kernels, documents, runs, recent notebooks,
//! and what it knows of credentials.
//!
//! What is written about sandboxes and kept kernels is on the disk when the call returns. That is why a sandbox can be
//! recorded before the request that creates it leaves: whatever happens then, the next start finds the record and can
//! ask the provider. Those calls wait for the disk, a few milliseconds, and belong on a blocking thread.
//!
//! All other records survive a kill at once and a power cut after a second; they take some ten microseconds. What only one runtime
//! understands (a handle, an outcome) is JSON that nobody here looks into.

mod credentials;
mod documents;
mod executions;
mod sandboxes;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use rusqlite::Row;
use rusqlite::types::{FromSqlError, ValueRef};

use crate::Result;
use crate::database::Database;
use crate::sync::Synchroniser;

pub use credentials::CredentialRecord;
pub use documents::{DocumentRecord, RecentNotebook};
pub use executions::ExecutionRecord;
pub use sandboxes::{KeptKernel, SandboxRecord, SandboxState};

/// `MIGRATIONS[n]` leads from version n to n + 1. A released one is never changed.
const MIGRATIONS: [&str; 2] = [include_str!("records/schema_1.sql"), include_str!("records/schema_2.sql")];

/// The records.
#[derive(Debug)]
pub struct Records(Database);

impl Records {
    /// Opens the database at `path`, or makes it. Once per process.
    pub fn open(path: &Path, synchroniser: &Arc<Synchroniser>) -> Result<Self> {
        Ok(Self(Database::open(path, &MIGRATIONS, synchroniser)?))
    }

    fn all<T>(
        &self,
        query: &str,
        parameters: impl rusqlite::Params,
        read: fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        self.0.read(|connection| connection.prepare_cached(query)?.query_map(parameters, read)?.collect())
    }

    /// Whether a row was changed.
    fn change(&self, statement: &str, parameters: impl rusqlite::Params) -> Result<bool> {
        self.0.with(|connection| Ok(connection.prepare_cached(statement)?.execute(parameters)? > 0))
    }

    /// As [`Records::change`], and on the disk when it returns.
    fn change_durably(&self, statement: &str, parameters: impl rusqlite::Params) -> Result<bool> {
        self.0.with_durable(|connection| Ok(connection.prepare_cached(statement)?.execute(parameters)? > 0))
    }
}

/// A time as it is kept: milliseconds since 1970.
fn time(row: &Row<'_>, column: &str) -> rusqlite::Result<Timestamp> {
    optional_time(row, column).map(Option::unwrap_or_default)
}

fn optional_time(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<Timestamp>> {
    let time = row.get::<_, Option<i64>>(column)?;
    Ok(time.map(|time| Timestamp::from_millisecond(time).unwrap_or_default()))
}

fn json(row: &Row<'_>, column: &str) -> rusqlite::Result<serde_json::Value> {
    let parsed = match row.get_ref(column)? {
        ValueRef::Null => return Ok(serde_json::Value::Null),
        value => serde_json::from_slice(value.as_bytes()?),
    };
    parsed.map_err(|error| FromSqlError::Other(error.into()).into())
}
