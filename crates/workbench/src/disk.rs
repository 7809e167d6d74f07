//! Everything the owner keeps on disk, opened once.

use std::{collections::HashSet, time::SystemTime};

use sandbook_sandbox::{Event, EventKind};
use sandbook_store::{
    config::{POLICIES, Policies, SettingsFile},
    folders::Folders,
    journal::Journals,
    log::{Appended, Limits, Logs, Position, Priority, Refusal, Writer},
    records::Records,
    sync::Synchroniser,
};

/// How many bytes of a log are read at once.
const READ_SIZE: usize = 4 << 20;

/// What is on disk.
pub(crate) struct Disk {
    pub(crate) folders: Folders,
    pub(crate) journals: Journals,
    pub(crate) logs: Logs,
    pub(crate) records: Records,
}

impl std::fmt::Debug for Disk {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Disk").field("folders", &self.folders).finish_non_exhaustive()
    }
}

impl Disk {
    /// Opens what is there, and makes what is missing.
    pub(crate) fn open(folders: Folders, limits: Limits) -> Result<Self, sandbook_store::Error> {
        folders.create()?;
        let synchroniser = Synchroniser::start()?;
        let journals = Journals::open(&folders.journals(), &synchroniser)?;
        let logs = Logs::open(&folders.execution_logs(), limits, &synchroniser)?;
        let records = Records::open(&folders.records_file(), &synchroniser)?;
        Ok(Self { folders, journals, logs, records })
    }

    /// Removes output logs that are too old or too much. It looks at every one of them, so it is not for a start that
    /// somebody waits for; the limit of all logs together counts older ones only after it.
    pub(crate) fn collect_logs(&self) {
        match self.logs.collect(SystemTime::now(), &HashSet::new()) {
            Ok(collected) if collected.executions > 0 => {
                tracing::info!(
                    executions = collected.executions,
                    bytes = collected.bytes,
                    "old output logs were removed"
                );
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "old output logs could not be removed"),
        }
    }

    /// What the person allows; the file is read at each use.
    pub(crate) fn policies(&self) -> Policies {
        match SettingsFile::open(&self.folders.policies_file(), &POLICIES) {
            Ok(file) => Policies::of(&file),
            Err(error) => {
                tracing::error!(%error, "the policies file cannot be followed; the defaults count until it is mended");
                Policies::default()
            }
        }
    }

    /// The log of a run, to write.
    pub(crate) fn write_log(&self, execution: &str) -> Result<EventLog, sandbook_store::Error> {
        Ok(EventLog { writer: self.logs.writer(execution)?, said: false })
    }

    /// The events of a run, one batch after the other.
    pub(crate) fn read_log(
        &self,
        execution: &str,
        mut take: impl FnMut(Event),
    ) -> Result<(), sandbook_store::Error> {
        if !self.logs.contains(execution) {
            return Ok(());
        }
        let mut reader = self.logs.reader(execution, Position(0))?;
        loop {
            let records = reader.read(READ_SIZE)?;
            if records.is_empty() {
                return Ok(());
            }
            for record in records {
                match serde_json::from_slice(&record.payload) {
                    Ok(event) => take(event),
                    Err(error) => tracing::warn!(%error, execution, "an event in a log cannot be read"),
                }
            }
        }
    }
}

/// The log of a run.
#[derive(Debug)]
pub(crate) struct EventLog {
    writer: Writer,
    said: bool,
}

impl EventLog {
    /// Writes an event. When this returns, a kill of the process does not lose it.
    pub(crate) fn append(&mut self, event: &Event) -> Result<Kept, sandbook_store::Error> {
        let priority = match &event.kind {
            EventKind::Stream { .. } | EventKind::DisplayUpdate { .. } | EventKind::Comm(_) => {
                Priority::Ordinary
            }
            _ => Priority::Essential,
        };
        // Events have nothing that JSON cannot say.
        let payload = serde_json::to_vec(event).unwrap_or_default();
        let since = event.at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let time = i64::try_from(since.as_micros()).unwrap_or(i64::MAX);
        Ok(match self.writer.append(time, event.late, priority, &payload)? {
            Appended::Kept(_) => Kept::Yes,
            Appended::NotKept(_) if self.said => Kept::No,
            Appended::NotKept(refusal) => {
                self.said = true;
                Kept::NoMore(refusal)
            }
        })
    }
}

/// What became of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kept {
    /// It is in the log.
    Yes,
    /// It is not, and that was said already.
    No,
    /// It is the first that is not: a limit was met.
    NoMore(Refusal),
}
