//! What a page learns of a sandbox before it is made.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{Capability, Readiness, SpendingView};

/// What was found, and what a sandbox with these settings would be. Nothing was started or fetched for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct SurveyView {
    /// Whether the place itself can be used.
    pub readiness: Readiness,
    /// What is wrong with the settings.
    pub problems: Vec<SettingProblem>,
    /// The folder of this computer that the sandbox would work in.
    pub folder: String,
    /// How many cores the place has.
    pub cores: Option<f64>,
    /// How much memory it has, in bytes.
    #[ts(type = "number | null")]
    pub memory: Option<u64>,
    /// The image that the sandbox would be made from.
    pub image: Option<ImageView>,
    /// What a person should know of the place before anything runs there, each a sentence. Nothing is refused for it.
    pub warnings: Vec<String>,
    /// What would be spent, where the place costs something.
    pub spending: Option<SpendingView>,
    /// What the sandbox would be able to do; empty while the settings cannot be used.
    pub capabilities: Vec<Capability>,
}

/// Something wrong with a setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct SettingProblem {
    /// Which; one of a list as `mounts[1]`.
    pub setting: String,
    /// Why it cannot be used.
    pub reason: String,
}

/// An image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct ImageView {
    /// Its name.
    pub name: String,
    /// How it is.
    pub state: ImageState,
    /// Whether it is built here, and not pulled from a registry.
    pub is_built: bool,
}

/// How an image is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(export)]
pub enum ImageState {
    /// It is there.
    Present,
    /// It is there, and was made from other files than those of this Sandbook.
    Stale,
    /// It is not there.
    Missing,
}
