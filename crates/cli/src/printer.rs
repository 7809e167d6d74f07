//! What a run prints for a person: streams as they come, values as plain text, tracebacks to standard error.

use std::io::{self, IsTerminal, Write};

use sandbook_sandbox::{CodeError, Event, EventKind, MimeBundle, Payload, StreamName};

use crate::images::Images;

/// Prints a run.
pub(crate) struct Printer {
    /// Whether the next character on standard output begins a line.
    at_line_start: bool,
    colour_in_errors: bool,
    /// Where pictures go, if they are saved.
    images: Option<Images>,
}

impl Printer {
    pub(crate) fn new() -> Self {
        let colour_in_errors = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        Self { at_line_start: true, colour_in_errors, images: None }
    }

    /// The same printer, which saves pictures and says where.
    pub(crate) fn saving(self, images: Images) -> Self {
        Self { images: Some(images), ..self }
    }

    /// Ends a line that was begun on standard output.
    pub(crate) fn end_line(&mut self) {
        if !self.at_line_start {
            crate::output::text("\n");
            self.at_line_start = true;
        }
    }

    /// Prints events. Fails when nobody reads any more.
    pub(crate) fn print(&mut self, events: &[Event]) -> io::Result<()> {
        let mut output = io::stdout().lock();
        for event in events {
            self.event(&mut output, event)?;
        }
        output.flush()
    }

    fn event(&mut self, output: &mut impl Write, event: &Event) -> io::Result<()> {
        match &event.kind {
            EventKind::Stream { name: StreamName::Stdout, text } => {
                self.at_line_start = text.ends_with('\n') || (text.is_empty() && self.at_line_start);
                output.write_all(text.as_bytes())
            }
            EventKind::Stream { name: StreamName::Stderr | StreamName::Owner, text } => {
                output.flush()?;
                io::stderr().write_all(text.as_bytes())
            }
            EventKind::Display { data, .. }
            | EventKind::DisplayUpdate { data, .. }
            | EventKind::Result { data, .. } => {
                self.value(output, &shown(data))?;
                match self.images.as_mut().and_then(|images| images.save(data)) {
                    Some(said) => self.value(output, &said),
                    None => Ok(()),
                }
            }
            EventKind::Payload(Payload::Page { data }) => {
                let text = serde_json::from_str::<serde_json::Value>(data).ok();
                let text = text.as_ref().and_then(|forms| forms["text/plain"].as_str());
                self.value(output, text.unwrap_or_default())
            }
            EventKind::Error(error) => {
                output.flush()?;
                io::stderr().write_all(traceback(error, self.colour_in_errors).as_bytes())
            }
            EventKind::InputRequest { prompt, .. } => {
                self.at_line_start = true;
                output.write_all(prompt.as_bytes())
            }
            _ => Ok(()),
        }
    }

    /// A value stands on lines of its own.
    fn value(&mut self, output: &mut impl Write, text: &str) -> io::Result<()> {
        if !self.at_line_start {
            output.write_all(b"\n")?;
        }
        self.at_line_start = true;
        output.write_all(text.as_bytes())?;
        output.write_all(b"\n")
    }
}

/// A value's plain text, or what it is where it has none.
fn shown(data: &MimeBundle) -> String {
    let text =
        data.get("text/plain").and_then(|raw| serde_json::from_str::<serde_json::Value>(raw.get()).ok());
    match text {
        Some(serde_json::Value::String(text)) => text,
        Some(serde_json::Value::Array(parts)) => parts.iter().filter_map(serde_json::Value::as_str).collect(),
        _ => format!("<{}>", data.keys().map(String::as_str).collect::<Vec<_>>().join(", ")),
    }
}

/// What an error says. An exit is none: as everywhere, its text is said, and its number is the exit status.
fn traceback(error: &CodeError, colour: bool) -> String {
    if error.name == "SystemExit" {
        let says_nothing =
            error.value.is_empty() || error.value == "None" || error.value.parse::<i64>().is_ok();
        return if says_nothing { String::new() } else { format!("{}\n", error.value) };
    }
    let mut text = error.traceback.join("\n");
    if text.is_empty() {
        text = format!("{}: {}", error.name, error.value);
    }
    if !text.ends_with('\n') {
        text.push('\n');
    }
    if colour { text } else { anstream::adapter::strip_str(&text).to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::value::RawValue;
    use std::{sync::Arc, time::SystemTime};

    fn printed(kinds: Vec<EventKind>) -> String {
        let mut printer = Printer { at_line_start: true, colour_in_errors: false, images: None };
        let mut output = Vec::new();
        for kind in kinds {
            printer.event(&mut output, &Event { at: SystemTime::UNIX_EPOCH, late: false, kind }).unwrap();
        }
        String::from_utf8(output).unwrap()
    }

    fn text(text: &str) -> EventKind {
        EventKind::Stream { name: StreamName::Stdout, text: text.into() }
    }

    fn value(json: &str) -> EventKind {
        let raw = |json: &str| Arc::from(RawValue::from_string(json.to_owned()).unwrap());
        EventKind::Result {
            data: serde_json::from_str::<MimeBundle>(json).unwrap(),
            metadata: raw("{}"),
            display_id: None,
            execution_count: None,
        }
    }

    #[test]
    fn a_value_begins_on_a_line_of_its_own() {
        assert_eq!(printed(vec![text("a"), value(r#"{"text/plain":"2"}"#), text("b")]), "a\n2\nb");
        assert_eq!(printed(vec![text("a\n"), value(r#"{"text/plain":["2","3"]}"#)]), "a\n23\n");
    }

    #[test]
    fn a_value_without_text_is_named() {
        assert_eq!(printed(vec![value(r#"{"image/png":"x"}"#)]), "<image/png>\n");
    }

    #[test]
    fn a_traceback_has_no_colours_where_they_are_not_wanted() {
        let error = CodeError {
            name: "E".into(),
            value: "v".into(),
            traceback: vec!["\u{1b}[31mE\u{1b}[0m: v".into()],
        };
        assert_eq!(traceback(&error, false), "E: v\n");
        assert_eq!(traceback(&CodeError { traceback: Vec::new(), ..error }, false), "E: v\n");
    }

    #[test]
    fn an_exit_says_its_text_and_no_traceback() {
        let exit = |value: &str| CodeError {
            name: "SystemExit".into(),
            value: value.into(),
            traceback: vec!["frames".into()],
        };
        assert_eq!(traceback(&exit("3"), false), "");
        assert_eq!(traceback(&exit("None"), false), "");
        assert_eq!(traceback(&exit("no such file"), false), "no such file\n");
    }
}
