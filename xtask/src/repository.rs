//! Where things are: the clone, what was built from it, and the cache that outlives it.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The places the commands read and write.
pub(crate) struct Repository {
    root: PathBuf,
    target: PathBuf,
    cache: PathBuf,
}

impl Repository {
    /// Finds them from the program that runs: cargo has put it into the target folder that is in use.
    pub(crate) fn find() -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .context("xtask has no folder above it")?
            .to_path_buf();
        let program = std::env::current_exe().context("this program has no path")?;
        let target = program.ancestors().nth(2).context("this program was not built by cargo")?.to_path_buf();
        Ok(Self { root, target, cache: cache_folder()? })
    }

    /// The top folder of the clone.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The sources of the page.
    pub(crate) fn page(&self) -> PathBuf {
        self.root.join("ui")
    }

    /// The tests that drive a browser.
    pub(crate) fn browser_tests(&self) -> PathBuf {
        self.root.join("tests/browser")
    }

    /// The measures beside the peers.
    pub(crate) fn bench(&self) -> PathBuf {
        self.root.join("tests/bench")
    }

    /// A program of the workspace, built with the development profile.
    pub(crate) fn development_program(&self, name: &str) -> PathBuf {
        self.target.join("debug").join(name)
    }

    /// A program of the workspace, built with the release profile.
    pub(crate) fn release_program(&self, name: &str) -> PathBuf {
        self.target.join("release").join(name)
    }

    /// A folder for what a command makes: reports, packages.
    pub(crate) fn made(&self, name: &str) -> Result<PathBuf> {
        let folder = self.target.join(name);
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(folder)
    }

    /// A folder outside the clone for what is costly to make and is the same for every clone.
    pub(crate) fn cache(&self, name: &str) -> PathBuf {
        self.cache.join(name)
    }
}

/// `SANDBOOK_CACHE_DIR`, or the person's cache folder.
fn cache_folder() -> Result<PathBuf> {
    if let Some(given) = std::env::var_os("SANDBOOK_CACHE_DIR") {
        return Ok(PathBuf::from(given));
    }
    let base = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let base = base.or_else(home).context("neither SANDBOOK_CACHE_DIR nor HOME is set")?;
    Ok(base.join("sandbook"))
}
