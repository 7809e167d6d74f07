//! Logs: structured, in files that change every day, and without secrets.
//!
//! `RUST_LOG` says what is written, as everywhere; without it everything from `info` on. The owner writes `owner.DATE`,
//! other commands `command.DATE`, both into the folder of the program's logs; two weeks are kept. Each line passes a filter
//! that masks what looks like a secret, for the case that one ever reaches a line: secrets are of a type that does not
//! print.

use std::io::{self, Write};

use sandbook_store::{
    folders::{self, Folders},
    redact,
};
use sandbook_workbench::LogLines;
use tracing_appender::{
    non_blocking::WorkerGuard,
    rolling::{RollingFileAppender, Rotation},
};
use tracing_subscriber::{EnvFilter, Layer, layer::SubscriberExt, util::SubscriberInitExt};

/// How many days are kept.
const DAYS: usize = 14;

/// Keeps the writer alive: what was logged is on disk once this is dropped.
pub(crate) struct Logging {
    _writer: Option<WorkerGuard>,
}

/// Begins to log. Where that is not possible, the command does its work without.
pub(crate) fn begin(folders: &Folders, name: &str, lines: Option<LogLines>) -> Logging {
    let (writer, guard) = match appender(folders, name) {
        Ok(appender) => {
            let (writer, guard) = tracing_appender::non_blocking(Masked(appender));
            (Some(writer), Some(guard))
        }
        Err(error) => {
            eprintln!("warning: nothing is logged: {error}");
            (None, None)
        }
    };
    let filter = || EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let file = writer.map(|writer| {
        tracing_subscriber::fmt::layer().json().with_span_list(true).with_writer(writer).with_filter(filter())
    });
    let panel = lines.map(|lines| lines.with_filter(filter()));
    // Fails only where logging was begun before.
    let _ = tracing_subscriber::registry().with(file).with(panel).try_init();
    Logging { _writer: guard }
}

fn appender(folders: &Folders, name: &str) -> Result<RollingFileAppender, String> {
    folders.create().map_err(|error| error.to_string())?;
    folders::create_private_folder(&folders.program_logs()).map_err(|error| error.to_string())?;
    RollingFileAppender::builder()
        .rotation(Rotation::DAILY)
        .filename_prefix(name)
        .max_log_files(DAYS)
        .build(folders.program_logs())
        .map_err(|error| error.to_string())
}

/// Masks what looks like a secret. Lines arrive whole.
struct Masked<W>(W);

impl<W: Write> Write for Masked<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        self.0.write_all(redact::redact(&text).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_begins_anew_each_day_and_fourteen_are_kept() {
        let home = tempfile::tempdir().unwrap();
        let folders = Folders::inside(home.path());
        folders.create().unwrap();
        std::fs::create_dir_all(folders.program_logs()).unwrap();
        for day in 1..=20 {
            std::fs::write(folders.program_logs().join(format!("owner.2026-01-{day:02}")), "old").unwrap();
            // Their age is told by when they were made, which the file system keeps in steps.
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        appender(&folders, "owner").unwrap().write_all(b"new").unwrap();
        let listed = std::fs::read_dir(folders.program_logs()).unwrap();
        let mut names: Vec<String> =
            listed.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        assert!(names.len() <= DAYS, "{names:?}");
        assert!(!names.contains(&"owner.2026-01-01".to_owned()), "{names:?}");
        let today = names.last().unwrap();
        assert_eq!(std::fs::read(folders.program_logs().join(today)).unwrap(), b"new");
        assert_eq!(today.len(), "owner.2026-01-01".len(), "a file for each day: {today}");
    }
}
