//! One record in an append-only file: `checksum (4) · length (4) · payload`, little endian.
//!
//! The checksum (CRC-32) covers the length too, so that a tail of zeros, which a file system may leave after a power
//! cut, is not taken for empty records.

/// Bytes before a payload.
pub(crate) const HEADER: usize = 8;
/// The largest payload, in bytes.
pub(crate) const LIMIT: usize = 1 << 30;

/// The header of a record whose payload is `parts` in a row.
pub(crate) fn header(parts: &[&[u8]]) -> crate::Result<[u8; HEADER]> {
    let size: usize = parts.iter().map(|part| part.len()).sum();
    let length = u32::try_from(size).ok().filter(|_| size <= LIMIT);
    let length = length.ok_or(crate::Error::TooLarge { size, limit: LIMIT })?.to_le_bytes();
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(&length);
    for part in parts {
        checksum.update(part);
    }
    let mut header = [0; HEADER];
    header[..4].copy_from_slice(&checksum.finalize().to_le_bytes());
    header[4..].copy_from_slice(&length);
    Ok(header)
}

/// What lies at the beginning of some bytes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Frame<'a> {
    /// A record; it takes [`HEADER`] and the payload's length.
    Whole(&'a [u8]),
    /// The beginning of one that takes this many bytes in all.
    Cut(usize),
    /// Something else.
    Damaged,
}

/// Looks at the record that begins `bytes`.
pub(crate) fn read(bytes: &[u8]) -> Frame<'_> {
    let Some((expected, rest)) = bytes.split_first_chunk::<4>() else { return Frame::Cut(HEADER) };
    let Some((length_bytes, rest)) = rest.split_first_chunk::<4>() else { return Frame::Cut(HEADER) };
    let length = u32::from_le_bytes(*length_bytes) as usize;
    if length > LIMIT {
        return Frame::Damaged;
    }
    let Some(payload) = rest.get(..length) else { return Frame::Cut(HEADER + length) };
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(length_bytes);
    checksum.update(payload);
    if checksum.finalize() == u32::from_le_bytes(*expected) { Frame::Whole(payload) } else { Frame::Damaged }
}
