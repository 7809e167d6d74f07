//! A real terminal with a command in it.

use std::{
    io::{BufRead, BufReader, Read, Write},
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
    sync::{Arc, Mutex},
    thread::JoinHandle,
};

use sandbook_test_support::python;

use super::{is_alive, signal, wait_until};

/// Runs a command at a terminal of its own and carries bytes both ways. Where its input ends it hangs up.
const CARRIER: &str = r#"
import fcntl, os, pty, select, struct, sys, termios
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 160, 0, 0))
out = sys.stdout.buffer
out.write(f"{pid}\n".encode())
out.flush()
while terminal is not None:
    ready, _, _ = select.select([terminal, 0], [], [])
    if terminal in ready:
        try:
            piece = os.read(terminal, 65536)
        except OSError:
            piece = b""
        if not piece:
            break
        out.write(piece)
        out.flush()
    if 0 in ready:
        typed = os.read(0, 4096)
        if typed:
            os.write(terminal, typed)
        else:
            os.close(terminal)
            terminal = None
code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
sys.exit(code if code >= 0 else 128 - code)
"#;

/// A command at a terminal. Dropping it kills it.
pub(crate) struct Terminal {
    carrier: Child,
    process: u32,
    keys: Option<ChildStdin>,
    shown: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
    /// How much of what was shown has been waited for.
    seen: usize,
}

impl Terminal {
    pub(crate) fn start(own: &Command) -> Self {
        let mut command = Command::new(python());
        command.args(["-c", CARRIER]).arg(own.get_program()).args(own.get_args());
        for (name, value) in own.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        if let Some(folder) = own.get_current_dir() {
            command.current_dir::<&Path>(folder);
        }
        command.env("TERM", "xterm").env_remove("NO_COLOR");
        let mut carrier = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut from = BufReader::new(carrier.stdout.take().unwrap());
        let mut process = String::new();
        from.read_line(&mut process).unwrap();
        let shown = Arc::new(Mutex::new(Vec::new()));
        let into = shown.clone();
        let reader = std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(length @ 1..) = from.read(&mut piece) {
                into.lock().unwrap().extend_from_slice(&piece[..length]);
            }
        });
        Self {
            process: process.trim().parse().unwrap(),
            keys: carrier.stdin.take(),
            carrier,
            shown,
            reader: Some(reader),
            seen: 0,
        }
    }

    /// The process id of the command.
    pub(crate) fn id(&self) -> u32 {
        self.process
    }

    /// Everything that was shown, without colours and movements.
    pub(crate) fn shown(&self) -> String {
        anstream::adapter::strip_str(&String::from_utf8_lossy(&self.shown.lock().unwrap())).to_string()
    }

    /// Presses keys.
    pub(crate) fn press(&mut self, keys: &str) {
        let pipe = self.keys.as_mut().unwrap();
        pipe.write_all(keys.as_bytes()).unwrap();
        pipe.flush().unwrap();
    }

    /// Waits until a text is shown after what was waited for before, and gives what is in between.
    pub(crate) fn wait_for(&mut self, text: &str) -> String {
        let mut found = None;
        wait_until(|| {
            let shown = self.shown();
            let rest = shown.get(self.seen..).unwrap_or_default();
            found = rest.find(text).map(|at| (rest[..at].to_owned(), self.seen + at + text.len()));
            found.is_some()
        });
        let (between, seen) = found.unwrap_or_else(|| panic!("{text:?} was not shown:\n{}", self.shown()));
        self.seen = seen;
        between
    }

    /// Types a line where one is awaited.
    pub(crate) fn enter(&mut self, line: &str) {
        self.press(line);
        self.press("\r");
    }

    /// Waits for a prompt with nothing behind it: one that is drawn anew has what was typed.
    pub(crate) fn prompt(&mut self) {
        let mut length = 0;
        let shown = wait_until(|| {
            let shown = self.shown();
            length = shown.len();
            // The cursor is put behind it, from the left.
            length > self.seen && shown.trim_end_matches('\r').ends_with(">>> ")
        });
        assert!(shown, "there is no prompt:\n{}", self.shown());
        self.seen = length;
    }

    /// Types code at the prompt and waits for what it shows.
    pub(crate) fn run(&mut self, code: &str, shows: &str) -> String {
        self.prompt();
        self.enter(code);
        self.wait_for(shows)
    }

    /// Closes the terminal, as a window that is closed does.
    pub(crate) fn hang_up(&mut self) {
        self.keys = None;
    }

    /// Waits for the end of the command, and gives its status.
    pub(crate) fn end(&mut self) -> i32 {
        let status = self.carrier.wait().unwrap().code().unwrap_or(-1);
        if let Some(reader) = self.reader.take() {
            reader.join().unwrap();
        }
        status
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if self.carrier.try_wait().is_ok_and(|ended| ended.is_none()) {
            if is_alive(self.process) {
                signal(self.process, "KILL");
            }
            let _ = self.carrier.kill();
            let _ = self.carrier.wait();
        }
    }
}
