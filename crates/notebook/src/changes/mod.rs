//! Changes of one text, with the meaning of CodeMirror's `ChangeSet`.
//!
//! An editor that runs `@codemirror/collab` sends changes and receives those of others; both sides must map them over
//! each other by the same rules or their texts drift apart. So this is a translation of the rules in
//! `@codemirror/state` (`mapSet`, `mapPos`), and a test compares it with that package, case by case.
//! Lengths count UTF-16 units. Line breaks are `\n`.

mod mapping;
mod wire;

use serde::{Deserialize, Serialize};

use crate::error::EditError;
use crate::utf16;
use mapping::{add, map_sections};

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

#[cfg(test)]
mod tests;
