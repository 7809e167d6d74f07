//! Real kernels and servers for tests: started here, killed on drop.
#![allow(dead_code, unreachable_pub, missing_docs, clippy::unwrap_used, clippy::expect_used)] // each test binary uses its part

pub mod proxy;

use std::{
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use sandbook_jupyter::{
    ConnectionInfo, Content, Credential, Execution, ExecutionEnd, ExecutionEvent, KernelClient, SessionId,
    SessionLog, Target, ZeroMq, connection::Address, kernelspec::KernelSpec,
};
use tempfile::TempDir;

pub const PATIENCE: Duration = Duration::from_mins(1);

/// The Python that the tests use.
pub fn python() -> PathBuf {
    let path = std::env::var_os("SANDBOOK_TEST_PYTHON").expect(
        "set SANDBOOK_TEST_PYTHON to a Python with ipykernel, jupyter_server, jupyter_kernel_gateway and bash_kernel (cargo xtask test does)",
    );
    path.into()
}

pub struct Killed(pub Child);

impl Drop for Killed {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

pub struct Kernel {
    pub process: Killed,
    pub client: KernelClient,
    pub log: SessionLog,
    pub info: ConnectionInfo,
    pub folder: TempDir,
}

/// Starts a kernel of `spec` on ipc or TCP and connects to it.
pub fn start(spec: &KernelSpec, ipc: bool) -> Kernel {
    let folder = tempfile::Builder::new().prefix("sbk").tempdir().unwrap();
    let info = if ipc {
        ConnectionInfo::ipc(folder.path(), &spec.name)
    } else {
        ConnectionInfo::tcp(&spec.name).unwrap()
    };
    let file = folder.path().join("connection.json");
    info.write(&file).unwrap();
    let words = spec.command(&file);
    let child = Command::new(&words[0])
        .args(&words[1..])
        .current_dir(folder.path())
        .env("IPYTHONDIR", folder.path())
        // it ends with this process, however that ends
        .env("JPY_PARENT_PID", std::process::id().to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (client, log) = KernelClient::start(ZeroMq::new(info.clone(), SessionId::random()));
    Kernel { process: Killed(child), client, log, info, folder }
}

pub fn ipykernel() -> Kernel {
    start(&KernelSpec::of_python(&python()), cfg!(unix))
}

pub async fn ready_ipykernel() -> Kernel {
    let kernel = ipykernel();
    kernel.client.ready(PATIENCE).await.unwrap();
    kernel
}

/// What one execution said.
#[derive(Debug, Default)]
pub struct Seen {
    pub stdout: String,
    pub stderr: String,
    pub results: Vec<String>,
    pub displays: usize,
    pub error: Option<String>,
    pub status: String,
    pub end: Option<ExecutionEnd>,
    pub types: Vec<String>,
}

pub async fn collect(mut execution: Execution) -> Seen {
    let mut seen = Seen::default();
    let all = async {
        while let Some(event) = execution.next().await {
            take(&mut seen, event);
        }
    };
    tokio::time::timeout(PATIENCE * 2, all).await.expect("the execution did not end");
    seen
}

pub fn take(seen: &mut Seen, event: ExecutionEvent) {
    let message = match event {
        ExecutionEvent::Ended(end) => {
            seen.end = Some(end);
            return;
        }
        ExecutionEvent::Output(message)
        | ExecutionEvent::Reply(message)
        | ExecutionEvent::InputRequest(message) => message,
    };
    seen.types.push(message.msg_type().to_owned());
    match message.content() {
        Content::Stream(stream) if stream.name == "stderr" => seen.stderr += &stream.text,
        Content::Stream(stream) => seen.stdout += &stream.text,
        Content::Result(result) => seen.results.extend(result.data.text("text/plain")),
        Content::Display(_) => seen.displays += 1,
        Content::Error(error) => seen.error = Some(error.name),
        Content::ExecuteReply(reply) => seen.status = reply.status,
        _ => {}
    }
}

/// A server started here, with its own folders.
pub struct Server {
    process: Killed,
    pub url: url::Url,
    pub folder: TempDir,
}

impl Server {
    /// Sends a signal, as `STOP`.
    pub fn signal(&self, name: &str) {
        let pid = self.process.0.id().to_string();
        assert!(Command::new("kill").args([&format!("-{name}"), &pid]).status().unwrap().success());
    }
}

pub const TOKEN: &str = "test-token";

/// Starts `python -m module` as a server, waits until it answers.
pub async fn server(module: &str, options: &[&str]) -> Server {
    let folder = tempfile::Builder::new().prefix("sbs").tempdir().unwrap();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut command = Command::new(python());
    command.args(["-m", module]).args(options).current_dir(folder.path());
    let gateway = module == "kernel_gateway";
    if gateway {
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
    let server = Server {
        process: Killed(command.spawn().unwrap()),
        url: format!("http://127.0.0.1:{port}/").parse().unwrap(),
        folder,
    };
    let start = Instant::now();
    while rest("GET", &server.url, "api").await.is_err() {
        assert!(start.elapsed() < PATIENCE, "the server did not start: {}", log_of(server.folder.path()));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    server
}

fn log_of(folder: &Path) -> String {
    std::fs::read_to_string(folder.join("server.log")).unwrap_or_default()
}

pub async fn rest(method: &str, server: &url::Url, path: &str) -> reqwest::Result<serde_json::Value> {
    let client = reqwest::Client::builder().build()?;
    let request = client
        .request(method.parse().unwrap(), server.join(path).unwrap())
        .header("Authorization", format!("token {TOKEN}"));
    let request = if method == "POST" { request.json(&serde_json::json!({})) } else { request };
    let answer = request.send().await?.error_for_status()?;
    Ok(answer.json().await.unwrap_or_default())
}

pub fn target(server: &url::Url, kernel_id: &str) -> Target {
    Target {
        server: server.clone(),
        kernel_id: kernel_id.to_owned(),
        credential: Credential::Header(TOKEN.to_owned().into()),
        headers: Vec::new(),
        tls: None,
    }
}

pub async fn new_kernel(server: &url::Url) -> String {
    rest("POST", server, "api/kernels").await.unwrap()["id"].as_str().unwrap().to_owned()
}

pub fn is_ipc(info: &ConnectionInfo) -> bool {
    matches!(info.address, Address::Ipc(_))
}
