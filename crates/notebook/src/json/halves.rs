//! Halves of surrogate pairs, which JSON can say (`"\ud83d"`) and no text can hold.
//!
//! A text shows U+FFFD in place of one. When an edited text is written, the halves that the file has in it are put back
//! where the edit left them.

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::{scan, string};

/// The halves in a text: at which byte each is shown as U+FFFD, and its four digits in the file. In order.
pub(crate) type Halves = Vec<(usize, String)>;

/// The text of a JSON string or of a list of strings, and the halves in it.
pub(crate) fn read(value: &[u8]) -> Option<(String, Halves)> {
    let (mut text, mut halves) = (String::new(), Vec::new());
    let mut take = |quoted: &[u8]| string::decode_with_halves(quoted, &mut text, &mut halves);
    if value.first() == Some(&b'"') {
        take(value)?;
        return Some((text, halves));
    }
    for element in scan::elements(value, 0).ok()?.items {
        take(&value[element.value])?;
    }
    Some((text, halves))
}

/// Whether a JSON string, or one in a list of strings, has a half in it.
pub(crate) fn are_in(value: &[u8]) -> bool {
    // Looking for an escape is cheap, and most sources have none of these.
    let suspect = memchr::memmem::find(value, b"\\ud").or_else(|| memchr::memmem::find(value, b"\\uD"));
    suspect.is_some() && read(value).is_some_and(|(_, halves)| !halves.is_empty())
}

/// Where the halves of `old` stand in `new`, which was made from it by edits.
pub(crate) fn carried(old: &str, halves: &Halves, new: &str) -> Halves {
    if halves.is_empty() || !new.contains(char::REPLACEMENT_CHARACTER) {
        return Vec::new();
    }
    let (left, right): (Vec<_>, Vec<_>) = (old.char_indices().collect(), new.char_indices().collect());
    let same = |(old, new): (&(usize, char), &(usize, char))| old.1 == new.1;
    let prefix = left.iter().zip(&right).take_while(|pair| same(*pair)).count();
    let rest = left[prefix..].iter().rev().zip(right[prefix..].iter().rev());
    let suffix = rest.take_while(|pair| same(*pair)).count();
    let middle = |text: &[(usize, char)]| -> Vec<char> {
        text[prefix..text.len() - suffix].iter().map(|(_, character)| *character).collect()
    };
    let mut partners: Vec<(usize, usize)> = (0..prefix).map(|at| (at, at)).collect();
    for operation in capture_diff_slices(Algorithm::Myers, &middle(&left), &middle(&right)) {
        if let DiffOp::Equal { old_index, new_index, len } = operation {
            partners.extend((0..len).map(|step| (prefix + old_index + step, prefix + new_index + step)));
        }
    }
    partners.extend((1..=suffix).rev().map(|from_end| (left.len() - from_end, right.len() - from_end)));
    let of = |byte: usize| halves.iter().find(|(at, _)| *at == byte).map(|(_, digits)| digits.clone());
    partners.into_iter().filter_map(|(old, new)| Some((right[new].0, of(left[old].0)?))).collect()
}

/// Writes the part of a text that begins at byte `from` of it as a JSON string, with the halves of the text that stand
/// there.
pub(crate) fn encode(part: &str, from: usize, halves: &Halves, ascii: bool, out: &mut Vec<u8>) {
    let mut rest = part;
    let mut at = from;
    out.push(b'"');
    for (half, digits) in halves.iter().filter(|(half, _)| (from..from + part.len()).contains(half)) {
        let (before, behind) = rest.split_at(half - at);
        string::encode_inner(before, ascii, out);
        out.extend_from_slice(b"\\u");
        out.extend_from_slice(digits.as_bytes());
        rest = &behind[char::REPLACEMENT_CHARACTER.len_utf8()..];
        at = half + char::REPLACEMENT_CHARACTER.len_utf8();
    }
    string::encode_inner(rest, ascii, out);
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(found: &str, new: &str) -> String {
        let (old, halves) = read(found.as_bytes()).unwrap();
        let mut out = Vec::new();
        encode(new, 0, &carried(&old, &halves, new), false, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn halves_stay_where_an_edit_leaves_them() {
        let found = r#""a\ud800b\uDFFFc 😀\ud83d\ude00d""#;
        assert_eq!(rewritten(found, "a\u{fffd}b\u{fffd}c 😀😀d"), r#""a\ud800b\uDFFFc 😀😀d""#);
        assert_eq!(rewritten(found, "xa\u{fffd}b\u{fffd}c 😀dy"), r#""xa\ud800b\uDFFFc 😀dy""#);
        assert_eq!(rewritten(found, "a\u{fffd} and b\u{fffd}c"), r#""a\ud800 and b\uDFFFc""#);
        assert_eq!(rewritten(found, "ab\u{fffd}c"), r#""ab\uDFFFc""#);
    }

    #[test]
    fn a_replacement_character_of_the_file_stays_one() {
        assert_eq!(rewritten("\"\u{fffd}\\ud800\"", "\u{fffd}\u{fffd}!"), "\"\u{fffd}\\ud800!\"");
        assert!(!are_in("\"\u{fffd}\\ud83d\\ude00\\\\ud800\"".as_bytes()));
        assert!(are_in(br#"["a", "\udead"]"#));
    }
}
