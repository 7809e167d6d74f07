//! What a document does by itself: saving when the person pauses, and noticing what others do to its file.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use sandbook_protocol::{LogLevel, Patch, SaveChoice, Toast};

use super::Document;

/// From this size on, saving by itself waits for a multiple of the last save's time.
const LARGE: u64 = 10_000_000;
/// That multiple.
const LARGE_PATIENCE: u32 = 50;
/// How often the file is looked at for changes by others.
const WATCH: Duration = Duration::from_secs(2);

impl Document {
    /// Saves by itself when the person pauses, and looks at what others do to the file. Ends with the document.
    pub(crate) fn watch(self: &Arc<Self>) {
        let document = Arc::downgrade(self);
        tokio::spawn(async move {
            let mut waiting: Option<(Instant, Instant)> = None;
            loop {
                let Some(strong) = document.upgrade() else { return };
                let now = Instant::now();
                let due = waiting.map_or(now + WATCH, |(first, last)| strong.due(first, last));
                tokio::select! {
                    () = strong.changed.notified() => {
                        let changed = Instant::now();
                        waiting = Some((waiting.map_or(changed, |(first, _)| first), changed));
                    }
                    () = tokio::time::sleep_until(due.into()) => {
                        if waiting.take().is_some() {
                            strong.save_by_itself().await;
                        } else {
                            strong.look_at_disk().await;
                        }
                    }
                }
                drop(strong);
            }
        });
    }

    /// When a change is saved that began then and went on until then.
    fn due(&self, first: Instant, last: Instant) -> Instant {
        let settings = (self.surroundings.settings)();
        let quiet = last + Duration::from_millis(u64::from(settings.autosave_quiet_ms));
        let longest = first + Duration::from_millis(u64::from(settings.autosave_longest_ms));
        let due = quiet.min(longest);
        let state = self.state();
        let large = state.file.fingerprint.as_ref().is_some_and(|known| known.size > LARGE);
        if large { due.max(last + state.file.last_save * LARGE_PATIENCE) } else { due }
    }

    async fn save_by_itself(self: &Arc<Self>) {
        let wanted = {
            let state = self.state();
            state.path.is_some() && state.is_dirty() && !state.file.changed_on_disk && !state.file.read_only
        };
        if !wanted || !(self.surroundings.settings)().autosave {
            return;
        }
        if let Err(error) = self.save(None, SaveChoice::Ask).await {
            tracing::warn!(reason = error.message, "a notebook could not save itself");
            let toast = Toast { level: LogLevel::Warn, message: error.message.clone(), error: Some(error) };
            self.state().push(&Patch::Toast { toast });
        }
    }

    async fn look_at_disk(self: &Arc<Self>) {
        if !self.was_changed_by_others().await {
            return;
        }
        // What was typed while the file was read stays here: then the person is asked.
        let dirty = self.state().is_dirty();
        if !dirty && !self.is_busy() {
            match self.save(None, SaveChoice::TakeTheirs).await {
                Ok(_) => {
                    let message = "Another program changed the file. It was read again; undo brings the old cells back.";
                    let toast = Toast { level: LogLevel::Info, message: message.into(), error: None };
                    self.state().push(&Patch::Toast { toast });
                    return;
                }
                Err(error) => {
                    tracing::warn!(reason = error.message, "a changed file could not be read again");
                }
            }
        }
        let mut state = self.state();
        state.file.changed_on_disk = true;
        state.status_changed();
    }

    /// Whether the file is not the one that was read or written last, and nobody was told so yet.
    async fn was_changed_by_others(&self) -> bool {
        // A save that is under way has replaced the file before it is known here by its new content.
        let Ok(_no_save) = self.saving.try_lock() else { return false };
        let (path, fingerprint, known) = {
            let state = self.state();
            (state.path.clone(), state.file.fingerprint.clone(), state.file.changed_on_disk)
        };
        let (Some(path), Some(fingerprint)) = (path, fingerprint) else { return false };
        if known || !path.exists() {
            return false;
        }
        let current = tokio::task::spawn_blocking(move || fingerprint.is_current(&path)).await;
        matches!(current, Ok(Ok(false)))
    }
}

#[cfg(test)]
mod tests {
    use sandbook_protocol::{ClientKind, Command, Reply};
    use sandbook_store::folders::Folders;

    use crate::{Workbench, WorkbenchOptions, logs::LogLines};

    #[tokio::test(flavor = "multi_thread")]
    async fn a_file_that_a_save_has_just_replaced_is_not_taken_for_another_programs() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("a.ipynb");
        std::fs::write(&file, r#"{"cells":[],"metadata":{},"nbformat":4,"nbformat_minor":5}"#).unwrap();
        let options = WorkbenchOptions {
            folders: Folders::inside(&home.path().join("state")),
            supervisor: None,
            logs: LogLines::default(),
            working_directory: home.path().to_owned(),
        };
        let workbench = Workbench::open(options).await.unwrap();
        let session = workbench.connect(ClientKind::Browser);
        let open = Command::OpenDocument { path: file.display().to_string() };
        let answer = session.handle(1, open, tokio_util::sync::CancellationToken::new()).await.unwrap();
        let Reply::Document { document, .. } = answer else { panic!("{answer:?}") };
        let document = workbench.document(&document).unwrap();

        let saving = document.saving.lock().await;
        std::fs::write(&file, r#"{"cells":[],"metadata":{"by":"the save"},"nbformat":4,"nbformat_minor":5}"#)
            .unwrap();
        assert!(!document.was_changed_by_others().await, "a save is under way");
        drop(saving);
        assert!(document.was_changed_by_others().await, "nobody saves: it was somebody else");
        workbench.shut_down().await;
    }
}
