//! A graphics card by Modal's name, and how many of it.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// The most of one kind.
const MOST: u32 = 8;

/// Graphics cards of one kind, written as `T4` or `H100:2`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gpu {
    /// The kind, in capitals.
    pub kind: String,
    /// How many.
    pub count: u32,
}

impl fmt::Display for Gpu {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count {
            1 => formatter.write_str(&self.kind),
            count => write!(formatter, "{}:{count}", self.kind),
        }
    }
}

impl FromStr for Gpu {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || format!("`{text}` is no graphics card; write its kind, and how many, as T4 or H100:2");
        let (kind, count) = text.trim().split_once(':').unwrap_or((text.trim(), "1"));
        let count = count.parse().ok().filter(|count| (1..=MOST).contains(count)).ok_or_else(bad)?;
        let usual = |letter: char| letter.is_ascii_alphanumeric() || "-!+".contains(letter);
        if kind.is_empty() || !kind.chars().all(usual) {
            return Err(bad());
        }
        Ok(Self { kind: kind.to_ascii_uppercase(), count })
    }
}

impl Serialize for Gpu {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Gpu {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}
