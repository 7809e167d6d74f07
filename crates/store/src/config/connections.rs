//! Saved connections: a runtime, its settings and the name of a credential.

mod values;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value as Json};
use toml_edit::{ArrayOfTables, Document, DocumentMut, Item, Table, TableLike, Value, value};

use values::{json_of_item, json_of_table, toml_of_json};

use super::file::{self, FORMAT, Format, line_of, problem};
use super::nearest::nearest;
use crate::redact::redact;
use crate::{ConfigProblem, Error, Result};

const FORMATS: Format = Format { migrations: &[] };
const LIST: &str = "connection";
const KEYS: [&str; 5] = ["id", "name", "runtime", "credential", "settings"];
/// Keys that must be there.
const REQUIRED: usize = 3;
const HEADER: &str = "\
# Connections of Sandbook, one [[connection]] each.
#
# id          names it for good; choose any
# name        what you see
# runtime     where code runs: jupyter, docker …
# credential  the name of a secret in the system's keyring, if it needs one; never the secret itself
#
# [connection.settings] holds what the runtime needs, such as server_url.
format = 1
";
/// Names in a connection's settings that can only be secrets.
const SECRET_NAMES: [&str; 8] =
    ["token", "password", "passwd", "secret", "api_key", "apikey", "access_key", "private_key"];

/// One saved connection.
#[derive(Clone, Debug, PartialEq)]
pub struct Connection {
    /// Never changes.
    pub id: String,
    /// For people.
    pub name: String,
    /// Which runtime it is for.
    pub runtime: String,
    /// The name of its credential in the system's keyring.
    pub credential: Option<String>,
    /// What the runtime needs to know; nothing secret.
    pub settings: Map<String, Json>,
}

/// `connections.toml`.
#[derive(Debug)]
pub struct Connections {
    path: PathBuf,
    connections: Vec<Connection>,
}

impl Connections {
    /// Reads the file; without one, there are none.
    pub fn open(path: &Path) -> Result<Self> {
        let document = FORMATS.read(path)?;
        let connections = document.map_or_else(|| Ok(Vec::new()), |document| read(path, &document))?;
        Ok(Self { path: path.to_owned(), connections })
    }

    /// All, in the order of the file.
    pub fn all(&self) -> &[Connection] {
        &self.connections
    }

    /// One of them.
    pub fn get(&self, id: &str) -> Option<&Connection> {
        self.connections.iter().find(|connection| connection.id == id)
    }

    /// Adds a connection, or changes the one with its id; comments in the file stay. One that holds what looks like a
    /// secret is refused.
    pub fn put(&mut self, connection: &Connection) -> Result<()> {
        let mut found = Vec::new();
        find_secrets(&connection.settings, "settings", &mut found);
        if !found.is_empty() {
            let problems = found.into_iter().map(|(key, message)| problem(&self.path, 0, &key, message));
            return Err(Error::Config(problems.collect()));
        }
        self.edit(|list| {
            let is_it = |table: &Table| table.get("id").and_then(Item::as_str) == Some(&connection.id);
            let at = list.iter().position(is_it);
            if let Some(table) = at.and_then(|at| list.get_mut(at)) {
                update(table, connection);
            } else {
                let mut table = Table::new();
                update(&mut table, connection);
                list.push(table);
            }
        })
    }

    /// Removes a connection; its credential is for the caller to remove. `false` if there is none.
    pub fn remove(&mut self, id: &str) -> Result<bool> {
        let mut is_removed = false;
        self.edit(|list| {
            let before = list.len();
            list.retain(|table| table.get("id").and_then(Item::as_str) != Some(id));
            is_removed = list.len() < before;
        })?;
        Ok(is_removed)
    }

    /// Reads the file anew, changes it and writes it if it became another.
    fn edit(&mut self, change: impl FnOnce(&mut ArrayOfTables)) -> Result<()> {
        let current = FORMATS.read(&self.path)?;
        if let Some(document) = &current {
            // What can't be read must not be written over.
            read(&self.path, document)?;
        }
        let before = current.as_ref().map(|document| document.raw().to_owned());
        let mut document = match current {
            Some(document) => document.into_mut(),
            None => HEADER.parse::<DocumentMut>().unwrap_or_default(),
        };
        let list = document.entry(LIST).or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
        if let Some(list) = list.as_array_of_tables_mut() {
            change(list);
        }
        let text = document.to_string();
        if before.as_deref() != Some(&text) {
            file::write(&self.path, &text)?;
        }
        *self = Self::open(&self.path)?;
        Ok(())
    }
}

