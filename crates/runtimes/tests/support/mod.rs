//! Real kernels and servers for tests: in temporary folders, stopped when dropped.
#![allow(
    dead_code,
    unreachable_pub,
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::needless_pass_by_value
)] // each test binary uses its part

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use sandbook_runtimes::{
    Surrounding,
    jupyter::{JupyterRuntime, JupyterSettings, LocalSettings, ServerSettings},
    python::Surroundings,
};
use sandbook_sandbox::{
    CreateRequest, Event, EventKind, ExecuteRequest, Execution, KernelStatus, Outcome, OutcomeBuilder,
    Progress, Runtime, Sandbox, SandboxError, SandboxSettings, StopChoice,
};
use sandbook_test_support::{PATIENCE, TOKEN, python};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use url::Url;

/// A runtime in folders of its own.
pub struct Place {
    pub runtime: JupyterRuntime,
    pub folder: TempDir,
}

impl Place {
    pub fn new() -> Self {
        Self::supervised(None)
    }

    pub fn supervised(supervisor: Option<Vec<std::ffi::OsString>>) -> Self {
        drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
        let folder = tempfile::Builder::new().prefix("sb").tempdir().unwrap();
        let data = folder.path().join("data");
        install_bash(&data);
        let surrounding = Surrounding {
            run_folder: folder.path().join("run"),
            supervisor,
            data_folders: vec![data],
            pythons: Surroundings::default(),
        };
        Self { runtime: JupyterRuntime::new(surrounding), folder }
    }

    /// A folder for notebooks.
    pub fn notebooks(&self) -> PathBuf {
        let folder = self.folder.path().join("notebooks");
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    pub async fn local(&self) -> Arc<dyn Sandbox> {
        self.create(local_settings()).await.unwrap()
    }

    pub async fn create(&self, settings: JupyterSettings) -> Result<Arc<dyn Sandbox>, SandboxError> {
        self.runtime.create(self.request(settings)).await
    }

    pub fn request(&self, settings: JupyterSettings) -> CreateRequest {
        let here = !matches!(settings, JupyterSettings::Server(_));
        let mut environment = std::collections::BTreeMap::new();
        if here && !matches!(settings, JupyterSettings::ManagedServer(_)) {
            environment
                .insert("IPYTHONDIR".to_owned(), self.folder.path().join("ipython").display().to_string());
        }
        CreateRequest {
            settings: SandboxSettings {
                working_directory: here.then(|| self.notebooks()),
                environment,
                runtime: settings.to_value(),
                ..SandboxSettings::default()
            },
            credential: (!here).then(|| TOKEN.to_owned().into()),
            progress: Progress::none(),
            cancel: CancellationToken::new(),
        }
    }
}

pub fn local_settings() -> JupyterSettings {
    JupyterSettings::Local(LocalSettings { python: Some(python()), kernel: None })
}

/// A kernel on a server that runs already.
pub fn on(settings: ServerSettings) -> JupyterSettings {
    JupyterSettings::Server(settings)
}

pub async fn new_on(place: &Place, url: &Url) -> Arc<dyn Sandbox> {
    place.create(on(server_settings(url))).await.unwrap()
}

pub fn server_settings(url: &Url) -> ServerSettings {
    ServerSettings::new(url.clone())
}

/// Installs `bash_kernel`'s kernelspec into a data folder.
fn install_bash(data: &Path) {
    let folder = data.join("kernels").join("bash");
    std::fs::create_dir_all(&folder).unwrap();
    let spec = serde_json::json!({
        "argv": [python(), "-m", "bash_kernel", "-f", "{connection_file}"],
        "display_name": "Bash",
        "language": "bash",
        "env": {"PS1": "$"},
    });
    std::fs::write(folder.join("kernel.json"), spec.to_string()).unwrap();
}

pub async fn run(sandbox: &Arc<dyn Sandbox>, code: &str) -> Outcome {
    run_request(sandbox, ExecuteRequest::new(code)).await
}

pub async fn run_request(sandbox: &Arc<dyn Sandbox>, request: ExecuteRequest) -> Outcome {
    let execution = sandbox.execute(request).await.unwrap();
    finish(execution, OutcomeBuilder::default()).await
}

pub async fn finish(mut execution: Execution, mut builder: OutcomeBuilder) -> Outcome {
    let end = async {
        while let Some(event) = execution.next().await {
            if builder.push(&event) {
                break;
            }
        }
    };
    tokio::time::timeout(PATIENCE * 2, end).await.expect("the execution did not end");
    builder.finish()
}

/// Reads on until the code has printed this line.
pub async fn until_line(execution: &mut Execution, builder: &mut OutcomeBuilder, line: &str) {
    let mut text = String::new();
    let read = async {
        while text.lines().all(|said| said != line) {
            let event = execution.next().await.expect("the execution ended before that line");
            builder.push(&event);
            if let EventKind::Stream { text: more, .. } = event.kind {
                text += &more;
            }
        }
    };
    tokio::time::timeout(PATIENCE, read).await.expect("the line did not come");
}

/// Waits until the kernel says that it runs something.
pub async fn is_busy(sandbox: &Arc<dyn Sandbox>) {
    let mut status = sandbox.status();
    let busy = status.wait_for(|status| *status == KernelStatus::Busy);
    drop(tokio::time::timeout(PATIENCE, busy).await.unwrap().unwrap());
}

pub async fn next_event(execution: &mut Execution, wanted: impl Fn(&EventKind) -> bool) -> Event {
    let found = async {
        loop {
            let event = execution.next().await.expect("the execution ended");
            if wanted(&event.kind) {
                return event;
            }
        }
    };
    tokio::time::timeout(PATIENCE, found).await.expect("no such event")
}

pub async fn stop(sandbox: &Arc<dyn Sandbox>) {
    sandbox.stop(StopChoice::Default, Duration::from_secs(10)).await.unwrap();
}

/// Whether a process lives. One that waits for its parent to look does not.
pub fn lives(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z")
}

/// The children of this process that run a program of this name.
pub fn children_named(name: &str) -> Vec<u32> {
    let ours = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let after = stat.rsplit(')').next().unwrap_or_default();
        stat.contains(&format!("({name})"))
            && after.split_whitespace().nth(1) == Some(&std::process::id().to_string())
    };
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(ours).collect()
}
