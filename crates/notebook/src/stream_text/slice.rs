//! A part of one line, for a page that asks for a long line piece by piece.

use std::ops::Range;

use super::pen::Pen;
use super::row::{Piece, first_piece};

/// The characters of `line` that begin in the byte range, with the codes they need and closed at the end.
///
/// Offsets count the bytes of `line`, codes included. Ranges that meet give pieces that join without loss or
/// repetition.
pub fn slice_line(line: &str, range: Range<usize>) -> String {
    let mut out = String::new();
    let (mut pen, mut written) = (Pen::default(), Pen::default());
    let mut at = 0;
    // A line without codes needs no walk to where the range begins.
    if !line.contains('\x1b') {
        at = line.ceil_char_boundary(range.start.min(line.len()));
    }
    while at < range.end
        && let Some((piece, length)) = first_piece(&line[at..])
    {
        match piece {
            Piece::Code(code) => pen.apply_written(code),
            Piece::Character(character) if at >= range.start => {
                written.write_change(&pen, &mut out);
                written.clone_from(&pen);
                out.push(character);
            }
            Piece::Character(_) => {}
        }
        at += length;
    }
    written.write_close(&mut out);
    out
}
