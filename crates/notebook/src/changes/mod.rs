//! Changes of one text, with the meaning of CodeMirror's `ChangeSet`.
//!
//! An editor that runs `@codemirror/collab` sends changes and receives those of others; both sides must map them over
//! each other by the same rules or their texts drift apart. So this is a translation of the rules in
//! `@codemirror/state` (`mapSet`, `mapPos`), and a test compares it with that package, case by case.
//! Lengths count UTF-16 units. Line breaks are `\n`.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::EditError;
use crate::utf16;

/// Changes that lead from one text to another.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Changes {
    sections: Vec<Section>,
}

/// A stretch of the old text: kept, or replaced by `text`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Section {
    length: usize,
    /// Length of the replacement; `None` for a stretch that is kept.
    insert: Option<usize>,
    text: String,
}

/// One replaced range.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextEdit {
    /// Where it begins in the old text, in UTF-16 units.
    pub from: usize,
    /// Where it ends in the old text, in UTF-16 units.
    pub to: usize,
    /// What stands there afterwards.
    pub insert: String,
}

impl Changes {
    /// Changes of a text of `length` units. The ranges mean the old text, ascend and do not overlap.
    pub fn new(length: usize, edits: &[TextEdit]) -> Result<Self, EditError> {
        let mut sections = Vec::new();
        let mut at = 0;
        for edit in edits {
            if edit.from < at || edit.to < edit.from || edit.to > length {
                return Err(EditError::Range { from: edit.from, to: edit.to, length });
            }
            let insert = newlines(&edit.insert);
            add(&mut sections, edit.from - at, None, "");
            add(&mut sections, edit.to - edit.from, Some(utf16::length(&insert)), &insert);
            at = edit.to;
        }
        add(&mut sections, length - at, None, "");
        Ok(Self { sections })
    }

    /// The smallest single replacement that leads from `old` to `new`.
    pub fn between(old: &str, new: &str) -> Self {
        let prefix = old.char_indices().zip(new.chars()).find(|((_, left), right)| left != right);
        let start = prefix.map_or_else(|| old.len().min(new.len()), |((at, _), _)| at);
        let suffix = old[start..].chars().rev().zip(new[start..].chars().rev());
        let same: usize =
            suffix.take_while(|(left, right)| left == right).map(|(left, _)| left.len_utf8()).sum();
        let removed = utf16::length(&old[start..old.len() - same]);
        let inserted = &new[start..new.len() - same];
        let mut sections = Vec::new();
        add(&mut sections, utf16::length(&old[..start]), None, "");
        add(&mut sections, removed, Some(utf16::length(inserted)), inserted);
        add(&mut sections, utf16::length(&old[old.len() - same..]), None, "");
        Self { sections }
    }

    /// Removes the bytes `from..to` of `text`.
    pub(crate) fn removal(text: &str, from: usize, to: usize) -> Self {
        let mut sections = Vec::new();
        add(&mut sections, utf16::length(&text[..from]), None, "");
        add(&mut sections, utf16::length(&text[from..to]), Some(0), "");
        add(&mut sections, utf16::length(&text[to..]), None, "");
        Self { sections }
    }

    /// The length of the text before.
    pub fn length(&self) -> usize {
        self.sections.iter().map(|section| section.length).sum()
    }

    /// The length of the text after.
    pub fn new_length(&self) -> usize {
        self.sections.iter().map(|section| section.insert.unwrap_or(section.length)).sum()
    }

