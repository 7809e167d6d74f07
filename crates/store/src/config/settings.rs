//! The settings, their defaults and limits.

use std::time::Duration;

use super::file::Format;
use super::schema::{Key, Kind, Schema};
use super::settings_file::SettingsFile;
use crate::log::Limits;

const MEGABYTE: u64 = 1_000_000;

/// `settings.toml`.
pub static SETTINGS: Schema = Schema {
    title: "Settings of Sandbook.\n\
            \"sandbook config check\" says whether this file is right, \"sandbook config show\" what is in force.\n\
            A setting that is missing here has its default.",
    format: Format { migrations: &[] },
    keys: &[
        Key {
            path: "appearance.theme",
            kind: Kind::Choice(&["system", "light", "dark", "high-contrast"]),
            explanation: "How the window looks; \"system\" follows the desktop.",
        },
        Key {
            path: "appearance.font_size",
            kind: Kind::Number { default: 13, from: 8, to: 32 },
            explanation: "Size of code, in pixels.",
        },
        Key {
            path: "appearance.line_numbers",
            kind: Kind::Switch(false),
            explanation: "Whether cells show line numbers.",
        },
        Key {
            path: "autosave.enabled",
            kind: Kind::Switch(true),
            explanation: "Whether notebooks save themselves.",
        },
        Key {
            path: "autosave.quiet_seconds",
            kind: Kind::Number { default: 2, from: 1, to: 600 },
            explanation: "How long nothing must have changed before a notebook saves itself, in seconds.",
        },
        Key {
            path: "autosave.longest_seconds",
            kind: Kind::Number { default: 10, from: 1, to: 3600 },
            explanation: "How long a change waits at most while others follow it, in seconds.",
        },
        Key {
            path: "timeouts.page_seconds",
            kind: Kind::Number { default: 0, from: 0, to: 604_800 },
            explanation: "When a cell that is run in the window is interrupted, in seconds; 0 is never.",
        },
        Key {
            path: "timeouts.exec_seconds",
            kind: Kind::Number { default: 60, from: 0, to: 604_800 },
            explanation: "The same for \"sandbook exec\", unless --timeout says otherwise.",
        },
        Key {
            path: "limits.execution_megabytes",
            kind: Kind::Number { default: 2_000, from: 1, to: 1_000_000 },
            explanation: "How much is kept of what one run prints, in megabytes. When it is reached, you are asked.",
        },
        Key {
            path: "limits.total_megabytes",
            kind: Kind::Number { default: 20_000, from: 10, to: 10_000_000 },
            explanation: "How much is kept of all runs together, in megabytes. The oldest go first.",
        },
        Key {
            path: "limits.keep_days",
            kind: Kind::Number { default: 30, from: 1, to: 3650 },
            explanation: "How long what runs printed is kept, in days. Saved notebooks keep their outputs.",
        },
        Key {
            path: "sandboxes.stop_grace_seconds",
            kind: Kind::Number { default: 5, from: 0, to: 300 },
            explanation: "How long a sandbox has to end by itself before it is killed, in seconds.",
        },
        Key {
            path: "sandboxes.keep_kernels",
            kind: Kind::Switch(false),
            explanation: "Whether kernels go on running after their notebook is closed.",
        },
    ],
};

/// How the window looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// As the desktop.
    #[default]
    System,
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
    /// Black surfaces, solid borders.
    HighContrast,
}

/// When notebooks save themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Autosave {
    /// Whether they do.
    pub enabled: bool,
    /// After how long without a change.
    pub quiet: Duration,
    /// After how long at most.
    pub longest: Duration,
}

/// When code that runs is interrupted; `None` is never.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// In the window.
    pub page: Option<Duration>,
    /// For `sandbook exec`.
    pub exec: Option<Duration>,
}

/// All settings in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How the window looks.
    pub theme: Theme,
    /// Size of code, in pixels.
    pub font_size: u32,
    /// Whether cells show line numbers.
    pub line_numbers: bool,
    /// When notebooks save themselves.
    pub autosave: Autosave,
    /// When code that runs is interrupted.
    pub timeouts: Timeouts,
    /// How much output is kept.
    pub limits: Limits,
    /// How long a sandbox has to end by itself.
    pub stop_grace: Duration,
    /// Whether kernels go on running after their notebook is closed.
    pub keep_kernels: bool,
}

impl Settings {
    /// What `file`, read with [`SETTINGS`], says.
    pub fn of(file: &SettingsFile) -> Self {
        let seconds = |key| Duration::from_secs(file.number(key));
        let timeout = |key| Some(seconds(key)).filter(|timeout| !timeout.is_zero());
        Self {
            theme: [Theme::System, Theme::Light, Theme::Dark, Theme::HighContrast]
                .get(file.choice("appearance.theme"))
                .copied()
                .unwrap_or_default(),
            font_size: u32::try_from(file.number("appearance.font_size")).unwrap_or(13),
            line_numbers: file.switch("appearance.line_numbers"),
            autosave: Autosave {
                enabled: file.switch("autosave.enabled"),
                quiet: seconds("autosave.quiet_seconds"),
                longest: seconds("autosave.longest_seconds"),
            },
            timeouts: Timeouts {
                page: timeout("timeouts.page_seconds"),
                exec: timeout("timeouts.exec_seconds"),
            },
            limits: Limits {
                execution: file.number("limits.execution_megabytes") * MEGABYTE,
                total: file.number("limits.total_megabytes") * MEGABYTE,
                age: Duration::from_hours(24 * file.number("limits.keep_days")),
            },
            stop_grace: seconds("sandboxes.stop_grace_seconds"),
            keep_kernels: file.switch("sandboxes.keep_kernels"),
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self::of(&SettingsFile::defaults(std::path::Path::new(""), &SETTINGS))
    }
}
