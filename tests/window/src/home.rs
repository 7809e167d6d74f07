//! A person's home that belongs to one test.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::process::Command;

use crate::given;

/// The folders a person's programs use, and a folder for notebooks. Dropping it ends every program that was started in
/// it and is still there.
pub struct Home {
    folder: tempfile::TempDir,
}

/// Set for every program of a home, and found again in its environment.
const MARK: &str = "SANDBOOK_TEST_HOME";

impl Home {
    /// Makes an empty one.
    ///
    /// # Errors
    /// When the folders cannot be made.
    pub fn new() -> Result<Self> {
        // Short, because the sockets inside have to fit into 108 bytes.
        let folder =
            tempfile::Builder::new().prefix("sb-").tempdir_in("/tmp").context("cannot make a home")?;
        for name in ["run", "data", "config", "state", "cache", "bin", "notebooks"] {
            make_private(&folder.path().join(name))?;
        }
        let home = Self { folder };
        home.replace_browser()?;
        Ok(home)
    }

    /// Puts a program in the place of the person's browser that only notes what it was asked to open.
    fn replace_browser(&self) -> Result<()> {
        use std::os::unix::fs::PermissionsExt;
        let program = self.folder.path().join("bin/xdg-open");
        let script = format!("#!/bin/sh\necho \"$1\" >> '{}'\n", self.opened_list().display());
        std::fs::write(&program, script).context("cannot write the browser's replacement")?;
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755))?;
        Ok(())
    }

    fn opened_list(&self) -> PathBuf {
        self.folder.path().join("opened")
    }

    /// The addresses that were handed to the person's browser.
    #[must_use]
    pub fn opened(&self) -> Vec<String> {
        let list = std::fs::read_to_string(self.opened_list()).unwrap_or_default();
        list.lines().map(str::to_owned).collect()
    }

    /// The folder for notebooks.
    #[must_use]
    pub fn notebooks(&self) -> PathBuf {
        self.folder.path().join("notebooks")
    }

    /// A command whose program lives in this home, with the tests' Python first on the path.
    ///
    /// # Errors
    /// When it is not known which Python that is.
    pub fn command(&self, program: &Path) -> Result<Command> {
        let python = given("SANDBOOK_TEST_PYTHON")?;
        let first = [Some(self.folder.path().join("bin")), python.parent().map(Path::to_path_buf)];
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(first.into_iter().flatten().chain(std::env::split_paths(&path)))?;
        let mut command = Command::new(program);
        command.stdin(Stdio::null()).kill_on_drop(true).current_dir(self.notebooks());
        command.env(MARK, self.folder.path()).env("PATH", path);
        for (variable, name) in [
            ("XDG_RUNTIME_DIR", "run"),
            ("XDG_DATA_HOME", "data"),
            ("XDG_CONFIG_HOME", "config"),
            ("XDG_STATE_HOME", "state"),
            ("XDG_CACHE_HOME", "cache"),
        ] {
            command.env(variable, self.folder.path().join(name));
        }
        Ok(command)
    }

    /// The programs of this home that run now, as process ids with their command lines.
    #[must_use]
    pub fn running(&self) -> Vec<(i32, String)> {
        let mark = format!("{MARK}={}", self.folder.path().display());
        let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        processes
            .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
            .filter(|pid| holds(*pid, &mark))
            .map(|pid| (pid, command_line(pid)))
            .collect()
    }

    /// Sends a signal to every program of this home whose command line holds a text. Returns how many there were.
    ///
    /// # Errors
    /// When a signal cannot be sent.
    pub fn signal(&self, text: &str, signal: Signal) -> Result<usize> {
        let chosen: Vec<_> = self.running().into_iter().filter(|(_, line)| line.contains(text)).collect();
        for (pid, line) in &chosen {
            kill(Pid::from_raw(*pid), signal).with_context(|| format!("cannot signal {line}"))?;
        }
        Ok(chosen.len())
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // What one of them starts while we look is found in the next round.
        for _ in 0..50 {
            let running = self.running();
            if running.is_empty() {
                return;
            }
            for (pid, _) in running {
                let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

fn holds(pid: i32, mark: &str) -> bool {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes())
}

fn command_line(pid: i32) -> String {
    let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&words).replace('\0', " ").trim().to_owned()
}

fn make_private(folder: &Path) -> Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new()
        .mode(0o700)
        .create(folder)
        .with_context(|| format!("cannot make {}", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_dropped_home_ends_what_still_runs_in_it() {
        let home = Home::new().expect("a home");
        let mut script = home.command(Path::new("/bin/sh")).expect("a Python");
        script.args(["-c", "sleep 600 & sleep 601"]);
        let mut shell = script.spawn().expect("sh starts");
        while home.running().len() < 3 {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        let pids: Vec<i32> = home.running().iter().map(|(pid, _)| *pid).collect();
        drop(home);
        shell.wait().await.expect("sh has ended");
        for pid in pids {
            assert!(!holds(pid, MARK), "{pid} runs on");
            assert!(command_line(pid).is_empty(), "{pid} runs on");
        }
    }
}
