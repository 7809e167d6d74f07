//! Brings what was written to the disk, at least every second, without anybody waiting for it.
//!
//! Waiting for the disk after each write would cost milliseconds per line of output. One thread does it for everyone:
//! a file that was written to is queued once, and twice a second the queue is emptied.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use crate::{Error, Result};

/// How long a change waits at most before it is on its way to the disk.
const INTERVAL: Duration = Duration::from_millis(500);

/// An open file that is synchronised in the background after [`SyncedFile::touch`].
#[derive(Debug)]
pub(crate) struct SyncedFile {
    pub(crate) file: File,
    pub(crate) path: PathBuf,
    is_queued: AtomicBool,
    /// The first failure in the background; the system reports it only once.
    failure: Mutex<Option<io::Error>>,
    queue: Weak<Queue>,
}

impl SyncedFile {
    /// The file was written to.
    pub(crate) fn touch(self: &Arc<Self>) {
        if !self.is_queued.swap(true, Ordering::AcqRel)
            && let Some(queue) = self.queue.upgrade()
        {
            queue.add(Pending::File(Arc::clone(self)));
        }
    }

    /// Waits until all that was written is on the disk.
    pub(crate) fn sync(&self) -> Result<()> {
        self.check()?;
        self.is_queued.store(false, Ordering::Release);
        self.file.sync_data().map_err(|source| Error::io(&self.path, source))
    }

    /// Reports a failure of the background once.
    pub(crate) fn check(&self) -> Result<()> {
        match lock(&self.failure).take() {
            Some(source) => Err(Error::io(&self.path, source)),
            None => Ok(()),
        }
    }

    fn sync_in_background(&self) {
        // Whatever is written from here on queues the file again.
        self.is_queued.store(false, Ordering::Release);
        if let Err(error) = self.file.sync_data() {
            lock(&self.failure).get_or_insert(error);
        }
    }
}

#[derive(Debug)]
enum Pending {
    File(Arc<SyncedFile>),
    /// A file that is written once and closed, or a folder. Kept by name, so that a thousand don't hold a thousand
    /// descriptors.
    Path(PathBuf),
}

#[derive(Debug, Default)]
struct Queue {
    state: Mutex<QueueState>,
    changed: Condvar,
    /// Held while files are synchronised, so that who asks for it also waits for what is under way.
    flushing: Mutex<()>,
}

#[derive(Debug, Default)]
struct QueueState {
    pending: Vec<Pending>,
    is_closed: bool,
}

impl Queue {
    fn add(&self, pending: Pending) {
        let mut state = lock(&self.state);
        if let (Pending::Path(path), Some(Pending::Path(last))) = (&pending, state.pending.last())
            && path == last
        {
            return;
        }
        state.pending.push(pending);
        drop(state);
        self.changed.notify_one();
    }

    fn flush(&self) {
        let _flushing = lock(&self.flushing);
        let pending = std::mem::take(&mut lock(&self.state).pending);
        for pending in pending {
            match pending {
                Pending::File(file) => file.sync_in_background(),
                // It may have been removed meanwhile.
                Pending::Path(path) => drop(sync_path(&path)),
            }
        }
    }

    fn run(&self) {
        loop {
            let mut state = lock(&self.state);
            while state.pending.is_empty() && !state.is_closed {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            // Gathers what comes in the meantime.
            if !state.is_closed {
                let ended = |state: &mut QueueState| !state.is_closed;
                let waited = self.changed.wait_timeout_while(state, INTERVAL, ended);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
            let is_closed = state.is_closed;
            drop(state);
            self.flush();
            if is_closed {
                return;
            }
        }
    }
}

/// The thread that synchronises. Dropping it brings everything to the disk.
#[derive(Debug)]
pub struct Synchroniser {
    queue: Arc<Queue>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Synchroniser {
    /// Starts the thread.
    pub fn start() -> Result<Arc<Self>> {
        let queue = Arc::new(Queue::default());
        let thread = std::thread::Builder::new().name("store-sync".into()).spawn({
            let queue = Arc::clone(&queue);
            move || queue.run()
        });
        let thread = thread.map_err(|source| Error::io(Path::new("store-sync"), source))?;
        Ok(Arc::new(Self { queue, thread: Some(thread) }))
    }

    /// Brings everything that was written so far to the disk before it returns.
    pub fn flush(&self) {
        self.queue.flush();
    }

    pub(crate) fn watch(&self, file: File, path: PathBuf) -> Arc<SyncedFile> {
        Arc::new(SyncedFile {
            file,
            path,
            is_queued: AtomicBool::new(false),
            failure: Mutex::new(None),
            queue: Arc::downgrade(&self.queue),
        })
    }

    /// Queues a closed file or a folder.
    pub(crate) fn queue_path(&self, path: &Path) {
        self.queue.add(Pending::Path(path.to_owned()));
    }
}

impl Drop for Synchroniser {
    fn drop(&mut self) {
        lock(&self.queue.state).is_closed = true;
        self.queue.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            // A panic there is not worth one here.
            drop(thread.join());
        }
    }
}

/// Waits until a file's content or a folder's entries are on the disk.
pub(crate) fn sync_path(path: &Path) -> Result<()> {
    if cfg!(windows) && path.is_dir() {
        // Folders can't be opened there; their entries are journaled by the file system.
        return Ok(());
    }
    File::open(path).and_then(|file| file.sync_all()).map_err(|source| Error::io(path, source))
}

/// Locks, whatever happened to a thread that held the lock: every guarded value here is valid between statements.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touched(synchroniser: &Synchroniser) -> Arc<SyncedFile> {
        let file = synchroniser.watch(tempfile::tempfile().unwrap(), PathBuf::from("a"));
        file.touch();
        assert!(file.is_queued.load(Ordering::Acquire));
        file
    }

    #[test]
    fn what_was_written_is_on_its_way_to_the_disk_soon_and_again_after_the_next_write() {
        let synchroniser = Synchroniser::start().unwrap();
        let file = touched(&synchroniser);
        for _ in 0..2 {
            let wait = std::time::Instant::now();
            while file.is_queued.load(Ordering::Acquire) {
                assert!(wait.elapsed() < INTERVAL * 20, "it was never synchronised");
                std::thread::sleep(Duration::from_millis(10));
            }
            file.touch();
        }
    }

    #[test]
    fn flushing_and_ending_wait_for_all_that_was_written() {
        let synchroniser = Synchroniser::start().unwrap();
        let file = touched(&synchroniser);
        synchroniser.flush();
        assert!(!file.is_queued.load(Ordering::Acquire));
        let file = touched(&synchroniser);
        drop(synchroniser);
        assert!(!file.is_queued.load(Ordering::Acquire));
        // A file that outlives it is still written, and can still be waited for.
        file.touch();
        file.sync().unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_failure_in_the_background_is_reported_once_to_the_next_who_writes() {
        let synchroniser = Synchroniser::start().unwrap();
        // A socket can't be synchronised.
        let (socket, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        let file = synchroniser.watch(File::from(std::os::fd::OwnedFd::from(socket)), PathBuf::from("a"));
        file.touch();
        synchroniser.flush();
        assert!(file.check().is_err());
        assert!(file.check().is_ok());
    }
}
