//! What a command that makes a sandbox in its own process shares with the owner: the same kernels are found, the same
//! names mean the same, the same saved servers and credentials are known.

use std::path::PathBuf;

use sandbook_protocol::RuntimeKind;
use sandbook_runtimes::{
    Surrounding,
    jupyter::{JupyterRuntime, ServerSettings},
    python::Surroundings,
};
use sandbook_sandbox::SandboxSettings;
use sandbook_store::{config, folders::Folders};
use secrecy::SecretString;
use serde_json::Value;

use crate::{accounts, clouds, connections, servers::server_settings};
pub use crate::{
    accounts::{is_account, key_from_environment},
    credentials::stored_credential,
    kernels::{kernel_for, local_settings, monty_stands_in},
    left_behind::end_left_behind,
    plain_http::{PlainHttp, plain_http},
};

/// What runtimes need of a person's folders. `supervisor` is the program that is started as `PROGRAM supervise` around
/// children of this computer.
pub fn surrounding(folders: &Folders, supervisor: Option<PathBuf>) -> Surrounding {
    Surrounding {
        run_folder: folders.runtime.clone(),
        supervisor: supervisor.map(|program| vec![program.into(), "supervise".into()]),
        data_folders: Vec::new(),
        pythons: Surroundings::of_process(Some(private_environment(folders))),
    }
}

/// The jupyter runtime of a person.
pub fn jupyter_runtime(folders: &Folders, supervisor: Option<PathBuf>) -> JupyterRuntime {
    JupyterRuntime::new(surrounding(folders, supervisor))
}

/// Where the environment is that Sandbook makes, or would be.
pub(crate) fn private_environment(folders: &Folders) -> PathBuf {
    folders.data.join("python")
}

/// A server that the person saved as a connection.
#[derive(Debug, Clone)]
pub struct SavedServer {
    /// The connection's id.
    pub id: String,
    /// What the person calls it.
    pub name: String,
    /// The name of its credential, for [`stored_credential`].
    pub credential: Option<String>,
    /// How it is reached.
    pub settings: ServerSettings,
    /// Whether the person agreed that what is sent there is not encrypted.
    pub plain_http_agreed: bool,
}

/// The servers that the person saved. One whose address cannot be read is left out, and logged.
pub fn saved_servers(folders: &Folders) -> Result<Vec<SavedServer>, sandbook_store::Error> {
    let file = config::Connections::open(&folders.connections_file())?;
    let servers = file.all().iter().filter_map(connections::read);
    let servers =
        servers.filter(|connection| connection.kind == RuntimeKind::Jupyter).filter_map(|connection| {
            let settings = server_settings(&connection)
                .inspect_err(|error| tracing::warn!(%error, "a saved server cannot be used"))
                .ok()?;
            let connections::Connection { id, name, credential, plain_http_agreed, .. } = connection;
            Some(SavedServer { id: id.0, name, credential, settings, plain_http_agreed })
        });
    Ok(servers.collect())
}

/// The account with which a command makes a sandbox.
#[derive(Debug)]
pub struct OwnAccount {
    /// The connection's id, where it is a saved one.
    pub connection: Option<String>,
    /// What the runtime is told.
    pub settings: SandboxSettings,
    /// The key, where there is one: of the connection, else of the environment.
    pub key: Option<SecretString>,
    /// The address to which it leads, where that can be read.
    pub address: Option<url::Url>,
    /// Whether the person agreed that what is sent there is not encrypted.
    pub plain_http_agreed: bool,
}

/// The account of a kind that these settings mean: the saved one at the address that they name, or the first where they name
/// none. A saved key goes to no other address than its own.
pub async fn account(
    folders: &Folders,
    kind: RuntimeKind,
    own: Value,
) -> Result<OwnAccount, sandbook_store::Error> {
    let file = config::Connections::open(&folders.connections_file())?;
    let mut saved =
        file.all().iter().filter_map(connections::read).filter(|connection| connection.kind == kind);
    let Some(connection) = saved.find(|connection| accounts::is_meant(connection, &own)) else {
        let settings = SandboxSettings { runtime: own, ..SandboxSettings::default() };
        let address = accounts::address_in(kind, &settings.runtime);
        let key = key_from_environment(kind);
        return Ok(OwnAccount { connection: None, settings, key, address, plain_http_agreed: false });
    };
    let stored = match connection.credential.as_deref() {
        Some(name) => stored_credential(folders, name).await,
        None => None,
    };
    Ok(OwnAccount {
        address: connection.server_url.parse().ok(),
        plain_http_agreed: connection.plain_http_agreed,
        settings: accounts::settings(&connection, own),
        connection: Some(connection.id.0),
        key: stored.or_else(|| key_from_environment(kind)),
    })
}

/// A connection that the person saved, by its name.
#[derive(Debug, Clone)]
pub struct SavedConnection {
    /// Its id.
    pub id: String,
    /// What the person calls it.
    pub name: String,
    /// What it is to.
    pub kind: RuntimeKind,
    /// The name of its credential, for [`stored_credential`].
    pub credential: Option<String>,
    /// What the runtime is told, where it is to a cloud's open page.
    pub link: Option<SandboxSettings>,
}

/// The connections that the person saved.
pub fn saved_connections(folders: &Folders) -> Result<Vec<SavedConnection>, sandbook_store::Error> {
    let file = config::Connections::open(&folders.connections_file())?;
    let saved = file.all().iter().filter_map(connections::read).map(|connection| SavedConnection {
        link: clouds::is_cloud(&connection).then(|| clouds::settings(&connection)),
        id: connection.id.0,
        name: connection.name,
        kind: connection.kind,
        credential: connection.credential,
    });
    Ok(saved.collect())
}
