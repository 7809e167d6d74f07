//! The lines and the cursor: what the control codes of a stream do.
//!
//! The screen is as wide as its longest line and 200 lines high; lines that leave it at the top are finished for
//! good. Lines are packed away as soon as the cursor leaves the last one downwards and are taken out again only
//! when it goes back up, so plain output never makes a row of its own.
//!
//! Two places differ from a terminal on purpose. Erasing below the cursor removes those lines, and erasing the
//! whole display removes all 200 and puts the cursor where they began, because blank lines in a notebook are
//! litter. Moving down stops at the last line there is.

use std::collections::VecDeque;

use super::changes::Changes;
use super::edit::{Edit, blank_before};
use super::finished::FinishedLines;
use super::pen::Pen;
use super::row::{Row, is_combining, next_tab_stop};

/// How many lines the cursor can reach.
pub(super) const HEIGHT: usize = 200;
/// How far right of a line's end a cursor move goes, in columns. Past that a few bytes would ask for megabytes of
/// spaces.
pub(super) const REACH: usize = 1000;

/// Which part of a line or of the display is erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    AfterCursor,
    BeforeCursor,
    All,
}

#[derive(Debug)]
pub(super) struct Screen {
    pub(super) finished: FinishedLines,
    /// The lines below the finished ones; never empty.
    pub(super) rows: VecDeque<Row>,
    /// The cursor's row in `rows`.
    row: usize,
    /// The cursor's column; `None` is right after the last character, wherever that is.
    column: Option<usize>,
    pub(super) pen: Pen,
    /// The stretch of the cursor's row that is being written over.
    edit: Option<Edit>,
    pub(super) changes: Changes,
}

impl Default for Screen {
    fn default() -> Self {
        Self {
            finished: FinishedLines::default(),
            rows: VecDeque::from([Row::default()]),
            row: 0,
            column: None,
            pen: Pen::default(),
            edit: None,
            changes: Changes::default(),
        }
    }
}

impl Screen {
    /// Number of lines, the one that was only begun counted too.
    pub(super) fn height(&self) -> usize {
        self.finished.len() + self.rows.len()
    }

    /// Writes text whose only control characters are `\n` and `\t`.
    pub(super) fn write(&mut self, text: &str) {
        let mut rest = text;
        while !rest.is_empty() {
            if self.is_appending() {
                rest = self.append_lines(rest);
                continue;
            }
            let end = rest.find(['\n', '\t']).unwrap_or(rest.len());
            self.overwrite(&rest[..end]);
            rest = &rest[end..];
            if rest.starts_with('\n') {
                self.line_feed();
            } else if rest.starts_with('\t') {
                self.tab();
            }
            rest = rest.get(1..).unwrap_or_default();
        }
    }

    pub(super) fn carriage_return(&mut self) {
        self.set_column(0);
    }

    pub(super) fn backspace(&mut self) {
        self.move_left(1);
    }

    pub(super) fn line_feed(&mut self) {
        self.finish_edit();
        self.note();
        if self.row + 1 < self.rows.len() {
            self.row += 1;
            self.set_column(0);
            return;
        }
        for row in self.rows.drain(..) {
            self.finished.push(row.into_text());
        }
        self.rows.push_back(Row::default());
        self.row = 0;
        self.column = None;
    }

    pub(super) fn move_left(&mut self, count: usize) {
        let column = self.cursor_column();
        self.set_column(column.saturating_sub(count));
    }

    pub(super) fn move_right(&mut self, count: usize) {
        let column = self.cursor_column();
        self.move_to_column(column.saturating_add(count));
    }

    /// Moves to `column`, the first being 0.
    pub(super) fn move_to_column(&mut self, column: usize) {
        let limit = if column > REACH { self.columns().max(REACH) } else { column };
        self.set_column(column.min(limit));
    }

    pub(super) fn move_up(&mut self, count: usize) {
        let column = self.cursor_column();
        self.finish_edit();
        let current = self.finished.len() + self.row;
        let target = current.saturating_sub(count).max(self.top().min(current));
        self.take_out(target);
        self.row = target - self.finished.len();
        self.set_column(column);
    }

    pub(super) fn move_down(&mut self, count: usize) {
        let column = self.cursor_column();
        self.finish_edit();
        self.row = self.row.saturating_add(count).min(self.rows.len() - 1);
        self.set_column(column);
    }

