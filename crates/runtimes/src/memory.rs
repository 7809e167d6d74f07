//! Amounts of memory, always with their unit: a bare number means megabytes to one person and bytes to another.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// An amount of memory, written with its unit: `512 MiB`, `2 GiB`, `1.5 GB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Memory {
    bytes: u64,
}

impl Memory {
    /// So many bytes.
    pub const fn bytes(bytes: u64) -> Self {
        Self { bytes }
    }

    /// In bytes.
    pub const fn in_bytes(self) -> u64 {
        self.bytes
    }
}

/// The units, largest first, and how many bytes each is.
const UNITS: [(&str, u64); 7] = [
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("KB", 1_000),
    ("B", 1),
];

impl fmt::Display for Memory {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = UNITS.iter().find(|(_, size)| self.bytes.is_multiple_of(*size)).unwrap_or(&("B", 1));
        write!(formatter, "{} {}", self.bytes / whole.1, whole.0)
    }
}

impl FromStr for Memory {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || format!("`{text}` is no amount of memory; write it with its unit, as 512 MiB or 2 GiB");
        let text = text.trim();
        let digits =
            text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let unit = unit.trim();
        let (_, size) = UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)).ok_or_else(bad)?;
        let number: f64 = number.parse().map_err(|_| bad())?;
        #[expect(clippy::cast_precision_loss, reason = "no unit is that large")]
        let bytes = number * *size as f64;
        if !(1.0..9e15).contains(&bytes) {
            return Err(bad());
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is within bounds")]
        Ok(Self { bytes: bytes.round() as u64 })
    }
}

impl Serialize for Memory {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Memory {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_written_with_its_unit_and_never_without() {
        for (text, bytes, written) in [
            ("512 MiB", 512 << 20, "512 MiB"),
            ("2GiB", 2 << 30, "2 GiB"),
            ("1.5 GiB", 3 << 29, "1536 MiB"),
            ("1 GB", 1_000_000_000, "1 GB"),
            ("64mib", 64 << 20, "64 MiB"),
        ] {
            let memory: Memory = text.parse().unwrap();
            assert_eq!((memory.in_bytes(), memory.to_string().as_str()), (bytes, written), "{text}");
        }
        for bad in ["", "512", "GiB", "-1 GiB", "1 TiB", "1.2.3 GiB", "0 B", "99999999999 GiB", "1 GiB/s"] {
            assert!(bad.parse::<Memory>().is_err(), "{bad}");
        }
    }
}
