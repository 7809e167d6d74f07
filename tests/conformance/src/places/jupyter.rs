//! Jupyter kernels: here, on a server that runs, on a server that is started here.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use sandbook_runtimes::jupyter::{
    JupyterRuntime, JupyterSettings, LocalSettings, ManagedServerSettings, ServerSettings,
};
use sandbook_sandbox::SandboxSettings;
use sandbook_test_support::{TOKEN, python, server};

use super::Place;
use crate::{Stage, stage::Folders};

/// A kernel of this computer.
pub(super) const LOCAL: Place = Place {
    name: "jupyter_local",
    title: "Jupyter, here",
    about: "runtime `jupyter`, an ipykernel of this computer",
    only: None,
    prepare: || {
        Box::pin(async {
            let local = LocalSettings { python: Some(python()), kernel: None };
            stage(&JupyterSettings::Local(local), Some(Folders::work), Folders::new())
        })
    },
};

/// A kernel on a server that runs already.
pub(super) const SERVER: Place = Place {
    name: "jupyter_server",
    title: "Jupyter, a server",
    about: "runtime `jupyter`, a new kernel on a Jupyter server that runs already",
    only: None,
    prepare: || {
        Box::pin(async {
            let folders = Folders::new();
            let root = format!("--ServerApp.root_dir={}", folders.root().display());
            // whether a server holds output back is for its own tests
            let limits = ["data", "msg"]
                .map(|kind| format!("--ZMQChannelsWebsocketConnection.iopub_{kind}_rate_limit=0"));
            let server = server("jupyter_server", &[&root, &limits[0], &limits[1]]).await;
            let settings = JupyterSettings::Server(ServerSettings::new(server.url.clone()));
            let stage = stage(&settings, None, folders);
            let credential = Some(TOKEN.to_owned().into());
            Stage { credential, work: "work".into(), started: Some(Box::new(server)), ..stage }
        })
    },
};

/// What a server of its own is asked: its kernel is that of any server.
const WHERE_IT_DIFFERS: &[&str] = &["Restart", "Death", "Settings", "Create and join", "Stop"];

/// A kernel on a server that is started for it.
pub(super) const MANAGED: Place = Place {
    name: "jupyter_managed",
    title: "Jupyter, a server of its own",
    about: "runtime `jupyter`, a Jupyter server that is started here for one sandbox",
    only: Some((WHERE_IT_DIFFERS, "jupyter_server")),
    prepare: || {
        Box::pin(async {
            let settings = ManagedServerSettings { kernel: None, python: Some(python()) };
            stage(&JupyterSettings::ManagedServer(settings), Some(Folders::work), Folders::new())
        })
    },
};

fn stage(runtime: &JupyterSettings, work: Option<fn(&Folders) -> PathBuf>, folders: Folders) -> Stage {
    let settings = SandboxSettings {
        working_directory: work.map(|work| work(&folders)),
        environment: BTreeMap::new(),
        runtime: runtime.to_value(),
        ..SandboxSettings::default()
    };
    Stage::new(Arc::new(JupyterRuntime::new(folders.surrounding())), settings, folders)
}
