//! Reading and changing a file of known keys.

use std::path::{Path, PathBuf};

use toml_edit::{DocumentMut, Item, Table, Value};

use super::file::{self, problem};
use super::schema::{Key, Kind, Schema, explanation};
use crate::{Error, Result};

/// One setting for `sandbook config show`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// `section.name`.
    pub key: &'static str,
    /// The value in force, as TOML.
    pub value: String,
    /// Whether the file says so; otherwise it is the default.
    pub is_set: bool,
    /// What it means.
    pub explanation: &'static str,
}

/// A file of known keys.
#[derive(Debug)]
pub struct SettingsFile {
    path: PathBuf,
    schema: &'static Schema,
    values: Vec<Option<Value>>,
}

impl SettingsFile {
    /// Reads the file; without one, the defaults count.
    pub fn open(path: &Path, schema: &'static Schema) -> Result<Self> {
        let values = match schema.format.read(path)? {
            Some(document) => schema.values(path, &document)?,
            None => vec![None; schema.keys.len()],
        };
        Ok(Self { path: path.to_owned(), schema, values })
    }

    /// The defaults, for going on when the file can't be followed. Changing one of them still refuses to overwrite it.
    pub fn defaults(path: &Path, schema: &'static Schema) -> Self {
        Self { path: path.to_owned(), schema, values: vec![None; schema.keys.len()] }
    }

    /// Where the file is, or would be.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Changes values, given as they are written on a command line (`dark`, `14`, `true`). All or none are changed;
    /// what is in force already is not written. The file is made, with explanations, when it is missing.
    pub fn set(&mut self, changes: &[(&str, &str)]) -> Result<()> {
        let mut values = Vec::new();
        for (key, text) in changes {
            let index = self.schema.index_of(key)?;
            let value = self.schema.keys[index].kind.parse(text);
            let value = value.ok_or_else(|| {
                let message = format!("This must be {}.", self.schema.keys[index].kind.expectation());
                Error::Config(vec![problem(&self.path, 0, key, &message)])
            })?;
            values.push((index, value));
        }
        self.edit(values)
    }

    /// Puts a setting back to its default.
    pub fn reset(&mut self, key: &str) -> Result<()> {
        let index = self.schema.index_of(key)?;
        let default = self.schema.keys[index].kind.default();
        self.edit(vec![(index, default)])
    }

    /// All settings in their order.
    pub fn shown(&self) -> Vec<Shown> {
        let keys = self.schema.keys.iter().zip(&self.values);
        keys.map(|(key, value)| Shown {
            key: key.path,
            value: value.clone().unwrap_or_else(|| key.kind.default()).decorated("", "").to_string(),
            is_set: value.is_some(),
            explanation: key.explanation,
        })
        .collect()
    }

    /// The whole file as it would be written anew: every setting that is in force, explained.
    pub fn document(&self) -> String {
        self.schema.document(&self.values)
    }

    /// A switch; `key` must be one.
    pub(super) fn switch(&self, key: &str) -> bool {
        self.value(key).as_bool().unwrap_or_default()
    }

    /// A number that is not negative; `key` must be one.
    pub(super) fn number(&self, key: &str) -> u64 {
        self.value(key).as_integer().and_then(|number| number.try_into().ok()).unwrap_or_default()
    }

    /// The place of the chosen word among all; `key` must be a choice.
    pub(super) fn choice(&self, key: &str) -> usize {
        let words = self.schema.keys.iter().find(|known| known.path == key).map(|known| &known.kind);
        let Some(Kind::Choice(words)) = words else { return 0 };
        let value = self.value(key);
        words.iter().position(|word| value.as_str() == Some(word)).unwrap_or_default()
    }

    fn value(&self, key: &str) -> Value {
        let known = self.schema.keys.iter().zip(&self.values).find(|(known, _)| known.path == key);
        debug_assert!(known.is_some(), "{key} is not in the schema");
        known.map_or_else(|| false.into(), |(key, value)| value.clone().unwrap_or_else(|| key.kind.default()))
    }

    /// Reads the file anew, changes it and writes it.
    fn edit(&mut self, changes: Vec<(usize, Value)>) -> Result<()> {
        let current = self.schema.format.read(&self.path)?;
        let mut values = match &current {
            Some(document) => self.schema.values(&self.path, document)?,
            None => vec![None; self.schema.keys.len()],
        };
        let in_force = |index: usize, values: &[Option<Value>]| {
            values[index].clone().unwrap_or_else(|| self.schema.keys[index].kind.default())
        };
        let mut pending = changes;
        pending.retain(|(index, value)| !is_same(&in_force(*index, &values), value));
        for (index, value) in &pending {
            values[*index] = Some(value.clone());
        }
        if !pending.is_empty() {
            let text = match current {
                None => self.schema.document(&values),
                Some(document) => {
                    let mut document = document.into_mut();
                    for (index, value) in pending {
                        put(&mut document, &self.schema.keys[index], value);
                    }
                    document.to_string()
                }
            };
            file::write(&self.path, &text)?;
        }
        self.values = values;
        Ok(())
    }
}

/// Puts a value in its place; comments beside it stay. A key that is not there yet brings its explanation.
fn put(document: &mut DocumentMut, key: &Key, value: Value) {
    let (section, name) = key.section_and_name();
    let table = document.entry(section).or_insert_with(|| {
        let mut table = Table::new();
        table.decor_mut().set_prefix("\n");
        Item::Table(table)
    });
    let has_lines = table.as_table().is_some_and(|table| !table.is_dotted());
    let Some(table) = table.as_table_like_mut() else { return };
    if let Some(old) = table.get_mut(name).and_then(Item::as_value_mut) {
        let decor = old.decor().clone();
        *old = value;
        *old.decor_mut() = decor;
        return;
    }
    table.insert(name, Item::Value(value));
    // Between the keys of an inline or dotted table there is no room for comments.
    if has_lines && let Some(mut written) = table.key_mut(name) {
        written.leaf_decor_mut().set_prefix(explanation(key));
    }
}

fn is_same(one: &Value, two: &Value) -> bool {
    match (one, two) {
        (Value::Boolean(one), Value::Boolean(two)) => one.value() == two.value(),
        (Value::Integer(one), Value::Integer(two)) => one.value() == two.value(),
        (Value::String(one), Value::String(two)) => one.value() == two.value(),
        _ => false,
    }
}
