//! The files of one execution's log.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::frame::{self, Frame};
use crate::{Error, Result};

/// The first bytes of each segment, with the format's version.
pub(super) const MAGIC: &[u8; 8] = b"SBXLOG\x00\x01";
/// A segment that has reached this size in bytes gets no more records.
pub(super) const SIZE: u64 = 64 * 1024 * 1024;
/// Bytes of a record before its payload: the frame's header, the time and the flags.
pub(super) const RECORD: usize = frame::HEADER + 9;

/// One file of a log.
#[derive(Debug)]
pub(super) struct Segment {
    /// Position of its first record.
    pub(super) start: u64,
    pub(super) path: PathBuf,
}

pub(super) fn path_of(folder: &Path, start: u64) -> PathBuf {
    folder.join(format!("{start:016x}.log"))
}

/// The segments in `folder` in order.
pub(super) fn list(folder: &Path) -> Result<Vec<Segment>> {
    let mut segments = Vec::new();
    for entry in fs::read_dir(folder).map_err(|source| Error::io(folder, source))? {
        let path = entry.map_err(|source| Error::io(folder, source))?.path();
        let name = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".log"));
        if let Some(start) = name.and_then(|name| u64::from_str_radix(name, 16).ok()) {
            segments.push(Segment { start, path });
        }
    }
    segments.sort_by_key(|segment| segment.start);
    Ok(segments)
}

/// Bytes of all files in `folder`.
pub(super) fn total_size(folder: &Path) -> Result<u64> {
    let mut size = 0;
    for segment in list(folder)? {
        size += fs::metadata(&segment.path).map_err(|source| Error::io(&segment.path, source))?.len();
    }
    Ok(size)
}

/// Refuses a segment of a newer format; `false` if not even its first bytes are whole.
pub(super) fn check_magic(path: &Path, first: &[u8]) -> Result<bool> {
    match first.strip_prefix(&MAGIC[..7]).and_then(|rest| rest.first()) {
        Some(&version) if version > MAGIC[7] => {
            Err(Error::Newer { path: path.to_owned(), found: version.into(), known: MAGIC[7].into() })
        }
        Some(&version) => Ok(version == MAGIC[7]),
        None => Ok(false),
    }
}

/// Length of the file at `path` up to its last whole record; 0 if it has not even its first bytes.
pub(super) fn whole_length(path: &Path) -> Result<u64> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|mut file| file.read_to_end(&mut bytes));
    read.map_err(|source| Error::io(path, source))?;
    if !check_magic(path, &bytes)? {
        return Ok(0);
    }
    let mut at = MAGIC.len();
    while let Frame::Whole(payload) = frame::read(&bytes[at..]) {
        at += frame::HEADER + payload.len();
    }
    Ok(at as u64)
}
