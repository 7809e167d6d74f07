//! What goes to the program.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use serde::Serialize;

/// What the program is told, besides messages for the kernel.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Order<'a> {
    /// The first line: how to begin.
    Begin {
        /// Where the code runs.
        folder: Option<&'a str>,
        /// After so many seconds in which nobody asked for anything and nothing ran it ends.
        idle: Option<u64>,
        /// The driver of plain Python, for a place without ipykernel.
        driver: &'a str,
        /// Whether that is wanted where there is an ipykernel as well.
        plain: bool,
    },
    /// Interrupts what runs.
    Interrupt(bool),
    /// Answered with [`super::Said::Pong`].
    Ping(&'a str),
    /// For the driver of plain Python.
    Order(serde_json::Value),
}

impl Order<'_> {
    /// As a line.
    pub fn line(&self) -> Bytes {
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line.into()
    }
}

/// Bytes as a line.
pub(super) fn encoded(bytes: &[u8]) -> Bytes {
    let mut line = STANDARD.encode(bytes).into_bytes();
    line.push(b'\n');
    line.into()
}
