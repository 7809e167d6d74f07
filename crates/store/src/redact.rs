//! Takes secrets out of text that is about to be logged.
//!
//! Secrets are kept out of logs where they are handled; this is the second line, for what a library or another
//! program says in our place. It masks by shape, so it may mask a word too many, and it knows no secret by heart.

use std::borrow::Cow;
use std::io::{self, Write};

/// What stands in place of a secret.
pub const MASK: &str = "***";

/// Names whose values are secrets, in lower case. A name that ends with one of them counts too.
const NAMES: [&str; 14] = [
    "token",
    "password",
    "passwd",
    "pwd",
    "secret",
    "apikey",
    "api_key",
    "api-key",
    "authorization",
    "cookie",
    "signature",
    "credential",
    "xsrf",
    "private_key",
];
/// Names that are too common as the end of others.
const WHOLE_NAMES: [&str; 4] = ["key", "sig", "auth", "jwt"];
/// Words before the secret itself in the value of an Authorization header.
const SCHEMES: [&str; 3] = ["bearer", "basic", "token"];
/// Beginnings of tokens that tell what they are.
const PREFIXES: [&str; 10] =
    ["eyJ", "ghp_", "gho_", "github_pat_", "hf_", "sk-", "xoxb-", "xoxp-", "glpat-", "ya29."];

/// `text` with secrets replaced by `***`: values of secret names (`token=…`, `"password": "…"`,
/// `Authorization: Bearer …`, `?api_key=…`), user and password of addresses, tokens in paths (`/k/id/…/`), and words
/// that look like tokens wherever they stand.
pub fn redact(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut kept = 0;
    let mut at = 0;
    while let Some(found) = next_secret(text, at) {
        out.push_str(&text[kept..found.start]);
        out.push_str(MASK);
        kept = found.end;
        at = found.end;
    }
    if kept == 0 && out.is_empty() {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[kept..]);
    Cow::Owned(out)
}

type Span = std::ops::Range<usize>;

/// The first secret that begins at or after `from`.
fn next_secret(text: &str, from: usize) -> Option<Span> {
    let mut at = from;
    while at < text.len() {
        let rest = &text[at..];
        if let Some(authority) = rest.strip_prefix("://") {
            if let Some(user) = user_in(authority) {
                return Some(at + 3..at + 3 + user);
            }
            at += 3;
            continue;
        }
        let length = rest.find(|character| !is_word(character)).unwrap_or(rest.len());
        if length == 0 {
            at += rest.chars().next().map_or(1, char::len_utf8);
            continue;
        }
        if let Some(span) = secret_at_word(text, at..at + length) {
            return Some(span);
        }
        at += length;
    }
    None
}

fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || "_-.~+".contains(character)
}

/// Length of `user:password` before the `@` of an address.
fn user_in(authority: &str) -> Option<usize> {
    let end =
        authority.find(|character: char| "/?# \t\n\"'<>".contains(character)).unwrap_or(authority.len());
    authority[..end].rfind('@').filter(|length| *length > 0)
}

/// The secret that a word is, or announces.
fn secret_at_word(text: &str, word: Span) -> Option<Span> {
    let content = &text[word.clone()];
    let is_token = PREFIXES.iter().any(|prefix| content.starts_with(prefix)) && content.len() >= 20;
    if is_token || is_path_token(text, &word) {
        return Some(word);
    }
    let name = content.trim_start_matches(['-', '.']).to_ascii_lowercase();
    if SCHEMES.contains(&name.as_str()) {
        // "Bearer x" without a header's name before it; words of prose are shorter or have no digit.
        let value = word.end + 1..value_end(text, word.end + 1);
        let looks_random = |value: &str| {
            value.len() >= 16 && !value.starts_with('/') && value.bytes().any(|byte| byte.is_ascii_digit())
        };
        if text[word.end..].starts_with(' ') && text.get(value.clone()).is_some_and(looks_random) {
            return Some(value);
        }
    }
    let is_secret = WHOLE_NAMES.contains(&name.as_str()) || NAMES.iter().any(|secret| name.ends_with(secret));
    is_secret.then(|| value_after(text, word.end, &name)).flatten()
}

