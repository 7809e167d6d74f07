//! The settings, between their file and the page.
//!
//! The file knows seconds and megabytes, as a person writes them; the page milliseconds and bytes. A file that cannot
//! be followed is not a reason to refuse to start: the defaults count, and a log line says what is wrong with it.

use sandbook_protocol::{Settings, Theme};
use sandbook_store::{
    Error,
    config::{self, SETTINGS, SettingsFile},
    folders::Folders,
    log::Limits,
};

/// The settings in force.
pub(crate) fn load(folders: &Folders) -> Result<Settings, Error> {
    let path = folders.settings_file();
    let file = match SettingsFile::open(&path, &SETTINGS) {
        Ok(file) => file,
        Err(error @ Error::Config(_)) => {
            tracing::error!(%error, "the settings file cannot be followed; the defaults count until it is mended");
            SettingsFile::defaults(&path, &SETTINGS)
        }
        Err(error) => return Err(error),
    };
    Ok(of(&config::Settings::of(&file)))
}

/// Writes what differs into the file.
pub(crate) fn store(folders: &Folders, settings: &Settings) -> Result<(), Error> {
    let mut file = SettingsFile::open(&folders.settings_file(), &SETTINGS)?;
    let theme = match settings.theme {
        Theme::System => "system",
        Theme::Light => "light",
        Theme::Dark => "dark",
        Theme::HighContrast => "high-contrast",
    };
    let values = [
        ("appearance.theme", theme.to_owned()),
        ("appearance.font_size", settings.font_size.to_string()),
        ("appearance.line_numbers", settings.line_numbers.to_string()),
        ("autosave.enabled", settings.autosave.to_string()),
        ("autosave.quiet_seconds", seconds(settings.autosave_quiet_ms)),
        ("autosave.longest_seconds", seconds(settings.autosave_longest_ms)),
        ("timeouts.page_seconds", seconds(settings.page_timeout_ms)),
        ("limits.execution_megabytes", settings.output_limit_bytes.div_ceil(1_000_000).to_string()),
        ("sandboxes.stop_grace_seconds", seconds(settings.stop_grace_ms)),
        ("sandboxes.keep_kernels", settings.keep_kernels.to_string()),
    ];
    let changes: Vec<(&str, &str)> = values.iter().map(|(key, value)| (*key, value.as_str())).collect();
    file.set(&changes)
}

fn seconds(milliseconds: u32) -> String {
    milliseconds.div_ceil(1_000).to_string()
}

fn of(settings: &config::Settings) -> Settings {
    let milliseconds =
        |duration: std::time::Duration| u32::try_from(duration.as_millis()).unwrap_or(u32::MAX);
    Settings {
        theme: match settings.theme {
            config::Theme::System => Theme::System,
            config::Theme::Light => Theme::Light,
            config::Theme::Dark => Theme::Dark,
            config::Theme::HighContrast => Theme::HighContrast,
        },
        font_size: settings.font_size,
        autosave: settings.autosave.enabled,
        autosave_quiet_ms: milliseconds(settings.autosave.quiet),
        autosave_longest_ms: milliseconds(settings.autosave.longest),
        page_timeout_ms: settings.timeouts.page.map_or(0, milliseconds),
        line_numbers: settings.line_numbers,
        output_limit_bytes: settings.limits.execution,
        stop_grace_ms: milliseconds(settings.stop_grace),
        keep_kernels: settings.keep_kernels,
    }
}

/// How much output is kept.
pub(crate) fn log_limits(folders: &Folders) -> Limits {
    SettingsFile::open(&folders.settings_file(), &SETTINGS)
        .map_or_else(|_| config::Settings::default(), |file| config::Settings::of(&file))
        .limits
}
