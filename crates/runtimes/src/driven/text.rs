//! Bytes of a stream as text.

/// Bytes of a stream as text, however they are cut. What is no UTF-8 becomes replacement characters.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    /// The beginning of a character whose rest has not come.
    rest: Vec<u8>,
}

impl Decoder {
    pub(crate) fn decode(&mut self, bytes: &[u8]) -> String {
        self.rest.extend_from_slice(bytes);
        let mut text = String::with_capacity(self.rest.len());
        let mut left = 0;
        for chunk in self.rest.utf8_chunks() {
            text.push_str(chunk.valid());
            let invalid = chunk.invalid();
            // Where the bytes end within a character, its beginning is the last invalid part.
            let at_end = left + chunk.valid().len() + invalid.len() == self.rest.len();
            if at_end && is_unfinished(invalid) {
                let kept = invalid.to_vec();
                self.rest = kept;
                return text;
            }
            if !invalid.is_empty() {
                text.push(char::REPLACEMENT_CHARACTER);
            }
            left += chunk.valid().len() + invalid.len();
        }
        self.rest.clear();
        text
    }
}

fn is_unfinished(bytes: &[u8]) -> bool {
    !bytes.is_empty() && std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn text_is_the_same_however_its_bytes_are_cut(text in "\\PC{0,30}", size in 1_usize..5) {
            let mut decoder = Decoder::default();
            let decoded: String = text.as_bytes().chunks(size).map(|bytes| decoder.decode(bytes)).collect();
            prop_assert_eq!(decoded, text);
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced_and_swallow_nothing() {
        let mut decoder = Decoder::default();
        assert_eq!(decoder.decode(b"a\xff\xfeb\xc3"), "a\u{fffd}\u{fffd}b");
        assert_eq!(decoder.decode(b"\xa9!"), "é!");
        assert_eq!(decoder.decode(b"\xc3"), "");
        assert_eq!(decoder.decode(b"x"), "\u{fffd}x");
    }
}
