//! The text of one stream, as a person should see it.
//!
//! A kernel's stdout and stderr are made for a terminal: progress bars redraw themselves with `\r`, nested ones move
//! the cursor up, colours are escape codes. A terminal, though, is eighty columns wide and forgets. This is a line
//! model of our own: lines of any width, any number of them, with the cursor free to move in the last 200. Chunks
//! may be cut anywhere, in the middle of a character or of an escape sequence; the result is the same.
//!
//! What comes out is text with a small, fixed set of codes: colours and attributes (`ESC[…m`) and links (OSC 8). Every
//! line starts from and returns to the reset state, so any range of lines can be shown alone. All other sequences
//! (titles, images, queries, alternate screens) do nothing and are dropped; the execution's log still has them.
//!
//! There is no knowledge of cells or documents here, and nothing is ever forgotten: what is too long to show is
//! for the one who shows it to fold.

mod changes;
mod edit;
mod finished;
mod parse;
mod pen;
mod row;
mod screen;
mod slice;

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;

use std::ops::Range;

pub use changes::Mark;
pub use slice::slice_line;

use parse::Input;
use screen::Screen;

/// The lines of one stream.
///
/// Holds text of any size at little more than its length: under 1.05 times, for lines of 30 characters.
#[derive(Default)]
pub struct StreamText {
    input: Input,
    screen: Screen,
}

impl std::fmt::Debug for StreamText {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("StreamText")
            .field("total_lines", &self.total_lines())
            .field("total_bytes", &self.total_bytes())
            .finish_non_exhaustive()
    }
}

impl StreamText {
    /// An empty stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next chunk of the stream, cut anywhere. Bytes that are not UTF-8 become `U+FFFD`.
    pub fn push(&mut self, bytes: &[u8]) {
        self.input.push(&mut self.screen, bytes);
        self.screen.finish_edit();
    }

    /// Number of lines. A line that was begun counts, one that would be empty and last does not: `a\nb` and
    /// `a\nb\n` both have two.
    pub fn total_lines(&self) -> usize {
        self.screen.height() - usize::from(self.screen.rows.back().is_none_or(row::Row::is_empty))
    }

    /// Length of [`text`](Self::text) in bytes.
    pub fn total_bytes(&self) -> usize {
        let rows = &self.screen.rows;
        self.screen.finished.bytes() + rows.iter().map(|row| row.text().len() + 1).sum::<usize>() - 1
    }

    /// Line `index`, with its codes and without its newline.
    pub fn line(&self, index: usize) -> Option<&str> {
        match index.checked_sub(self.screen.finished.len()) {
            None => self.screen.finished.line(index),
            Some(row) => self.screen.rows.get(row).map(row::Row::text),
        }
        .filter(|_| index < self.total_lines())
    }

    /// Whether a newline ended line `index`.
    pub fn is_line_ended(&self, index: usize) -> bool {
        index + 1 < self.screen.height()
    }

    /// The lines of a range, as far as there are any.
    pub fn lines(&self, range: Range<usize>) -> impl Iterator<Item = &str> {
        let range = range.start..range.end.min(self.total_lines());
        let finished = self.screen.finished.len();
        let rows = self.screen.rows.iter().map(row::Row::text).skip(range.start.saturating_sub(finished));
        self.screen.finished.lines_from(range.start).chain(rows).take(range.len())
    }

    /// The whole text: lines with a newline between them, and one at the end if the last line was ended.
    pub fn text(&self) -> String {
        let mut text = String::with_capacity(self.total_bytes());
        for piece in self.pieces() {
            text.push_str(piece);
        }
        text
    }

    /// The whole text in pieces of up to 256 KiB or one line, to write it somewhere without a copy.
    pub fn pieces(&self) -> impl Iterator<Item = &str> {
        let last = self.screen.rows.len() - 1;
        let rows = self.screen.rows.iter().enumerate();
        let rows = rows.flat_map(move |(at, row)| [row.text(), if at < last { "\n" } else { "" }]);
        self.screen.finished.pieces().chain(rows)
    }

    /// Memory that the text takes, in bytes.
    pub fn allocated_bytes(&self) -> usize {
        self.screen.finished.allocated() + self.screen.rows.iter().map(|row| row.text().len()).sum::<usize>()
    }

    /// Marks this moment for [`first_changed_since`](Self::first_changed_since).
    pub fn mark(&mut self) -> Mark {
        self.screen.changes.mark()
    }

    /// The first line that changed, appeared or went since `mark`; `None` if nothing did. Who has lines from then
    /// keeps those before it and takes all from it on. `Mark::default()` is the beginning of the stream.
    pub fn first_changed_since(&self, mark: Mark) -> Option<usize> {
        self.screen.changes.first_since(mark)
    }
}
