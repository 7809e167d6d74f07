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

pub mod proxy;

use std::{
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use sandbook_runtimes::jupyter::{
    JupyterRuntime, JupyterSettings, LocalSettings, ServerSettings, Surrounding, Surroundings,
};
use sandbook_sandbox::{
    CreateRequest, Event, EventKind, ExecuteRequest, Execution, Outcome, OutcomeBuilder, Progress, Runtime,
    Sandbox, SandboxError, SandboxSettings, StopChoice,
};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use url::Url;

pub const PATIENCE: Duration = Duration::from_mins(1);
pub const TOKEN: &str = "test-token";

/// The Python that the tests use.
pub fn python() -> PathBuf {
    let path = std::env::var_os("SANDBOOK_TEST_PYTHON").expect(
        "set SANDBOOK_TEST_PYTHON to a Python with ipykernel, jupyter_server, jupyter_kernel_gateway and bash_kernel (cargo xtask test does)",
    );
    path.into()
}

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

pub struct Killed(pub Child);

impl Drop for Killed {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// A server started here, with its own folders.
pub struct Server {
    pub process: Killed,
    pub url: Url,
    pub folder: TempDir,
}

pub async fn jupyter_server() -> Server {
    let limits = ["--ZMQChannelsWebsocketConnection.iopub_data_rate_limit=0"];
    server("jupyter_server", &limits).await
}

pub async fn gateway(options: &[&str]) -> Server {
    server("kernel_gateway", options).await
}

/// Starts `python -m module` as a server on a free port, waits until it answers.
pub async fn server(module: &str, options: &[&str]) -> Server {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    server_at(port, module, options).await
}

/// Starts `python -m module` as a server on this port, waits until it answers.
pub async fn server_at(port: u16, module: &str, options: &[&str]) -> Server {
    drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
    let folder = tempfile::Builder::new().prefix("sbs").tempdir().unwrap();
    let mut command = Command::new(python());
    command.args(["-m", module]).args(options).current_dir(folder.path());
    if module == "kernel_gateway" {
        command.args([&format!("--KernelGatewayApp.port={port}"), "--KernelGatewayApp.ip=127.0.0.1"]);
        command.env("KG_AUTH_TOKEN", TOKEN);
    } else {
        command.args([
            "--no-browser",
            "--allow-root",
            "--ServerApp.port_retries=0",
            "--ServerApp.ip=127.0.0.1",
        ]);
        command.arg(format!("--ServerApp.port={port}")).env("JUPYTER_TOKEN", TOKEN);
    }
    for kind in ["CONFIG", "DATA", "RUNTIME"] {
        command.env(format!("JUPYTER_{kind}_DIR"), folder.path().join(kind));
    }
    command.env("JUPYTER_NO_CONFIG", "1").env("IPYTHONDIR", folder.path().join("ipython"));
    let log = std::fs::File::create(folder.path().join("server.log")).unwrap();
    command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
    let base = options.iter().find_map(|option| option.strip_prefix("--ServerApp.base_url=")).unwrap_or("/");
    let scheme = if options.iter().any(|option| option.contains("certfile")) { "https" } else { "http" };
    let server = Server {
        process: Killed(command.spawn().unwrap()),
        url: format!("{scheme}://127.0.0.1:{port}{base}").parse().unwrap(),
        folder,
    };
    let start = Instant::now();
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        let log = || std::fs::read_to_string(server.folder.path().join("server.log")).unwrap_or_default();
        assert!(start.elapsed() < PATIENCE, "the server did not start: {}", log());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    server
}

/// Asks a server itself, for what a test wants to know.
pub async fn rest(method: &str, server: &Url, path: &str) -> serde_json::Value {
    let client = reqwest::Client::new();
    let request = client.request(method.parse().unwrap(), server.join(path).unwrap());
    let request = request.header("Authorization", format!("token {TOKEN}"));
    let request = if method == "POST" { request.json(&serde_json::json!({})) } else { request };
    let answer = request.send().await.unwrap().error_for_status().unwrap();
    answer.json().await.unwrap_or_default()
}
