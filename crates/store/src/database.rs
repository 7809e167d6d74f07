//! Opening a SQLite database of ours: settings, version, migrations.
//!
//! The version is `PRAGMA user_version`. A file of a newer Sandbook is recognised from its first bytes and not opened
//! at all, so that not even a WAL file appears beside it. Before migrations run, a copy is made with `VACUUM INTO`.
//!
//! A commit is safe from a kill at once. From a power cut it is safe after [`Database::with_durable`], and within a
//! second after [`Database::with`], when the WAL file is synchronised with everything else.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rusqlite::Connection;

use crate::folders::private_file;
use crate::sync::{Synchroniser, lock};
use crate::{Error, Result};

/// One database, used by one thread at a time. It is opened once per process.
#[derive(Debug)]
pub(crate) struct Database {
    path: PathBuf,
    wal: PathBuf,
    connection: Mutex<Connection>,
    synchroniser: Arc<Synchroniser>,
}

impl Database {
    /// Opens or makes the database at `path`. `migrations[n]` is the SQL that leads from version n to n + 1.
    pub(crate) fn open(path: &Path, migrations: &[&str], synchroniser: &Arc<Synchroniser>) -> Result<Self> {
        let mut wal = path.as_os_str().to_owned();
        wal.push("-wal");
        Ok(Self {
            path: path.to_owned(),
            wal: wal.into(),
            connection: Mutex::new(open(path, migrations)?),
            synchroniser: Arc::clone(synchroniser),
        })
    }

    /// Runs `action`, which only reads.
    pub(crate) fn read<T>(&self, action: impl FnOnce(&mut Connection) -> rusqlite::Result<T>) -> Result<T> {
        action(&mut lock(&self.connection)).map_err(|source| self.error(source))
    }

    /// Runs `action`. What it commits is on the disk within a second.
    pub(crate) fn with<T>(&self, action: impl FnOnce(&mut Connection) -> rusqlite::Result<T>) -> Result<T> {
        let result = self.read(action);
        self.synchroniser.queue_path(&self.wal);
        result
    }

    /// Runs `action`. What it commits is on the disk when this returns.
    pub(crate) fn with_durable<T>(
        &self,
        action: impl FnOnce(&mut Connection) -> rusqlite::Result<T>,
    ) -> Result<T> {
        self.read(|connection| {
            connection.pragma_update(None, "synchronous", "FULL")?;
            let result = action(connection);
            connection.pragma_update(None, "synchronous", "NORMAL")?;
            result
        })
    }

    fn error(&self, source: rusqlite::Error) -> Error {
        Error::Database { path: self.path.clone(), source }
    }
}

/// Marks our databases in their header (`SBox`).
const APPLICATION: u32 = 0x5342_6f78;
/// Where the header of a SQLite file has its user version and its application id, both big endian.
const VERSION_AT: usize = 60;
const APPLICATION_AT: usize = 68;

fn open(path: &Path, migrations: &[&str]) -> Result<Connection> {
    let known = u32::try_from(migrations.len()).unwrap_or(u32::MAX);
    check_header(path, known)?;
    // Made by us, so that it and the files SQLite puts beside it are the owner's alone.
    let created = private_file().append(true).create(true).open(path);
    created.map_err(|source| Error::io(path, source))?;
    let error = |source| Error::Database { path: path.to_owned(), source };
    let mut connection = Connection::open(path).map_err(error)?;
    connection.busy_timeout(Duration::from_secs(5)).map_err(error)?;
    // The header is behind while the newest pages are still in the WAL file.
    let found: u32 = connection.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(error)?;
    if found > known {
        return Err(Error::Newer { path: path.to_owned(), found: found.into(), known: known.into() });
    }
    connection.pragma_update(None, "journal_mode", "WAL").map_err(error)?;
    connection.pragma_update(None, "synchronous", "NORMAL").map_err(error)?;
    connection.pragma_update(None, "foreign_keys", "ON").map_err(error)?;
    let pending = migrations.get(found as usize..).unwrap_or_default();
    if pending.is_empty() {
        return Ok(connection);
    }
    if found > 0 {
        back_up(&connection, path, found)?;
    }
    let transaction = connection.transaction().map_err(error)?;
    for migration in pending {
        transaction.execute_batch(migration).map_err(error)?;
    }
    transaction.pragma_update(None, "user_version", known).map_err(error)?;
    transaction.pragma_update(None, "application_id", APPLICATION).map_err(error)?;
    transaction.commit().map_err(error)?;
    Ok(connection)
}

/// The copy made before version `version` of the database at `path` is changed.
fn backup_path(path: &Path, version: u32) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".v{version}.backup"));
    path.with_file_name(name)
}

