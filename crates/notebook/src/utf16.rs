//! Positions in UTF-16 units, as editors count them, in texts that are UTF-8 here.

/// The length of `text` in UTF-16 units.
pub(crate) fn length(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().map(char::len_utf16).sum() }
}

/// The byte offset of the position `units`, or `None` when it lies outside or inside a character.
pub(crate) fn byte_at(text: &str, units: usize) -> Option<usize> {
    if text.is_ascii() {
        return (units <= text.len()).then_some(units);
    }
    let mut passed = 0;
    for (at, character) in text.char_indices() {
        if passed >= units {
            return (passed == units).then_some(at);
        }
        passed += character.len_utf16();
    }
    (passed == units).then_some(text.len())
}

/// The text between two positions; positions inside a character or outside the text are moved to where one is.
pub(crate) fn slice(text: &str, from: usize, to: usize) -> &str {
    let start = byte_at(text, from).unwrap_or(text.len());
    let end = byte_at(text, to).unwrap_or(text.len());
    text.get(start..end).unwrap_or_default()
}