/// Reads the connections, or says all that is wrong.
fn read(path: &Path, document: &Document<String>) -> Result<Vec<Connection>> {
    let line =
        |span: Option<std::ops::Range<usize>>| span.map_or(0, |span| line_of(document.raw(), span.start));
    let mut problems = Vec::new();
    for (name, item) in document.iter() {
        let span = document.as_table().key(name).and_then(toml_edit::Key::span).or(item.span());
        if name == LIST && !item.is_array_of_tables() {
            problems.push(problem(path, line(span), name, "A connection begins with [[connection]]."));
        } else if name != LIST && name != FORMAT {
            problems.push(ConfigProblem {
                nearest: nearest(name, [LIST, FORMAT]),
                ..problem(path, line(span), name, "There is no such key.")
            });
        }
    }
    let mut connections: Vec<Connection> = Vec::new();
    let mut ids = HashSet::new();
    let list = document.get(LIST).and_then(Item::as_array_of_tables);
    for table in list.into_iter().flatten() {
        let begin = line(table.span());
        let mut report = |name: &str, message: &str, nearest| {
            let line = table.key(name).and_then(toml_edit::Key::span).map_or(begin, |span| line(Some(span)));
            problems.push(ConfigProblem { nearest, ..problem(path, line, name, message) });
        };
        for (name, item) in table {
            let is_settings = name == "settings";
            if !KEYS.contains(&name) {
                report(name, "There is no such key in a connection.", nearest(name, KEYS));
            } else if is_settings && item.as_table_like().is_none() {
                report(name, "This must be a table.", None);
            } else if !is_settings && !item.is_str() {
                report(name, "This must be a text in quotes.", None);
            }
        }
        for name in &KEYS[..REQUIRED] {
            if table.get(name).and_then(Item::as_str).is_none_or(str::is_empty) {
                report(name, "A connection needs this.", None);
            }
        }
        let connection = connection_of(table);
        if !ids.insert(connection.id.clone()) {
            report("id", "Another connection has this id already.", None);
        }
        let mut secrets = Vec::new();
        find_secrets(&connection.settings, "settings", &mut secrets);
        for (key, message) in secrets {
            let settings = table.get("settings").and_then(Item::as_table_like);
            let name = key.split('.').nth(1).unwrap_or_default();
            let span =
                settings.and_then(|settings| settings.get_key_value(name)).and_then(|(key, _)| key.span());
            problems.push(problem(path, span.map_or(begin, |span| line(Some(span))), &key, message));
        }
        connections.push(connection);
    }
    if problems.is_empty() { Ok(connections) } else { Err(Error::Config(problems)) }
}

fn connection_of(table: &Table) -> Connection {
    let text = |name| table.get(name).and_then(Item::as_str).map(str::to_owned);
    Connection {
        id: text("id").unwrap_or_default(),
        name: text("name").unwrap_or_default(),
        runtime: text("runtime").unwrap_or_default(),
        credential: text("credential"),
        settings: table.get("settings").and_then(Item::as_table_like).map(json_of_table).unwrap_or_default(),
    }
}

/// What looks like a secret in `settings`, with the reason.
fn find_secrets(settings: &Map<String, Json>, path: &str, found: &mut Vec<(String, &'static str)>) {
    for (name, value) in settings {
        let key = format!("{path}.{name}");
        let folded = name.to_ascii_lowercase().replace('-', "_");
        let is_secret_name =
            SECRET_NAMES.iter().any(|secret| folded == *secret || folded.ends_with(&format!("_{secret}")));
        match value {
            Json::Object(inner) => find_secrets(inner, &key, found),
            _ if is_secret_name => {
                found.push((key, "This looks like a secret. Store it as a credential and name that here."));
            }
            Json::String(text) if redact(text) != *text => {
                found.push((
                    key,
                    "This holds what looks like a secret. Store it as a credential and name that here.",
                ));
            }
            _ => {}
        }
    }
}

/// Brings a table to what `connection` says; what is the same is not touched.
fn update(table: &mut Table, connection: &Connection) {
    let texts = [
        ("id", Some(&connection.id)),
        ("name", Some(&connection.name)),
        ("runtime", Some(&connection.runtime)),
        ("credential", connection.credential.as_ref()),
    ];
    for (name, text) in texts {
        match text {
            Some(text) => put(table, name, text.as_str().into()),
            None => drop(table.remove(name)),
        }
    }
    if connection.settings.is_empty() {
        table.remove("settings");
        return;
    }
    let settings = table.entry("settings").or_insert_with(|| Item::Table(Table::new()));
    let Some(settings) = settings.as_table_like_mut() else { return };
    let names: Vec<_> = settings.iter().map(|(name, _)| name.to_owned()).collect();
    for name in names.iter().filter(|name| !connection.settings.contains_key(*name)) {
        settings.remove(name);
    }
    for (name, value) in &connection.settings {
        if settings.get(name).map(json_of_item).as_ref() != Some(value) {
            match toml_of_json(value) {
                Some(value) => put(settings, name, value),
                None => drop(settings.remove(name)),
            }
        }
    }
}

/// Sets a value; comments beside it stay.
fn put(table: &mut dyn TableLike, name: &str, new: Value) {
    match table.get_mut(name).and_then(Item::as_value_mut) {
        Some(old) if old.as_str().is_some() && old.as_str() == new.as_str() => {}
        Some(old) => {
            let decor = old.decor().clone();
            *old = new;
            *old.decor_mut() = decor;
        }
        None => drop(table.insert(name, value(new))),
    }
}
