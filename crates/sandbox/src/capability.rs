//! What a sandbox can do, or the one-line reason why it cannot.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// One thing that a sandbox may be able to do. The page shows them in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Capability {
    /// Run code.
    Execute,
    /// All of its language, with the packages that are installed.
    Language,
    /// Images, tables, HTML.
    RichOutput,
    /// Answer `input()`.
    Input,
    /// Interrupt what runs.
    Interrupt,
    /// Restart the kernel.
    Restart,
    /// Complete and inspect.
    Completion,
    /// Come back to what was missed after a lost connection.
    Replay,
    /// Live on after the notebook is closed.
    Survive,
    /// Stand still for a while, and go on.
    Pause,
    /// How far the code is kept away from the rest of the machine.
    Isolation,
    /// Browse files.
    Files,
    /// A terminal.
    Terminal,
    /// Snapshots.
    Snapshots,
}

/// Whether a capability is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "support", content = "note", rename_all = "snake_case")]
pub enum Support {
    /// It is; the note may say how.
    Yes(String),
    /// It is, with the limit that the note names.
    Limited(String),
    /// It is not; the note says why.
    No(String),
}

/// The capability record of a sandbox. What is not named in it is not there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capabilities(IndexMap<Capability, Support>);

impl Capabilities {
    /// Adds one.
    pub fn with(mut self, capability: Capability, support: Support) -> Self {
        self.0.insert(capability, support);
        self
    }

    /// Whether it is there at all, with or without a limit.
    pub fn has(&self, capability: Capability) -> bool {
        matches!(self.0.get(&capability), Some(Support::Yes(_) | Support::Limited(_)))
    }

    /// What is known of one.
    pub fn get(&self, capability: Capability) -> Option<&Support> {
        self.0.get(&capability)
    }

    /// All of them, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = (Capability, &Support)> {
        self.0.iter().map(|(capability, support)| (*capability, support))
    }

    /// The error for something that is not there.
    pub fn refusal(&self, capability: Capability) -> crate::SandboxError {
        let reason = match self.0.get(&capability) {
            Some(Support::No(note) | Support::Limited(note)) if !note.is_empty() => note.clone(),
            _ => format!("This sandbox has no support for {capability:?}."),
        };
        crate::SandboxError::Unsupported { reason }
    }
}
