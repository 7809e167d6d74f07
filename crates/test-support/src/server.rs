//! Jupyter servers with folders of their own.
//!
//! A server is killed, not asked, and its kernels with it: one that was still starting would not notice.

use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;
use tempfile::TempDir;
use url::Url;

use crate::{Killed, PATIENCE, python};

/// What the servers of tests take. It is nowhere else, so a test can look for it where no token may be.
pub const TOKEN: &str = "t0k3n-that-nobody-should-see-4711";

/// `JupyterHub`'s server of one user, which takes [`TOKEN`] because a hub says that it is that user's.
pub const SINGLE_USER: &str = "jupyterhub.singleuser";
/// Where that server has its pages.
const USER: &str = "/user/me/";

/// A server that answers.
#[derive(Debug)]
pub struct Server {
    process: Killed,
    _hub: Option<Killed>,
    /// Its address with its base path.
    pub url: Url,
    folder: TempDir,
}

impl Server {
    /// Starts `python -m module` on a free port and waits until it answers.
    ///
    /// # Panics
    /// With its log, where it does not.
    pub fn start(module: &str, options: &[&str]) -> Self {
        // A port that is free now may be another test's a moment later.
        for _ in 0..4 {
            if let Ok(server) = Self::try_at(free_port(), module, options) {
                return server;
            }
        }
        Self::start_at(free_port(), module, options)
    }

    /// Starts it on this port.
    ///
    /// # Panics
    /// With its log, where it does not answer.
    pub fn start_at(port: u16, module: &str, options: &[&str]) -> Self {
        Self::try_at(port, module, options).expect("the server starts")
    }

    fn try_at(port: u16, module: &str, options: &[&str]) -> Result<Self, String> {
        let folder = tempfile::Builder::new().prefix("sbs").tempdir().unwrap();
        let mut command = Command::new(python());
        command.args(["-m", module]).args(options).current_dir(folder.path());
        let mut hub = None;
        match module {
            "kernel_gateway" => {
                command.args([&format!("--KernelGatewayApp.port={port}"), "--KernelGatewayApp.ip=127.0.0.1"]);
                command.env("KG_AUTH_TOKEN", TOKEN);
            }
            SINGLE_USER => hub = Some(below_a_hub(&mut command, port)),
            _ => {
                command.args(["--no-browser", "--allow-root"]);
                command.args(["--ServerApp.port_retries=0", "--ServerApp.ip=127.0.0.1"]);
                command.arg(format!("--ServerApp.port={port}")).env("JUPYTER_TOKEN", TOKEN);
            }
        }
        for kind in ["CONFIG", "DATA", "RUNTIME"] {
            command.env(format!("JUPYTER_{kind}_DIR"), folder.path().join(kind));
        }
        command.env("JUPYTER_NO_CONFIG", "1").env("IPYTHONDIR", folder.path().join("ipython"));
        let log = std::fs::File::create(folder.path().join("server.log")).unwrap();
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        let base = options.iter().find_map(|option| option.strip_prefix("--ServerApp.base_url="));
        let base = if hub.is_some() { USER } else { base.unwrap_or("/") };
        let scheme = if options.iter().any(|option| option.contains("certfile")) { "https" } else { "http" };
        let mut server = Self {
            process: Killed(command.spawn().unwrap()),
            _hub: hub,
            url: format!("{scheme}://127.0.0.1:{port}{base}").parse().unwrap(),
            folder,
        };
        let start = Instant::now();
        while !server.answers() {
            if start.elapsed() > PATIENCE || server.has_ended() {
                return Err(server.log());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        // What answers at this port may be somebody else.
        std::thread::sleep(Duration::from_millis(50));
        if server.has_ended() { Err(server.log()) } else { Ok(server) }
    }

    fn has_ended(&mut self) -> bool {
        self.process.0.try_wait().unwrap().is_some()
    }

    /// The processes that it started and that live, where the system has `/proc`.
    fn kernels_of_it(&self) -> Vec<String> {
        let server = self.process.0.id().to_string();
        let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let names = all.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let is_child = |name: &String| {
            let stat = std::fs::read_to_string(format!("/proc/{name}/stat")).unwrap_or_default();
            // After the name in parentheses come the state and the parent.
            stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1))
                == Some(server.as_str())
        };
        names.filter(is_child).collect()
    }

