//! Real kernels and servers for tests: started here, killed on drop.
#![allow(dead_code, unreachable_pub, missing_docs, clippy::unwrap_used, clippy::expect_used)] // each test binary uses its part

use std::process::{Command, Stdio};

use sandbook_jupyter::{
    Activity, ConnectionInfo, Content, Credential, Execution, ExecutionEnd, ExecutionEvent, KernelClient,
    SessionId, SessionLog, Target, WebSocket, ZeroMq, connection::Address, kernelspec::KernelSpec,
};
use sandbook_test_support::{Killed, PATIENCE, TOKEN, python, rest};
use tempfile::TempDir;

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

pub async fn collect(execution: Execution) -> Seen {
    collect_on(execution, Seen::default()).await
}

/// Reads on until the code has printed this line.
pub async fn until_line(execution: &mut Execution, line: &str) -> Seen {
    let mut seen = Seen::default();
    let read = async {
        while seen.stdout.lines().all(|said| said != line) {
            take(&mut seen, execution.next().await.expect("the execution ended before that line"));
        }
    };
    tokio::time::timeout(PATIENCE, read).await.expect("the line did not come");
    seen
}

/// What is left of an execution, after what was seen.
pub async fn collect_on(mut execution: Execution, mut seen: Seen) -> Seen {
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
        ExecutionEvent::Missed => {
            seen.types.push("missed".to_owned());
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
    rest("POST", server, "api/kernels").await["id"].as_str().unwrap().to_owned()
}

pub fn is_ipc(info: &ConnectionInfo) -> bool {
    matches!(info.address, Address::Ipc(_))
}

/// A client of a kernel on a server, once the kernel has answered.
pub async fn connect(url: &url::Url, kernel_id: &str) -> (KernelClient, SessionLog) {
    let transport = WebSocket::connect(target(url, kernel_id), SessionId::random()).await.unwrap();
    let (client, log) = KernelClient::start(transport);
    client.ready(PATIENCE).await.unwrap();
    (client, log)
}

/// Waits until the kernel says that it runs something.
pub async fn is_busy(client: &KernelClient) {
    let mut activity = client.activity();
    let busy = activity.wait_for(|activity| *activity == Activity::Busy);
    drop(tokio::time::timeout(PATIENCE, busy).await.unwrap().unwrap());
}