fn back_up(connection: &Connection, path: &Path, version: u32) -> Result<()> {
    let backup = backup_path(path, version);
    // One that is there already is from a migration that was cut short; it may itself be cut.
    if let Err(source) = std::fs::remove_file(&backup)
        && source.kind() != std::io::ErrorKind::NotFound
    {
        return Err(Error::io(&backup, source));
    }
    // SQLite takes an empty file for a new database, and this one has the right mode.
    let created = private_file().write(true).create_new(true).open(&backup);
    created.map_err(|source| Error::io(&backup, source))?;
    let copied = connection.execute("VACUUM INTO ?1", [backup.to_string_lossy()]);
    copied.map_err(|source| Error::Database { path: backup.clone(), source })?;
    crate::sync::sync_path(&backup)
}

/// Looks at the header of a file without opening it as a database.
fn check_header(path: &Path, known: u32) -> Result<()> {
    let mut header = [0; 100];
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(source) => return Err(Error::io(path, source)),
    };
    match file.metadata() {
        Ok(metadata) if metadata.len() == 0 => return Ok(()),
        Ok(_) => {}
        Err(source) => return Err(Error::io(path, source)),
    }
    let is_ours = file.read_exact(&mut header).is_ok()
        && header.starts_with(b"SQLite format 3\0")
        && [APPLICATION, 0].contains(&number_at(&header, APPLICATION_AT));
    if !is_ours {
        return Err(Error::Damaged {
            path: path.to_owned(),
            what: "it is not a database of Sandbook".into(),
        });
    }
    let found = number_at(&header, VERSION_AT);
    if found > known {
        return Err(Error::Newer { path: path.to_owned(), found: found.into(), known: known.into() });
    }
    Ok(())
}

fn number_at(header: &[u8; 100], at: usize) -> u32 {
    header[at..].first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const FIRST: &str = "CREATE TABLE thing (name TEXT) STRICT;";
    const SECOND: &str = "ALTER TABLE thing ADD COLUMN size INTEGER;";

    #[test]
    fn a_migration_keeps_what_was_there_and_leaves_a_backup() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sqlite3");
        let connection = open(&path, &[FIRST]).unwrap();
        connection.execute("INSERT INTO thing VALUES ('one')", []).unwrap();
        drop(connection);
        let connection = open(&path, &[FIRST, SECOND]).unwrap();
        let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let thing: (String, Option<i64>) =
            connection.query_row("SELECT name, size FROM thing", [], row).unwrap();
        assert_eq!(thing, ("one".into(), None));
        let backup = Connection::open(backup_path(&path, 1)).unwrap();
        let names: i64 = backup.query_row("SELECT count(*) FROM thing", [], |row| row.get(0)).unwrap();
        let columns: i64 = backup
            .query_row("SELECT count(*) FROM pragma_table_info('thing')", [], |row| row.get(0))
            .unwrap();
        assert_eq!((names, columns), (1, 1));
    }

    #[test]
    fn a_migration_that_fails_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sqlite3");
        drop(open(&path, &[FIRST]).unwrap());
        assert!(open(&path, &[FIRST, SECOND, "NONSENSE"]).is_err());
        let connection = open(&path, &[FIRST]).unwrap();
        connection.execute("INSERT INTO thing VALUES ('one column')", []).unwrap();
    }

    #[test]
    fn a_newer_database_is_refused_and_not_touched() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sqlite3");
        drop(open(&path, &[FIRST, SECOND]).unwrap());
        let before = fs::read(&path).unwrap();
        let error = open(&path, &[FIRST]).unwrap_err();
        assert!(matches!(error, Error::Newer { found: 2, known: 1, .. }), "{error}");
        assert_eq!(fs::read(&path).unwrap(), before);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_that_is_no_database_is_refused_and_not_touched() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sqlite3");
        fs::write(&path, "my diary").unwrap();
        assert!(matches!(open(&path, &[FIRST]), Err(Error::Damaged { .. })));
        assert_eq!(fs::read_to_string(&path).unwrap(), "my diary");
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_can_read_a_database_and_its_backup() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sqlite3");
        drop(open(&path, &[FIRST]).unwrap());
        let connection = open(&path, &[FIRST, SECOND]).unwrap();
        connection.execute("INSERT INTO thing (name) VALUES ('in the WAL')", []).unwrap();
        let modes: Vec<_> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().metadata().unwrap().permissions().mode() & 0o777)
            .collect();
        assert!(modes.len() >= 3 && modes.iter().all(|mode| *mode == 0o600), "{modes:?}");
    }
}