/// The value after a name: an optional quote, `=` or `:`, spaces and quotes, and a scheme.
fn value_after(text: &str, name_end: usize, name: &str) -> Option<Span> {
    let mut at = skip(text, name_end, "\\\"'] ");
    let separator = text[at..].chars().next().filter(|character| "=:".contains(*character))?;
    at += separator.len_utf8();
    at = skip(text, at, "= \\\"'[");
    if name.ends_with("cookie") {
        // A header of many pairs, each of which may be one.
        let end = text[at..].find(['"', '\'', '\n', '\r']).map_or(text.len(), |length| at + length);
        return (end > at && &text[at..end] != MASK).then_some(at..end);
    }
    let word_end = text[at..].find(|character| !is_word(character)).map_or(text.len(), |length| at + length);
    if SCHEMES.contains(&text[at..word_end].to_ascii_lowercase().as_str())
        && text[word_end..].starts_with(' ')
    {
        at = word_end + 1;
    }
    let end = value_end(text, at);
    (end > at && &text[at..end] != MASK).then_some(at..end)
}

/// Skips any of `characters`.
fn skip(text: &str, from: usize, characters: &str) -> usize {
    text[from..].find(|character| !characters.contains(character)).map_or(text.len(), |length| from + length)
}

fn value_end(text: &str, from: usize) -> usize {
    let ends = |character: char| character.is_whitespace() || "\"'\\&,;)}]<>#|".contains(character);
    text.get(from..).map_or(from, |rest| rest.find(ends).map_or(text.len(), |length| from + length))
}

/// Whether a word is a token in a path: long and mixed, or the one after `/k/` or `/k/id/`.
fn is_path_token(text: &str, word: &Span) -> bool {
    let content = &text[word.clone()];
    let Some(before) = text[..word.start].strip_suffix('/') else { return false };
    let has_digit = content.bytes().any(|byte| byte.is_ascii_digit());
    if has_digit && content.len() >= 64 && !content.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return true;
    }
    let mut above = before.rsplit('/');
    let is_below_k = match (above.next(), above.next()) {
        (Some("k"), _) => true,
        // What is no name of a folder ends one path, and another begins.
        (Some(id), Some("k")) => id.chars().all(is_word),
        _ => false,
    };
    content.len() >= 16 && !content.bytes().all(|byte| byte.is_ascii_digit()) && is_below_k
}

/// Writes lines through [`redact`]. A secret that is cut by a line's end is not recognised, nor need it be: the lines
/// of a log are made whole.
#[derive(Debug)]
pub struct RedactingWriter<W: Write> {
    inner: W,
    line: Vec<u8>,
}

impl<W: Write> RedactingWriter<W> {
    /// Writes to `inner`.
    pub fn new(inner: W) -> Self {
        Self { inner, line: Vec::new() }
    }

    fn write_line(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        self.inner.write_all(redact(&String::from_utf8_lossy(&line)).as_bytes())
    }
}

impl<W: Write> Write for RedactingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                self.write_line()?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.line.is_empty() {
            self.write_line()?;
        }
        self.inner.flush()
    }
}

