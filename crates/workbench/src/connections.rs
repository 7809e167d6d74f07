//! The person's saved connections.

use std::{
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use sandbook_protocol::{ConnectionId, ProtocolError, RuntimeKind};
use sandbook_store::{config, folders::Folders};
use serde_json::{Map, Value};

use crate::error::store_error;

/// A saved connection: to a Jupyter server, or to the kernel of a cloud's page.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Connection {
    pub(crate) id: ConnectionId,
    pub(crate) kind: RuntimeKind,
    pub(crate) name: String,
    /// The server with its base path. Free of secrets.
    pub(crate) server_url: String,
    /// The kernel, where the connection is to one.
    pub(crate) kernel_id: Option<String>,
    /// The name of its credential in the keyring.
    pub(crate) credential: Option<String>,
    /// The fingerprint of a self-signed certificate that is trusted for this connection only.
    pub(crate) trusted_fingerprint: Option<String>,
    /// Whether the person agreed that what is sent there is not encrypted.
    pub(crate) plain_http_agreed: bool,
}

/// All of them. The file is read at each use: a person may change it with an editor.
#[derive(Debug)]
pub(crate) struct Connections {
    path: PathBuf,
    /// One change at a time.
    changing: Mutex<()>,
}

impl Connections {
    /// The connections of a person. A file that cannot be followed is an error in the log, and no connections.
    pub(crate) fn load(folders: &Folders) -> Result<Self, sandbook_store::Error> {
        let connections = Self { path: folders.connections_file(), changing: Mutex::default() };
        match config::Connections::open(&connections.path) {
            Err(error @ sandbook_store::Error::Config(_)) => {
                tracing::error!(%error, "the connections file cannot be followed");
            }
            Err(error) => return Err(error),
            Ok(_) => {}
        }
        Ok(connections)
    }

    /// Every connection of a runtime known here.
    pub(crate) fn all(&self) -> Vec<Connection> {
        match config::Connections::open(&self.path) {
            Ok(file) => file.all().iter().filter_map(read).collect(),
            Err(error) => {
                tracing::warn!(%error, "the connections cannot be read");
                Vec::new()
            }
        }
    }

    /// One of them.
    pub(crate) fn get(&self, id: &ConnectionId) -> Result<Connection, ProtocolError> {
        let all = self.all().into_iter();
        all.into_iter()
            .find(|connection| connection.id == *id)
            .ok_or_else(|| ProtocolError::not_found("connection"))
    }

    /// Adds one, or changes the one with its id.
    pub(crate) fn put(&self, connection: &Connection) -> Result<(), ProtocolError> {
        let _one_at_a_time = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut file = config::Connections::open(&self.path).map_err(|error| store_error(&error))?;
        file.put(&write(connection)).map_err(|error| store_error(&error))
    }

    /// Removes one.
    pub(crate) fn remove(&self, id: &ConnectionId) -> Result<(), ProtocolError> {
        let _one_at_a_time = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut file = config::Connections::open(&self.path).map_err(|error| store_error(&error))?;
        if file.remove(id.as_str()).map_err(|error| store_error(&error))? {
            Ok(())
        } else {
            Err(ProtocolError::not_found("connection"))
        }
    }
}

pub(crate) fn read(connection: &config::Connection) -> Option<Connection> {
    let text = |name: &str| connection.settings.get(name).and_then(Value::as_str).map(str::to_owned);
    Some(Connection {
        id: ConnectionId(connection.id.clone()),
        kind: RuntimeKind::named(&connection.runtime)?,
        name: connection.name.clone(),
        server_url: text("server_url")?,
        kernel_id: text("kernel_id"),
        credential: connection.credential.clone(),
        trusted_fingerprint: text("trusted_fingerprint"),
        plain_http_agreed: connection.settings.get("plain_http_agreed") == Some(&Value::Bool(true)),
    })
}

fn write(connection: &Connection) -> config::Connection {
    let mut settings = Map::new();
    settings.insert("server_url".into(), connection.server_url.clone().into());
    if let Some(kernel) = &connection.kernel_id {
        settings.insert("kernel_id".into(), kernel.clone().into());
    }
    if let Some(fingerprint) = &connection.trusted_fingerprint {
        settings.insert("trusted_fingerprint".into(), fingerprint.clone().into());
    }
    if connection.plain_http_agreed {
        settings.insert("plain_http_agreed".into(), true.into());
    }
    config::Connection {
        id: connection.id.0.clone(),
        name: connection.name.clone(),
        runtime: connection.kind.name().into(),
        credential: connection.credential.clone(),
        settings,
    }
}
