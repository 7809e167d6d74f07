//! Makes JSON of what Python's `json` writes beside the standard. Used only after ordinary reading failed.

const REPLACEMENT: &str = "\\ufffd";

/// `text` with NaN and infinities as null, lone surrogate escapes as U+FFFD, and invalid UTF-8 replaced.
pub(crate) fn repaired(text: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(text);
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_ref();
    let mut in_string = false;
    while let Some(first) = rest.chars().next() {
        let taken = if in_string { string_part(rest, &mut out) } else { value_part(rest, &mut out) };
        if first == '"' {
            in_string = !in_string;
        }
        rest = &rest[taken..];
    }
    out.into_bytes()
}

/// Copies one piece outside of strings; returns how many bytes it took.
fn value_part(rest: &str, out: &mut String) -> usize {
    for word in ["NaN", "-Infinity", "Infinity"] {
        if rest.starts_with(word) {
            out.push_str("null");
            return word.len();
        }
    }
    copy_char(rest, out)
}

/// Copies one character or escape inside of a string.
fn string_part(rest: &str, out: &mut String) -> usize {
    if !rest.starts_with('\\') {
        return copy_char(rest, out);
    }
    let Some(unit) = unicode_escape(rest) else {
        out.push('\\');
        let escaped = rest[1..].chars().next().unwrap_or('\\');
        out.push(escaped);
        return (1 + escaped.len_utf8()).min(rest.len());
    };
    let is_high = (0xD800..0xDC00).contains(&unit);
    let is_low = (0xDC00..0xE000).contains(&unit);
    let pair = is_high && unicode_escape(&rest[6..]).is_some_and(|low| (0xDC00..0xE000).contains(&low));
    if pair {
        out.push_str(&rest[..12]);
        return 12;
    }
    out.push_str(if is_high || is_low { REPLACEMENT } else { &rest[..6] });
    6
}

fn copy_char(rest: &str, out: &mut String) -> usize {
    rest.chars().next().map_or(rest.len(), |char| {
        out.push(char);
        char.len_utf8()
    })
}

/// The code unit of a `\uXXXX` at the beginning.
fn unicode_escape(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u32::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> serde_json::Value {
        serde_json::from_slice(&repaired(text.as_bytes())).unwrap()
    }

    #[test]
    fn what_python_writes_beside_the_standard_is_read() {
        assert_eq!(
            read(r#"{"a": NaN, "b": [-Infinity, Infinity]}"#),
            serde_json::json!({"a": null, "b": [null, null]})
        );
        assert_eq!(
            read(r#"["\ud800", "\udc00x", "\ud83d\ude00", "\\ud800", "NaN \" NaN"]"#),
            serde_json::json!(["\u{fffd}", "\u{fffd}x", "😀", "\\ud800", "NaN \" NaN"])
        );
    }

    proptest! {
        #[test]
        fn valid_json_is_unchanged(text in ".*", key in ".*") {
            let json = serde_json::json!({ key: [text, 1.5, null] }).to_string();
            prop_assert_eq!(String::from_utf8(repaired(json.as_bytes())).unwrap(), json);
        }

        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            repaired(&bytes);
        }
    }
}
