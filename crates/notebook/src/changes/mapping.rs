//! How changes are mapped over each other: `mapSet` of `@codemirror/state`, section by section.

use super::Section;
use crate::error::EditError;

/// Adds a section, joined with the last one where they are of a kind.
pub(super) fn add(sections: &mut Vec<Section>, length: usize, insert: Option<usize>, text: &str) {
    let inserts = insert.unwrap_or(0);
    if length == 0 && inserts == 0 {
        return;
    }
    match sections.last_mut() {
        Some(last) if inserts == 0 && last.insert == insert => last.length += length,
        Some(last) if length == 0 && last.length == 0 => {
            last.length += length;
            last.insert = Some(last.insert.unwrap_or(0) + inserts);
            last.text.push_str(text);
        }
        _ => sections.push(Section { length, insert, text: text.to_owned() }),
    }
}

/// Walks sections piece by piece.
struct Walk<'a> {
    sections: &'a [Section],
    /// Number of the section under way, from 1.
    number: usize,
    length: usize,
    insert: Option<usize>,
    offset: usize,
    done: bool,
}

impl<'a> Walk<'a> {
    fn new(sections: &'a [Section]) -> Self {
        let mut walk = Self { sections, number: 0, length: 0, insert: None, offset: 0, done: false };
        walk.next();
        walk
    }

    fn next(&mut self) {
        self.offset = 0;
        let section = self.sections.get(self.number);
        self.length = section.map_or(0, |section| section.length);
        self.insert = section.and_then(|section| section.insert);
        self.done = section.is_none();
        self.number += 1;
    }

    fn kept(&self) -> bool {
        !self.done && self.insert.is_none()
    }

    fn text(&self) -> &'a str {
        self.sections.get(self.number - 1).map_or("", |section| section.text.as_str())
    }

    fn forward(&mut self, length: usize) {
        if length == self.length {
            self.next();
        } else {
            self.length -= length;
            self.offset += length;
        }
    }
}

pub(super) fn map_sections(
    left: &[Section],
    right: &[Section],
    before: bool,
) -> Result<Vec<Section>, EditError> {
    let mut sections = Vec::new();
    let (mut a, mut b) = (Walk::new(left), Walk::new(right));
    // For a change of A that is processed in pieces: the number of the section whose text is already in.
    let mut inserted = 0;
    loop {
        if (a.done && b.length > 0) || (b.done && a.length > 0) {
            return Err(EditError::Mismatch);
        }
        if a.kept() && b.kept() {
            let length = a.length.min(b.length);
            add(&mut sections, length, None, "");
            a.forward(length);
            b.forward(length);
        } else if let Some(insert) = b.insert
            && (a.insert.is_none()
                || inserted == a.number
                || (a.offset == 0 && (b.length < a.length || (b.length == a.length && !before))))
        {
            add(&mut sections, insert, None, "");
            let mut length = b.length;
            while length > 0 {
                let piece = a.length.min(length);
                if let Some(insert) = a.insert
                    && inserted < a.number
                    && a.length <= piece
                {
                    add(&mut sections, 0, Some(insert), a.text());
                    inserted = a.number;
                }
                if a.done {
                    return Err(EditError::Mismatch);
                }
                a.forward(piece);
                length -= piece;
            }
            b.next();
        } else if let Some(insert) = a.insert {
            let (mut length, mut left) = (0, a.length);
            while left > 0 {
                if b.kept() {
                    let piece = left.min(b.length);
                    length += piece;
                    left -= piece;
                    b.forward(piece);
                } else if b.insert == Some(0) && b.length < left {
                    left -= b.length;
                    b.next();
                } else {
                    break;
                }
            }
            let fresh = inserted < a.number;
            add(
                &mut sections,
                length,
                Some(if fresh { insert } else { 0 }),
                if fresh { a.text() } else { "" },
            );
            inserted = a.number;
            a.forward(a.length - left);
        } else if a.done && b.done {
            return Ok(sections);
        } else {
            return Err(EditError::Mismatch);
        }
    }
}
