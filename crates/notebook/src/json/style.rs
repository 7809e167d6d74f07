//! How a file is laid out, and how new values are laid out like it.

use super::scan;
use super::string;

/// The layout of a JSON text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Style {
    /// What ends a line; `None` for a file without line breaks between its members.
    pub(crate) newline: Option<&'static str>,
    /// What each level is indented by.
    pub(crate) indent: String,
    /// What stands between a key and its value.
    pub(crate) colon: String,
    /// What stands between the items of a container on one line.
    pub(crate) comma: String,
    /// Whether everything outside ASCII is escaped.
    pub(crate) ascii: bool,
}

impl Default for Style {
    /// As Jupyter writes.
    fn default() -> Self {
        Self { newline: Some("\n"), indent: " ".into(), colon: ": ".into(), comma: ",".into(), ascii: false }
    }
}

impl Style {
    /// Reads the layout off the object `text`.
    pub(crate) fn of(text: &[u8]) -> Self {
        let mut style = Self::default();
        let start = scan::skip_space(text, 0);
        let Ok(contents) = scan::members(text, start) else { return style };
        let [first, ..] = contents.items.as_slice() else { return style };
        let lead = white(&text[first.lead..first.key.start]);
        style.newline = newline_of(lead);
        indent_of(lead).clone_into(&mut style.indent);
        style.colon = String::from_utf8_lossy(&text[first.key.end..first.value.start]).into_owned();
        if style.newline.is_none() {
            let second = contents.items.get(1);
            style.comma = second.map_or_else(
                || if style.colon.ends_with(' ') { ", ".into() } else { ",".into() },
                |member| format!(",{}", white(&text[member.lead..member.key.start])),
            );
        }
        style.ascii = Self::escapes_everything(text);
        style
    }

    /// Whether the text is pure ASCII and holds an escape for something outside it.
    pub(crate) fn escapes_everything(text: &[u8]) -> bool {
        text.is_ascii()
            && memchr::memmem::find_iter(text, b"\\u").any(|at| {
                let unit = text.get(at + 2..at + 6).and_then(|digits| std::str::from_utf8(digits).ok());
                unit.and_then(|digits| u32::from_str_radix(digits, 16).ok()).is_some_and(|unit| unit >= 0x80)
            })
    }

    /// What stands before an item at `indent` (line break and indent), or nothing in a one-line layout.
    pub(crate) fn line(&self, indent: &str) -> String {
        self.newline.map_or_else(String::new, |newline| format!("{newline}{indent}"))
    }

    /// Writes the JSON value `value` in this layout behind `out`; `indent` is the indent of the line it begins on.
    pub(crate) fn write(&self, value: &[u8], indent: &str, out: &mut Vec<u8>) {
        let mut at = scan::skip_space(value, 0);
        let mut depth = 0_usize;
        while let Some(&byte) = value.get(at) {
            match byte {
                b'{' | b'[' => {
                    out.push(byte);
                    let next = scan::skip_space(value, at + 1);
                    if let Some(&closing @ (b'}' | b']')) = value.get(next) {
                        out.push(closing);
                        at = next + 1;
                    } else {
                        depth += 1;
                        self.break_line(indent, depth, out);
                        at += 1;
                    }
                }
                b'}' | b']' => {
                    depth = depth.saturating_sub(1);
                    self.break_line(indent, depth, out);
                    out.push(byte);
                    at += 1;
                }
                b',' => {
                    if self.newline.is_some() {
                        out.push(b',');
                        self.break_line(indent, depth, out);
                    } else {
                        out.extend_from_slice(self.comma.as_bytes());
                    }
                    at += 1;
                }
                b':' => {
                    out.extend_from_slice(self.colon.as_bytes());
                    at += 1;
                }
                _ => {
                    let end = scan::skip_value(value, at).unwrap_or(value.len());
                    self.write_scalar(&value[at..end], out);
                    at = end;
                }
            }
            at = scan::skip_space(value, at);
        }
    }

    fn write_scalar(&self, token: &[u8], out: &mut Vec<u8>) {
        if self.ascii
            && !token.is_ascii()
            && let Some(text) = string::decode(token)
        {
            string::encode(&text, true, out);
        } else {
            out.extend_from_slice(token);
        }
    }

    fn break_line(&self, indent: &str, depth: usize, out: &mut Vec<u8>) {
        if let Some(newline) = self.newline {
            out.extend_from_slice(newline.as_bytes());
            out.extend_from_slice(indent.as_bytes());
            for _ in 0..depth {
                out.extend_from_slice(self.indent.as_bytes());
            }
        }
    }
}

/// White space as text.
pub(crate) fn white(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}

/// The kind of line break in `lead`.
pub(crate) fn newline_of(lead: &str) -> Option<&'static str> {
    let at = lead.find('\n')?;
    Some(if lead[..at].ends_with('\r') { "\r\n" } else { "\n" })
}

/// What follows the last line break of `lead`.
pub(crate) fn indent_of(lead: &str) -> &str {
    lead.rfind('\n').map_or("", |at| &lead[at + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(style: &Style, value: &str, indent: &str) -> String {
        let mut out = Vec::new();
        style.write(value.as_bytes(), indent, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_value_is_laid_out_as_the_file_is() {
        let value = r#"{"a":[1,{"b":"x, y: z"}],"c":[],"d":{}}"#;
        let jupyter = Style::of(b"{\n \"cells\": []\n}");
        assert_eq!(
            written(&jupyter, value, " "),
            "{\n  \"a\": [\n   1,\n   {\n    \"b\": \"x, y: z\"\n   }\n  ],\n  \"c\": [],\n  \"d\": {}\n }"
        );
        let compact = Style::of(br#"{"cells":[],"metadata":{}}"#);
        assert_eq!(written(&compact, value, ""), value);
        let python = Style::of(br#"{"cells": [], "metadata": {}}"#);
        assert_eq!(written(&python, value, ""), r#"{"a": [1, {"b": "x, y: z"}], "c": [], "d": {}}"#);
        let windows = Style::of(b"{\r\n\t\"cells\" : []\r\n}");
        assert_eq!(written(&windows, "{\"a\":1}", "\t"), "{\r\n\t\t\"a\" : 1\r\n\t}");
    }

    #[test]
    fn a_file_that_escapes_everything_goes_on_doing_so() {
        let style = Style::of(br#"{"a": "\u00e9"}"#);
        assert_eq!(written(&style, "\"ü\"", ""), r#""\u00fc""#);
        let style = Style::of(br#"{"a": "\u001b"}"#);
        assert_eq!(written(&style, "\"ü\"", ""), "\"ü\"");
    }
}
