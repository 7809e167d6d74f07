//! What is known of each credential beside itself: what it is for, how old it is, when it was used.
//!
//! Deliberately absent: the credential. It is in the system's keyring, in memory, or in a variable of the environment.

use jiff::Timestamp;
use rusqlite::params;

use super::{Records, optional_time, time};
use crate::Result;

/// A credential, without its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CredentialRecord {
    /// Its name in the keyring, by which connections name it. Never changes.
    pub name: String,
    /// For people.
    pub title: String,
    /// What it is, in the owner's words.
    pub kind: String,
    /// Where it is kept, in the owner's words.
    pub place: String,
    /// The variable that holds it, where it is kept in one.
    pub variable: Option<String>,
    /// When it was first added.
    pub added: Timestamp,
    /// When another secret was last put in its place.
    pub replaced: Option<Timestamp>,
    /// When it was last used.
    pub used: Option<Timestamp>,
    /// When it ends by itself, where that is known.
    pub expires: Option<Timestamp>,
}

impl Records {
    /// Puts a credential on record, or changes what is known of it.
    pub fn put_credential(&self, credential: &CredentialRecord) -> Result<()> {
        let optional = |time: Option<Timestamp>| time.map(Timestamp::as_millisecond);
        self.change_durably(
            "INSERT OR REPLACE INTO credential (name, title, kind, place, variable, added, replaced, used, expires)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            params![
                credential.name,
                credential.title,
                credential.kind,
                credential.place,
                credential.variable,
                credential.added.as_millisecond(),
                optional(credential.replaced),
                optional(credential.used),
                optional(credential.expires),
            ],
        )
        .map(drop)
    }

    /// Every credential, by title.
    pub fn credentials(&self) -> Result<Vec<CredentialRecord>> {
        self.all("SELECT * FROM credential ORDER BY title, name", [], |row| {
            Ok(CredentialRecord {
                name: row.get("name")?,
                title: row.get("title")?,
                kind: row.get("kind")?,
                place: row.get("place")?,
                variable: row.get("variable")?,
                added: time(row, "added")?,
                replaced: optional_time(row, "replaced")?,
                used: optional_time(row, "used")?,
                expires: optional_time(row, "expires")?,
            })
        })
    }

    /// Notes that a credential was used. Whether there is one.
    pub fn note_credential_used(&self, name: &str, now: Timestamp) -> Result<bool> {
        self.change("UPDATE credential SET used = ?2 WHERE name = ?1", params![name, now.as_millisecond()])
    }

    /// Forgets a credential. Whether there was one.
    pub fn remove_credential(&self, name: &str) -> Result<bool> {
        self.change_durably("DELETE FROM credential WHERE name = ?1", [name])
    }
}
