//! Both ends of the local socket: what differs by operating system lives in `platform`.
//!
//! On Unix it is a Unix domain socket, 0600 in a folder that is 0700, and a peer of another user is turned away. On
//! Windows it is a named pipe that takes no remote clients.

#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(windows, path = "windows.rs")]
mod platform;

use std::{
    fs::{File, TryLockError},
    io::{Seek, Write},
    time::{Duration, Instant},
};

pub(crate) use platform::make_private_folder;
pub use platform::{ClientStream, ServerStream};

use crate::{ClientError, Place};

/// How often it is looked whether a place is free.
const LOOK: Duration = Duration::from_millis(50);

/// Connects to the owner that listens at a place.
pub(crate) async fn connect(place: &Place) -> Result<ClientStream, ClientError> {
    platform::connect(place).await
}

/// The owner's end: it takes connections, and holds the place as long as it lives.
pub struct Listener {
    // Gone once no more connections are taken.
    socket: Option<platform::Listener>,
    place: Place,
    // The lock goes with the file, also when this process is killed.
    _lock: File,
}

impl Listener {
    /// Takes the place and listens there. Fails with [`ClientError::AlreadyRuns`] where an owner lives.
    pub fn bind(place: &Place) -> Result<Self, ClientError> {
        make_private_folder(place.folder())
            .map_err(|error| ClientError::Place { what: place.folder().display().to_string(), error })?;
        let lock = take_lock(place)?;
        let socket = platform::Listener::bind(place)
            .map_err(|error| ClientError::Place { what: place.socket().display().to_string(), error })?;
        Ok(Self { socket: Some(socket), place: place.clone(), _lock: lock })
    }

    /// As [`Listener::bind`], but where an owner is about to end, waits until it has. One that still listens is not
    /// about to end.
    pub async fn bind_after(place: &Place, longest: Duration) -> Result<Self, ClientError> {
        let start = Instant::now();
        loop {
            match Self::bind(place) {
                Err(ClientError::AlreadyRuns) if start.elapsed() < longest => {}
                bound => return bound,
            }
            if connect(place).await.is_ok() {
                return Err(ClientError::AlreadyRuns);
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// The next client of the same user. Others are turned away and logged. Waits for ever once it is closed.
    pub async fn accept(&mut self) -> std::io::Result<ServerStream> {
        match &mut self.socket {
            Some(socket) => socket.accept().await,
            None => std::future::pending().await,
        }
    }

    /// Takes no more connections, and goes on holding the place: who comes now waits for the next owner.
    pub fn close(&mut self) {
        if self.socket.take().is_some() {
            // Nobody can have taken the place before the lock is gone, so this is our own socket.
            let _ = std::fs::remove_file(self.place.socket());
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.close();
    }
}

fn take_lock(place: &Place) -> Result<File, ClientError> {
    let failed = |error| ClientError::Place { what: place.lock().display().to_string(), error };
    let mut file = File::options()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .open(place.lock())
        .map_err(failed)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(ClientError::AlreadyRuns),
        Err(TryLockError::Error(error)) => return Err(failed(error)),
    }
    file.set_len(0)
        .and_then(|()| file.rewind())
        .and_then(|()| writeln!(file, "{}", std::process::id()))
        .map_err(failed)?;
    Ok(file)
}
