//! WebKit's driver: one process, one session, one window.

use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result};
use fantoccini::error::NewSessionError;
use fantoccini::{Client, ClientBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::json;
use tokio::process::Child;

use crate::Home;

/// A window that crashes as it starts leaves the driver waiting for ever.
const START: Duration = Duration::from_mins(1);

/// A running driver with the window it opened.
pub struct Driver {
    client: Client,
    process: Child,
}

impl Driver {
    /// Opens the program in a home. The session is there before the page has loaded.
    ///
    /// # Errors
    /// When the driver or the program does not start within a minute.
    pub async fn start(home: &Home, program: &Path, arguments: &[String]) -> Result<Self> {
        let port = free_port()?;
        let mut command = home.command(Path::new("WebKitWebDriver"))?;
        command.args([format!("--port={port}"), "--host=127.0.0.1".to_owned()]);
        // Without it the session request hangs: the program would not let itself be driven.
        command.env("TAURI_WEBVIEW_AUTOMATION", "true");
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let process = command.spawn().context("cannot start WebKitWebDriver")?;
        let client =
            tokio::time::timeout(START, connect(port, program, arguments)).await.with_context(|| {
                format!("the window did not open within a minute, beside {:?}", home.running())
            })??;
        Ok(Self { client, process })
    }

    /// The session's client.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Closes the window as a person would and ends the driver.
    ///
    /// # Errors
    /// When the session cannot be ended.
    pub async fn stop(mut self) -> Result<()> {
        self.client.clone().close().await.context("cannot end the session")?;
        self.process.kill().await.context("cannot end the driver")
    }
}

async fn connect(port: u16, program: &Path, arguments: &[String]) -> Result<Client> {
    let options = json!({ "webkitgtk:browserOptions": { "binary": program, "args": arguments } });
    let capabilities = options.as_object().cloned().unwrap_or_default();
    let address = format!("http://127.0.0.1:{port}");
    loop {
        let mut builder = ClientBuilder::new(HttpConnector::new());
        match builder.capabilities(capabilities.clone()).connect(&address).await {
            Ok(client) => return Ok(client),
            // The driver is not listening yet.
            Err(NewSessionError::Failed(_) | NewSessionError::FailedC(_)) => {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            Err(error) => return Err(error).context("the driver did not open the window"),
        }
    }
}

fn free_port() -> Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).context("no free port")?;
    Ok(listener.local_addr().context("no free port")?.port())
}
