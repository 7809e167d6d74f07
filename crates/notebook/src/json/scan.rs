//! Finds where JSON values begin and end, without building anything.

use std::ops::Range;

use memchr::memchr2;

/// What is wrong with a text, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Byte offset in the text that was scanned.
    pub(crate) at: usize,
    /// What the scanner wanted there.
    pub(crate) wanted: &'static str,
}

type Scan<T> = Result<T, Fault>;

fn fault<T>(at: usize, wanted: &'static str) -> Scan<T> {
    Err(Fault { at, wanted })
}

/// The first position at or after `at` that is not white space.
pub(crate) fn skip_space(text: &[u8], mut at: usize) -> usize {
    while matches!(text.get(at), Some(b' ' | b'\n' | b'\r' | b'\t')) {
        at += 1;
    }
    at
}

/// The end of the string whose opening quote stands at `at`.
fn skip_string(text: &[u8], at: usize) -> Scan<usize> {
    let mut next = at + 1;
    loop {
        let rest = text.get(next..).unwrap_or_default();
        match memchr2(b'"', b'\\', rest) {
            Some(offset) if rest[offset] == b'"' => return Ok(next + offset + 1),
            Some(offset) => next += offset + 2,
            None => return fault(text.len(), "the end of a string"),
        }
    }
}

fn skip_number(text: &[u8], at: usize) -> usize {
    let digits =
        text[at..].iter().take_while(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'));
    at + digits.count()
}

fn skip_word(text: &[u8], at: usize) -> Scan<usize> {
    const WORDS: [&str; 6] = ["true", "false", "null", "NaN", "Infinity", "-Infinity"];
    let rest = &text[at..];
    match WORDS.iter().find(|word| rest.starts_with(word.as_bytes())) {
        Some(word) => Ok(at + word.len()),
        None if matches!(rest.first(), Some(b'-' | b'0'..=b'9')) => Ok(skip_number(text, at)),
        None => fault(at, "a value"),
    }
}

/// The end of the value that begins at `at`. `at` must not be white space.
pub(crate) fn skip_value(text: &[u8], at: usize) -> Scan<usize> {
    match text.get(at) {
        None => fault(at, "a value"),
        Some(b'"') => skip_string(text, at),
        Some(b'{' | b'[') => skip_container(text, at),
        Some(_) => skip_word(text, at),
    }
}

/// Containers, with the open ones on a stack of our own.
fn skip_container(text: &[u8], start: usize) -> Scan<usize> {
    let mut open: Vec<u8> = Vec::with_capacity(8);
    let mut at = start;
    loop {
        // At the start of a value.
        match text.get(at) {
            Some(&opening @ (b'{' | b'[')) => {
                open.push(opening);
                at = skip_space(text, at + 1);
                let closing = if opening == b'{' { b'}' } else { b']' };
                if text.get(at) != Some(&closing) {
                    if opening == b'{' {
                        at = skip_key(text, at)?;
                    }
                    continue;
                }
            }
            _ => at = skip_space(text, skip_value(text, at)?),
        }
        // After a value, or at the bracket that closes an empty container.
        loop {
            let inside = open.last().copied();
            match (text.get(at), inside) {
                (Some(b'}'), Some(b'{')) | (Some(b']'), Some(b'[')) => {
                    open.pop();
                    at += 1;
                    if open.is_empty() {
                        return Ok(at);
                    }
                    at = skip_space(text, at);
                }
                (Some(b','), Some(opening)) => {
                    at = skip_space(text, at + 1);
                    if opening == b'{' {
                        at = skip_key(text, at)?;
                    }
                    break;
                }
                (_, Some(b'{')) => return fault(at, "`,` or `}`"),
                _ => return fault(at, "`,` or `]`"),
            }
        }
    }
}

/// From a key to the start of its value.
fn skip_key(text: &[u8], at: usize) -> Scan<usize> {
    if text.get(at) != Some(&b'"') {
        return fault(at, "a name in quotes");
    }
    let colon = skip_space(text, skip_string(text, at)?);
    if text.get(colon) != Some(&b':') {
        return fault(colon, "`:`");
    }
    Ok(skip_space(text, colon + 1))
}

/// One member of an object, as positions in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member {
    /// Where the white space before the key begins.
    pub(crate) lead: usize,
    /// The key with its quotes.
    pub(crate) key: Range<usize>,
    /// The value.
    pub(crate) value: Range<usize>,
}

/// One element of an array, as positions in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Element {
    /// Where the white space before the value begins.
    pub(crate) lead: usize,
    /// The value.
    pub(crate) value: Range<usize>,
}

/// A scanned container: where it closes and what it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Contents<T> {
    pub(crate) items: Vec<T>,
    /// Where the white space before the closing bracket begins.
    pub(crate) tail: usize,
    /// Just behind the closing bracket.
    pub(crate) end: usize,
}

