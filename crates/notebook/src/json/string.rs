//! JSON strings: reading any, writing them the way the file does.

use std::borrow::Cow;
use std::fmt::Write as _;

use memchr::memchr;

/// The text of the quoted string `quoted`, or `None` when it is not a string. Half a surrogate pair becomes U+FFFD,
/// which has the same length in UTF-16.
pub(crate) fn decode(quoted: &[u8]) -> Option<Cow<'_, str>> {
    let inner = quoted.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    let inner = std::str::from_utf8(inner).ok()?;
    if memchr(b'\\', inner.as_bytes()).is_none() {
        return Some(Cow::Borrowed(inner));
    }
    let mut text = String::with_capacity(inner.len());
    unescape(inner, &mut text)?;
    Some(Cow::Owned(text))
}

/// Puts the text of the quoted string `quoted` behind `text`; `None` when it is not a string.
pub(crate) fn decode_into(quoted: &[u8], text: &mut String) -> Option<()> {
    let inner = quoted.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    unescape(std::str::from_utf8(inner).ok()?, text)
}

/// The same, and puts behind `halves` where in `text` there is U+FFFD for half a surrogate pair, with its four digits.
pub(crate) fn decode_with_halves(
    quoted: &[u8],
    text: &mut String,
    halves: &mut Vec<(usize, String)>,
) -> Option<()> {
    let inner = quoted.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    let mut rest = std::str::from_utf8(inner).ok()?;
    while let Some(at) = memchr(b'\\', rest.as_bytes()) {
        text.push_str(&rest[..at]);
        let (escape, at) = (&rest[at + 1..], text.len());
        rest = decode_escape(escape, text)?;
        if let Some(digits) = escape.strip_prefix('u').and_then(|escape| escape.get(..4))
            && u32::from_str_radix(digits, 16).is_ok_and(|unit| (0xD800..0xE000).contains(&unit))
            && text[at..].starts_with(char::REPLACEMENT_CHARACTER)
        {
            halves.push((at, digits.to_owned()));
        }
    }
    text.push_str(rest);
    Some(())
}

fn unescape(inner: &str, text: &mut String) -> Option<()> {
    let mut rest = inner;
    while let Some(at) = memchr(b'\\', rest.as_bytes()) {
        text.push_str(&rest[..at]);
        rest = decode_escape(&rest[at + 1..], text)?;
    }
    text.push_str(rest);
    Some(())
}

/// Reads one escape, `rest` beginning behind the backslash; returns what follows it.
fn decode_escape<'a>(rest: &'a str, text: &mut String) -> Option<&'a str> {
    let letter = rest.chars().next()?;
    let rest = &rest[letter.len_utf8()..];
    match letter {
        'n' => text.push('\n'),
        't' => text.push('\t'),
        'r' => text.push('\r'),
        'b' => text.push('\u{8}'),
        'f' => text.push('\u{c}'),
        'u' => return Some(decode_unicode(rest, text)),
        other => text.push(other),
    }
    Some(rest)
}

fn decode_unicode<'a>(rest: &'a str, text: &mut String) -> &'a str {
    let Some(unit) = rest.get(..4).and_then(|digits| u32::from_str_radix(digits, 16).ok()) else {
        text.push(char::REPLACEMENT_CHARACTER);
        return rest;
    };
    let rest = &rest[4..];
    if (0xD800..0xDC00).contains(&unit)
        && let Some(low) = rest.strip_prefix("\\u").and_then(|low| low.get(..4))
        && let Ok(low) = u32::from_str_radix(low, 16)
        && (0xDC00..0xE000).contains(&low)
    {
        let code = 0x1_0000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
        text.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
        return &rest[6..];
    }
    text.push(char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER));
    rest
}

/// Writes `text` as a JSON string behind `out`. With `ascii`, everything outside ASCII is escaped.
pub(crate) fn encode(text: &str, ascii: bool, out: &mut Vec<u8>) {
    out.push(b'"');
    encode_inner(text, ascii, out);
    out.push(b'"');
}

