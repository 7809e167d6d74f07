//! What a door writes down, so that an owner that takes over after a crash lets the same browsers in.
//!
//! It lies in the runtime folder, which is the person's own, holds digests only, and goes when the door is closed in
//! order. Where it cannot be written or read, a crash costs the browsers their sessions and nothing else.

use std::{
    io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::tokens::{KeptTokens, Tokens};

/// The file of the door at one port.
pub(crate) struct Kept(PathBuf);

#[derive(Serialize, Deserialize)]
struct Content {
    output_port: u16,
    tokens: KeptTokens,
}

impl Kept {
    /// Of the door at this port.
    pub(crate) fn at(folder: &Path, port: u16) -> Self {
        Self(folder.join(format!("web-{port}.json")))
    }

    /// The port of the outputs, where one is known, and the tokens.
    pub(crate) fn read(&self) -> (Option<u16>, Tokens) {
        let content = match std::fs::read(&self.0) {
            Ok(bytes) => serde_json::from_slice::<Content>(&bytes).map_err(io::Error::from),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return (None, Tokens::default()),
            Err(error) => Err(error),
        };
        match content {
            Ok(content) => (Some(content.output_port), Tokens::restore(content.tokens)),
            Err(error) => {
                tracing::warn!(%error, "the sessions of an earlier web door cannot be read");
                (None, Tokens::default())
            }
        }
    }

    /// Writes them down.
    pub(crate) fn write(&self, output_port: u16, tokens: &Tokens) {
        let content = Content { output_port, tokens: tokens.keep() };
        let beside = self.0.with_extension("new");
        let written = serde_json::to_vec(&content)
            .map_err(io::Error::from)
            .and_then(|bytes| std::fs::write(&beside, bytes))
            .and_then(|()| std::fs::rename(&beside, &self.0));
        if let Err(error) = written {
            tracing::warn!(%error, "the sessions of the web door cannot be written down");
        }
    }

    /// Forgets them.
    pub(crate) fn remove(&self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
