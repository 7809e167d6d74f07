//! Where one scenario runs: a runtime, settings, and folders of its own.

use std::{any::Any, path::PathBuf, sync::Arc, time::Duration};

use sandbook_runtimes::{Surrounding, python::Surroundings};
use sandbook_sandbox::{CreateRequest, Progress, Runtime, SandboxError, SandboxSettings};
use secrecy::SecretString;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::Live;

/// How long what a runtime started may take to go once nobody holds it.
const LEAVING: Duration = Duration::from_secs(10);

/// Where one scenario runs.
pub struct Stage {
    /// The runtime.
    pub runtime: Arc<dyn Runtime>,
    /// The settings with which a scenario starts.
    pub settings: SandboxSettings,
    /// The credential, where one is needed.
    pub credential: Option<SecretString>,
    /// The folder where code runs, as the runtime calls it.
    pub work: PathBuf,
    /// Whether the kernel is somebody else's, and every sandbox is that one kernel.
    pub shared: bool,
    /// What was started for it; goes with it.
    pub started: Option<Box<dyn Any + Send + Sync>>,
    /// What it left elsewhere than in its folders, by name.
    pub left: Option<Box<dyn Fn() -> Vec<String> + Send + Sync>>,
    pub(crate) folders: Folders,
}

/// Folders of a scenario.
pub struct Folders(TempDir);

impl Folders {
    /// New ones.
    ///
    /// # Panics
    /// Where none can be made.
    pub fn new() -> Self {
        drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
        // Short, because a socket's path has to fit into 108 bytes.
        let folder = tempfile::Builder::new().prefix("sbc").tempdir_in("/tmp").unwrap();
        std::fs::create_dir(folder.path().join("work")).unwrap();
        Self(folder)
    }

    /// All of them.
    pub fn root(&self) -> PathBuf {
        self.0.path().canonicalize().unwrap_or_default()
    }

    /// Where code runs.
    pub fn work(&self) -> PathBuf {
        self.root().join("work")
    }

    /// Where runtimes keep what lives as long as a sandbox.
    fn run(&self) -> PathBuf {
        self.0.path().join("run")
    }

    /// What runtimes need, in these folders. Children run under the real supervisor where the program was built.
    pub fn surrounding(&self) -> Surrounding {
        let program = std::env::var_os("SANDBOOK_TEST_PROGRAM");
        Surrounding {
            run_folder: self.run(),
            supervisor: program.map(|program| vec![program, "supervise".into()]),
            data_folders: Vec::new(),
            pythons: Surroundings::default(),
        }
    }
}

impl Default for Folders {
    fn default() -> Self {
        Self::new()
    }
}

impl Stage {
    /// A stage in folders, without anything around it.
    pub fn new(runtime: Arc<dyn Runtime>, settings: SandboxSettings, folders: Folders) -> Self {
        let work = folders.work();
        Self { runtime, settings, credential: None, work, shared: false, started: None, left: None, folders }
    }

    /// What to ask the runtime for, after a change of the settings.
    pub fn request(&self, change: impl FnOnce(&mut SandboxSettings)) -> CreateRequest {
        let mut settings = self.settings.clone();
        change(&mut settings);
        CreateRequest {
            settings,
            credential: self.credential.clone(),
            progress: Progress::none(),
            cancel: CancellationToken::new(),
        }
    }

    /// A sandbox as the settings have it.
    pub async fn sandbox(&self) -> Result<Live, SandboxError> {
        self.sandbox_with(|_| {}).await
    }

    /// A sandbox after a change of the settings.
    pub async fn sandbox_with(
        &self,
        change: impl FnOnce(&mut SandboxSettings),
    ) -> Result<Live, SandboxError> {
        self.runtime.create(self.request(change)).await.map(Live::new)
    }

    /// The folder where code runs, as this computer calls it.
    pub fn real_work(&self) -> PathBuf {
        self.folders.work()
    }

    /// Whether nothing is left of any sandbox any more, in a moment: in the folder for those that run, or elsewhere.
    pub async fn is_left_empty(&self) -> Result<(), String> {
        let left = || {
            let entries = std::fs::read_dir(self.folders.run()).into_iter().flatten().flatten();
            let entries = entries.map(|entry| entry.path().display().to_string());
            entries.chain(self.left.iter().flat_map(|left| left())).collect::<Vec<_>>()
        };
        let start = std::time::Instant::now();
        while !left().is_empty() {
            if start.elapsed() > LEAVING {
                return Err(format!("left behind: {}", left().join(", ")));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }
}
