//! What differs by operating system: process groups, signals, memory.

#[cfg(not(unix))]
pub(super) use other::{
    ask_group_to_end, both_streams_to_stderr, exit, interrupt_group, kill_group, kill_process, name_parent,
    own_group, peak_memory,
};
#[cfg(unix)]
pub(super) use unix::{
    ask_group_to_end, both_streams_to_stderr, exit, interrupt_group, kill_group, kill_process, name_parent,
    own_group, peak_memory,
};

#[cfg(unix)]
mod unix {
    use std::{
        io,
        os::{
            fd::AsFd,
            unix::process::{CommandExt, ExitStatusExt},
        },
        process::{Command, ExitStatus, Stdio},
    };

    use nix::{
        sys::{
            resource::{UsageWho, getrusage},
            signal::{Signal, kill, killpg},
        },
        unistd::Pid,
    };

    use crate::supervise::Exit;

    pub(in crate::supervise) fn own_group(command: &mut Command) {
        command.process_group(0);
    }

    /// A Jupyter kernel ends itself when this process is its parent no more.
    pub(in crate::supervise) fn name_parent(command: &mut Command) {
        command.env("JPY_PARENT_PID", std::process::id().to_string());
    }

    pub(in crate::supervise) fn both_streams_to_stderr(command: &mut Command) -> io::Result<()> {
        let stderr = io::stderr().as_fd().try_clone_to_owned()?;
        command.stdout(Stdio::from(stderr)).stderr(Stdio::inherit());
        Ok(())
    }

    fn signal_group(pid: u32, signal: Signal) -> bool {
        // pid 0 would mean our own group
        i32::try_from(pid).is_ok_and(|pid| pid > 1 && killpg(Pid::from_raw(pid), signal).is_ok())
    }

    pub(in crate::supervise) fn ask_group_to_end(pid: u32) {
        signal_group(pid, Signal::SIGTERM);
    }

    pub(in crate::supervise) fn kill_group(pid: u32) {
        signal_group(pid, Signal::SIGKILL);
    }

    pub(in crate::supervise) fn kill_process(pid: u32) {
        // pid 0 would mean our own group
        if let Some(pid) = i32::try_from(pid).ok().filter(|pid| *pid > 1).map(Pid::from_raw) {
            // one that is gone is what was wanted
            let _ = kill(pid, Signal::SIGKILL);
        }
    }

    pub(in crate::supervise) fn interrupt_group(pid: u32) -> bool {
        signal_group(pid, Signal::SIGINT)
    }

    /// Peak memory in bytes of the largest child that has been waited for.
    pub(in crate::supervise) fn peak_memory() -> Option<u64> {
        let usage = getrusage(UsageWho::RUSAGE_CHILDREN).ok()?;
        let unit = if cfg!(target_os = "macos") { 1 } else { 1024 };
        u64::try_from(usage.max_rss()).ok().map(|size| size * unit)
    }

    pub(in crate::supervise) fn exit(status: ExitStatus, peak_memory: Option<u64>) -> Exit {
        Exit { code: status.code(), signal: status.signal(), peak_memory }
    }
}

#[cfg(not(unix))]
mod other {
    use std::{
        io,
        process::{Command, ExitStatus, Stdio},
    };

    use crate::supervise::Exit;

    pub(in crate::supervise) fn own_group(_: &mut Command) {}

    /// Here kernels expect a handle that they inherit, which safe code cannot give them.
    pub(in crate::supervise) fn name_parent(_: &mut Command) {}

    pub(in crate::supervise) fn both_streams_to_stderr(command: &mut Command) -> io::Result<()> {
        command.stdout(Stdio::null()).stderr(Stdio::inherit());
        Ok(())
    }

    pub(in crate::supervise) fn ask_group_to_end(_: u32) {}

    pub(in crate::supervise) fn kill_group(pid: u32) {
        let _ = Command::new("taskkill").args(["/T", "/F", "/PID", &pid.to_string()]).status();
    }

    pub(in crate::supervise) fn kill_process(pid: u32) {
        kill_group(pid);
    }

    /// Not possible from outside of the console: such kernels are interrupted by message.
    pub(in crate::supervise) fn interrupt_group(_: u32) -> bool {
        false
    }

    pub(in crate::supervise) fn peak_memory() -> Option<u64> {
        None
    }

    pub(in crate::supervise) fn exit(status: ExitStatus, peak_memory: Option<u64>) -> Exit {
        Exit { code: status.code(), signal: None, peak_memory }
    }
}
