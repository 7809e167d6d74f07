//! What a document does by itself: saving when the person pauses, and noticing what others do to its file.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use sandbook_protocol::{LogLevel, Patch, SaveChoice, Settings, Toast};

use super::Document;

/// From this size on, saving by itself waits for a multiple of the last save's time.
const LARGE: u64 = 10_000_000;
/// That multiple.
const LARGE_PATIENCE: u32 = 50;
/// How long a large file waits before it is copied for a conflict that may never come: most saves are sooner.
const LARGE_PAUSE: Duration = Duration::from_secs(1);
/// How often the file is looked at for changes by others.
const WATCH: Duration = Duration::from_secs(2);
/// After how long a save that failed is tried again; each time twice as long, up to [`RETRY_LONGEST`].
const RETRY: Duration = Duration::from_secs(10);
/// The longest pause between two tries.
const RETRY_LONGEST: Duration = Duration::from_mins(1);

/// When a save that failed is tried again.
struct Retry {
    due: Instant,
    pause: Duration,
}

impl Retry {
    fn after(previous: Option<&Self>) -> Self {
        let pause = previous.map_or(RETRY, |previous| (previous.pause * 2).min(RETRY_LONGEST));
        Self { due: Instant::now() + pause, pause }
    }
}

impl Document {
    /// Saves by itself when the person pauses, and looks at what others do to the file. Ends with the document, which
    /// it does not keep alive while it waits: without its owner nobody knows any more whether it may save.
    pub(crate) fn watch(self: &Arc<Self>) {
        let document = Arc::downgrade(self);
        let bell = self.changed.clone();
        tokio::spawn(async move {
            let mut waiting: Option<(Instant, Instant)> = None;
            let mut retry: Option<Retry> = None;
            // What a journal brought back is saved as any change is.
            if document.upgrade().is_some_and(|document| document.state().is_dirty()) {
                waiting = Some((Instant::now(), Instant::now()));
            }
            loop {
                let Some(strong) = document.upgrade() else { return };
                strong.keep_base();
                let now = Instant::now();
                let due = match (waiting, &retry) {
                    (Some((first, last)), _) => strong.due(first, last),
                    (None, Some(retry)) => retry.due.min(now + WATCH),
                    (None, None) => now + WATCH,
                };
                drop(strong);
                tokio::select! {
                    () = bell.notified() => {
                        let last = Instant::now();
                        waiting = Some((waiting.map_or(last, |(first, _)| first), last));
                    }
                    () = tokio::time::sleep_until(due.into()) => {
                        let Some(strong) = document.upgrade() else { return };
                        let is_change = waiting.take().is_some();
                        if is_change || retry.as_ref().is_some_and(|retry| retry.due <= Instant::now()) {
                            let failed = strong.save_by_itself(is_change).await;
                            retry = failed.then(|| Retry::after(retry.as_ref()));
                        } else {
                            strong.look_at_disk().await;
                        }
                    }
                }
            }
        });
    }

    /// When a change is saved that began then and went on until then.
    fn due(&self, first: Instant, last: Instant) -> Instant {
        let settings = (self.surroundings.settings)();
        let state = self.state();
        let size = state.file.fingerprint.as_ref().map_or(0, |known| known.size);
        due(&settings, size, state.file.last_save, first, last)
    }

    /// Keeps the file as it was when the changes began, once for each save: where another program replaces it while no
    /// owner lives, the person can still choose between the two.
    fn keep_base(self: &Arc<Self>) {
        let mut state = self.state();
        let (Some(path), Some(known)) = (state.path.clone(), state.file.fingerprint.clone()) else { return };
        if !state.is_dirty() {
            return;
        }
        let Some(copy) = state.journal.take_base_copy(&known) else { return };
        drop(state);
        tokio::spawn(async move {
            if known.size > LARGE {
                tokio::time::sleep(LARGE_PAUSE).await;
            }
            let kept = tokio::task::spawn_blocking(move || copy.make(&path)).await;
            if let Ok(Err(error)) = kept {
                tracing::warn!(%error, "the file as it was before the changes could not be kept");
            }
        });
    }

    /// Whether it failed. The person is told of it after a change of theirs, and not again with every later try.
    async fn save_by_itself(self: &Arc<Self>, tell: bool) -> bool {
        let wanted = {
            let state = self.state();
            state.path.is_some() && state.is_dirty() && !state.file.changed_on_disk && !state.file.read_only
        };
        if !wanted || !(self.surroundings.settings)().autosave {
            return false;
        }
        let Err(error) = self.save(None, SaveChoice::Ask).await else { return false };
        tracing::warn!(reason = error.message, "a notebook could not save itself");
        if tell {
            let toast = Toast { level: LogLevel::Warn, message: error.message.clone(), error: Some(error) };
            self.state().push(&Patch::Toast { toast });
        }
        true
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

/// When changes are saved that began and went on until then, in a file of this size whose last save took so long.
fn due(settings: &Settings, size: u64, last_save: Duration, first: Instant, last: Instant) -> Instant {
    let quiet = last + Duration::from_millis(u64::from(settings.autosave_quiet_ms));
    let longest = first + Duration::from_millis(u64::from(settings.autosave_longest_ms));
    let due = quiet.min(longest);
    if size > LARGE { due.max(last + last_save * LARGE_PATIENCE) } else { due }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use sandbook_protocol::{ClientKind, Command, Reply, Settings};
    use sandbook_store::folders::Folders;

    use crate::{Workbench, WorkbenchOptions, logs::LogLines};

    #[test]
    fn a_change_is_saved_after_two_quiet_seconds_and_after_ten_at_most() {
        let first = Instant::now();
        let after = |seconds| first + Duration::from_secs(seconds);
        let due = |last| super::due(&Settings::default(), 1_000_000, Duration::from_secs(9), first, last);
        assert_eq!((due(first), due(after(5))), (after(2), after(7)), "two seconds after the last change");
        assert_eq!(due(after(9)), after(10), "who goes on typing is saved all the same");
    }

    #[test]
    fn a_large_file_waits_for_fifty_times_as_long_as_its_last_save_took() {
        let first = Instant::now();
        let took = Duration::from_millis(400);
        let due = |size, last_save| super::due(&Settings::default(), size, last_save, first, first) - first;
        assert_eq!(due(10_000_001, took), Duration::from_secs(20));
        assert_eq!(due(10_000_000, took), Duration::from_secs(2), "ten megabytes are not large");
        assert_eq!(due(10_000_001, Duration::from_millis(1)), Duration::from_secs(2), "never sooner");
    }

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
