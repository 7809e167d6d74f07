//! What a command that makes a sandbox in its own process shares with the owner: the same kernels are found, the same
//! names mean the same, the same saved servers and credentials are known.

use std::path::PathBuf;

use sandbook_runtimes::jupyter::{JupyterRuntime, ServerSettings, Surrounding, Surroundings};
use sandbook_store::{config, folders::Folders};

use crate::{connections, servers::server_settings};
pub use crate::{
    credentials::stored_credential,
    kernels::{kernel_for, local_settings},
};

/// The jupyter runtime of a person. `supervisor` is the program that is started as `PROGRAM supervise` around local
/// kernels.
pub fn jupyter_runtime(folders: &Folders, supervisor: Option<PathBuf>) -> JupyterRuntime {
    JupyterRuntime::new(Surrounding {
        run_folder: folders.runtime.clone(),
        supervisor: supervisor.map(|program| vec![program.into(), "supervise".into()]),
        data_folders: Vec::new(),
        pythons: Surroundings::of_process(Some(private_environment(folders))),
    })
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
}

/// The servers that the person saved. One whose address cannot be read is left out, and logged.
pub fn saved_servers(folders: &Folders) -> Result<Vec<SavedServer>, sandbook_store::Error> {
    let file = config::Connections::open(&folders.connections_file())?;
    let servers = file.all().iter().filter_map(connections::read).filter_map(|connection| {
        let settings = server_settings(&connection)
            .inspect_err(|error| tracing::warn!(%error, "a saved server cannot be used"))
            .ok()?;
        let connections::Connection { id, name, credential, .. } = connection;
        Some(SavedServer { id: id.0, name, credential, settings })
    });
    Ok(servers.collect())
}
