//! What a page is given of a text: all lines while there are few, else the first and the last.

use sandbook_notebook::stream_text::{Mark, StreamText, slice_line};
use sandbook_protocol::{TextLine, TextView};

/// Up to this many lines are given whole.
pub(crate) const FOLD_OVER: usize = 200;
/// Of a folded text, so many lines from the start.
const HEAD: usize = 4;
/// Of a folded text, so many lines from the end.
const TAIL: usize = 3;
/// A line is cut after this many bytes, so that all lines of a text that is given whole are no more than a page may hold.
const LINE_LIMIT: usize = 2_048;
/// Of a line that was cut, so many bytes are given when more is asked for: a page holds a few such pieces.
const PIECE: usize = 128 * 1024;
/// The most lines of one answer to a request for lines.
const SLICE_LINES: usize = 2_000;
/// The most bytes of one answer to a request for lines.
const SLICE_BYTES: usize = 512 * 1024;

/// How much of a text a page has.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Seen {
    mark: Mark,
    head: usize,
}

/// A change of a text, for a page that has what `Seen` said.
#[derive(Debug, PartialEq)]
pub(crate) struct TextPatch {
    pub(crate) keep: u32,
    pub(crate) append: Vec<TextLine>,
    pub(crate) tail: Vec<TextLine>,
    pub(crate) total_lines: u32,
    pub(crate) total_bytes: u64,
}

/// A text, for a page that has nothing of it.
pub(crate) fn view(text: &mut StreamText) -> (TextView, Seen) {
    let mut seen = Seen::default();
    let patch = patch(text, &mut seen);
    let view = patch.map_or_else(TextView::default, |patch| TextView {
        head: patch.append,
        tail: patch.tail,
        total_lines: patch.total_lines,
        total_bytes: patch.total_bytes,
    });
    (view, seen)
}

/// What changed since a page last looked, if anything.
pub(crate) fn patch(text: &mut StreamText, seen: &mut Seen) -> Option<TextPatch> {
    let changed = text.first_changed_since(seen.mark)?;
    let total = text.total_lines();
    let folded = total > FOLD_OVER;
    let head = if folded { HEAD } else { total };
    let keep = changed.min(seen.head).min(head);
    let append = text.lines(keep..head).map(line).collect();
    let tail = if folded { text.lines(total - TAIL..total).map(line).collect() } else { Vec::new() };
    *seen = Seen { mark: text.mark(), head };
    Some(TextPatch {
        keep: count(keep),
        append,
        tail,
        total_lines: count(total),
        total_bytes: text.total_bytes() as u64,
    })
}

/// Lines for a page that unfolds a text. With an offset, the rest of one line.
pub(crate) fn lines(text: &StreamText, from: usize, wanted: usize, offset: usize) -> Vec<TextLine> {
    if offset > 0 {
        return text.line(from).map(|whole| cut(whole, offset, PIECE)).into_iter().collect();
    }
    let mut bytes = 0;
    text.lines(from..from.saturating_add(wanted.min(SLICE_LINES)))
        .map(line)
        .take_while(|line| {
            bytes += line.text.len();
            bytes <= SLICE_BYTES
        })
        .collect()
}

/// One line, cut to what a page shows.
pub(crate) fn line(text: &str) -> TextLine {
    cut(text, 0, LINE_LIMIT)
}

fn cut(text: &str, offset: usize, limit: usize) -> TextLine {
    let end = offset.saturating_add(limit);
    if offset == 0 && text.len() <= end {
        return TextLine { text: text.to_owned(), hidden: 0, next: 0 };
    }
    let rest = text.get(text.ceil_char_boundary(end)..).unwrap_or_default();
    TextLine {
        text: slice_line(text, offset..end),
        hidden: count(rest.chars().count()),
        next: if rest.is_empty() { 0 } else { count(end) },
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What a page holds after taking a patch in.
    fn take(head: &mut Vec<TextLine>, tail: &mut Vec<TextLine>, patch: TextPatch) {
        head.truncate(patch.keep as usize);
        head.extend(patch.append);
        *tail = patch.tail;
    }

    proptest! {
        #[test]
        fn a_page_that_takes_every_patch_holds_what_a_new_page_is_given(
            pieces in proptest::collection::vec("([a-c]{0,3}\n|\r[a-c]|\x1b\\[A|\x1b\\[31m){0,60}", 0..14),
            skip in proptest::collection::vec(any::<bool>(), 14),
        ) {
            let mut text = StreamText::new();
            let (mut head, mut tail, mut seen) = (Vec::new(), Vec::new(), Seen::default());
            for (piece, skip) in pieces.iter().zip(skip) {
                text.push(piece.as_bytes());
                if !skip && let Some(patch) = patch(&mut text, &mut seen) {
                    take(&mut head, &mut tail, patch);
                }
            }
            if let Some(patch) = patch(&mut text, &mut seen) {
                take(&mut head, &mut tail, patch);
            }
            let (fresh, _) = view(&mut text);
            prop_assert_eq!(head, fresh.head);
            prop_assert_eq!(tail, fresh.tail);
        }
    }

    #[test]
    fn a_long_text_is_given_as_its_first_four_and_last_three_lines() {
        let mut text = StreamText::new();
        for number in 0..1_000 {
            text.push(format!("{number}\n").as_bytes());
        }
        let (view, _) = view(&mut text);
        assert_eq!(view.head.iter().map(|line| line.text.as_str()).collect::<Vec<_>>(), ["0", "1", "2", "3"]);
        assert_eq!(
            view.tail.iter().map(|line| line.text.as_str()).collect::<Vec<_>>(),
            ["997", "998", "999"]
        );
        assert_eq!(view.total_lines, 1_000);
    }

    #[test]
    fn a_long_line_is_cut_and_can_be_read_on_to_its_end() {
        let mut text = StreamText::new();
        let long = "é".repeat(600_000);
        text.push(long.as_bytes());
        let mut line = view(&mut text).0.head.remove(0);
        let mut whole = line.text.clone();
        while line.next > 0 {
            assert!(line.hidden > 0 && line.text.len() <= PIECE + 4);
            line = lines(&text, 0, 1, line.next as usize).remove(0);
            whole.push_str(&line.text);
        }
        assert_eq!(whole, long);
    }
}
