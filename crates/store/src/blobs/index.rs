//! Who refers to which blob how often.

use std::path::Path;
use std::sync::Arc;

use rusqlite::{OptionalExtension as _, TransactionBehavior, params};

use crate::Result;
use crate::database::Database;
use crate::files::Digest;
use crate::sync::Synchroniser;

const MIGRATIONS: [&str; 1] = ["
    CREATE TABLE reference (
        digest BLOB NOT NULL,
        owner TEXT NOT NULL,
        count INTEGER NOT NULL,
        PRIMARY KEY (digest, owner)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX reference_by_owner ON reference (owner);
"];

#[derive(Debug)]
pub(super) struct Index(Database);

impl Index {
    pub(super) fn open(path: &Path, synchroniser: &Arc<Synchroniser>) -> Result<Self> {
        Ok(Self(Database::open(path, &MIGRATIONS, synchroniser)?))
    }

    pub(super) fn refer(&self, owner: &str, digest: Digest) -> Result<()> {
        self.0.with(|connection| {
            let mut statement = connection.prepare_cached(
                "INSERT INTO reference VALUES (?1, ?2, 1) ON CONFLICT DO UPDATE SET count = count + 1",
            )?;
            statement.execute(params![digest.as_bytes(), owner])?;
            Ok(())
        })
    }

    pub(super) fn release(&self, owner: &str, digest: Digest) -> Result<()> {
        self.0.with(|connection| {
            let transaction = connection.transaction()?;
            transaction.execute(
                "UPDATE reference SET count = count - 1 WHERE digest = ?1 AND owner = ?2",
                params![digest.as_bytes(), owner],
            )?;
            transaction.execute(
                "DELETE FROM reference WHERE digest = ?1 AND owner = ?2 AND count <= 0",
                params![digest.as_bytes(), owner],
            )?;
            transaction.commit()
        })
    }

    pub(super) fn release_all(&self, owner: &str) -> Result<()> {
        self.0.with(|connection| {
            connection.execute("DELETE FROM reference WHERE owner = ?1", [owner]).map(drop)
        })
    }

    pub(super) fn references(&self, digest: Digest) -> Result<u64> {
        self.0.read(|connection| {
            let mut statement = connection
                .prepare_cached("SELECT coalesce(sum(count), 0) FROM reference WHERE digest = ?1")?;
            statement.query_row([digest.as_bytes()], |row| row.get::<_, i64>(0)).map(i64::unsigned_abs)
        })
    }

    /// Runs `remove` if nothing refers to `digest`, while nobody can begin to.
    pub(super) fn remove_if_unreferenced(
        &self,
        digest: Digest,
        remove: impl FnOnce() -> Result<()>,
    ) -> Result<bool> {
        let removed = self.0.read(|connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let found = transaction
                .query_row("SELECT 1 FROM reference WHERE digest = ?1", [digest.as_bytes()], |_| Ok(()))
                .optional()?;
            Ok(found.is_none().then(remove))
        })?;
        removed.transpose().map(|removed| removed.is_some())
    }
}
