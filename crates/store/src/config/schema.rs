//! The keys of a file, each with its kind, default and explanation; settings and policies are such files.

use std::fmt::Write as _;
use std::path::Path;

use toml_edit::{Document, Value};

use super::file::{FORMAT, Format, line_of, problem};
use super::nearest::nearest;
use crate::{ConfigProblem, Error, Result};

/// What may stand behind a key.
#[derive(Debug)]
pub(super) enum Kind {
    /// `true` or `false`.
    Switch(bool),
    /// A whole number in a range.
    Number { default: i64, from: i64, to: i64 },
    /// One of some words; the first is the default.
    Choice(&'static [&'static str]),
}

impl Kind {
    pub(super) fn default(&self) -> Value {
        match *self {
            Self::Switch(default) => default.into(),
            Self::Number { default, .. } => default.into(),
            Self::Choice(words) => words.first().copied().unwrap_or_default().into(),
        }
    }

    fn accepts(&self, value: &Value) -> bool {
        match self {
            Self::Switch(_) => value.is_bool(),
            Self::Number { from, to, .. } => {
                value.as_integer().is_some_and(|number| (*from..=*to).contains(&number))
            }
            Self::Choice(words) => value.as_str().is_some_and(|word| words.contains(&word)),
        }
    }

    /// What is accepted, as the end of a sentence.
    pub(super) fn expectation(&self) -> String {
        match self {
            Self::Switch(_) => "true or false".into(),
            Self::Number { from, to, .. } => format!("a whole number from {from} to {to}"),
            Self::Choice(words) => {
                let quoted: Vec<_> = words.iter().map(|word| format!("\"{word}\"")).collect();
                format!("one of {}", quoted.join(", "))
            }
        }
    }

    /// A value as it is written on a command line.
    pub(super) fn parse(&self, text: &str) -> Option<Value> {
        let value: Value = match self {
            Self::Switch(_) => text.parse::<bool>().ok()?.into(),
            Self::Number { .. } => text.parse::<i64>().ok()?.into(),
            Self::Choice(_) => text.into(),
        };
        self.accepts(&value).then_some(value)
    }
}

/// One key of a file, in a section.
#[derive(Debug)]
pub(super) struct Key {
    /// `section.name`.
    pub(super) path: &'static str,
    pub(super) kind: Kind,
    /// For a person, with the unit.
    pub(super) explanation: &'static str,
}

impl Key {
    pub(super) fn section_and_name(&self) -> (&'static str, &'static str) {
        self.path.split_once('.').unwrap_or(("", self.path))
    }
}

/// All keys of one kind of file.
#[derive(Debug)]
pub struct Schema {
    /// What the file is, for its first lines.
    pub(super) title: &'static str,
    pub(super) keys: &'static [Key],
    pub(super) format: Format,
}

impl Schema {
    pub(super) fn index_of(&self, path: &str) -> Result<usize> {
        self.keys.iter().position(|key| key.path == path).ok_or_else(|| Error::NoSuchSetting {
            key: path.to_owned(),
            nearest: nearest(path, self.keys.iter().map(|key| key.path)),
        })
    }

    /// Reads the values, or says all that is wrong.
    pub(super) fn values(&self, path: &Path, document: &Document<String>) -> Result<Vec<Option<Value>>> {
        let mut values = vec![None; self.keys.len()];
        let mut problems = Vec::new();
        let line =
            |span: Option<std::ops::Range<usize>>| span.map_or(0, |span| line_of(document.raw(), span.start));
        for (section, item) in document.iter().filter(|(name, _)| *name != FORMAT) {
            let header = document.as_table().key(section).and_then(toml_edit::Key::span);
            let Some(table) = item.as_table_like() else {
                let message = "This is not in a section, such as [appearance].";
                problems.push(ConfigProblem {
                    nearest: self.nearest_path(section),
                    ..problem(path, line(header), section, message)
                });
                continue;
            };
            if !self.keys.iter().any(|key| key.section_and_name().0 == section) {
                let sections = self.keys.iter().map(|key| key.section_and_name().0);
                problems.push(ConfigProblem {
                    nearest: nearest(section, sections),
                    ..problem(path, line(header.or(item.span())), section, "There is no such section.")
                });
                continue;
            }
            for (name, item) in table.iter() {
                let full = format!("{section}.{name}");
                let span = table.get_key_value(name).and_then(|(key, _)| key.span());
                let Some(index) = self.keys.iter().position(|key| key.path == full) else {
                    problems.push(ConfigProblem {
                        nearest: self.nearest_in(section, name),
                        ..problem(path, line(span), &full, "There is no such setting.")
                    });
                    continue;
                };
                let kind = &self.keys[index].kind;
                values[index] = item.as_value().filter(|value| kind.accepts(value)).cloned();
                if values[index].is_none() {
                    let message = format!("This must be {}.", kind.expectation());
                    problems.push(problem(path, line(span), &full, &message));
                }
            }
        }
        if problems.is_empty() { Ok(values) } else { Err(Error::Config(problems)) }
    }

    /// The known name meant by `name` in `section`: one of the section, or the full name of one elsewhere.
    fn nearest_in(&self, section: &str, name: &str) -> Option<&'static str> {
        let own = self.keys.iter().map(Key::section_and_name).filter(|(of, _)| *of == section);
        nearest(name, own.map(|(_, name)| name)).or_else(|| self.nearest_path(name))
    }

    fn nearest_path(&self, name: &str) -> Option<&'static str> {
        let found = nearest(name, self.keys.iter().map(|key| key.section_and_name().1))?;
        self.keys.iter().find(|key| key.section_and_name().1 == found).map(|key| key.path)
    }

    /// The whole file with explanations, and `values` where they differ from the defaults.
    pub(super) fn document(&self, values: &[Option<Value>]) -> String {
        let mut text = format!("{}\nformat = {}\n", comment(self.title), self.format.migrations.len() + 1);
        let mut last_section = "";
        for (index, key) in self.keys.iter().enumerate() {
            let (section, name) = key.section_and_name();
            if section != last_section {
                let _ = write!(text, "\n[{section}]\n");
                last_section = section;
            }
            let value = values.get(index).cloned().flatten().unwrap_or_else(|| key.kind.default());
            let value = value.decorated("", "");
            text.push_str(&explanation(key));
            let _ = writeln!(text, "{name} = {value}");
        }
        text
    }
}

pub(super) fn explanation(key: &Key) -> String {
    let default = key.kind.default();
    format!("{}# ({}; default {default})\n", comment(key.explanation), key.kind.expectation())
}

fn comment(text: &str) -> String {
    text.lines().map(|line| if line.is_empty() { "#\n".into() } else { format!("# {line}\n") }).collect()
}
