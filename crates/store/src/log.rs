//! What executions said, byte for byte.
//!
//! A kernel that can't get rid of its output drops it, so the reader of its messages does one thing only: it appends
//! them here. Everybody else pulls from the log at their own pace, from any position, and never holds the writer up:
//! readers open the files for themselves and learn from a shared counter how far they may read.
//!
//! One folder per execution, in it segments of 64 MiB named after the position of their first record. Each record
//! carries the time of its event and whether it came after the execution's end. A record is written whole in one call;
//! after a crash, what was cut at the end of the last segment is passed over.
//!
//! Limits are not errors. Past them [`Writer::append`] answers [`Appended::NotKept`], and the one who reads the
//! kernel says so in the output and asks the person what to do.

mod reader;
mod segment;
#[cfg(test)]
mod tests;
mod writer;

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use tokio::sync::watch;

use crate::folders::create_private_folder;
use crate::sync::{Synchroniser, lock};
use crate::{Error, Result};

pub use reader::Reader;
pub use writer::{Appended, Priority, Refusal, Writer};

/// Limits of what is kept. Sizes in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// For one execution.
    pub execution: u64,
    /// For all together.
    pub total: u64,
    /// How long after its last record an execution is kept.
    pub age: Duration,
}

impl Default for Limits {
    /// 2 GB, 20 GB, 30 days.
    fn default() -> Self {
        Self { execution: 2_000_000_000, total: 20_000_000_000, age: Duration::from_hours(30 * 24) }
    }
}

/// A place in an execution's log, in bytes of records before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position(pub u64);

/// One event as it was appended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Where it begins.
    pub position: Position,
    /// Where the next one begins.
    pub next: Position,
    /// When it happened, in microseconds since 1970.
    pub time: i64,
    /// Whether it came after the execution had ended.
    pub is_late: bool,
    /// What was appended.
    pub payload: Bytes,
}

/// How far a log goes, told to readers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct End {
    position: u64,
    is_closed: bool,
}

/// What [`Logs::collect`] removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// Executions whose logs are gone.
    pub executions: usize,
    /// Bytes that are free again.
    pub bytes: u64,
}

/// The logs of all executions.
#[derive(Debug)]
pub struct Logs {
    folder: PathBuf,
    limits: Limits,
    synchroniser: Arc<Synchroniser>,
    /// Bytes of all logs.
    total: Arc<AtomicU64>,
    /// Those that are being written in this process.
    open: Mutex<HashMap<String, watch::Receiver<End>>>,
}

impl Logs {
    /// Keeps logs in `folder`, which is made if it is missing. What lies there already counts towards the total only
    /// after [`Logs::collect`], which looks at every execution; so that a start need not wait for it.
    pub fn open(folder: &Path, limits: Limits, synchroniser: &Arc<Synchroniser>) -> Result<Self> {
        create_private_folder(folder)?;
        Ok(Self {
            folder: folder.to_owned(),
            limits,
            synchroniser: Arc::clone(synchroniser),
            total: Arc::default(),
            open: Mutex::default(),
        })
    }

    /// Begins the log of an execution, or goes on with one that a crash or a restart left.
    pub fn writer(&self, execution: &str) -> Result<Writer> {
        let folder = self.folder_of(execution)?;
        let mut open = lock(&self.open);
        // A log that is closed keeps no place here.
        open.retain(|_, end| end.has_changed().is_ok());
        if open.contains_key(execution) {
            return Err(Error::InUse { path: folder });
        }
        create_private_folder(&folder)?;
        let writer = Writer::open(folder, self.limits, &self.synchroniser, &self.total)?;
        open.insert(execution.to_owned(), writer.subscribe());
        Ok(writer)
    }

    /// Reads the log of an execution from `from` on, also while it is being written.
    pub fn reader(&self, execution: &str, from: Position) -> Result<Reader> {
        let folder = self.folder_of(execution)?;
        let end = lock(&self.open).get(execution).cloned();
        Reader::open(folder, from, end)
    }

    /// Whether anything is kept of an execution.
    pub fn contains(&self, execution: &str) -> bool {
        self.folder_of(execution).is_ok_and(|folder| folder.is_dir())
    }

    /// Bytes of all logs together, as far as they are known: see [`Logs::open`].
    pub fn total_bytes(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }

    /// Removes the log of an execution.
    pub fn remove(&self, execution: &str) -> Result<()> {
        let removed = self.delete(execution)?;
        let less = |total: u64| Some(total.saturating_sub(removed));
        let _ = self.total.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        Ok(())
    }

    /// Deletes the folder of an execution and returns its size in bytes.
    fn delete(&self, execution: &str) -> Result<u64> {
        let folder = self.folder_of(execution)?;
        if !folder.is_dir() {
            return Ok(0);
        }
        let bytes = segment::total_size(&folder)?;
        fs::remove_dir_all(&folder).map_err(|source| Error::io(&folder, source))?;
        Ok(bytes)
    }

    /// Removes what is older than the limit, then the oldest until the total fits, and counts what is left. What is
    /// being written and what `kept` names stays. For a thread in the background, after the start and once a day.
    pub fn collect(&self, now: SystemTime, kept: &HashSet<String>) -> Result<Collected> {
        let mut stored = self.stored()?;
        stored.sort_by_key(|stored| stored.modified);
        let mut total: u64 = stored.iter().map(|stored| stored.bytes).sum();
        let mut collected = Collected::default();
        for stored in stored {
            let is_open =
                lock(&self.open).get(&stored.execution).is_some_and(|end| end.has_changed().is_ok());
            let age = now.duration_since(stored.modified).unwrap_or_default();
            let is_wanted = age <= self.limits.age && total <= self.limits.total;
            if is_open || is_wanted || kept.contains(&stored.execution) {
                continue;
            }
            self.delete(&stored.execution)?;
            total -= stored.bytes;
            collected.executions += 1;
            collected.bytes += stored.bytes;
        }
        self.total.store(total, Ordering::Relaxed);
        Ok(collected)
    }

    fn stored(&self) -> Result<Vec<Stored>> {
        let mut stored = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(|source| Error::io(&self.folder, source))? {
            let path = entry.map_err(|source| Error::io(&self.folder, source))?.path();
            let Some(execution) = path.file_name().and_then(|name| name.to_str()).map(str::to_owned) else {
                continue;
            };
            if check_id(&execution).is_err() || !path.is_dir() {
                continue;
            }
            let newest = segment::list(&path)?.pop().map_or(path.clone(), |segment| segment.path);
            let modified = fs::metadata(&newest).and_then(|metadata| metadata.modified());
            let modified = modified.map_err(|source| Error::io(&newest, source))?;
            stored.push(Stored { bytes: segment::total_size(&path)?, execution, modified });
        }
        Ok(stored)
    }

    fn folder_of(&self, execution: &str) -> Result<PathBuf> {
        check_id(execution)?;
        Ok(self.folder.join(execution))
    }
}

#[derive(Debug)]
struct Stored {
    execution: String,
    bytes: u64,
    modified: SystemTime,
}

/// An id becomes the name of a folder, so it must be nothing else.
pub(crate) fn check_id(id: &str) -> Result<()> {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if id.is_empty() || id.len() > 128 || !id.bytes().all(is_name) {
        return Err(Error::InvalidId(id.chars().take(140).collect()));
    }
    Ok(())
}
