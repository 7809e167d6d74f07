//! Lines that a person types, or a pipe brings.

use std::io::{self, BufRead, IsTerminal};

use secrecy::SecretString;

/// Reads a line without its end. At a terminal a password is not shown while it is typed.
pub(crate) fn read_line(password: bool) -> io::Result<SecretString> {
    if password && io::stdin().is_terminal() {
        return rpassword::read_password().map(SecretString::from);
    }
    let mut line = String::new();
    if io::stdin().lock().read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    line.truncate(line.trim_end_matches(['\n', '\r']).len());
    Ok(line.into())
}

/// Asks for a secret at the terminal; nothing where nobody can be asked.
pub(crate) fn ask_secret(question: &str) -> Option<SecretString> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return None;
    }
    eprint!("{question}: ");
    rpassword::read_password().ok().filter(|answer| !answer.is_empty()).map(SecretString::from)
}