impl<W: Write> Drop for RedactingWriter<W> {
    fn drop(&mut self) {
        // There is nobody left to tell.
        let _ = self.flush();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_place_where_a_secret_stands_is_masked() {
        let jwe = format!("eyJhbGciOiJkaXIi.{}", "aB3".repeat(20));
        let long = "Ab9_".repeat(20);
        for (given, shown) in [
            ("GET http://h:8888/api?token=s3cret&x=1".into(), "GET http://h:8888/api?token=***&x=1".into()),
            ("http://h/#token=s3cret".into(), "http://h/#token=***".into()),
            ("https://me:pw@h/x?a=b@c".into(), "https://***@h/x?a=b@c".into()),
            (format!("wss://h/k/123/{jwe}/proxy/api"), "wss://h/k/123/***/proxy/api".into()),
            ("wss://h/k/abcdefghijklmnop/proxy".into(), "wss://h/k/***/proxy".into()),
            (format!("see https://h/a/{long}/b"), "see https://h/a/***/b".into()),
            ("Authorization: token s3cret".into(), "Authorization: token ***".into()),
            ("authorization: Bearer s3cret, x".into(), "authorization: Bearer ***, x".into()),
            (r#"{"authorization": "token s3cret"}"#.into(), r#"{"authorization": "token ***"}"#.into()),
            (r#"{\"token\":\"s3cret\"}"#.into(), r#"{\"token\":\"***\"}"#.into()),
            ("Cookie: a=b; _xsrf=c".into(), "Cookie: ***".into()),
            ("password = hunter2 and".into(), "password = *** and".into()),
            ("x-api-key: s3cret".into(), "x-api-key: ***".into()),
            ("JUPYTER_TOKEN=s3cret python".into(), "JUPYTER_TOKEN=*** python".into()),
            ("--ServerApp.token=s3cret".into(), "--ServerApp.token=***".into()),
            ("got Bearer abcdefgh12345678 from".into(), "got Bearer *** from".into()),
            (format!("the word {jwe} alone"), "the word *** alone".into()),
            ("hf_abcdefghijklmnopqrst".into(), "***".into()),
        ] as [(String, String); 18]
        {
            assert_eq!(redact(&given), shown, "{given}");
        }
    }

    #[test]
    fn what_holds_no_secret_is_left_alone() {
        for text in [
            "kernel 2f1c7a3e-aaaa-bbbb-cccc-123456789012 started",
            "http://h/user/me/lab/tree/a.ipynb?x=1#key",
            "a token is a token, and a password has no value here",
            "/home/me/k/notes.txt and /k/12345678901234567890/x",
            "monkey: 3, donkey=4",
            "basic usage: see the manual",
            "token /logs/0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123",
            "größer 漢字 ://",
        ] {
            assert!(matches!(redact(text), Cow::Borrowed(_)), "{text} became {}", redact(text));
        }
    }

    #[test]
    fn a_mask_does_not_make_a_path_of_what_was_none() {
        for text in ["/k/token://Bearer /authorizationaaa", "/k/token:/a/b,/authorizationaaa"] {
            let once = redact(text).into_owned();
            assert_eq!(redact(&once), once, "{text}");
        }
    }

    #[test]
    fn a_log_line_is_masked_however_it_is_written() {
        let mut out = Vec::new();
        let mut writer = RedactingWriter::new(&mut out);
        for part in ["?tok", "en=s3c", "ret\nplain\nto", "ken=x"] {
            writer.write_all(part.as_bytes()).unwrap();
        }
        drop(writer);
        assert_eq!(String::from_utf8(out).unwrap(), "?token=***\nplain\ntoken=***");
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic_and_masking_again_changes_nothing(
            text in "([a-z]{0,3}|token|authorization|cookie|Bearer |://|[=:&/\"'\\\\@ #é漢]|/k/|eyJ[a-z0-9]{20}){0,12}"
        ) {
            let once = redact(&text).into_owned();
            prop_assert_eq!(redact(&once), once.as_str());
        }

        #[test]
        fn a_secret_value_never_shows(
            name in "(token|access_token|password|api_key|client_secret)",
            separator in "(=|: |:|\": \"|=\")",
            value in "Q[a-zA-Z0-9._-]{7,40}",
        ) {
            let redacted = redact(&format!("before {name}{separator}{value} after")).into_owned();
            prop_assert!(!redacted.contains(&value), "{}", redacted);
        }
    }
}
