//! A person's home for one test, and the real program in it.

#![allow(dead_code, reason = "each test file uses its own part")]

#[cfg(target_os = "linux")]
pub(crate) mod session;
pub(crate) mod terminal;

use std::{
    io::{BufRead, BufReader, Read, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use sandbook_test_support::{PATIENCE, python};
use serde_json::Value;

/// Folders of its own. What was started in it is ended with it.
pub(crate) struct Home {
    folder: tempfile::TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        // Short, because a socket's path has to fit into 108 bytes.
        Self { folder: tempfile::Builder::new().prefix("sbc-").tempdir_in("/tmp").unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    /// `sandbook` with these arguments.
    pub(crate) fn sandbook(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sandbook"));
        let bin = python().parent().unwrap().display().to_string();
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env("HOME", self.folder.path())
            .env("PATH", format!("{bin}:/usr/bin:/bin"))
            .env("SANDBOOK_CONFIG_DIR", self.path("config"))
            .env("SANDBOOK_DATA_DIR", self.path("data"))
            .env("SANDBOOK_STATE_DIR", self.path("state"))
            .env("SANDBOOK_RUNTIME_DIR", self.path("run"))
            .env("SANDBOOK_LEAVE_AFTER", "1")
            .env_remove("SANDBOOK_TOKEN")
            .env_remove("VIRTUAL_ENV")
            .stdin(Stdio::null());
        command
    }

    /// The same where there is no Python, but the worker of Monty.
    pub(crate) fn sandbook_without_python(&self, arguments: &[&str]) -> Command {
        let programs = self.path("programs");
        std::fs::create_dir_all(&programs).unwrap();
        drop(std::os::unix::fs::symlink(python().with_file_name("monty"), programs.join("monty")));
        let mut command = self.sandbook(arguments);
        command.env("PATH", programs).env_remove("CONDA_PREFIX");
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        Ran::of(self.sandbook(arguments).output().unwrap())
    }

    /// Runs with something on standard input.
    pub(crate) fn run_with_input(&self, arguments: &[&str], input: &str) -> Ran {
        let mut child = self
            .sandbook(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        Ran::of(child.wait_with_output().unwrap())
    }

    /// The place of this home's owner.
    pub(crate) fn place(&self) -> sandbook_client::Place {
        sandbook_client::Place::new(self.path("run"), self.path("owner.stderr"))
    }

    /// Everything that was written under the state and config folders.
    pub(crate) fn everything_written(&self) -> String {
        let mut text = String::new();
        for name in ["state", "config", "run", "data"] {
            gather(&self.path(name), &mut text);
        }
        text
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = self.sandbook(&["quit", "--force"]).output();
        let owner = self.place().owner_process();
        let gone = wait_until(|| owner.is_none_or(|owner| !is_alive(owner)));
        if !gone && let Some(owner) = owner {
            signal(owner, "KILL");
        }
    }
}

fn gather(folder: &Path, text: &mut String) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            gather(&entry.path(), text);
        } else if let Ok(bytes) = std::fs::read(entry.path()) {
            text.push_str(&String::from_utf8_lossy(&bytes));
        }
    }
}

/// What a run came to.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    pub(crate) fn of(output: Output) -> Self {
        Self {
            status: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    pub(crate) fn lines(&self) -> Vec<Value> {
        self.stdout
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
            .collect()
    }
}

/// A run that goes on. Dropping it kills it.
pub(crate) struct Running {
    child: Child,
    lines: Option<BufReader<std::process::ChildStdout>>,
}

impl Running {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = child.stdout.take().map(BufReader::new);
        Self { child, lines }
    }

    /// Starts a run that reads its standard input from [`Running::type_line`].
    pub(crate) fn start_with_input(mut command: Command) -> Self {
        command.stdin(Stdio::piped());
        Self::start(command)
    }

    pub(crate) fn type_line(&mut self, line: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The next line of standard output, which has to come.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.as_mut().unwrap().read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Closes this end of its standard output, and waits for its end.
    pub(crate) fn stop_reading(mut self) -> Ran {
        self.lines = None;
        self.end()
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> Ran {
        let (mut stdout, mut stderr) = (String::new(), String::new());
        if let Some(lines) = &mut self.lines {
            lines.read_to_string(&mut stdout).unwrap();
        }
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        let status = self.child.wait().unwrap().code().unwrap_or(-1);
        Ran { status, stdout, stderr }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn signal(process: u32, name: &str) {
    Command::new("kill").args([&format!("-{name}"), &process.to_string()]).status().unwrap();
}

/// Whether a process lives. One that waits for its parent to look does not.
pub(crate) fn is_alive(process: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{process}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or_default().trim_start().starts_with('Z'))
}

/// The children of a process that run a program of this name.
pub(crate) fn children_named(parent: u32, name: &str) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let processes = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_one = |process: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        let parents = stat.rsplit(')').next().and_then(|after| after.split_whitespace().nth(1));
        stat.contains(&format!("({name})")) && parents == Some(&parent.to_string())
    };
    processes.filter(is_one).collect()
}

pub(crate) fn wait_until(mut condition: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while !condition() {
        if start.elapsed() > PATIENCE {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    true
}