/// The same without the quotes.
pub(crate) fn encode_inner(text: &str, ascii: bool, out: &mut Vec<u8>) {
    let bytes = text.as_bytes();
    let mut written = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        let plain = byte >= 0x20 && byte != b'"' && byte != b'\\' && (!ascii || byte < 0x7F);
        if plain || (byte >= 0x80 && byte & 0xC0 == 0x80) {
            continue;
        }
        out.extend_from_slice(&bytes[written..at]);
        let width = encode_escape(&text[at..], byte, out);
        written = at + width;
    }
    out.extend_from_slice(&bytes[written..]);
}

fn encode_escape(rest: &str, byte: u8, out: &mut Vec<u8>) -> usize {
    match byte {
        b'"' => out.extend_from_slice(b"\\\""),
        b'\\' => out.extend_from_slice(b"\\\\"),
        b'\n' => out.extend_from_slice(b"\\n"),
        b'\r' => out.extend_from_slice(b"\\r"),
        b'\t' => out.extend_from_slice(b"\\t"),
        0x08 => out.extend_from_slice(b"\\b"),
        0x0C => out.extend_from_slice(b"\\f"),
        _ => {
            let Some(character) = rest.chars().next() else { return 1 };
            let mut escaped = String::with_capacity(12);
            for unit in character.encode_utf16(&mut [0; 2]) {
                let _ = write!(escaped, "\\u{unit:04x}");
            }
            out.extend_from_slice(escaped.as_bytes());
            return character.len_utf8();
        }
    }
    1
}

/// `text` cut into lines that keep their ends, where Python's `str.splitlines(keepends=True)` cuts: files then look
/// as if Jupyter had written them.
pub(crate) fn lines(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut start = 0;
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let mut end = at + character.len_utf8();
        match character {
            '\r' => {
                if let Some(&(_, '\n')) = characters.peek() {
                    characters.next();
                    end += 1;
                }
            }
            '\n' | '\u{b}' | '\u{c}' | '\u{1c}' | '\u{1d}' | '\u{1e}' | '\u{85}' | '\u{2028}'
            | '\u{2029}' => {}
            _ => continue,
        }
        lines.push(&text[start..end]);
        start = end;
    }
    if start < text.len() {
        lines.push(&text[start..]);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encoded(text: &str, ascii: bool) -> String {
        let mut out = Vec::new();
        encode(text, ascii, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn strings_are_written_as_python_writes_them() {
        assert_eq!(encoded("a\"\\\n\t\u{1b}\u{7f}é😀/", false), "\"a\\\"\\\\\\n\\t\\u001b\u{7f}é😀/\"");
        assert_eq!(encoded("a\u{7f}é😀", true), "\"a\\u007f\\u00e9\\ud83d\\ude00\"");
    }

    #[test]
    fn half_a_surrogate_pair_is_read_as_one_replacement_character() {
        assert_eq!(decode(br#""a\ud83dz""#).as_deref(), Some("a\u{fffd}z"));
        assert_eq!(decode(br#""\ude00\ud83d\ude00""#).as_deref(), Some("\u{fffd}😀"));
        assert_eq!(decode(br#""\u12""#).as_deref(), Some("\u{fffd}12"));
        assert_eq!(decode(b"12"), None);
    }

    #[test]
    fn lines_end_where_python_ends_them() {
        assert_eq!(lines("a\r\nb\rc\u{2028}d\u{c}"), ["a\r\n", "b\r", "c\u{2028}", "d\u{c}"]);
        assert!(lines("").is_empty());
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(text in any::<String>(), ascii: bool) {
            let written = encoded(&text, ascii);
            prop_assert_eq!(decode(written.as_bytes()).unwrap(), text.as_str());
            prop_assert_eq!(serde_json::from_str::<String>(&written).unwrap(), text);
        }

        #[test]
        fn lines_join_to_the_text(text in "[a\r\n\u{b}\u{85}\u{2028}é]{0,20}") {
            prop_assert_eq!(lines(&text).concat(), text);
        }
    }
}