    pub(super) fn erase_in_line(&mut self, part: Part) {
        let column = self.cursor_column();
        self.finish_edit();
        self.note();
        let row = &mut self.rows[self.row];
        match part {
            Part::All => row.clear(),
            Part::AfterCursor => {
                let mut edit = Edit::begin(row, column);
                edit.erase_from(row, column);
                edit.finish(row);
            }
            Part::BeforeCursor => blank_before(row, column + 1),
        }
        self.set_column(column);
    }

    pub(super) fn erase_in_display(&mut self, part: Part) {
        let column = self.cursor_column();
        self.finish_edit();
        match part {
            Part::AfterCursor => {
                self.rows.truncate(self.row + 1);
                self.erase_in_line(part);
            }
            Part::BeforeCursor => {
                let current = self.finished.len() + self.row;
                self.take_out(self.top().min(current));
                self.row = current - self.finished.len();
                for row in self.rows.range_mut(..self.row) {
                    row.clear();
                }
                self.changes.note(self.finished.len());
                self.erase_in_line(part);
                self.set_column(column);
            }
            Part::All => {
                self.take_out(self.top());
                self.rows.truncate(self.top().saturating_sub(self.finished.len()));
                self.rows.push_back(Row::default());
                self.row = self.rows.len() - 1;
                self.column = None;
                self.note();
            }
        }
    }

    /// Writes back what is being edited, so that the rows can be read.
    pub(super) fn finish_edit(&mut self) {
        if let Some(edit) = self.edit.take() {
            edit.finish(&mut self.rows[self.row]);
        }
    }

    fn is_appending(&self) -> bool {
        self.column.is_none() && self.row + 1 == self.rows.len()
    }

    /// Appends at the end of the last row and below; returns what is left once the cursor is elsewhere.
    fn append_lines<'a>(&mut self, text: &'a str) -> &'a str {
        self.note();
        let Some(first) = memchr::memchr(b'\n', text.as_bytes()) else {
            self.rows[self.row].append(text, &self.pen);
            return "";
        };
        self.rows[self.row].append(&text[..first], &self.pen);
        self.line_feed();
        let rest = &text[first + 1..];
        let whole = memchr::memrchr(b'\n', rest.as_bytes()).map_or(0, |last| last + 1);
        if whole == 0 || !self.pen.is_default() {
            return rest;
        }
        self.finished.push_block(&rest[..whole]);
        &rest[whole..]
    }

    /// Writes `text`, which has no control characters, from the cursor on.
    fn overwrite(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.note();
        let mut column = self.cursor_column();
        for (at, character) in text.char_indices() {
            let joins = is_combining(character) && column > 0;
            let target = if joins { column - 1 } else { column };
            if !self.edit.as_ref().is_some_and(|edit| edit.covers(target)) {
                self.finish_edit();
                self.edit = Some(Edit::begin(&mut self.rows[self.row], target));
            }
            let row = &self.rows[self.row];
            let Some(edit) = self.edit.as_mut() else { return };
            if joins {
                edit.join(row, target, character);
            } else if edit.is_at_end(row, target) {
                self.edit = None;
                self.column = None;
                self.rows[self.row].append(&text[at..], &self.pen);
                return;
            } else {
                column = edit.write(row, column, character, &self.pen);
            }
        }
        self.column = Some(column);
    }

    /// At the end of a line a tab is a character; inside one it only moves the cursor.
    fn tab(&mut self) {
        let column = self.cursor_column();
        if column == self.columns() {
            self.finish_edit();
            self.note();
            self.column = None;
            self.rows[self.row].append("\t", &self.pen);
        } else {
            self.set_column(next_tab_stop(column));
        }
    }

    fn set_column(&mut self, column: usize) {
        let ends = column == 0 && self.edit.is_none() && self.rows[self.row].is_empty();
        self.column = if ends { None } else { Some(column) };
    }

    fn cursor_column(&mut self) -> usize {
        self.column.unwrap_or_else(|| self.rows[self.row].columns())
    }

    /// How many columns the cursor's row takes.
    fn columns(&mut self) -> usize {
        self.finish_edit();
        self.rows[self.row].columns()
    }

    /// The first line that the cursor can reach.
    fn top(&self) -> usize {
        self.height().saturating_sub(HEIGHT)
    }

    /// Makes rows of the finished lines from `line` on.
    fn take_out(&mut self, line: usize) {
        while self.finished.len() > line {
            let Some(text) = self.finished.pop() else { return };
            self.rows.push_front(Row::from_finished(text));
            self.row += 1;
        }
    }

    fn note(&mut self) {
        self.changes.note(self.finished.len() + self.row);
    }
}
