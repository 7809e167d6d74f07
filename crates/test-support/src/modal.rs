//! The stand-in of Modal, and what was asked of it.

use std::{
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use serde_json::Value;
use tempfile::TempDir;
use url::Url;

use crate::{Killed, PATIENCE, python};

/// A stand-in of Modal that runs.
#[derive(Debug)]
pub struct Modal {
    process: Killed,
    /// Where its control plane is.
    pub url: Url,
    /// Where its router of commands is.
    pub router: Url,
    /// The token pair that it takes, as a person pastes it.
    pub pair: String,
    state: TempDir,
}

impl Modal {
    /// Starts it, with options of `tests/standins/modal_standin.py`.
    ///
    /// # Panics
    /// Where it does not start.
    pub fn start(options: &[&str]) -> Self {
        let state = tempfile::Builder::new().prefix("modal").tempdir().unwrap();
        let mut command = Command::new(python());
        command.arg("-B").arg(Self::folder().join("modal_standin.py"));
        command.arg("--state").arg(state.path());
        // sandboxes find the tests' Python first
        command.arg("--path").arg(python().parent().unwrap());
        command.args(options).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut process = Killed(command.spawn().unwrap());
        let mut told = String::new();
        BufReader::new(process.0.stdout.take().unwrap()).read_line(&mut told).unwrap();
        let told: Value = serde_json::from_str(&told).expect("the stand-in says where it is");
        let text = |name: &str| told[name].as_str().unwrap();
        let url = |name: &str| text(name).parse().unwrap();
        let pair = format!("{} {}", text("token_id"), text("token_secret"));
        Self { url: url("url"), router: url("router"), pair, process, state }
    }

    /// Where the stand-ins are.
    pub fn folder() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/standins")
    }

    /// Everything that was asked, in order.
    ///
    /// # Panics
    /// Where it keeps no record.
    pub fn record(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.state.path().join("calls.jsonl")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// What sandboxes were asked for.
    pub fn creates(&self) -> Vec<Value> {
        self.record().into_iter().filter_map(|entry| entry.get("create").cloned()).collect()
    }

    /// How often something was called.
    pub fn count(&self, call: &str) -> usize {
        self.record().iter().filter(|entry| entry["call"] == call).count()
    }

    /// The sandboxes that run, by their folders.
    ///
    /// # Panics
    /// Where its folder cannot be read.
    pub fn running(&self) -> Vec<String> {
        let record = self.record();
        let ended: Vec<&str> = record.iter().filter_map(|entry| entry["ended"].as_str()).collect();
        let entries = std::fs::read_dir(self.state.path()).unwrap().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        names.filter(|name| name.starts_with("sb-") && !ended.contains(&name.as_str())).collect()
    }

    /// Waits until no sandbox runs.
    ///
    /// # Panics
    /// Where one goes on.
    pub async fn until_none_runs(&self) {
        let none = async {
            while !self.running().is_empty() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let waited = tokio::time::timeout(PATIENCE, none).await;
        assert!(waited.is_ok(), "still running: {:?}", self.running());
    }

    /// Ends it at once, with everything in it.
    pub fn kill(&mut self) {
        drop(self.process.0.kill());
        drop(self.process.0.wait());
    }
}
