//! What is known of a sandbox before it is made: enough to ask a person for consent, and to say everything that is wrong
//! with the settings at once. Looking starts nothing, fetches nothing and costs nothing.

use crate::{Readiness, Spending};

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Survey {
    /// Whether the place itself can be used. What is wrong with the settings, and what has to be fetched first, is told
    /// beside it.
    pub readiness: Readiness,
    /// What is wrong with the settings, each by itself.
    pub problems: Vec<Problem>,
    /// What the place has to share out, where it says so.
    pub room: Option<Room>,
    /// The image that a sandbox would be made from, where there is one and its place was asked.
    pub image: Option<ImageFound>,
    /// What a person should know of the place before anything runs there, each a sentence. Nothing is refused for it.
    pub warnings: Vec<String>,
    /// What would be spent, where a sandbox costs something.
    pub spending: Option<Spending>,
}

/// Something wrong with a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Which; one of a list as `mounts[1]`.
    pub setting: String,
    /// Why it cannot be used.
    pub reason: String,
}

/// What a place has to share out among its sandboxes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Room {
    /// Cores.
    pub cores: f64,
    /// Memory, in bytes.
    pub memory: u64,
}

/// An image by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageFound {
    /// Its name.
    pub name: String,
    /// How it is.
    pub state: ImageState,
    /// How it is got where it is missing, once a person agreed.
    pub source: ImageSource,
}

/// How an image is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageState {
    /// It is there.
    Present,
    /// It is there, and was made from other files than those of this program.
    Stale,
    /// It is not there.
    Missing,
}

/// Where an image comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageSource {
    /// It is built here, from files of this program.
    Built,
    /// It is pulled from a registry.
    Pulled,
}

impl Survey {
    /// What is known where a place says no more than whether it can be used.
    pub const fn of(readiness: Readiness) -> Self {
        Self {
            readiness,
            problems: Vec::new(),
            room: None,
            image: None,
            warnings: Vec::new(),
            spending: None,
        }
    }
}

impl Problem {
    /// A reason why a setting cannot be used.
    pub fn new(setting: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { setting: setting.into(), reason: reason.into() }
    }
}

impl From<Problem> for crate::SandboxError {
    fn from(Problem { setting, reason }: Problem) -> Self {
        Self::Setting { setting, reason }
    }
}
