//! Credentials: where each is kept, and what is known of it.
//!
//! A credential has a name, by which connections name it, and a record of what it is and how old it is. The secret itself is
//! in the system's keyring, or in memory, or in a variable of the environment; it is never written to a file, shown, logged
//! or sent back to a page.
//!
//! - `keyring`: the system's, opened at each use, and which part of it is missing;
//! - `kinds`: what each kind looks like, when it ends and when it should be replaced;
//! - `imports`: credentials of other programs, which are offered and never taken by themselves;
//! - `views`: what a page sees.

mod imports;
mod keyring;
mod kinds;
mod views;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use jiff::Timestamp;
use sandbook_protocol::{CredentialKind, CredentialPlace, KeyringState, ProtocolError};
use sandbook_store::{
    folders::Folders,
    records::{CredentialRecord, Records},
    sync::Synchroniser,
};
use secrecy::SecretString;

pub(crate) use self::{
    imports::{Found, Places},
    keyring::{Keyring, Missing},
    kinds::{VARIABLE, expires, of_runtime, read, variable},
    views::usual_name,
};
use crate::{connections::Connection, disk::Disk, error::store_error, owner::lock};

/// Where a credential was put.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kept {
    /// In the system keyring.
    Keyring,
    /// In memory only, for this reason.
    Memory(String),
}

/// Where a person wants one.
#[derive(Debug, Clone)]
pub(crate) enum Given {
    /// In the keyring, and nowhere else.
    Keyring(SecretString),
    /// In memory, until the owner ends.
    Memory(SecretString),
    /// In this variable.
    Variable(String),
}

/// The person's credentials.
pub(crate) struct Credentials {
    disk: Arc<Disk>,
    memory: Mutex<HashMap<String, SecretString>>,
    pub(crate) keyring: Keyring,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Credentials")
    }
}

impl Credentials {
    pub(crate) fn new(disk: Arc<Disk>) -> Self {
        Self { disk, memory: Mutex::default(), keyring: Keyring::default() }
    }

    /// Keeps the credential of something that a person connected: in the keyring if that can be, else in memory.
    pub(crate) async fn store(
        &self,
        name: &str,
        (kind, title): (CredentialKind, &str),
        secret: SecretString,
    ) -> Kept {
        // What a person called it stays.
        let known = self.record(name).map(|record| record.title);
        let title = known.as_deref().unwrap_or(title);
        let is_kept = self.put(name, (kind, title), Given::Keyring(secret.clone())).await.is_ok();
        if is_kept {
            return Kept::Keyring;
        }
        let reason = format!("{}.", self.keyring.seen().reason);
        if let Err(error) = self.put(name, (kind, title), Given::Memory(secret)).await {
            tracing::warn!(%error, "a credential is not on record");
        }
        Kept::Memory(reason)
    }

    /// Keeps a credential where it was asked to be, or nowhere; what was there before is replaced.
    pub(crate) async fn put(
        &self,
        name: &str,
        (kind, title): (CredentialKind, &str),
        given: Given,
    ) -> Result<(), ProtocolError> {
        let now = Timestamp::now();
        let known = self.record(name);
        let (place, variable, expires) = match &given {
            Given::Keyring(secret) => (CredentialPlace::Keyring, None, expires(kind, secret, now)),
            Given::Memory(secret) => (CredentialPlace::Memory, None, expires(kind, secret, now)),
            Given::Variable(variable) => (CredentialPlace::Environment, Some(variable.clone()), None),
        };
        match given {
            Given::Keyring(secret) => {
                let written = self.keyring.write(name, &secret).await;
                written.map_err(|_| self.keyring.unavailable("Nothing was saved."))?;
                lock(&self.memory).remove(name);
            }
            Given::Memory(secret) => {
                lock(&self.memory).insert(name.to_owned(), secret);
                self.forget_in_keyring(name, known.as_ref()).await;
            }
            Given::Variable(_) => {
                lock(&self.memory).remove(name);
                self.forget_in_keyring(name, known.as_ref()).await;
            }
        }
        self.on_record(CredentialRecord {
            name: name.to_owned(),
            title: title.to_owned(),
            kind: kind.name().to_owned(),
            place: place_name(place).to_owned(),
            variable,
            added: known.as_ref().map_or(now, |known| known.added),
            replaced: known.is_some().then_some(now),
            used: known.and_then(|known| known.used),
            expires,
        })
        .await
    }

    /// Puts what is in memory into the keyring.
    pub(crate) async fn keep(&self, name: &str) -> Result<(), ProtocolError> {
        let in_memory = lock(&self.memory).get(name).cloned();
        let (Some(secret), Some(record)) = (in_memory, self.record(name)) else {
            return Err(ProtocolError::not_found("credential in memory"));
        };
        let written = self.keyring.write(name, &secret).await;
        written.map_err(|_| self.keyring.unavailable("It stays in memory until Sandbook ends."))?;
        lock(&self.memory).remove(name);
        self.on_record(CredentialRecord {
            place: place_name(CredentialPlace::Keyring).into(),
            variable: None,
            ..record
        })
        .await
    }

