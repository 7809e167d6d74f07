//! The real `opensandbox-server` over the stand-ins of an engine and of execd: `tests/standins/opensandbox_stack.py`.

use std::{
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use serde_json::Value;
use url::Url;

use crate::python;

/// The Python that has the server and its client.
///
/// # Panics
/// Where `SANDBOOK_TEST_OPENSANDBOX` does not name it.
pub fn opensandbox_python() -> PathBuf {
    let path = std::env::var_os("SANDBOOK_TEST_OPENSANDBOX").expect(
        "set SANDBOOK_TEST_OPENSANDBOX to a Python with the packages of tests/opensandbox-requirements.txt (cargo xtask test does)",
    );
    path.into()
}

/// A server that answers. What it made ends with it.
#[derive(Debug)]
pub struct OpenSandboxServer {
    process: Child,
    /// Its address.
    pub url: Url,
    /// Its key, where it has one.
    pub key: Option<String>,
}

impl OpenSandboxServer {
    /// Starts one, with a key or open to everybody, while other tasks go on.
    ///
    /// # Panics
    /// Where it does not start.
    pub async fn start(key: Option<&str>) -> Self {
        // what connects to a server needs it, and only the first call counts
        drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
        let key = key.map(str::to_owned);
        tokio::task::spawn_blocking(|| Self::start_now(key)).await.unwrap()
    }

    fn start_now(key: Option<String>) -> Self {
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/standins/opensandbox_stack.py");
        let mut command = Command::new(python());
        // one that never writes what it compiled into the repository
        command.arg("-B").arg(program).arg(opensandbox_python());
        command.args(key.as_ref().map(|key| format!("key={key}")));
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut port = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut port).unwrap();
        let url = format!("http://127.0.0.1:{}/", port.trim()).parse().expect("the server says its port");
        Self { process, url, key }
    }

    /// Host and port.
    pub fn domain(&self) -> String {
        format!("127.0.0.1:{}", self.url.port().unwrap_or_default())
    }

    /// Asks its API, for what a test wants to know.
    ///
    /// # Panics
    /// Where it refuses.
    pub async fn ask(&self, method: &str, path: &str, body: Option<Value>) -> Value {
        let mut request =
            reqwest::Client::new().request(method.parse().unwrap(), self.url.join(path).unwrap());
        if let Some(key) = &self.key {
            request = request.header("OPEN-SANDBOX-API-KEY", key);
        }
        if let Some(body) = body {
            request = request.json(&body);
        }
        let answer = request.send().await.unwrap().error_for_status().unwrap();
        answer.json().await.unwrap_or_default()
    }

    /// The sandboxes that are there.
    ///
    /// # Panics
    /// Where it does not answer.
    pub async fn sandboxes(&self) -> Vec<Value> {
        let listed = self.ask("GET", "v1/sandboxes", None).await;
        listed["items"].as_array().unwrap().clone()
    }
}

impl Drop for OpenSandboxServer {
    fn drop(&mut self) {
        // it ends what it started when nobody holds this end any more
        drop(self.process.stdin.take());
        drop(self.process.wait());
    }
}
