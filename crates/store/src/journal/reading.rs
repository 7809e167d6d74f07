//! Reading what is left of a journal.

use std::fs;
use std::path::{Path, PathBuf};

use crate::files::Digest;
use crate::frame::{self, Frame};
use crate::{Error, Result};

/// The first bytes of each generation, with the format's version.
const MAGIC: &[u8; 8] = b"SBJRNL\x00\x01";

/// Operations found in a journal when it was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// In the order in which they were appended.
    pub operations: Vec<Vec<u8>>,
    /// The content that the operations belong to, where the file has another: it was changed by someone else. The
    /// journal goes on from this content.
    pub base: Option<Vec<u8>>,
    /// The file fits no base in the journal, and none was kept. The operations belong to a content that is gone, and
    /// [`Journal::resolve`](super::Journal::resolve) must be called before any edit.
    pub is_foreign: bool,
    /// Bytes at the end that were no whole operation: it was being written when the process ended, and was never
    /// acknowledged.
    pub dropped_bytes: u64,
}

impl Recovered {
    /// What to apply when the file is what generation `begin` is based on.
    pub(super) fn from_chain(generations: &[(u32, PathBuf, Generation)], begin: Option<usize>) -> Self {
        let operations: Vec<_> = generations[begin.unwrap_or(0)..]
            .iter()
            .flat_map(|(_, _, generation)| generation.operations.iter().cloned())
            .collect();
        Self {
            base: None,
            is_foreign: begin.is_none() && !operations.is_empty(),
            operations,
            dropped_bytes: generations.iter().map(|(_, _, generation)| generation.dropped).sum(),
        }
    }
}

/// One generation as it was found.
#[derive(Debug)]
pub(super) struct Generation {
    pub(super) base: Digest,
    pub(super) document: String,
    pub(super) operations: Vec<Vec<u8>>,
    /// Length of the file up to the last whole record.
    pub(super) end: u64,
    /// Length of what comes before the operations.
    pub(super) header: u64,
    dropped: u64,
}

impl Generation {
    /// `None` when not even the header is whole.
    pub(super) fn read(path: &Path) -> Result<Option<Self>> {
        let bytes = fs::read(path).map_err(|source| Error::io(path, source))?;
        let Some(rest) = bytes.strip_prefix(MAGIC) else {
            return match bytes.strip_prefix(&MAGIC[..7]).and_then(|rest| rest.first()) {
                Some(&version) if version > MAGIC[7] => {
                    Err(Error::Newer { path: path.to_owned(), found: version.into(), known: MAGIC[7].into() })
                }
                _ => Ok(None),
            };
        };
        let Frame::Whole(header) = frame::read(rest) else { return Ok(None) };
        let Some((base, document)) = header.split_first_chunk::<32>() else { return Ok(None) };
        let mut at = MAGIC.len() + frame::HEADER + header.len();
        let before = at as u64;
        let mut operations = Vec::new();
        while let Frame::Whole(operation) = frame::read(&bytes[at..]) {
            operations.push(operation.to_vec());
            at += frame::HEADER + operation.len();
        }
        Ok(Some(Self {
            base: Digest::from_bytes(*base),
            document: String::from_utf8_lossy(document).into_owned(),
            operations,
            end: at as u64,
            header: before,
            dropped: (bytes.len() - at) as u64,
        }))
    }
}

/// What a generation begins with.
pub(super) fn header(base: Digest, document: &str) -> Result<Vec<u8>> {
    let parts = [base.as_bytes().as_slice(), document.as_bytes()];
    let mut header = MAGIC.to_vec();
    header.extend_from_slice(&frame::header(&parts)?);
    header.extend(parts.concat());
    Ok(header)
}

/// Number and file of the generations named after `stem` (all of them if it is empty), oldest first.
pub(super) fn generations_in(folder: &Path, stem: &str) -> Result<Vec<(u32, PathBuf)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(|source| Error::io(folder, source))? {
        let path = entry.map_err(|source| Error::io(folder, source))?.path();
        let name =
            path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".journal"));
        if let Some((of, number)) = name.and_then(|name| name.split_once('.'))
            && (stem.is_empty() || of == stem)
            && let Ok(number) = u32::from_str_radix(number, 16)
        {
            found.push((number, path));
        }
    }
    found.sort();
    Ok(found)
}

/// Removes a generation and the content that was kept for it.
pub(super) fn remove_generation(path: &Path) -> Result<()> {
    remove(&super::base::beside(path))?;
    remove(path)
}

/// Removes a file that may be gone already.
pub(super) fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => Err(Error::io(path, source)),
        _ => Ok(()),
    }
}
