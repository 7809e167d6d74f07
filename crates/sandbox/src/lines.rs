//! Text as lines that know when they came and whether a newline ended them.

use std::time::SystemTime;

/// One line, without its newline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The text.
    pub text: String,
    /// When its first character came.
    pub at: SystemTime,
    /// Whether a newline ended it.
    pub terminated: bool,
}

/// The lines of one stream. Joining them gives the very text that came.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lines(Vec<Line>);

impl Lines {
    /// Adds text that came at a time.
    pub fn push(&mut self, text: &str, at: SystemTime) {
        for piece in text.split_inclusive('\n') {
            let terminated = piece.ends_with('\n');
            let content = piece.strip_suffix('\n').unwrap_or(piece);
            match self.0.last_mut() {
                Some(line) if !line.terminated => {
                    line.text.push_str(content);
                    line.terminated = terminated;
                }
                _ => self.0.push(Line { text: content.to_owned(), at, terminated }),
            }
        }
    }

    /// The lines.
    pub fn iter(&self) -> std::slice::Iter<'_, Line> {
        self.0.iter()
    }

    /// How many lines there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no text.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text that came.
    pub fn text(&self) -> String {
        let mut text = String::with_capacity(self.0.iter().map(|line| line.text.len() + 1).sum());
        for line in &self.0 {
            text.push_str(&line.text);
            if line.terminated {
                text.push('\n');
            }
        }
        text
    }
}

impl<'a> IntoIterator for &'a Lines {
    type Item = &'a Line;
    type IntoIter = std::slice::Iter<'a, Line>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn joining_the_lines_gives_the_text_however_it_was_cut(pieces in proptest::collection::vec("[ab\n\r]{0,6}", 0..12)) {
            let mut lines = Lines::default();
            for piece in &pieces {
                lines.push(piece, SystemTime::UNIX_EPOCH);
            }
            prop_assert_eq!(lines.text(), pieces.concat());
            prop_assert!(lines.iter().rev().skip(1).all(|line| line.terminated));
            let last = lines.iter().next_back().map(|line| line.terminated);
            prop_assert_eq!(last.unwrap_or(true), pieces.concat().is_empty() || pieces.concat().ends_with('\n'));
        }
    }

    #[test]
    fn a_line_has_the_time_of_its_first_character_and_says_whether_a_newline_ended_it() {
        let at = |second| SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(second);
        let mut lines = Lines::default();
        lines.push("one\ntw", at(1));
        lines.push("o\n", at(2));
        lines.push("three", at(3));
        let told: Vec<_> = lines.iter().map(|line| (line.text.as_str(), line.at, line.terminated)).collect();
        assert_eq!(told, [("one", at(1), true), ("two", at(1), true), ("three", at(3), false)]);
    }
}
