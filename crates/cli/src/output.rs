//! Standard output, which may be a pipe whose reader has gone.

use std::io::{self, Write};

/// Prints a value as one line of JSON. A reader that has gone is no error: whoever wanted it has seen enough.
pub(crate) fn line(value: &impl serde::Serialize) {
    let _ = try_line(value);
}

/// Prints a value as one line of JSON.
pub(crate) fn try_line(value: &impl serde::Serialize) -> io::Result<()> {
    let mut output = io::stdout().lock();
    serde_json::to_writer(&mut output, value)?;
    output.write_all(b"\n")?;
    output.flush()
}

/// Prints text, and lets it be seen at once.
pub(crate) fn text(text: &str) {
    let mut output = io::stdout().lock();
    let _ = output.write_all(text.as_bytes()).and_then(|()| output.flush());
}
