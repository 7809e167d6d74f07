//! Reading one execution's log, also while it grows.

use std::fs::File;
use std::path::PathBuf;

use bytes::Bytes;
use tokio::sync::watch;

use super::segment::{self, MAGIC, RECORD, Segment};
use super::writer::LATE;
use super::{End, Position, Record};
use crate::frame::{self, Frame};
use crate::{Error, Result};

/// How much is read from the disk at least.
const BLOCK: usize = 256 * 1024;

/// A view of a log at a position of its own. Any number of them may read while the log is written.
#[derive(Debug)]
pub struct Reader {
    folder: PathBuf,
    position: u64,
    /// The segment that was read last.
    segment: Option<(Segment, File)>,
    /// How far the log goes, if it is being written in this process.
    end: Option<watch::Receiver<End>>,
}

impl Reader {
    pub(super) fn open(folder: PathBuf, from: Position, end: Option<watch::Receiver<End>>) -> Result<Self> {
        if !folder.is_dir() {
            return Err(Error::io(&folder, std::io::ErrorKind::NotFound.into()));
        }
        Ok(Self { folder, position: from.0, segment: None, end })
    }

    /// Where the next record begins.
    pub fn position(&self) -> Position {
        Position(self.position)
    }

    /// Goes to the beginning of a record, as [`Record`] or [`super::Appended`] gave it.
    pub fn seek(&mut self, position: Position) {
        self.position = position.0;
    }

    /// The next records with about `size` bytes in all, at least one; none when there are no more at the moment.
    ///
    /// # Errors
    /// [`Error::Damaged`] when a segment in the middle is; the next call goes on behind it.
    pub fn read(&mut self, size: usize) -> Result<Vec<Record>> {
        let end = self.end.as_ref().map(|end| end.borrow().position);
        let mut wanted = size.max(BLOCK);
        loop {
            if end.is_some_and(|end| self.position >= end) || !self.open_segment()? {
                return Ok(Vec::new());
            }
            let Some((segment, file)) = &self.segment else { return Ok(Vec::new()) };
            let limit =
                end.map_or(wanted, |end| wanted.min(usize::try_from(end - self.position).unwrap_or(wanted)));
            let bytes = read_at(file, MAGIC.len() as u64 + self.position - segment.start, limit);
            let bytes = Bytes::from(bytes.map_err(|source| Error::io(&segment.path, source))?);
            let (records, rest) = self.split(&bytes, size);
            if let Some(last) = records.last() {
                self.position = last.next.0;
                return Ok(records);
            }
            match rest {
                // A record larger than a block.
                Frame::Cut(whole) if bytes.len() == limit && whole > wanted => wanted = whole,
                // Nothing more in this segment.
                rest => {
                    if !self.leave_segment(bytes.is_empty(), &rest)? {
                        return Ok(Vec::new());
                    }
                }
            }
        }
    }

    /// Waits until there is more to read. `false` when nothing will come any more.
    pub async fn wait(&mut self) -> bool {
        let position = self.position;
        let Some(end) = &mut self.end else { return false };
        match end.wait_for(|end| end.position > position || end.is_closed).await {
            Ok(end) => end.position > position,
            Err(_) => false,
        }
    }

    /// The whole records that `bytes` begins with, up to `size` bytes, and what follows them.
    fn split<'a>(&self, bytes: &'a Bytes, size: usize) -> (Vec<Record>, Frame<'a>) {
        let mut records = Vec::new();
        let mut at = 0;
        loop {
            let found = frame::read(&bytes[at..]);
            let Frame::Whole(content) = found else { return (records, found) };
            let Some((stamp, payload)) = content.split_first_chunk::<9>() else {
                return (records, Frame::Damaged);
            };
            let [time @ .., flags] = *stamp;
            let next = at + RECORD + payload.len();
            records.push(Record {
                position: Position(self.position + at as u64),
                next: Position(self.position + next as u64),
                time: i64::from_le_bytes(time),
                is_late: flags & LATE != 0,
                payload: bytes.slice(at + RECORD..next),
            });
            at = next;
            if at >= size {
                return (records, Frame::Cut(0));
            }
        }
    }

    /// Opens the segment that holds the position. `false` if there is none.
    fn open_segment(&mut self) -> Result<bool> {
        if self.segment.is_some() {
            return Ok(true);
        }
        let mut segments = segment::list(&self.folder)?;
        segments.retain(|segment| segment.start <= self.position);
        let Some(segment) = segments.pop() else { return Ok(false) };
        let file = File::open(&segment.path).map_err(|source| Error::io(&segment.path, source))?;
        let first = read_at(&file, 0, MAGIC.len()).map_err(|source| Error::io(&segment.path, source))?;
        let is_begun = segment::check_magic(&segment.path, &first)?;
        if is_begun {
            self.segment = Some((segment, file));
        }
        Ok(is_begun)
    }

    /// Goes from the end of a segment to the next. `false` if this one is the last.
    fn leave_segment(&mut self, is_at_end: bool, rest: &Frame<'_>) -> Result<bool> {
        let next = segment::list(&self.folder)?.into_iter().find(|segment| {
            let here = self.segment.as_ref().map_or(0, |(segment, _)| segment.start);
            segment.start > here
        });
        let Some(next) = next else { return Ok(false) };
        let (path, from) = (self.segment.take().map(|(segment, _)| segment.path), self.position);
        self.position = next.start;
        if is_at_end && from == next.start {
            return Ok(true);
        }
        let what = match rest {
            Frame::Damaged => "a checksum does not fit",
            _ => "a record is cut",
        };
        let lost = next.start.saturating_sub(from);
        Err(Error::Damaged {
            path: path.unwrap_or_default(),
            what: format!("{what}; {lost} bytes of output can't be read"),
        })
    }
}

/// Reads up to `size` bytes at `offset`; fewer at the end of the file.
fn read_at(file: &File, offset: u64, size: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = vec![0; size];
    let mut filled = 0;
    while filled < size {
        match platform::read_at(file, &mut bytes[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

#[cfg(unix)]
mod platform {
    use std::fs::File;
    use std::io;
    use std::os::unix::fs::FileExt as _;

    pub(super) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        file.read_at(buffer, offset)
    }
}

#[cfg(windows)]
mod platform {
    use std::fs::File;
    use std::io;
    use std::os::windows::fs::FileExt as _;

    pub(super) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        file.seek_read(buffer, offset)
    }
}
