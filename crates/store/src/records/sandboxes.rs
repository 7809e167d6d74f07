//! Sandboxes and the kernels kept in them.

use std::fmt;

use jiff::Timestamp;
use rusqlite::types::FromSqlError;
use rusqlite::{Row, params};

use super::{Records, json, optional_time, time};
use crate::Result;

/// Where a sandbox is in its life, as far as is known here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SandboxState {
    /// Asked for; whether it came to be is not known yet.
    Creating,
    /// It lives.
    Running,
    /// It was asked to stop.
    Stopping,
    /// It is gone.
    Ended,
    /// Neither reached nor confirmed gone; it may still cost something.
    Lost,
}

impl SandboxState {
    const ALL: [(Self, &str); 5] = [
        (Self::Creating, "creating"),
        (Self::Running, "running"),
        (Self::Stopping, "stopping"),
        (Self::Ended, "ended"),
        (Self::Lost, "lost"),
    ];
}

/// The word it is kept as.
impl fmt::Display for SandboxState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = Self::ALL.iter().find(|(state, _)| state == self).map_or("", |(_, word)| word);
        formatter.write_str(word)
    }
}

/// One sandbox that was made or attached to.
#[derive(Clone, Debug, PartialEq)]
pub struct SandboxRecord {
    /// Our own id, also put on the sandbox as a label where the provider allows.
    pub id: String,
    /// The kind of place: `jupyter`, `docker` …
    pub runtime: String,
    /// The saved connection it came from.
    pub connection: Option<String>,
    /// For people.
    pub name: String,
    /// What the runtime needs to attach to it again. Never a secret.
    pub handle: serde_json::Value,
    /// Where it is in its life.
    pub state: SandboxState,
    /// When it was asked for.
    pub created: Timestamp,
    /// When it was known to be gone.
    pub ended: Option<Timestamp>,
}

/// A kernel that goes on running without a notebook open.
#[derive(Clone, Debug, PartialEq)]
pub struct KeptKernel {
    /// The kernel's id.
    pub id: String,
    /// The sandbox it lives in.
    pub sandbox: String,
    /// Its kernelspec's name.
    pub name: String,
    /// The notebook it was kept for.
    pub document: Option<String>,
    /// What the runtime needs to attach to it again. Never a secret.
    pub handle: serde_json::Value,
    /// Since when.
    pub kept: Timestamp,
}

impl Records {
    /// Puts a sandbox on record, before the request that makes it leaves; or replaces what is known of it.
    pub fn put_sandbox(&self, sandbox: &SandboxRecord) -> Result<()> {
        self.change_durably(
            "INSERT INTO sandbox VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
             ON CONFLICT DO UPDATE SET runtime = ?2, connection = ?3, name = ?4, handle = ?5, state = ?6,
             created = ?7, ended = ?8",
            params![
                sandbox.id,
                sandbox.runtime,
                sandbox.connection,
                sandbox.name,
                sandbox.handle.to_string(),
                sandbox.state.to_string(),
                sandbox.created.as_millisecond(),
                sandbox.ended.map(Timestamp::as_millisecond),
            ],
        )
        .map(drop)
    }

    /// Notes a change in a sandbox's life. `false` if there is no such record.
    pub fn set_sandbox_state(&self, id: &str, state: SandboxState, now: Timestamp) -> Result<bool> {
        let ended = (state == SandboxState::Ended).then(|| now.as_millisecond());
        self.change_durably(
            "UPDATE sandbox SET state = ?2, ended = ?3 WHERE id = ?1",
            params![id, state.to_string(), ended],
        )
    }

    /// Notes what a runtime needs to attach again. `false` if there is no such record.
    pub fn set_sandbox_handle(&self, id: &str, handle: &serde_json::Value) -> Result<bool> {
        self.change_durably("UPDATE sandbox SET handle = ?2 WHERE id = ?1", params![id, handle.to_string()])
    }

    /// One sandbox.
    pub fn sandbox(&self, id: &str) -> Result<Option<SandboxRecord>> {
        Ok(self.all("SELECT * FROM sandbox WHERE id = ?1", [id], read_sandbox)?.pop())
    }

    /// All that may still live, oldest first: a new start compares them with what the providers list.
    pub fn living_sandboxes(&self) -> Result<Vec<SandboxRecord>> {
        self.all("SELECT * FROM sandbox WHERE state <> 'ended' ORDER BY created, id", [], read_sandbox)
    }

    /// All, newest first.
    pub fn sandboxes(&self) -> Result<Vec<SandboxRecord>> {
        self.all("SELECT * FROM sandbox ORDER BY created DESC, id", [], read_sandbox)
    }

    /// Forgets sandboxes that ended before `time`.
    pub fn forget_ended_sandboxes(&self, before: Timestamp) -> Result<()> {
        self.change_durably(
            "DELETE FROM sandbox WHERE state = 'ended' AND ended < ?1",
            [before.as_millisecond()],
        )
        .map(drop)
    }

    /// Keeps a kernel on record.
    pub fn put_kept_kernel(&self, kernel: &KeptKernel) -> Result<()> {
        self.change_durably(
            "INSERT OR REPLACE INTO kept_kernel VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![
                kernel.id,
                kernel.sandbox,
                kernel.name,
                kernel.document,
                kernel.handle.to_string(),
                kernel.kept.as_millisecond(),
            ],
        )
        .map(drop)
    }

    /// All kept kernels, oldest first.
    pub fn kept_kernels(&self) -> Result<Vec<KeptKernel>> {
        self.all("SELECT * FROM kept_kernel ORDER BY kept, id", [], |row| {
            Ok(KeptKernel {
                id: row.get("id")?,
                sandbox: row.get("sandbox")?,
                name: row.get("name")?,
                document: row.get("document")?,
                handle: json(row, "handle")?,
                kept: time(row, "kept")?,
            })
        })
    }

    /// Forgets a kept kernel.
    pub fn remove_kept_kernel(&self, id: &str) -> Result<bool> {
        self.change_durably("DELETE FROM kept_kernel WHERE id = ?1", [id])
    }
}

fn read_sandbox(row: &Row<'_>) -> rusqlite::Result<SandboxRecord> {
    let word: String = row.get("state")?;
    let state = SandboxState::ALL.iter().find(|(_, known)| *known == word).map(|(state, _)| *state);
    Ok(SandboxRecord {
        id: row.get("id")?,
        runtime: row.get("runtime")?,
        connection: row.get("connection")?,
        name: row.get("name")?,
        handle: json(row, "handle")?,
        state: state
            .ok_or_else(|| FromSqlError::Other(format!("no sandbox state is called {word}").into()))?,
        created: time(row, "created")?,
        ended: optional_time(row, "ended")?,
    })
}
