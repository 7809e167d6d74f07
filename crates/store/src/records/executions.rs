//! Runs: the index of the execution logs.

use jiff::Timestamp;
use rusqlite::{Row, params};

use super::{Records, json, optional_time, time};
use crate::Result;

/// One run of some code.
#[derive(Clone, Debug, PartialEq)]
pub struct ExecutionRecord {
    /// Also the name of its log.
    pub id: String,
    /// Where it ran.
    pub sandbox: String,
    /// The document it was run from.
    pub document: Option<String>,
    /// The cell it was run from.
    pub cell: Option<String>,
    /// What ran.
    pub code: String,
    /// When.
    pub started: Timestamp,
    /// When it ended; `None` while it runs, or when nobody saw its end.
    pub ended: Option<Timestamp>,
    /// How; null until it ended.
    pub outcome: serde_json::Value,
}

impl Records {
    /// Puts a run on record.
    pub fn put_execution(&self, execution: &ExecutionRecord) -> Result<()> {
        let outcome = (!execution.outcome.is_null()).then(|| execution.outcome.to_string());
        self.change(
            "INSERT OR REPLACE INTO execution VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            params![
                execution.id,
                execution.sandbox,
                execution.document,
                execution.cell,
                execution.code,
                execution.started.as_millisecond(),
                execution.ended.map(Timestamp::as_millisecond),
                outcome,
            ],
        )
        .map(drop)
    }

    /// Notes the end of a run. `false` if there is no such record.
    pub fn end_execution(&self, id: &str, ended: Timestamp, outcome: &serde_json::Value) -> Result<bool> {
        self.change(
            "UPDATE execution SET ended = ?2, outcome = ?3 WHERE id = ?1",
            params![id, ended.as_millisecond(), outcome.to_string()],
        )
    }

    /// One run.
    pub fn execution(&self, id: &str) -> Result<Option<ExecutionRecord>> {
        Ok(self.all("SELECT * FROM execution WHERE id = ?1", [id], read_execution)?.pop())
    }

    /// The runs of a document, oldest first.
    pub fn executions_of_document(&self, document: &str) -> Result<Vec<ExecutionRecord>> {
        self.all(
            "SELECT * FROM execution WHERE document = ?1 ORDER BY started, id",
            [document],
            read_execution,
        )
    }

    /// Runs whose end nobody saw: what a crash interrupted.
    pub fn unfinished_executions(&self) -> Result<Vec<ExecutionRecord>> {
        self.all("SELECT * FROM execution WHERE ended IS NULL ORDER BY started, id", [], read_execution)
    }

    /// Forgets runs that began before `time`, and names them so that their logs can go too.
    pub fn forget_executions(&self, before: Timestamp) -> Result<Vec<String>> {
        self.all("DELETE FROM execution WHERE started < ?1 RETURNING id", [before.as_millisecond()], |row| {
            row.get("id")
        })
    }
}

fn read_execution(row: &Row<'_>) -> rusqlite::Result<ExecutionRecord> {
    Ok(ExecutionRecord {
        id: row.get("id")?,
        sandbox: row.get("sandbox")?,
        document: row.get("document")?,
        cell: row.get("cell")?,
        code: row.get("code")?,
        started: time(row, "started")?,
        ended: optional_time(row, "ended")?,
        outcome: json(row, "outcome")?,
    })
}
