//! Lines that a person types, or a pipe brings.

use std::{
    io::{self, BufRead, IsTerminal},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use secrecy::{ExposeSecret, SecretString};

use crate::{error::CommandError, signals::Signals};

/// Reads a line without its end; nothing where the input has ended. At a terminal a password is not shown while it is
/// typed.
pub(crate) fn read_line(password: bool) -> io::Result<Option<SecretString>> {
    if password && io::stdin().is_terminal() {
        return match rpassword::read_password() {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            read => read.map(|line| Some(line.into())),
        };
    }
    let mut line = String::new();
    if io::stdin().lock().read_line(&mut line)? == 0 {
        return Ok(None);
    }
    line.truncate(line.trim_end_matches(['\n', '\r']).len());
    Ok(Some(line.into()))
}

/// The same, until `off` says that nobody waits for it any more; nothing then. See [`can_be_called_off`]. A question is
/// shown once nothing is shown any more of what is typed.
pub(crate) fn read_line_until(
    question: &str,
    password: bool,
    off: &AtomicBool,
) -> io::Result<Option<SecretString>> {
    if can_be_called_off() {
        return platform::read_line_until(question, password, off);
    }
    eprint!("{question}");
    read_line(password)
}

/// Whether reading a line can be ended before there is one. A pipe is read by nobody else afterwards, so it need not.
pub(crate) fn can_be_called_off() -> bool {
    cfg!(unix) && io::stdin().is_terminal()
}

/// Whether somebody can be asked.
pub(crate) fn is_at_a_terminal() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks for a line at the terminal, which is not shown while it is typed where it is a secret. Nothing where the input has
/// ended. Ctrl-C gives up.
pub(crate) async fn ask_line(
    question: &str,
    secret: bool,
    signals: &mut Signals,
) -> Result<Option<SecretString>, CommandError> {
    let question = format!("{question}: ");
    let off = Arc::new(AtomicBool::new(false));
    let until = off.clone();
    let mut reading = tokio::task::spawn_blocking(move || read_line_until(&question, secret, &until));
    let unreadable = |error: String| {
        CommandError::infrastructure("failed", format!("The terminal cannot be read: {error}."), "")
    };
    tokio::select! {
        read = &mut reading => {
            read.map_err(|error| unreadable(error.to_string()))?.map_err(|error| unreadable(error.to_string()))
        }
        asked = signals.next() => {
            off.store(true, Ordering::SeqCst);
            if can_be_called_off() {
                // The terminal shows again what is typed.
                let _ = reading.await;
            }
            eprintln!();
            Err(CommandError::infrastructure("cancelled", "Given up before anything was sent.", "")
                .with_status(asked.status()))
        }
    }
}

/// Asks for a secret at the terminal; nothing where nobody can be asked, or nothing was typed.
pub(crate) async fn ask_secret(
    question: &str,
    signals: &mut Signals,
) -> Result<Option<SecretString>, CommandError> {
    if !is_at_a_terminal() {
        return Ok(None);
    }
    let answer = ask_line(question, true, signals).await?;
    Ok(answer.filter(|answer| !answer.expose_secret().trim().is_empty()))
}

/// The same for a command that watches no signals: Ctrl-C ends it.
pub(crate) fn type_secret(question: &str) -> Option<SecretString> {
    if !is_at_a_terminal() {
        return None;
    }
    let never = AtomicBool::new(false);
    let line = read_line_until(&format!("{question}: "), true, &never).ok()??;
    (!line.expose_secret().trim().is_empty()).then_some(line)
}

/// The secret on the first line of standard input.
pub(crate) fn secret_from_input() -> Result<SecretString, CommandError> {
    let missing = |why: &str| {
        CommandError::usage(
            "credential_missing",
            format!("No token could be read from standard input: {why}."),
            "Pipe it in, on a line of its own, or set SANDBOOK_TOKEN.",
        )
    };
    let line = read_line(true).map_err(|error| missing(&error.to_string()))?;
    let line = line.filter(|line| !line.expose_secret().trim().is_empty());
    line.ok_or_else(|| missing("it is empty"))
}

/// Asks a question at the terminal whose answer is no unless it is yes; nothing where nobody can be asked.
pub(crate) fn ask_consent(why: &str, question: &str) -> Option<bool> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return None;
    }
    eprintln!("{why}");
    eprint!("{question} [y/N] ");
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).ok()?;
    Some(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

#[cfg(unix)]
mod platform {
    use std::{
        io,
        os::fd::AsFd,
        sync::atomic::{AtomicBool, Ordering},
    };

    use nix::{
        errno::Errno,
        poll::{PollFd, PollFlags, poll},
        sys::termios::{LocalFlags, SetArg, Termios, tcgetattr, tcsetattr},
    };
    use secrecy::SecretString;

    /// How often, in milliseconds, it is looked whether somebody still waits.
    const LOOK: u8 = 50;

    /// A terminal gives a line at a time, so that what was typed after it is left for the next reader.
    pub(super) fn read_line_until(
        question: &str,
        password: bool,
        off: &AtomicBool,
    ) -> io::Result<Option<SecretString>> {
        let input = io::stdin();
        let _shown_again = if password { Some(Hidden::begin()?) } else { None };
        eprint!("{question}");
        while !off.load(Ordering::SeqCst) {
            match poll(&mut [PollFd::new(input.as_fd(), PollFlags::POLLIN)], LOOK) {
                Ok(0) | Err(Errno::EINTR) => {}
                Ok(_) => return super::read_line(false),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(None)
    }

    /// As long as this lives the terminal does not show what is typed.
    struct Hidden(Termios);

    impl Hidden {
        fn begin() -> io::Result<Self> {
            let before = tcgetattr(io::stdin())?;
            let mut hidden = before.clone();
            hidden.local_flags.remove(LocalFlags::ECHO);
            // the end of the line is shown
            hidden.local_flags.insert(LocalFlags::ECHONL);
            tcsetattr(io::stdin(), SetArg::TCSANOW, &hidden)?;
            Ok(Self(before))
        }
    }

    impl Drop for Hidden {
        fn drop(&mut self) {
            // a terminal that is gone shows nothing anyway
            let _ = tcsetattr(io::stdin(), SetArg::TCSANOW, &self.0);
        }
    }
}

#[cfg(not(unix))]
mod platform {
    use std::{io, sync::atomic::AtomicBool};

    use secrecy::SecretString;

    /// The console is read to the end of the line, whoever still waits for it: see `docs/platforms.md`.
    pub(super) fn read_line_until(
        question: &str,
        password: bool,
        _: &AtomicBool,
    ) -> io::Result<Option<SecretString>> {
        eprint!("{question}");
        super::read_line(password)
    }
}
