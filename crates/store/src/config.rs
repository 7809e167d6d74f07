//! What a person decided: one text file each for settings, connections and policies.
//!
//! The files are TOML, made to be read and changed by hand: every key is explained above it, what a program changes
//! leaves comments and order alone, and a file is read anew before it is changed. What can't be followed is an error with
//! file, line and key, never passed over: a setting that is spelled wrong must not look as if it were in force. No file
//! is needed; without one, the defaults count.
//!
//! `format = 1` at the top says how to read a file. An older format is brought up to date after a copy was made beside
//! it (`settings.toml.v1.backup`); a newer one is refused and not touched. Secrets never stand here: a connection names
//! a credential, which lies in the system's keyring, and a value that looks like a secret is refused.

mod connections;
mod file;
mod nearest;
mod policies;
mod schema;
mod settings;
mod settings_file;
#[cfg(test)]
mod tests;

use crate::folders::Folders;
use crate::{ConfigProblem, Error, Result};

pub use connections::{Connection, Connections};
pub use policies::{POLICIES, Policies, Rule};
pub use schema::Schema;
pub use settings::{Autosave, SETTINGS, Settings, Theme, Timeouts};
pub use settings_file::{SettingsFile, Shown};

/// Everything that is wrong in the three files; nothing when all are right. For `sandbook config check`.
pub fn check(folders: &Folders) -> Result<Vec<ConfigProblem>> {
    let results = [
        SettingsFile::open(&folders.settings_file(), &SETTINGS).map(drop),
        Connections::open(&folders.connections_file()).map(drop),
        SettingsFile::open(&folders.policies_file(), &POLICIES).map(drop),
    ];
    let mut problems = Vec::new();
    for result in results {
        match result {
            Ok(()) => {}
            Err(Error::Config(found)) => problems.extend(found),
            Err(error) => return Err(error),
        }
    }
    Ok(problems)
}
