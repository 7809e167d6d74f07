//! Starting a kernel on this computer: its folder, its connection file, its process.

use std::{collections::BTreeMap, ffi::OsString, path::PathBuf, time::Duration};

use sandbook_jupyter::{ConnectionInfo, SessionId, ZeroMq};
use sandbook_sandbox::SandboxError;
use tokio_util::sync::CancellationToken;

use super::{
    host::{Connected, HERE},
    kernels::LocalKernel,
};
use crate::{
    process::{self, LONGEST_RUN_FOLDER, RunFolder},
    supervise::{Child, Launch},
};

const READY_PATIENCE: Duration = Duration::from_mins(1);
/// How often other ports are tried.
const PORT_ATTEMPTS: u32 = 3;

/// How to start a kernel, again and again.
#[derive(Clone)]
pub(super) struct Plan {
    pub(super) kernel: LocalKernel,
    pub(super) working_directory: Option<PathBuf>,
    pub(super) environment: BTreeMap<String, String>,
    /// Where run folders are made; 0700.
    pub(super) run_folder: PathBuf,
    pub(super) supervisor: Option<Vec<OsString>>,
}

/// A started kernel.
pub(super) struct Running {
    pub(super) child: Child,
    pub(super) connection_file: PathBuf,
    /// Removed when the kernel is let go.
    pub(super) folder: RunFolder,
}

impl Plan {
    /// Starts the kernel and connects; gives up, and stops it again, when cancelled. Free TCP ports can be taken by
    /// somebody else before the kernel binds them: then others are tried.
    pub(super) async fn launch(
        &self,
        cancel: &CancellationToken,
    ) -> Result<(Running, Connected), SandboxError> {
        for _ in 1..PORT_ATTEMPTS {
            match self.launch_once(cancel).await {
                Err(SandboxError::StartFailed { detail, .. })
                    if detail.contains("Address already in use") => {}
                other => return other,
            }
        }
        self.launch_once(cancel).await
    }

    async fn launch_once(&self, cancel: &CancellationToken) -> Result<(Running, Connected), SandboxError> {
        let what = || self.kernel.spec.display_name.clone();
        let failed = |detail: String| SandboxError::StartFailed { what: what(), detail };
        let folder = RunFolder::make(&self.run_folder)
            .map_err(|error| failed(format!("{}: {error}", self.run_folder.display())))?;
        let name = &self.kernel.spec.name;
        let over_ipc = cfg!(unix)
            && self.kernel.spec.is_ipykernel()
            && folder.path().as_os_str().len() <= LONGEST_RUN_FOLDER;
        let info = if over_ipc {
            ConnectionInfo::ipc(folder.path(), name)
        } else {
            ConnectionInfo::tcp(name).map_err(|error| failed(error.to_string()))?
        };
        let connection_file = folder.path().join("kernel.json");
        info.write(&connection_file).map_err(|error| failed(error.to_string()))?;
        let launch = Launch {
            words: self.kernel.spec.command(&connection_file),
            working_directory: self.working_directory.clone(),
            environment: self.environment(),
            without: Vec::new(),
            supervisor: self.supervisor.clone(),
        };
        let child = Child::start(launch).await.map_err(|error| failed(error.to_string()))?;
        let connected = Connected::over(ZeroMq::new(info, SessionId::random()), "kernel", HERE);
        let client = &connected.client;
        let died = tokio::select! {
            ready = client.ready(READY_PATIENCE) => match ready {
                Ok(_) => None,
                Err(error) if child.wait_for(Duration::from_millis(500)).await.is_none() => {
                    client.stop();
                    return Err(failed(error.to_string()));
                }
                Err(_) => Some(child.wait().await),
            },
            exit = child.wait() => Some(exit),
            () = cancel.cancelled() => {
                client.stop();
                return Err(SandboxError::Cancelled);
            }
        };
        if let Some(exit) = died {
            client.stop();
            return Err(failed(process::ended_at_once(&child, exit).await));
        }
        let death = connected.span.in_scope(|| process::death_of(&child));
        let connected = Connected { death: Some(death), ..connected };
        Ok((Running { child, connection_file, folder }, connected))
    }

    /// The kernelspec's variables, ours, and the interpreter's folder first on the `PATH`, as if it were activated.
    fn environment(&self) -> BTreeMap<String, OsString> {
        let outer = |name: &str| std::env::var(name).ok();
        let of_spec = self.kernel.spec.environment(outer).into_iter();
        let mut environment: BTreeMap<String, OsString> =
            of_spec.map(|(name, value)| (name, value.into())).collect();
        environment.extend(self.kernel.python.iter().flat_map(process::activated));
        environment.extend(self.environment.iter().map(|(name, value)| (name.clone(), value.into())));
        environment
    }
}
