//! The headings of a notebook.

use crate::cell::{Cell, CellKind};
use crate::key::CellKey;
use crate::notebook::Notebook;

/// A heading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    /// The cell it stands in.
    pub cell: CellKey,
    /// The line of that cell's source, from 0.
    pub line: usize,
    /// 1 to 6.
    pub level: u8,
    /// The text, without the marks of emphasis, code and links.
    pub text: String,
}

impl Notebook {
    /// Lines of markdown cells that start with `#`, outside fenced code.
    pub fn outline(&self) -> Vec<Heading> {
        self.cells().filter(|cell| cell.kind() == CellKind::Markdown).flat_map(headings).collect()
    }
}

fn headings(cell: &Cell) -> Vec<Heading> {
    let mut fence: Option<(char, usize)> = None;
    let mut found = Vec::new();
    for (number, line) in cell.source().lines().enumerate() {
        let indent = line.len() - line.trim_start_matches(' ').len();
        let text = line.trim();
        if indent > 3 {
            continue;
        }
        let mark = text.chars().next().filter(|mark| matches!(mark, '`' | '~'));
        let run = mark.map_or(0, |mark| text.chars().take_while(|character| *character == mark).count());
        match (fence, mark) {
            (None, Some(mark)) if run >= 3 => fence = Some((mark, run)),
            (Some((open, length)), Some(mark)) if mark == open && run >= length && run == text.len() => {
                fence = None;
            }
            (None, _) => {
                if let Some((level, text)) = heading(text) {
                    found.push(Heading { cell: cell.key().clone(), line: number, level, text });
                }
            }
            _ => {}
        }
    }
    found
}

fn heading(line: &str) -> Option<(u8, String)> {
    let text = line.trim_start_matches('#');
    let level = u8::try_from(line.len() - text.len()).ok().filter(|level| (1..=6).contains(level))?;
    if !text.is_empty() && !text.starts_with([' ', '\t']) {
        return None;
    }
    let text = text.trim();
    let closed = text.trim_end_matches('#');
    let text = if closed.is_empty() || closed.ends_with([' ', '\t']) { closed.trim_end() } else { text };
    Some((level, plain(text)))
}

/// The text without the marks of emphasis, code and links.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let after = &rest[character.len_utf8()..];
        rest = match character {
            '\\' => {
                let escaped = after.chars().next();
                out.extend(escaped);
                &after[escaped.map_or(0, char::len_utf8)..]
            }
            '*' | '`' => after,
            '!' if after.starts_with('[') => after,
            '[' => {
                let found = link(after);
                out.push_str(&found.map_or_else(|| "[".to_owned(), |(label, _)| plain(label)));
                found.map_or(after, |(_, behind)| behind)
            }
            other => {
                out.push(other);
                after
            }
        };
    }
    out
}

/// The label of a link whose opening bracket was just read, and what follows the link.
fn link(text: &str) -> Option<(&str, &str)> {
    let (label, target) = text.split_once("](")?;
    let (_, behind) = target.split_once(')')?;
    (!label.contains('[')).then_some((label, behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_are_lines_that_start_with_number_signs() {
        let source = "# One **bold** `code` #\n\ntext\n#no\n```\n# code\n```\n####### seven\n   ## [Link](http://x) ![a](b) C\\#\n    # indented";
        let mut notebook = Notebook::empty();
        let cell = crate::NewCell::new("k".into(), CellKind::Markdown, source);
        let at = crate::Position::Index(0);
        notebook.apply(crate::Operation::InsertCells { at, cells: vec![cell] }).unwrap();
        let found: Vec<_> = notebook
            .outline()
            .into_iter()
            .map(|heading| (heading.line, heading.level, heading.text))
            .collect();
        assert_eq!(found, [(0, 1, "One bold code".to_owned()), (8, 2, "Link a C#".to_owned())]);
    }
}
