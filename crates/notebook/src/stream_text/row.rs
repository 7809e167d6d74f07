//! One line that the cursor can still reach.
//!
//! A row is kept as its finished text: codes included, closed at the end. Appending needs nothing else. A column
//! is counted only when the cursor asks for one, from the last place where one was counted.

use unicode_width::UnicodeWidthChar as _;

use super::pen::Pen;

/// Distance between tab stops.
const TAB: usize = 8;

/// Columns that `character` takes when it starts at `column`. A combining mark with nothing to sit on takes one.
pub(super) fn width_at(character: char, column: usize) -> usize {
    match character {
        ' '..='~' => 1,
        '\t' => TAB - column % TAB,
        _ => match character.width().unwrap_or(0) {
            0 if column == 0 => 1,
            width => width,
        },
    }
}

/// Whether `character` joins the one before it.
pub(super) fn is_combining(character: char) -> bool {
    !character.is_ascii() && character.width().unwrap_or(0) == 0
}

/// The next tab stop right of `column`.
pub(super) fn next_tab_stop(column: usize) -> usize {
    column + TAB - column % TAB
}

/// A piece of a row's text.
pub(super) enum Piece<'a> {
    Character(char),
    Code(&'a str),
}

/// The first piece of `text`, which begins at a boundary between pieces, and its length in bytes.
pub(super) fn first_piece(text: &str) -> Option<(Piece<'_>, usize)> {
    let first = text.chars().next()?;
    if first != '\x1b' {
        return Some((Piece::Character(first), first.len_utf8()));
    }
    let length = if text[1..].starts_with('[') {
        text.find('m').map(|at| at + 1)
    } else {
        text.find("\x1b\\").map(|at| at + 2)
    };
    let length = length.unwrap_or(text.len());
    Some((Piece::Code(&text[..length]), length))
}

/// A place in a row just after a character and what joins it, before any code that follows.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    pub(super) byte: usize,
    pub(super) column: usize,
    pub(super) pen: Pen,
}

#[derive(Debug, Default)]
pub(super) struct Row {
    /// The line as it is shown, starting from and ending in the reset state.
    text: String,
    /// The pen of the last character: what the text was in before it was closed.
    pen: Pen,
    /// Where columns were last counted to.
    counted: Place,
}

impl Row {
    /// A row from the text of a finished line.
    pub(super) fn from_finished(text: String) -> Self {
        let mut pen = Pen::default();
        if text.ends_with("\x1b[0m") || text.ends_with("\x1b\\") {
            let mut last = Pen::default();
            let mut rest = text.as_str();
            while let Some((piece, length)) = first_piece(rest) {
                match piece {
                    Piece::Code(code) => last.apply_written(code),
                    Piece::Character(_) if pen == last => {}
                    Piece::Character(_) => pen = last.clone(),
                }
                rest = &rest[length..];
            }
        }
        Self { text, pen, counted: Place::default() }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// The text up to where its last character ends.
    pub(super) fn body(&self) -> &str {
        &self.text[..self.text.len() - self.pen.close_len()]
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Adds `text`, which holds no control character but tabs, after the last character.
    pub(super) fn append(&mut self, text: &str, pen: &Pen) {
        let Some(first) = text.chars().next() else { return };
        if self.pen.is_default() && pen.is_default() {
            self.text.push_str(text);
            return;
        }
        self.text.truncate(self.body().len());
        let mut text = text;
        if is_combining(first) && !self.text.is_empty() {
            // What joins the last character is drawn as that character is.
            let joined = text.find(|character| !is_combining(character)).unwrap_or(text.len());
            self.text.push_str(&text[..joined]);
            text = &text[joined..];
        }
        if !text.is_empty() {
            self.pen.write_change(pen, &mut self.text);
            self.text.push_str(text);
            self.pen.clone_from(pen);
        }
        self.pen.write_close(&mut self.text);
    }

    /// The place of the character that covers `column`, or the end of the row when it is shorter.
    pub(super) fn locate(&mut self, column: usize) -> Place {
        let mut place = if self.counted.column <= column && self.counted.byte <= self.body().len() {
            std::mem::take(&mut self.counted)
        } else {
            Place::default()
        };
        let body = self.body();
        let mut pen = place.pen.clone();
        let mut at = place.byte;
        while let Some((piece, length)) = first_piece(&body[at..]) {
            match piece {
                Piece::Code(code) => pen.apply_written(code),
                Piece::Character(character) => {
                    let joins = is_combining(character) && place.column > 0;
                    let width = if joins { 0 } else { width_at(character, place.column) };
                    if !joins && place.column + width > column {
                        break;
                    }
                    place.column += width;
                    place.byte = at + length;
                    if place.pen != pen {
                        place.pen.clone_from(&pen);
                    }
                }
            }
            at += length;
        }
        self.counted.clone_from(&place);
        place
    }

    /// How many columns the row takes.
    pub(super) fn columns(&mut self) -> usize {
        self.locate(usize::MAX).column
    }

    /// Replaces the text from `start` up to byte `tail` by `middle`, which leaves the pen at `pen`. What follows is
    /// drawn with `tail_pen`, and `tail` is at its first character.
    pub(super) fn splice(
        &mut self,
        start: &Place,
        tail: usize,
        mut middle: String,
        pen: &Pen,
        tail_pen: &Pen,
    ) {
        let body = self.body().len();
        if tail < body {
            pen.write_change(tail_pen, &mut middle);
            self.text.replace_range(start.byte..tail, &middle);
        } else {
            self.text.truncate(start.byte);
            self.text.push_str(&middle);
            pen.write_close(&mut self.text);
            self.pen.clone_from(pen);
        }
        if self.counted.byte > start.byte {
            self.counted.clone_from(start);
        }
    }
}
