//! A named pipe. It was never run: see `docs/platforms.md`.

use std::{io, path::Path};

use tokio::net::windows::named_pipe::{ClientOptions, NamedPipeClient, NamedPipeServer, ServerOptions};

use crate::{ClientError, Place};

/// A client's connection.
pub type ClientStream = NamedPipeClient;
/// The owner's connection to a client.
pub type ServerStream = NamedPipeServer;

/// All instances of the pipe are taken for the moment.
const ERROR_PIPE_BUSY: i32 = 231;

pub(super) async fn connect(place: &Place) -> Result<ClientStream, ClientError> {
    loop {
        match ClientOptions::new().open(name(place)) {
            Ok(stream) => return Ok(stream),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(ClientError::NobodyListens),
            Err(error) if error.raw_os_error() == Some(ERROR_PIPE_BUSY) => {
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
            Err(error) => return Err(ClientError::Place { what: name(place), error }),
        }
    }
}

/// The folders of a Windows profile are the person's own already.
pub(crate) fn make_private_folder(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)
}

/// Pipes have one name space for the machine: the digest of the folder keeps users apart.
fn name(place: &Place) -> String {
    let digest = blake3::hash(place.folder().as_os_str().as_encoded_bytes()).to_hex();
    format!(r"\\.\pipe\sandbook-{}", &digest[..16])
}

pub(super) struct Listener {
    name: String,
    next: NamedPipeServer,
}

impl Listener {
    pub(super) fn bind(place: &Place) -> io::Result<Self> {
        let name = name(place);
        let next =
            ServerOptions::new().first_pipe_instance(true).reject_remote_clients(true).create(&name)?;
        Ok(Self { name, next })
    }

    pub(super) async fn accept(&mut self) -> io::Result<ServerStream> {
        self.next.connect().await?;
        let following = ServerOptions::new().reject_remote_clients(true).create(&self.name)?;
        Ok(std::mem::replace(&mut self.next, following))
    }
}
