//! The stand-ins of `tests/standins`, in front of a real server.

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Command, Stdio},
};

use serde_json::Value;
use url::Url;

use crate::{Killed, Server, TOKEN, python};

/// A stand-in that runs.
#[derive(Debug)]
pub struct StandIn {
    _process: Killed,
    /// Its address.
    pub url: Url,
}

impl StandIn {
    /// Starts `tests/standins/NAME.py` in front of a server.
    ///
    /// # Panics
    /// Where it does not start.
    pub fn start(name: &str, server: &Server, arguments: &[&str]) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/standins");
        let mut command = Command::new(python());
        // one that never writes what it compiled into the repository
        command.arg("-B").arg(folder.join(name).with_extension("py"));
        command
            .args([server.url.as_str(), TOKEN])
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let mut process = Killed(command.spawn().unwrap());
        let mut port = String::new();
        BufReader::new(process.0.stdout.take().unwrap()).read_line(&mut port).unwrap();
        let url = format!("http://127.0.0.1:{}/", port.trim()).parse().expect("the stand-in says its port");
        Self { _process: process, url }
    }

    /// Asks the stand-in itself, or tells it something.
    ///
    /// # Panics
    /// Where it does not know the question.
    pub async fn ask(&self, question: &str) -> Value {
        let url = self.url.join("__door/").unwrap().join(question).unwrap();
        reqwest::get(url).await.unwrap().error_for_status().unwrap().json().await.unwrap()
    }

    /// The requests that have come, as `GET /api/kernels`.
    ///
    /// # Panics
    /// Where it does not answer.
    pub async fn seen(&self) -> Vec<String> {
        serde_json::from_value(self.ask("seen").await).unwrap()
    }
}
