//! A Jupyter server that is started here for one sandbox and ends with it.
//!
//! Its token goes by environment, never by an argument; its port is its own choice, read from the file it writes; its
//! folders are its own and removed with it, also when starting failed half way.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use sandbook_jupyter::KernelClient;
use sandbook_sandbox::{AttachHandle, BoxFuture, Progress, SandboxError, StopChoice, StopReport};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use url::Url;
use uuid::Uuid;

use super::{
    host::{Connected, Host, Presence},
    server::ServerHost,
};
use crate::supervise::{Child, Launch};

const START_PATIENCE: Duration = Duration::from_mins(1);
const POLL: Duration = Duration::from_millis(50);
/// How long the server itself has to end.
const END_PATIENCE: Duration = Duration::from_secs(5);

/// How to start a server.
pub(super) struct ServerPlan {
    pub(super) python: PathBuf,
    /// Its root, and where its kernels run.
    pub(super) root: PathBuf,
    /// Of the server, and so of its kernels.
    pub(super) environment: BTreeMap<String, String>,
    pub(super) run_folder: PathBuf,
    pub(super) supervisor: Option<Vec<std::ffi::OsString>>,
}

/// A running server.
pub(super) struct ManagedServer {
    child: Child,
    folder: PathBuf,
    pub(super) url: Url,
    pub(super) token: SecretString,
}

impl ManagedServer {
    fn remove_folder(&self) {
        drop(std::fs::remove_dir_all(&self.folder));
    }
}

impl Drop for ManagedServer {
    fn drop(&mut self) {
        self.child.kill();
        self.remove_folder();
    }
}

struct Folder(Option<PathBuf>);

impl Drop for Folder {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            drop(std::fs::remove_dir_all(path));
        }
    }
}

impl ServerPlan {
    /// Starts it and waits until it has said where it listens.
    pub(super) async fn start(
        self,
        progress: &Progress,
        cancel: &CancellationToken,
    ) -> Result<ManagedServer, SandboxError> {
        progress.report("Starting a Jupyter server", None);
        let folder = self.run_folder.join(format!("server-{}", Uuid::new_v4().simple()));
        crate::process::make_private(&folder)?;
        let mut guard = Folder(Some(folder.clone()));
        let token = SecretString::from(format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple()));
        let child = Child::start(self.launch(&folder, &token)).await;
        let child = child.map_err(|error| failed(error.to_string()))?;
        let url = tokio::select! {
            url = listening(&folder) => url?,
            exit = child.wait() => {
                tokio::time::sleep(POLL).await;
                return Err(failed(format!("it ended at once ({exit:?}). It said: {}", child.last_words())));
            }
            () = cancel.cancelled() => return Err(SandboxError::Cancelled),
        };
        guard.0 = None;
        Ok(ManagedServer { child, folder, url, token })
    }

    fn launch(&self, folder: &Path, token: &SecretString) -> Launch {
        let mut words: Vec<std::ffi::OsString> = vec![self.python.clone().into()];
        let options = [
            "-m",
            "jupyter_server",
            "--no-browser",
            "--ServerApp.ip=127.0.0.1",
            "--ServerApp.port=0",
            // output is never thrown away: our reader does not block it
            "--ZMQChannelsWebsocketConnection.iopub_data_rate_limit=0",
            "--ZMQChannelsWebsocketConnection.iopub_msg_rate_limit=0",
        ];
        words.extend(options.map(Into::into));
        let mut root: std::ffi::OsString = "--ServerApp.root_dir=".into();
        root.push(&self.root);
        words.push(root);
        if platform::is_root() {
            words.push("--allow-root".into());
        }
        let mut environment: BTreeMap<String, std::ffi::OsString> =
            self.environment.iter().map(|(name, value)| (name.clone(), value.into())).collect();
        environment.insert("JUPYTER_TOKEN".into(), token.expose_secret().into());
        // its own configuration, free of what is set up for the person's servers, and quicker to start
        environment.insert("JUPYTER_NO_CONFIG".into(), "1".into());
        for kind in ["CONFIG", "RUNTIME"] {
            environment.insert(format!("JUPYTER_{kind}_DIR"), folder.join(kind.to_lowercase()).into());
        }
        let supervisor = self.supervisor.clone();
        Launch {
            words,
            working_directory: Some(self.root.clone()),
            environment,
            without: Vec::new(),
            supervisor,
        }
    }
}

fn failed(detail: String) -> SandboxError {
    SandboxError::StartFailed { what: "a Jupyter server".into(), detail }
}

/// Waits for the file in which the server says where it listens.
async fn listening(folder: &Path) -> Result<Url, SandboxError> {
    let runtime = folder.join("runtime");
    let look = async {
        loop {
            let files = std::fs::read_dir(&runtime).into_iter().flatten().flatten().map(|entry| entry.path());
            let said = files
                .filter(|path| {
                    path.file_name().unwrap_or_default().to_string_lossy().starts_with("jpserver-")
                })
                .filter_map(|path| serde_json::from_slice::<Value>(&std::fs::read(path).ok()?).ok())
                .find_map(|said| said.get("url")?.as_str()?.parse::<Url>().ok());
            if let Some(url) = said {
                return url;
            }
            tokio::time::sleep(POLL).await;
        }
    };
    let timed_out =
        |_| SandboxError::TimedOut { what: "the start of a Jupyter server".into(), limit: START_PATIENCE };
    tokio::time::timeout(START_PATIENCE, look).await.map_err(timed_out)
}

/// Keeps a kernel on a server of ours.
pub(super) struct ManagedHost {
    pub(super) kernel: Arc<ServerHost>,
    pub(super) server: ManagedServer,
}

impl Host for ManagedHost {
    fn interrupt<'a>(&'a self, client: &'a KernelClient) -> BoxFuture<'a, Result<(), SandboxError>> {
        self.kernel.interrupt(client)
    }

    fn restart<'a>(
        &'a self,
        client: &'a KernelClient,
    ) -> BoxFuture<'a, Result<Option<Connected>, SandboxError>> {
        self.kernel.restart(client)
    }

    fn stop<'a>(
        &'a self,
        client: &'a KernelClient,
        choice: StopChoice,
        grace: Duration,
    ) -> BoxFuture<'a, Result<StopReport, SandboxError>> {
        Box::pin(async move {
            if choice == StopChoice::Keep {
                let reason =
                    "A server that was started for this sandbox ends with it, so its kernel cannot be kept.";
                return Err(SandboxError::Unsupported { reason: reason.into() });
            }
            if self.server.child.wait_for(Duration::ZERO).await.is_some() {
                return Ok(StopReport::WasGone);
            }
            let report = self.kernel.stop(client, StopChoice::ShutDown, grace).await;
            self.server.child.ask_to_end();
            if self.server.child.wait_for(END_PATIENCE).await.is_none() {
                self.server.child.kill();
            }
            self.server.remove_folder();
            report.or(Ok(StopReport::Killed))
        })
    }

    fn presence(&self) -> BoxFuture<'_, Presence> {
        self.kernel.presence()
    }

    fn handle(&self) -> AttachHandle {
        self.kernel.handle()
    }
}

mod platform {
    #[cfg(unix)]
    pub(super) fn is_root() -> bool {
        nix::unistd::geteuid().is_root()
    }

    #[cfg(not(unix))]
    pub(super) fn is_root() -> bool {
        false
    }
}