    /// How much text comes in, in UTF-16 units.
    pub(crate) fn inserted(&self) -> usize {
        self.sections.iter().filter_map(|section| section.insert).sum()
    }

    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.sections.iter().all(|section| section.insert.is_none())
    }

    /// The replaced ranges, ascending. Ranges that touch stay apart, as `iterChanges` gives them with `individual`: how
    /// changes are mapped depends on it, so they must not be joined on the way to an editor or back.
    pub fn edits(&self) -> Vec<TextEdit> {
        let mut edits = Vec::new();
        let mut at = 0;
        for section in &self.sections {
            let end = at + section.length;
            if section.insert.is_some() {
                edits.push(TextEdit { from: at, to: end, insert: section.text.clone() });
            }
            at = end;
        }
        edits
    }

    /// The text after the changes.
    pub fn apply(&self, text: &str) -> Result<String, EditError> {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        for section in &self.sections {
            let at = utf16::byte_at(rest, section.length)
                .ok_or(EditError::Position { position: section.length })?;
            match section.insert {
                None => out.push_str(&rest[..at]),
                Some(_) => out.push_str(&section.text),
            }
            rest = &rest[at..];
        }
        if rest.is_empty() { Ok(out) } else { Err(EditError::Length { expected: self.length() }) }
    }

    /// The changes that lead back to `text`, which these apply to.
    pub fn invert(&self, text: &str) -> Result<Self, EditError> {
        let mut sections = Vec::with_capacity(self.sections.len());
        let mut rest = text;
        for section in &self.sections {
            let at = utf16::byte_at(rest, section.length)
                .ok_or(EditError::Position { position: section.length })?;
            sections.push(match section.insert {
                None => section.clone(),
                Some(insert) => {
                    Section { length: insert, insert: Some(section.length), text: rest[..at].to_owned() }
                }
            });
            rest = &rest[at..];
        }
        Ok(Self { sections })
    }

    /// These changes so that they apply behind `other`, which starts from the same text. With `before`, an insertion
    /// at the same place as one of `other` comes before it, else behind it.
    pub fn map(&self, other: &Self, before: bool) -> Result<Self, EditError> {
        if other.is_empty() {
            return Ok(self.clone());
        }
        map_sections(&self.sections, &other.sections, before).map(|sections| Self { sections })
    }

    /// Where `position` of the old text stands in the new one; `after` chooses the side of text inserted right there.
    pub fn map_position(&self, position: usize, after: bool) -> usize {
        let (mut old, mut new) = (0, 0);
        for section in &self.sections {
            let end = old + section.length;
            match section.insert {
                None if end > position => return new + (position - old),
                None => new += section.length,
                Some(insert) => {
                    if end > position || (end == position && !after && section.length == 0) {
                        return if position == old || !after { new } else { new + insert };
                    }
                    new += insert;
                }
            }
            old = end;
        }
        new
    }
}

/// The text with every line break as `\n`.
pub(crate) fn newlines(text: &str) -> std::borrow::Cow<'_, str> {
    if text.contains('\r') { text.replace("\r\n", "\n").replace('\r', "\n").into() } else { text.into() }
}

fn add(sections: &mut Vec<Section>, length: usize, insert: Option<usize>, text: &str) {
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

fn map_sections(left: &[Section], right: &[Section], before: bool) -> Result<Vec<Section>, EditError> {
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

impl Serialize for Changes {
    /// As CodeMirror's `ChangeSet.toJSON` writes it.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.sections.iter().map(|section| match section.insert {
            None => serde_json::Value::from(section.length),
            Some(0) => vec![serde_json::Value::from(section.length)].into(),
            Some(_) => {
                let lines = section.text.split('\n').map(serde_json::Value::from);
                std::iter::once(serde_json::Value::from(section.length)).chain(lines).collect()
            }
        }))
    }
}

impl<'de> Deserialize<'de> for Changes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Part {
            Keep(u32),
            Replace(Vec<Piece>),
        }
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Piece {
            Length(u32),
            Line(String),
        }
        let mut sections = Vec::new();
        for part in Vec::<Part>::deserialize(deserializer)? {
            match part {
                Part::Keep(length) => {
                    sections.push(Section { length: length as usize, insert: None, text: String::new() });
                }
                Part::Replace(pieces) => {
                    let mut pieces = pieces.into_iter();
                    let Some(Piece::Length(length)) = pieces.next() else {
                        return Err(D::Error::custom("a replaced stretch begins with its length"));
                    };
                    let lines = pieces.map(|piece| match piece {
                        Piece::Line(line) if !line.contains(['\n', '\r']) => Ok(line),
                        _ => Err(D::Error::custom("inserted text is a list of lines")),
                    });
                    let text = lines.collect::<Result<Vec<_>, _>>()?.join("\n");
                    sections.push(Section {
                        length: length as usize,
                        insert: Some(utf16::length(&text)),
                        text,
                    });
                }
            }
        }
        Ok(Self { sections })
    }
}

#[cfg(test)]
mod tests;
