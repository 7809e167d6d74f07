//! Reading and replacing one of the text files: syntax, format version, backup.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use toml_edit::{Document, DocumentMut};

use crate::files::write_atomically;
use crate::folders::{create_private_folder, private_file};
use crate::{ConfigProblem, Error, Result};

/// The key that holds the format version.
pub(super) const FORMAT: &str = "format";

/// Leads a file from one format to the next.
pub(super) type Migration = fn(&mut DocumentMut);

/// What one kind of file is.
#[derive(Debug)]
pub(super) struct Format {
    /// `migrations[n]` leads from format n + 1 to n + 2, so there is one format more than there are migrations.
    pub(super) migrations: &'static [Migration],
}

impl Format {
    fn newest(&self) -> u64 {
        self.migrations.len() as u64 + 1
    }

    /// The file at `path`, brought up to date; `None` if there is none.
    pub(super) fn read(&self, path: &Path) -> Result<Option<Document<String>>> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return Err(Error::Config(vec![problem(path, 0, "", "This is not UTF-8 text.")]));
            }
            Err(source) => return Err(Error::io(path, source)),
        };
        let document = parse(path, &text)?;
        let found = match document.get(FORMAT) {
            None => 1,
            Some(item) => match item.as_integer().and_then(|format| u64::try_from(format).ok()) {
                Some(format) if format > 0 => format,
                _ => {
                    let line = item.span().map_or(0, |span| line_of(&text, span.start));
                    let message = format!("This must be a number from 1 to {}.", self.newest());
                    return Err(Error::Config(vec![problem(path, line, FORMAT, &message)]));
                }
            },
        };
        if found > self.newest() {
            return Err(Error::Newer { path: path.to_owned(), found, known: self.newest() });
        }
        let pending = usize::try_from(found - 1).ok().and_then(|first| self.migrations.get(first..));
        let pending = pending.unwrap_or_default();
        if pending.is_empty() {
            return Ok(Some(document));
        }
        back_up(path, &text, found)?;
        let mut document = document.into_mut();
        for migrate in pending {
            migrate(&mut document);
        }
        document[FORMAT] = toml_edit::value(i64::try_from(self.newest()).unwrap_or(i64::MAX));
        let text = document.to_string();
        write(path, &text)?;
        parse(path, &text).map(Some)
    }
}

/// Replaces the file, which only its owner can read.
pub(super) fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(folder) = path.parent() {
        create_private_folder(folder)?;
    }
    // The mode of what is there is kept, so a new file begins as an empty private one.
    match private_file().write(true).create_new(true).open(path) {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(source) => return Err(Error::io(path, source)),
    }
    write_atomically(path, [text.as_bytes()]).map(drop)
}

/// The copy made before a file of `format` is changed.
pub(super) fn backup_path(path: &Path, format: u64) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".v{format}.backup"));
    path.with_file_name(name)
}

fn back_up(path: &Path, text: &str, format: u64) -> Result<()> {
    let backup = backup_path(path, format);
    let written = private_file()
        .write(true)
        .create(true)
        .truncate(true)
        .open(&backup)
        .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()));
    written.map_err(|source| Error::io(&backup, source))
}

fn parse(path: &Path, text: &str) -> Result<Document<String>> {
    Document::parse(text.to_owned()).map_err(|error| {
        let line = error.span().map_or(0, |span| line_of(text, span.start));
        let message = format!("This is not valid TOML: {}.", error.message().trim().replace('\n', "; "));
        Error::Config(vec![problem(path, line, "", &message)])
    })
}

/// The line of byte `offset`, the first being 1.
pub(super) fn line_of(text: &str, offset: usize) -> usize {
    text.char_indices().take_while(|(at, _)| *at < offset).filter(|(_, character)| *character == '\n').count()
        + 1
}

pub(super) fn problem(path: &Path, line: usize, key: &str, message: &str) -> ConfigProblem {
    ConfigProblem { file: path.to_owned(), line, key: key.into(), message: message.into(), nearest: None }
}
