//! Writing inside a row.
//!
//! Only the stretch of the row that is written over is taken apart into cells, one per column; the text before and
//! after stays text. A row of 20 MB whose first columns are redrawn costs what those columns cost.

use super::pen::Pen;
use super::row::{Piece, Place, Row, first_piece, is_combining, width_at};

/// How many columns are taken apart at once before they are written back.
const STRETCH: usize = 8 * 1024;

/// Puts spaces in place of everything left of `column`; a row that ends there becomes empty.
pub(super) fn blank_before(row: &mut Row, column: usize) {
    let mut edit = Edit::begin(row, column);
    edit.part(row, column);
    edit.finish(row);
    let end = row.locate(column);
    let (mut tail, mut tail_pen) = (end.byte, end.pen);
    if tail >= row.body().len() {
        row.clear();
        return;
    }
    while let Some((Piece::Code(code), length)) = first_piece(&row.text()[tail..]) {
        tail_pen.apply_written(code);
        tail += length;
    }
    row.splice(&Place::default(), tail, " ".repeat(column), &Pen::default(), &tail_pen);
}

/// One column. A wide character and a tab fill their first one and leave the others without a glyph.
#[derive(Clone, Debug)]
struct Cell {
    glyph: Option<char>,
    /// What joins the glyph.
    joined: String,
    pen: Pen,
}

impl Cell {
    fn new(glyph: Option<char>, pen: &Pen) -> Self {
        Self { glyph, joined: String::new(), pen: pen.clone() }
    }
}

/// A stretch of a row taken apart.
#[derive(Debug)]
pub(super) struct Edit {
    start: Place,
    cells: Vec<Cell>,
    /// Where in the row's text the part begins that was not taken apart.
    tail: usize,
    /// The pen in effect there.
    tail_pen: Pen,
}

impl Edit {
    /// Begins at the character that covers `column`, or at the end of the row.
    pub(super) fn begin(row: &mut Row, column: usize) -> Self {
        let start = row.locate(column);
        Self { tail: start.byte, tail_pen: start.pen.clone(), start, cells: Vec::new() }
    }

    /// Whether `column` can be reached without beginning elsewhere.
    pub(super) fn covers(&self, column: usize) -> bool {
        column >= self.start.column && column - self.start.column < STRETCH
    }

    /// Whether the stretch begins at `column` and nothing lies right of it.
    pub(super) fn is_at_end(&self, row: &Row, column: usize) -> bool {
        self.cells.is_empty() && self.start.column == column && self.tail >= row.body().len()
    }

    /// Writes one character over `column`; the row is padded with spaces up to there. Returns the column after it.
    pub(super) fn write(&mut self, row: &Row, column: usize, character: char, pen: &Pen) -> usize {
        let width = width_at(character, column);
        let index = column - self.start.column;
        self.reach(row, index + width);
        self.split(index);
        self.split(index + width);
        while self.cells.len() < index + width {
            self.cells.push(Cell::new(Some(' '), &Pen::default()));
        }
        self.cells[index] = Cell::new(Some(character), pen);
        for cell in &mut self.cells[index + 1..index + width] {
            *cell = Cell::new(None, pen);
        }
        column + width
    }

    /// Adds a combining character to the one that covers `column`.
    pub(super) fn join(&mut self, row: &Row, column: usize, character: char) {
        let index = column - self.start.column;
        self.reach(row, index + 1);
        while self.cells.len() <= index {
            self.cells.push(Cell::new(Some(' '), &Pen::default()));
        }
        let glyph = self.glyph_of(index);
        self.cells[glyph].joined.push(character);
    }

    /// Drops everything from `column` on.
    pub(super) fn erase_from(&mut self, row: &Row, column: usize) {
        let index = column - self.start.column;
        self.reach(row, index + 1);
        self.split(index);
        self.cells.truncate(index);
        self.tail = row.body().len();
    }

    /// Makes sure that a character begins at `column`.
    fn part(&mut self, row: &Row, column: usize) {
        let index = column - self.start.column;
        self.reach(row, index + 1);
        self.split(index);
    }

    /// Writes the stretch back.
    pub(super) fn finish(self, row: &mut Row) {
        let mut text = String::with_capacity(self.cells.len());
        let mut pen = &self.start.pen;
        for cell in &self.cells {
            if let Some(glyph) = cell.glyph {
                pen.write_change(&cell.pen, &mut text);
                pen = &cell.pen;
                text.push(glyph);
                text.push_str(&cell.joined);
            }
        }
        row.splice(&self.start, self.tail, text, pen, &self.tail_pen);
    }

    /// Takes the row apart until there are `count` cells or nothing is left.
    fn reach(&mut self, row: &Row, count: usize) {
        let body = row.body();
        while let Some((piece, length)) = first_piece(&body[self.tail..]) {
            match piece {
                Piece::Code(code) => self.tail_pen.apply_written(code),
                Piece::Character(character) => {
                    let column = self.start.column + self.cells.len();
                    if is_combining(character) && column > 0 {
                        if let Some(index) = self.cells.len().checked_sub(1) {
                            let glyph = self.glyph_of(index);
                            self.cells[glyph].joined.push(character);
                        }
                    } else {
                        if self.cells.len() >= count {
                            break;
                        }
                        self.cells.push(Cell::new(Some(character), &self.tail_pen));
                        for _ in 1..width_at(character, column) {
                            self.cells.push(Cell::new(None, &self.tail_pen));
                        }
                    }
                }
            }
            self.tail += length;
        }
    }

    /// The cell that holds the glyph covering `index`.
    fn glyph_of(&self, index: usize) -> usize {
        self.cells[..=index].iter().rposition(|cell| cell.glyph.is_some()).unwrap_or(0)
    }

    /// If one glyph covers both sides of `index`, puts spaces in its place.
    fn split(&mut self, index: usize) {
        if self.cells.get(index).is_none_or(|cell| cell.glyph.is_some()) {
            return;
        }
        let glyph = self.glyph_of(index);
        let end = self.cells[index..].iter().position(|cell| cell.glyph.is_some());
        let end = end.map_or(self.cells.len(), |length| index + length);
        for cell in &mut self.cells[glyph..end] {
            cell.glyph = Some(' ');
            cell.joined.clear();
        }
    }
}
