//! What tests of containers share: a notebook's folder of a person who is not root, and containers that see it.

#![allow(dead_code, unreachable_pub, missing_docs, clippy::unwrap_used)] // each test program uses a part of it

use std::{os::unix::fs::PermissionsExt as _, sync::Arc};

use sandbook_runtimes::{
    Surrounding,
    docker::{DockerRuntime, DockerSettings, Handle},
};
use sandbook_sandbox::{CreateRequest, Progress, Runtime as _, Sandbox, SandboxError, SandboxSettings};
use sandbook_test_support::{docker, docker_engine, docker_image};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::support::run;

/// The person to whom the tests' notebooks belong.
pub const PERSON: u32 = 1234;

/// A runtime and a notebook's folder of its own.
pub struct Place {
    pub runtime: DockerRuntime,
    pub folder: TempDir,
}

impl Place {
    pub fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("sbd").tempdir().unwrap();
        let notebooks = folder.path().join("notebooks");
        std::fs::create_dir(&notebooks).unwrap();
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        std::os::unix::fs::chown(&notebooks, Some(PERSON), Some(PERSON)).unwrap();
        let surrounding = Surrounding { run_folder: folder.path().join("run"), ..Surrounding::default() };
        Self { runtime: DockerRuntime::new(surrounding), folder }
    }

    pub fn notebooks(&self) -> std::path::PathBuf {
        self.folder.path().join("notebooks")
    }

    pub async fn create(&self, settings: DockerSettings) -> Result<Arc<dyn Sandbox>, SandboxError> {
        self.runtime.create(self.request(&settings)).await
    }

    pub fn request(&self, settings: &DockerSettings) -> CreateRequest {
        CreateRequest {
            settings: SandboxSettings {
                working_directory: Some(self.notebooks()),
                runtime: settings.to_value(),
                ..SandboxSettings::default()
            },
            credential: None,
            progress: Progress::none(),
            cancel: CancellationToken::new(),
        }
    }

    /// The containers that this place's folder is in.
    pub fn containers(&self) -> Vec<String> {
        let (_, list) = docker(&[
            "ps",
            "--all",
            "--quiet",
            "--filter",
            &format!("volume={}", self.notebooks().display()),
        ]);
        list.lines().map(str::to_owned).collect()
    }
}

/// Settings for the tests' engine and image.
pub fn on_engine() -> DockerSettings {
    DockerSettings { engine: Some(docker_engine()), image: Some(docker_image()), ..DockerSettings::default() }
}

pub fn container(sandbox: &Arc<dyn Sandbox>) -> String {
    Handle::read(&sandbox.info().handle).unwrap().container
}

pub async fn text(sandbox: &Arc<dyn Sandbox>, code: &str) -> String {
    let outcome = run(sandbox, code).await;
    assert!(outcome.success(), "{outcome:?}");
    outcome.stdout.text().trim().to_owned()
}
