//! Starting programs so that none of them outlives us.
//!
//! Each program gets a process group of its own, which is killed as a whole when it is dropped or when we are told to
//! stop. A descendant that leaves its group is not lost either: we are the subreaper of everything below us, so what
//! loses its parent becomes our child, where [`end_strays`] finds it and names it.

use std::collections::BTreeSet;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

/// The process groups that are running now.
static GROUPS: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// How long a program may take to end after it was asked to.
const GRACE: Duration = Duration::from_secs(5);

fn groups() -> MutexGuard<'static, BTreeSet<i32>> {
    GROUPS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on an interrupt, a hang-up or a request to end also ends everything we started.
pub(crate) fn watch_for_signals() -> Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    nix::sys::prctl::set_child_subreaper(true).context("cannot become the subreaper")?;
    let mut signals =
        signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]).context("cannot watch for signals")?;
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            let running: Vec<i32> = groups().iter().copied().collect();
            for group in &running {
                let _ = killpg(Pid::from_raw(*group), Signal::SIGTERM);
            }
            std::thread::sleep(Duration::from_millis(500));
            for group in &running {
                let _ = killpg(Pid::from_raw(*group), Signal::SIGKILL);
            }
            let _ = end_strays();
            std::process::exit(128 + signal);
        }
    });
    Ok(())
}

/// A running program with its process group. Dropping it ends the whole group.
pub(crate) struct Group {
    child: Child,
}

impl Group {
    /// Starts a program in a process group of its own.
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        command.process_group(0);
        let child = command.spawn().with_context(|| format!("cannot start {}", name(command)))?;
        groups().insert(child.id().cast_signed());
        Ok(Self { child })
    }

    /// What the program writes to its standard output, where that was asked for.
    pub(crate) fn output(&mut self) -> Result<std::process::ChildStdout> {
        self.child.stdout.take().context("the program's output was not asked for")
    }

    /// The program's standard input, where that was asked for.
    pub(crate) fn input(&mut self) -> Result<std::process::ChildStdin> {
        self.child.stdin.take().context("the program's input was not asked for")
    }

    /// Waits for the program, then ends what is left of its group. Returns whether it succeeded.
    pub(crate) fn wait(mut self) -> Result<bool> {
        Ok(self.child.wait().context("cannot wait for a program")?.success())
    }

    fn group(&self) -> i32 {
        self.child.id().cast_signed()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let group = Pid::from_raw(self.group());
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = killpg(group, Signal::SIGTERM);
            let asked = Instant::now();
            while asked.elapsed() < GRACE && matches!(self.child.try_wait(), Ok(None)) {
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        let _ = killpg(group, Signal::SIGKILL);
        let _ = self.child.wait();
        groups().remove(&self.group());
    }
}

/// Runs a program to its end, its output going where ours goes. Returns whether it succeeded.
pub(crate) fn succeeds(command: &mut Command) -> Result<bool> {
    Group::start(command.stdin(Stdio::null()))?.wait()
}

/// Runs a program that must succeed.
pub(crate) fn must_succeed(command: &mut Command) -> Result<()> {
    if !succeeds(command)? {
        bail!("{} failed", name(command));
    }
    Ok(())
}

/// Runs a program that may talk to the person at the terminal, which only the foreground group can.
pub(crate) fn in_foreground(command: &mut Command) -> Result<bool> {
    Ok(command.status().with_context(|| format!("cannot start {}", name(command)))?.success())
}

/// What a program prints, if it can be started and succeeds.
pub(crate) fn printed(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Whether a program of this name is on the path.
pub(crate) fn is_on_path(program: &str) -> bool {
    find_on_path(program).is_some()
}

/// Where a program of this name is on the path.
pub(crate) fn find_on_path(program: &str) -> Option<std::path::PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// Ends what was left running below us by programs that are gone, and says what it was.
pub(crate) fn end_strays() -> Vec<String> {
    let mut ended = Vec::new();
    if !matches!(nix::sys::prctl::get_child_subreaper(), Ok(true)) {
        return ended;
    }
    // A stray may leave strays of its own, which become our children only after it has ended.
    for _ in 0..10 {
        let strays = strays();
        if strays.is_empty() {
            break;
        }
        for (pid, title) in strays {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
            ended.push(title);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    ended
}

/// Our children that we did not start ourselves, after the finished ones among them were reaped.
fn strays() -> Vec<(i32, String)> {
    let own = groups().clone();
    let mut found = Vec::new();
    for pid in children() {
        if own.contains(&pid) {
            continue;
        }
        if let Ok(WaitStatus::StillAlive) = waitpid(Pid::from_raw(pid), Some(WaitPidFlag::WNOHANG)) {
            found.push((pid, title(pid)));
        }
    }
    found
}

fn children() -> Vec<i32> {
    let own = std::process::id();
    let tasks = std::fs::read_dir(format!("/proc/{own}/task")).into_iter().flatten().flatten();
    tasks
        .filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok())
        .flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<i32>>())
        .collect()
}

fn title(pid: i32) -> String {
    let mut words = Vec::new();
    let read = std::fs::File::open(format!("/proc/{pid}/cmdline"))
        .and_then(|file| file.take(400).read_to_end(&mut words));
    if read.is_err() || words.is_empty() {
        return format!("process {pid}");
    }
    String::from_utf8_lossy(&words).replace('\0', " ").trim().to_owned()
}

fn name(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_group_ends_with_its_descendants() {
        let mut group =
            Group::start(Command::new("sh").args(["-c", "sleep 600 & echo $!; wait"]).stdout(Stdio::piped()))
                .expect("sh starts");
        let mut line = [0; 16];
        let length = group.output().expect("piped").read(&mut line).expect("a line");
        let descendant: i32 = String::from_utf8_lossy(&line[..length]).trim().parse().expect("a process id");
        drop(group);
        let deadline = Instant::now() + Duration::from_secs(5);
        while is_running(descendant) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(!is_running(descendant));
    }

    fn is_running(pid: i32) -> bool {
        std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z"))
    }

    #[test]
    fn a_failing_program_is_told_from_a_missing_one() {
        assert!(!succeeds(&mut Command::new("false")).expect("false starts"));
        assert!(succeeds(&mut Command::new("a-program-that-is-not-there")).is_err());
    }
}