/// Walks the object at `at`, calling `visit` at the start of each value; it returns where the value ends.
pub(crate) fn walk_object(
    text: &[u8],
    at: usize,
    mut visit: impl FnMut(usize, &Range<usize>, usize) -> Scan<usize>,
) -> Scan<(usize, usize)> {
    if text.get(at) != Some(&b'{') {
        return fault(at, "`{`");
    }
    let mut lead = at + 1;
    let mut next = skip_space(text, lead);
    if text.get(next) == Some(&b'}') {
        return Ok((lead, next + 1));
    }
    loop {
        let value = skip_key(text, next)?;
        let key = next..skip_string(text, next)?;
        let end = visit(lead, &key, value)?;
        next = skip_space(text, end);
        match text.get(next) {
            Some(b',') => {
                lead = next + 1;
                next = skip_space(text, lead);
            }
            Some(b'}') => return Ok((end, next + 1)),
            _ => return fault(next, "`,` or `}`"),
        }
    }
}

/// Walks the array at `at`, calling `visit` at the start of each value; it returns where the value ends.
pub(crate) fn walk_array(
    text: &[u8],
    at: usize,
    mut visit: impl FnMut(usize, usize) -> Scan<usize>,
) -> Scan<(usize, usize)> {
    if text.get(at) != Some(&b'[') {
        return fault(at, "`[`");
    }
    let mut lead = at + 1;
    let mut next = skip_space(text, lead);
    if text.get(next) == Some(&b']') {
        return Ok((lead, next + 1));
    }
    loop {
        let end = visit(lead, next)?;
        next = skip_space(text, end);
        match text.get(next) {
            Some(b',') => {
                lead = next + 1;
                next = skip_space(text, lead);
            }
            Some(b']') => return Ok((end, next + 1)),
            _ => return fault(next, "`,` or `]`"),
        }
    }
}

/// The members of the object at `at`.
pub(crate) fn members(text: &[u8], at: usize) -> Scan<Contents<Member>> {
    let mut items = Vec::new();
    let (tail, end) = walk_object(text, at, |lead, key, start| {
        let end = skip_value(text, start)?;
        items.push(Member { lead, key: key.clone(), value: start..end });
        Ok(end)
    })?;
    Ok(Contents { items, tail, end })
}

/// The elements of the array at `at`.
pub(crate) fn elements(text: &[u8], at: usize) -> Scan<Contents<Element>> {
    let mut items = Vec::new();
    let (tail, end) = walk_array(text, at, |lead, start| {
        let end = skip_value(text, start)?;
        items.push(Element { lead, value: start..end });
        Ok(end)
    })?;
    Ok(Contents { items, tail, end })
}

/// The range of the value of the member `name`, for a text that is one object. The last of several wins.
pub(crate) fn find_member(text: &[u8], name: &str) -> Option<Range<usize>> {
    let contents = members(text, 0).ok()?;
    contents
        .items
        .iter()
        .rev()
        .find(|member| key_is(text, &member.key, name))
        .map(|member| member.value.clone())
}

/// Whether the key at `key` (with its quotes) is `name`.
pub(crate) fn key_is(text: &[u8], key: &Range<usize>, name: &str) -> bool {
    let quoted = &text[key.clone()];
    if quoted.len() == name.len() + 2 && &quoted[1..=name.len()] == name.as_bytes() {
        return true;
    }
    quoted.contains(&b'\\') && super::string::decode(quoted).is_some_and(|key| key == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(text: &str) -> Scan<usize> {
        skip_value(text.as_bytes(), 0)
    }

    #[test]
    fn a_value_ends_where_it_ends() {
        for text in
            ["1", "-1.5e+10", "\"a\\\"b\"", "[]", "{}", "[1, [2, {\"a\": []}], {}]", "{\"a\" : {\"b\":null}}"]
        {
            assert_eq!(whole(text), Ok(text.len()), "{text}");
        }
    }

    #[test]
    fn what_python_writes_for_odd_numbers_is_a_value() {
        let text = "[NaN, Infinity, -Infinity, 123456789012345678901234567890.5]";
        assert_eq!(whole(text), Ok(text.len()));
    }

    #[test]
    fn nesting_of_any_depth_is_scanned() {
        let text = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
        assert_eq!(whole(&text), Ok(text.len()));
    }

    #[test]
    fn a_fault_names_the_place() {
        assert_eq!(whole("[1 2]"), Err(Fault { at: 3, wanted: "`,` or `]`" }));
        assert_eq!(whole("{\"a\" 1}"), Err(Fault { at: 5, wanted: "`:`" }));
        assert_eq!(whole("{a: 1}"), Err(Fault { at: 1, wanted: "a name in quotes" }));
        assert_eq!(whole("[1, "), Err(Fault { at: 4, wanted: "a value" }));
        assert_eq!(whole("\"abc"), Err(Fault { at: 4, wanted: "the end of a string" }));
        assert_eq!(whole("[1}"), Err(Fault { at: 2, wanted: "`,` or `]`" }));
        assert!(whole("\"abc\\").is_err());
    }

    #[test]
    fn the_last_of_two_members_of_one_name_counts() {
        let text = br#"{"a": 1, "\u0061": 2}"#;
        assert_eq!(find_member(text, "a").map(|range| &text[range]), Some(b"2".as_slice()));
    }
}
