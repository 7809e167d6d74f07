//! A Unix domain socket.

use std::{
    fs::{DirBuilder, Permissions},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt},
    path::Path,
};

use tokio::net::{UnixListener, UnixStream};

use crate::{ClientError, Place};

/// A client's connection.
pub type ClientStream = UnixStream;
/// The owner's connection to a client.
pub type ServerStream = UnixStream;

pub(super) async fn connect(place: &Place) -> Result<ClientStream, ClientError> {
    match UnixStream::connect(place.socket()).await {
        Ok(stream) => Ok(stream),
        // A socket file that an owner left behind refuses; it is as good as none.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
            Err(ClientError::NobodyListens)
        }
        Err(error) => Err(ClientError::Place { what: place.socket().display().to_string(), error }),
    }
}

/// Makes a folder that only this user can enter. One that exists must be this user's; its mode is set right.
pub(crate) fn make_private_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let metadata = std::fs::metadata(folder)?;
    if metadata.permissions().mode() & 0o077 != 0 {
        // Fails where the folder is somebody else's.
        std::fs::set_permissions(folder, Permissions::from_mode(0o700))?;
    }
    Ok(())
}

pub(super) struct Listener {
    socket: UnixListener,
    user: u32,
}

impl Listener {
    /// The socket is made beside its place and moved there: whoever looks meanwhile sees the one that was left behind.
    pub(super) fn bind(place: &Place) -> io::Result<Self> {
        let fresh = place.folder().join("owner.new");
        match std::fs::remove_file(&fresh) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let socket = UnixListener::bind(&fresh)?;
        std::fs::set_permissions(&fresh, Permissions::from_mode(0o600))?;
        // The file was made by this process, so it tells who this process is.
        let user = std::fs::metadata(&fresh)?.uid();
        std::fs::rename(&fresh, place.socket())?;
        Ok(Self { socket, user })
    }

    pub(super) async fn accept(&mut self) -> io::Result<ServerStream> {
        loop {
            let (stream, _) = self.socket.accept().await?;
            let peer = stream.peer_cred()?.uid();
            if peer == self.user {
                return Ok(stream);
            }
            tracing::warn!(peer, "a process of another user was turned away");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_socket_and_its_folder_are_the_persons_own() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::new(folder.path().join("run"), folder.path().join("log"));
        let _listener = crate::Listener::bind(&place).unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(place.folder()), 0o700);
        assert_eq!(mode(&place.socket()), 0o600);
    }

    #[tokio::test]
    async fn the_socket_of_a_dead_owner_is_there_until_the_next_one_takes_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::new(folder.path().join("run"), folder.path().join("log"));
        make_private_folder(place.folder()).unwrap();
        let dead = Listener::bind(&place).unwrap();
        drop(dead);
        let (ended, watched) = std::sync::mpsc::channel::<()>();
        let watching = std::thread::spawn({
            let place = place.clone();
            move || {
                while watched.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {
                    assert!(place.is_left_behind(), "nobody asked that owner to end");
                }
            }
        });
        for _ in 0..2_000 {
            Listener::bind(&place).unwrap();
        }
        drop(ended);
        watching.join().unwrap();
        assert!(matches!(connect(&place).await, Err(ClientError::NobodyListens)));
    }

    #[tokio::test]
    async fn an_open_folder_is_closed_before_the_socket_is_made() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        let place = Place::new(folder.path(), folder.path().join("log"));
        let _listener = crate::Listener::bind(&place).unwrap();
        let mode = std::fs::metadata(folder.path()).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o700);
    }

    #[tokio::test]
    async fn a_socket_file_left_behind_is_replaced_and_a_living_owner_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::new(folder.path(), folder.path().join("log"));
        drop(std::os::unix::net::UnixListener::bind(place.socket()).unwrap());
        assert!(matches!(connect(&place).await, Err(ClientError::NobodyListens)));
        assert!(place.is_left_behind());

        let listener = crate::Listener::bind(&place).unwrap();
        assert!(connect(&place).await.is_ok());
        assert!(matches!(crate::Listener::bind(&place), Err(ClientError::AlreadyRuns)));
        assert_eq!(place.owner_process(), Some(std::process::id()));

        drop(listener);
        assert!(matches!(connect(&place).await, Err(ClientError::NobodyListens)));
        assert!(!place.is_left_behind());
    }

    #[tokio::test]
    async fn who_comes_while_an_owner_ends_waits_for_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::new(folder.path(), folder.path().join("log"));
        let mut ending = crate::Listener::bind(&place).unwrap();
        let long = std::time::Duration::from_mins(1);
        assert!(matches!(crate::Listener::bind_after(&place, long).await, Err(ClientError::AlreadyRuns)));

        ending.close();
        assert!(matches!(connect(&place).await, Err(ClientError::NobodyListens)));
        let next = crate::Listener::bind_after(&place, long);
        tokio::pin!(next);
        assert!(futures::poll!(next.as_mut()).is_pending());
        drop(ending);
        let _next = next.await.unwrap();
        assert!(connect(&place).await.is_ok());
    }
}