    /// What it has said so far.
    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("server.log")).unwrap_or_default()
    }

    /// Sends a signal, as `STOP`.
    ///
    /// # Panics
    /// Where the server is gone.
    pub fn signal(&self, name: &str) {
        let process = self.process.0.id().to_string();
        assert!(Command::new("kill").args([&format!("-{name}"), &process]).status().unwrap().success());
    }

    /// The kernels that run there, once it answers.
    pub fn kernels(&self) -> Option<Vec<Value>> {
        serde_json::from_str(&self.get("api/kernels")?).ok()
    }

    fn answers(&self) -> bool {
        if self.url.scheme() == "https" { self.stream().is_some() } else { self.get("api").is_some() }
    }

    fn stream(&self) -> Option<TcpStream> {
        TcpStream::connect(("127.0.0.1", self.url.port()?)).ok()
    }

    /// The body of an answer.
    fn get(&self, path: &str) -> Option<String> {
        let mut stream = self.stream()?;
        let path = self.url.join(path).ok()?.path().to_owned();
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: token {TOKEN}\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Held, so that it starts none between the look and its end. One that is gone already cannot be held.
        let process = self.process.0.id().to_string();
        drop(Command::new("kill").args(["-STOP", &process]).stderr(Stdio::null()).status());
        std::thread::sleep(Duration::from_millis(20));
        let kernels = self.kernels_of_it();
        drop(self.process.0.kill());
        drop(self.process.0.wait());
        if !kernels.is_empty() {
            drop(Command::new("kill").arg("-KILL").args(kernels).stderr(Stdio::null()).status());
        }
    }
}

/// A Jupyter server without limits on output.
pub async fn jupyter_server() -> Server {
    let limits = [
        "--ZMQChannelsWebsocketConnection.iopub_data_rate_limit=0",
        "--ZMQChannelsWebsocketConnection.iopub_msg_rate_limit=0",
    ];
    server("jupyter_server", &limits).await
}

/// A Kernel Gateway.
pub async fn gateway(options: &[&str]) -> Server {
    server("kernel_gateway", options).await
}

/// Starts `python -m module` on a free port, while other tasks go on.
///
/// # Panics
/// Where it does not start.
pub async fn server(module: &str, options: &[&str]) -> Server {
    start(module, options, Server::start).await
}

/// Starts it on this port.
///
/// # Panics
/// Where it does not start.
pub async fn server_at(port: u16, module: &str, options: &[&str]) -> Server {
    start(module, options, move |module, options| Server::start_at(port, module, options)).await
}

async fn start(
    module: &str,
    options: &[&str],
    starting: impl FnOnce(&str, &[&str]) -> Server + Send + 'static,
) -> Server {
    // what connects to a server needs it, and only the first call counts
    drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
    let module = module.to_owned();
    let options: Vec<String> = options.iter().map(|&option| option.to_owned()).collect();
    let start = move || {
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        starting(&module, &options)
    };
    tokio::task::spawn_blocking(start).await.unwrap()
}

/// Lets a server of one user find a hub, which is started for it.
fn below_a_hub(command: &mut Command, port: u16) -> Killed {
    let hub = free_port();
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/standins/hub.py");
    let process = Command::new(python()).args([program, &hub.to_string(), TOKEN]).spawn().unwrap();
    let scopes = r#"["access:servers!server=me/"]"#;
    let service = format!("http://127.0.0.1:{port}{USER}");
    let api = format!("http://127.0.0.1:{hub}/hub/api");
    command.arg("--allow-root").envs([
        ("JUPYTERHUB_SERVICE_URL", service.as_str()),
        ("JUPYTERHUB_SERVICE_PREFIX", USER),
        ("JUPYTERHUB_BASE_URL", "/"),
        ("JUPYTERHUB_API_URL", &api),
        ("JUPYTERHUB_API_TOKEN", "the-servers-own"),
        ("JUPYTERHUB_USER", "me"),
        ("JUPYTERHUB_SERVER_NAME", ""),
        ("JUPYTERHUB_CLIENT_ID", "jupyterhub-user-me"),
        ("JUPYTERHUB_OAUTH_SCOPES", scopes),
        ("JUPYTERHUB_OAUTH_ACCESS_SCOPES", scopes),
        ("JUPYTERHUB_OAUTH_CALLBACK_URL", "/user/me/oauth_callback"),
    ]);
    Killed(process)
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Asks a server itself, for what a test wants to know.
///
/// # Panics
/// Where it refuses.
pub async fn rest(method: &str, server: &Url, path: &str) -> Value {
    let request = reqwest::Client::new().request(method.parse().unwrap(), server.join(path).unwrap());
    let request = request.header("Authorization", format!("token {TOKEN}"));
    let request = if method == "POST" { request.json(&serde_json::json!({})) } else { request };
    let answer = request.send().await.unwrap().error_for_status().unwrap();
    answer.json().await.unwrap_or_default()
}
