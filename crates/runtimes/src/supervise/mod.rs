//! Children of this computer that never outlive their owner.
//!
//! [`run`] is the whole of `sandbook supervise -- PROGRAM ARGUMENTS…`, a process between the owner and one child. It
//! gives the child a process group of its own and watches its own standard input, a pipe that only the owner holds:
//! when the pipe closes, whether the owner ended well, crashed or was killed, the group is asked to end and killed one
//! second later. A line `survive` on the pipe switches that off.
//!
//! It reports on standard output, one JSON line each: [`Report::Started`] or [`Report::Failed`], and at the end
//! [`Report::Ended`] with exit code, signal and peak memory. What the child writes goes to standard error, both of its
//! streams. [`Child`] is the owner's side. [`Guard`] is for processes that somebody else started.

mod child;
mod guard;
pub(crate) mod keys;
mod platform;

use std::{
    ffi::OsString,
    io::{self, BufRead, Write},
    process::{Command, ExitCode, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use serde::{Deserialize, Serialize};

pub use self::{
    child::{Child, Exit, Launch},
    guard::{Guard, Guarded},
};

/// How long a group has to end by itself before it is killed.
const GRACE: Duration = Duration::from_secs(1);
/// The word on the pipe after which the child may outlive the owner.
const SURVIVE: &str = "survive";

/// One line of a supervisor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Report {
    /// The child runs.
    Started {
        /// Its process id, which is also the id of its group.
        pid: u32,
    },
    /// The child could not be started.
    Failed {
        /// The operating system's word.
        reason: String,
    },
    /// The child has ended.
    Ended(Exit),
}

fn report(report: &Report) {
    let line = serde_json::to_string(report).unwrap_or_default();
    let mut out = io::stdout().lock();
    // an owner that is gone reads no reports
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// Starts a program, waits for its end, and reports; `words` are the program and its arguments, after `--` if any. The
/// exit code is the child's own, 128 and the signal, or 127 when it could not be started. Blocks; meant to be the whole
/// of a process. With the word `--guard` alone it is a guard instead.
pub fn run(words: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut words = words.into_iter().peekable();
    if words.next_if(|word| word == guard::GUARD).is_some() {
        return guard::run(io::stdin().lock());
    }
    words.next_if(|word| word == "--");
    ExitCode::from(supervise(words))
}

fn supervise(mut words: impl Iterator<Item = OsString>) -> u8 {
    let Some(program) = words.next() else {
        report(&Report::Failed { reason: "no program was named".into() });
        return 127;
    };
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::null());
    let started = platform::both_streams_to_stderr(&mut command).and_then(|()| {
        platform::own_group(&mut command);
        platform::name_parent(&mut command);
        command.spawn()
    });
    let mut child = match started {
        Ok(child) => child,
        Err(error) => {
            report(&Report::Failed { reason: error.to_string() });
            return 127;
        }
    };
    let pid = child.id();
    report(&Report::Started { pid });
    let ended = Arc::new(AtomicBool::new(false));
    thread::spawn({
        let ended = ended.clone();
        move || kill_when_owner_goes(pid, &ended)
    });
    let status = child.wait();
    ended.store(true, Ordering::SeqCst);
    let exit =
        status.map_or_else(|_| Exit::default(), |status| platform::exit(status, platform::peak_memory()));
    report(&Report::Ended(exit));
    let code = exit.code.or(exit.signal.map(|signal| 128 + signal)).unwrap_or(1);
    u8::try_from(code & 0xFF).unwrap_or(1)
}

fn kill_when_owner_goes(pid: u32, ended: &AtomicBool) {
    for line in io::stdin().lock().lines() {
        match line {
            Ok(line) if line.trim() == SURVIVE => return,
            Ok(_) => {}
            Err(_) => break,
        }
    }
    if ended.load(Ordering::SeqCst) {
        return;
    }
    platform::ask_group_to_end(pid);
    thread::sleep(GRACE);
    if !ended.load(Ordering::SeqCst) {
        platform::kill_group(pid);
    }
}
