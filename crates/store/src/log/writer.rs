//! Appending to one execution's log.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::watch;

use super::segment::{self, MAGIC, RECORD, SIZE};
use super::{End, Limits, Position};
use crate::folders::private_file;
use crate::sync::{SyncedFile, Synchroniser};
use crate::{Error, Result, frame};

/// Payloads up to this size are copied behind their header to be written in one call.
const COPIED: usize = 256 * 1024;
/// What is kept of essential records past a limit, in bytes.
const RESERVE: u64 = 16 * 1024 * 1024;

/// Flag of a record that came after the execution's end.
pub(super) const LATE: u8 = 1;

/// How much a record matters once a limit is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// Output.
    Ordinary,
    /// What the execution's outcome depends on: errors, results, the end. Kept past the limit, up to 16 MiB more.
    Essential,
}

/// Which limit was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// That of one execution.
    ExecutionLimit,
    /// That of all logs together.
    TotalLimit,
}

/// What became of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Appended {
    /// Written, and safe from a kill of the process.
    Kept(Position),
    /// A limit was met; nothing was written.
    NotKept(Refusal),
}

/// The one writer of an execution's log. Dropping it tells readers that nothing more will come.
#[derive(Debug)]
pub struct Writer {
    folder: PathBuf,
    limits: Limits,
    total: Arc<AtomicU64>,
    synchroniser: Arc<Synchroniser>,
    segment: Arc<SyncedFile>,
    /// Position of the segment's first record.
    start: u64,
    /// Position after the last record.
    end: u64,
    /// Bytes that were not kept.
    refused: u64,
    scratch: Vec<u8>,
    told: watch::Sender<End>,
}

impl Writer {
    pub(super) fn open(
        folder: PathBuf,
        limits: Limits,
        synchroniser: &Arc<Synchroniser>,
        total: &Arc<AtomicU64>,
    ) -> Result<Self> {
        let (start, length) = match segment::list(&folder)?.pop() {
            Some(last) => (last.start, segment::whole_length(&last.path)?),
            None => (0, 0),
        };
        let (segment, length) = open_segment(&folder, start, length, synchroniser, total)?;
        let end = start + length - MAGIC.len() as u64;
        Ok(Self {
            folder,
            limits,
            total: Arc::clone(total),
            synchroniser: Arc::clone(synchroniser),
            segment,
            start,
            end,
            refused: 0,
            scratch: Vec::new(),
            told: watch::Sender::new(End { position: end, is_closed: false }),
        })
    }

    /// Appends one event that happened at `time` (microseconds since 1970). When it returns, readers are told, and a
    /// kill of the process no longer loses the record; a power cut may, for up to a second.
    pub fn append(
        &mut self,
        time: i64,
        is_late: bool,
        priority: Priority,
        payload: &[u8],
    ) -> Result<Appended> {
        let size = (RECORD + payload.len()) as u64;
        if let Some(refusal) = self.refusal(size, priority) {
            self.refused += payload.len() as u64;
            return Ok(Appended::NotKept(refusal));
        }
        self.segment.check()?;
        if self.end - self.start >= SIZE {
            self.begin_segment()?;
        }
        let stamp = stamp(time, is_late);
        let header = frame::header(&[&stamp, payload])?;
        self.scratch.clear();
        self.scratch.extend_from_slice(&header);
        self.scratch.extend_from_slice(&stamp);
        let mut file = &self.segment.file;
        let written = if payload.len() <= COPIED {
            self.scratch.extend_from_slice(payload);
            file.write_all(&self.scratch)
        } else {
            file.write_all(&self.scratch).and_then(|()| file.write_all(payload))
        };
        if let Err(source) = written {
            // Half a record would hide all that follow it.
            let _ = file.set_len(MAGIC.len() as u64 + self.end - self.start);
            return Err(Error::io(&self.segment.path, source));
        }
        let position = Position(self.end);
        self.end += size;
        self.total.fetch_add(size, Ordering::Relaxed);
        self.segment.touch();
        self.told.send_replace(End { position: self.end, is_closed: false });
        Ok(Appended::Kept(position))
    }

    /// Where the next record will begin.
    pub fn end(&self) -> Position {
        Position(self.end)
    }

    /// Payload bytes that were not kept because a limit was met.
    pub fn refused_bytes(&self) -> u64 {
        self.refused
    }

    /// Lets this execution go on to a new limit, in bytes, because the person asked for it.
    pub fn raise_limit(&mut self, bytes: u64) {
        self.limits.execution = bytes;
    }

    /// Waits until all records are on the disk.
    pub fn sync(&self) -> Result<()> {
        self.segment.sync()
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<End> {
        self.told.subscribe()
    }

    fn refusal(&self, size: u64, priority: Priority) -> Option<Refusal> {
        let reserve = if priority == Priority::Essential { RESERVE } else { 0 };
        if self.end + size > self.limits.execution.saturating_add(reserve) {
            Some(Refusal::ExecutionLimit)
        } else if self.total.load(Ordering::Relaxed) + size > self.limits.total.saturating_add(reserve) {
            Some(Refusal::TotalLimit)
        } else {
            None
        }
    }

    fn begin_segment(&mut self) -> Result<()> {
        // A reader takes the next segment's existence as proof that this one is complete.
        self.segment.sync()?;
        let (segment, _) = open_segment(&self.folder, self.end, 0, &self.synchroniser, &self.total)?;
        self.segment = segment;
        self.start = self.end;
        Ok(())
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.told.send_replace(End { position: self.end, is_closed: true });
    }
}

/// Opens the segment that begins at `start`, cut to its whole records; with a `length` of 0 it is begun. Returns its
/// length too.
fn open_segment(
    folder: &std::path::Path,
    start: u64,
    length: u64,
    synchroniser: &Synchroniser,
    total: &AtomicU64,
) -> Result<(Arc<SyncedFile>, u64)> {
    let path = segment::path_of(folder, start);
    let error = |source| Error::io(&path, source);
    let mut file = private_file().append(true).create(true).open(&path).map_err(error)?;
    file.set_len(length).map_err(error)?;
    let mut length = length;
    if length == 0 {
        file.write_all(MAGIC).map_err(error)?;
        length = MAGIC.len() as u64;
        total.fetch_add(length, Ordering::Relaxed);
        synchroniser.queue_path(folder);
    }
    let file = synchroniser.watch(file, path.clone());
    file.touch();
    Ok((file, length))
}

/// Time and flags of a record.
fn stamp(time: i64, is_late: bool) -> [u8; 9] {
    let mut stamp = [0; 9];
    stamp[..8].copy_from_slice(&time.to_le_bytes());
    stamp[8] = if is_late { LATE } else { 0 };
    stamp
}
