//! `sandbook repl`: code that is typed, run in one sandbox until the person leaves.
//!
//! The sandbox is made as `exec` makes it, and ends on every way out: a word, Ctrl-D, a signal, a terminal that is closed,
//! and a kill, for which its supervisor or an attendant sees to it. While code runs the terminal is an ordinary one, so
//! that Ctrl-C is a signal and what is typed ahead waits; while a line is edited, the editor has it ([`lines`]).

mod ask;
mod enter;
mod lines;
mod talk;

use std::io::IsTerminal;

use crate::{
    Ended, arguments, error::CommandError, home, input, logging, output, sandbox::Own, signals::Signals,
};

/// The file with what was typed, in the state folder.
const MEMORY: &str = "repl-history";

/// Takes back what an editor asks of a terminal: to mark what is pasted.
const PASTE_UNMARKED: &str = "\u{1b}[?2004l";

pub(crate) async fn repl(repl: arguments::Repl) -> Ended {
    if !input::is_at_a_terminal() || !std::io::stdout().is_terminal() {
        return Err(CommandError::usage(
            "no_terminal",
            "A session needs a terminal to type at.",
            "To run code from a pipe or a file: sandbook exec - or sandbook exec -f FILE.",
        ));
    }
    let folders = home::folders()?;
    let _logging = logging::begin(&folders, "command", None);
    let mut signals = Signals::watch()?;
    let folder = std::env::current_dir().map_err(|error| {
        CommandError::usage(
            "file_unreadable",
            format!("The folder cannot be read: {error}."),
            "Change to another one.",
        )
    })?;
    let terminal = platform::Terminal::remember();
    let place = ask::place(repl.place, &folders, &folder, &mut signals).await?;
    let own = Own::start(folders.clone(), place, &folder, None, &mut signals).await?;
    let ended = talk::talk(own.sandbox(), folder, folders.state.join(MEMORY), &mut signals).await;
    // Where the editor still waits for a key, it has the terminal as it needs it.
    if terminal.restore() {
        output::text(PASTE_UNMARKED);
    }
    own.stop().await;
    ended
}

#[cfg(unix)]
mod platform {
    use std::io::stdin;

    use nix::sys::termios::{SetArg, Termios, tcgetattr, tcsetattr};

    /// How the terminal was found.
    pub(super) struct Terminal(Option<Termios>);

    impl Terminal {
        pub(super) fn remember() -> Self {
            Self(tcgetattr(stdin()).ok())
        }

        /// Makes it as it was; says whether it was otherwise.
        pub(super) fn restore(self) -> bool {
            let Some(before) = self.0 else { return false };
            if tcgetattr(stdin()).is_ok_and(|now| now.local_flags == before.local_flags) {
                return false;
            }
            tcsetattr(stdin(), SetArg::TCSADRAIN, &before).is_ok()
        }
    }
}

#[cfg(not(unix))]
mod platform {
    /// The console is its own business: see `docs/platforms.md`.
    pub(super) struct Terminal;

    impl Terminal {
        pub(super) fn remember() -> Self {
            Self
        }

        pub(super) fn restore(self) -> bool {
            false
        }
    }
}