    /// The credential of a name, to use it: if there is one and it can be had.
    pub(crate) async fn load(&self, name: &str) -> Option<SecretString> {
        let secret = self.get(name).await.ok().flatten();
        if secret.is_some()
            && let Err(error) = self.disk.records.note_credential_used(name, Timestamp::now())
        {
            tracing::warn!(%error, "the use of a credential is not on record");
        }
        secret
    }

    /// The credential that a connection uses, if it uses one; an error where the keyring keeps it back.
    pub(crate) async fn of(&self, connection: &Connection) -> Result<Option<SecretString>, ProtocolError> {
        let Some(name) = connection.credential.as_deref() else { return Ok(None) };
        let secret = self.load(name).await;
        if secret.is_none() && self.look(name).await.is_err() {
            let lost =
                format!("The credential of {} cannot be read, and nothing was started.", connection.name);
            return Err(self.keyring.unavailable(&lost));
        }
        Ok(secret)
    }

    /// The credential of a name, where it can be had without asking the person to unlock anything.
    pub(crate) async fn look(&self, name: &str) -> Result<Option<SecretString>, String> {
        let is_elsewhere = self.record(name).is_some_and(|record| !in_keyring(&record));
        let seen = self.keyring.seen();
        if !is_elsewhere && !matches!(seen.state, KeyringState::Ready | KeyringState::Checking) {
            return Err(seen.reason);
        }
        self.get(name).await.map_err(|_| self.keyring.seen().reason)
    }

    async fn get(&self, name: &str) -> Result<Option<SecretString>, Missing> {
        let in_memory = lock(&self.memory).get(name).cloned();
        if in_memory.is_some() {
            return Ok(in_memory);
        }
        match self.record(name) {
            Some(record) if !in_keyring(&record) => Ok(record.variable.as_deref().and_then(variable)),
            _ => self.keyring.read(name).await,
        }
    }

    /// Forgets the credential of a name, for good.
    pub(crate) async fn remove(&self, name: &str) -> Result<(), ProtocolError> {
        let is_in_keyring = self.record(name).is_none_or(|record| in_keyring(&record));
        if is_in_keyring && self.keyring.remove(name).await.is_err() {
            return Err(self.keyring.unavailable("The credential is still in it, and nothing was changed."));
        }
        lock(&self.memory).remove(name);
        let (disk, name) = (self.disk.clone(), name.to_owned());
        let removed = tokio::task::spawn_blocking(move || disk.records.remove_credential(&name)).await;
        match removed {
            Ok(removed) => removed.map(drop).map_err(|error| store_error(&error)),
            Err(_) => Err(ProtocolError::internal("A credential is still on record.")),
        }
    }

    /// What is known of each.
    pub(crate) fn records(&self) -> Vec<CredentialRecord> {
        self.disk.records.credentials().unwrap_or_else(|error| {
            tracing::warn!(%error, "what is known of credentials cannot be read");
            Vec::new()
        })
    }

    fn record(&self, name: &str) -> Option<CredentialRecord> {
        self.records().into_iter().find(|record| record.name == name)
    }

    pub(crate) fn is_in_memory(&self, name: &str) -> bool {
        lock(&self.memory).contains_key(name)
    }

    async fn forget_in_keyring(&self, name: &str, known: Option<&CredentialRecord>) {
        if known.is_some_and(in_keyring) && self.keyring.remove(name).await.is_err() {
            tracing::warn!(name, "an older secret of this name is still in the keyring");
        }
    }

    async fn on_record(&self, record: CredentialRecord) -> Result<(), ProtocolError> {
        let disk = self.disk.clone();
        let put = tokio::task::spawn_blocking(move || disk.records.put_credential(&record)).await;
        put.map_err(|_| ProtocolError::internal("A credential was not put on record."))?
            .map_err(|error| store_error(&error))
    }
}

fn in_keyring(record: &CredentialRecord) -> bool {
    record.place == place_name(CredentialPlace::Keyring)
}

pub(crate) const fn place_name(place: CredentialPlace) -> &'static str {
    match place {
        CredentialPlace::Keyring | CredentialPlace::Gone => "keyring",
        CredentialPlace::Memory => "memory",
        CredentialPlace::Environment => "environment",
    }
}

/// The credential of this name, for a command that makes a sandbox in its own process: of a variable, else of the keyring. Its
/// use is noted.
pub async fn stored_credential(folders: &Folders, name: &str) -> Option<SecretString> {
    let (file, wanted) = (folders.records_file(), name.to_owned());
    let noted = tokio::task::spawn_blocking(move || {
        if !file.exists() {
            return Ok(None);
        }
        let records = Records::open(&file, &Synchroniser::start()?)?;
        records.note_credential_used(&wanted, Timestamp::now())?;
        Ok::<_, sandbook_store::Error>(
            records.credentials()?.into_iter().find(|record| record.name == wanted),
        )
    });
    let record = match noted.await {
        Ok(Ok(record)) => record,
        Ok(Err(error)) => {
            tracing::warn!(%error, "the use of a credential is not on record");
            None
        }
        Err(_) => None,
    };
    match record.and_then(|record| record.variable) {
        Some(name) => variable(&name),
        None => Keyring::default().read(name).await.ok().flatten(),
    }
}
