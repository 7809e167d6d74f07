//! The person's settings, as the page shows them.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// How the page looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "kebab-case")]
#[ts(export)]
pub enum Theme {
    /// As the system says.
    #[default]
    System,
    /// Light.
    Light,
    /// Dark.
    Dark,
    /// High contrast.
    HighContrast,
}

/// What a person may set. Every value has a default; a page sends the whole record back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct Settings {
    /// How the page looks.
    pub theme: Theme,
    /// Size of code, in CSS pixels.
    pub font_size: u32,
    /// Whether a notebook saves itself.
    pub autosave: bool,
    /// Quiet time before a notebook saves itself, in milliseconds.
    pub autosave_quiet_ms: u32,
    /// The longest a change waits for a save while a person goes on typing, in milliseconds.
    pub autosave_longest_ms: u32,
    /// When a cell is interrupted, in milliseconds after its start; 0 is never.
    pub page_timeout_ms: u32,
    /// Whether line numbers are shown in cells.
    pub line_numbers: bool,
    /// The most bytes kept of one execution's output.
    #[ts(type = "number")]
    pub output_limit_bytes: u64,
    /// How long a stop waits before it kills, in milliseconds.
    pub stop_grace_ms: u32,
    /// Whether kernels started here live on after their notebook is closed.
    pub keep_kernels: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            theme: Theme::System,
            font_size: 13,
            autosave: true,
            autosave_quiet_ms: 2_000,
            autosave_longest_ms: 10_000,
            page_timeout_ms: 0,
            line_numbers: false,
            output_limit_bytes: 2_000_000_000,
            stop_grace_ms: 5_000,
            keep_kernels: false,
        }
    }
}
