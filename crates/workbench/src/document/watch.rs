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
        let (path, fingerprint, known, dirty) = {
            let state = self.state();
            (state.path.clone(), state.file.fingerprint.clone(), state.file.changed_on_disk, state.is_dirty())
        };
        let (Some(path), Some(fingerprint)) = (path, fingerprint) else { return };
        if known || !path.exists() {
            return;
        }
        let current = tokio::task::spawn_blocking(move || fingerprint.is_current(&path)).await;
        if !matches!(current, Ok(Ok(false))) {
            return;
        }
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
}
