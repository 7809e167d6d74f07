//! A port of the loopback in front of a Unix socket: the way to a container that has no network.
//!
//! Whoever reaches the port still needs the token. It ends when it is dropped.

use std::path::{Path, PathBuf};

use sandbook_sandbox::SandboxError;
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

/// A port that leads to a socket.
pub(super) struct Relay {
    pub(super) port: u16,
    _ends_with_this: DropGuard,
}

impl Relay {
    pub(super) async fn start(socket: &Path) -> Result<Self, SandboxError> {
        let failed =
            |error: std::io::Error| SandboxError::Failed(format!("no port of the loopback: {error}"));
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        let ended = CancellationToken::new();
        tokio::spawn(platform::carry(listener, socket.to_owned(), ended.clone()));
        Ok(Self { port, _ends_with_this: ended.drop_guard() })
    }
}

mod platform {
    use super::{CancellationToken, PathBuf, TcpListener};

    #[cfg(unix)]
    pub(super) async fn carry(listener: TcpListener, socket: PathBuf, ended: CancellationToken) {
        loop {
            let near = tokio::select! {
                accepted = listener.accept() => accepted,
                () = ended.cancelled() => return,
            };
            let Ok((mut near, _)) = near else {
                // no more files can be opened; some close again
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                continue;
            };
            let (socket, ended) = (socket.clone(), ended.clone());
            tokio::spawn(async move {
                drop(near.set_nodelay(true));
                let Ok(mut far) = tokio::net::UnixStream::connect(&socket).await else { return };
                tokio::select! {
                    _ = tokio::io::copy_bidirectional(&mut near, &mut far) => {}
                    () = ended.cancelled() => {}
                }
            });
        }
    }

    #[cfg(not(unix))]
    pub(super) async fn carry(_: TcpListener, _: PathBuf, _: CancellationToken) {}
}
