//! The system's keyring: what is read and written there, and which part of it is missing.
//!
//! It is opened at each use, not once: it may be locked when the owner starts and open a minute later, or go and come back.
//! Looking at it never makes the system ask the person to unlock it; reading, writing and [`Keyring::unlock`] do.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use keyring_core::{CredentialStore, Entry, Error};
use sandbook_protocol::{ErrorCode, KeyringState, KeyringView, ProtocolError};
use secrecy::{ExposeSecret, SecretString};

use crate::owner::lock;

const SERVICE: &str = "Sandbook";

/// How long a keyring may take to say how it is. A person is not asked for it.
const PATIENCE: Duration = Duration::from_secs(10);

/// Which part is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    /// No message bus.
    Bus,
    /// No keyring on it.
    Service,
    /// Nothing made in it yet.
    Collection,
    /// It is locked, and was not unlocked.
    Locked,
    /// It is there and refuses.
    Refused,
    /// It does not answer.
    Silent,
}

impl Missing {
    /// What a person is told.
    fn view(self, was_ready: bool) -> KeyringView {
        let (state, reason, hint) = match self {
            Self::Bus | Self::Service if was_ready => (
                KeyringState::Vanished,
                "The keyring was there and is gone",
                "Start it again: it is used as soon as it is back.",
            ),
            Self::Bus => (
                KeyringState::NoBus,
                "This session has no message bus, so no keyring can be reached",
                "Start Sandbook from a desktop session, or under dbus-run-session with a keyring.",
            ),
            Self::Service => (
                KeyringState::NoService,
                "No keyring runs on this computer",
                "Start one, such as GNOME Keyring or KWallet: it is used as soon as it is there.",
            ),
            Self::Collection => (
                KeyringState::NoCollection,
                "The keyring has no place for passwords yet",
                "Make a default keyring in the system's program for passwords.",
            ),
            Self::Locked => (
                KeyringState::Locked,
                "The keyring is locked",
                "Unlock it: it is used as soon as it is open.",
            ),
            Self::Refused => (KeyringState::Refused, "The keyring refuses", "The logs say more."),
            Self::Silent => (
                KeyringState::Refused,
                "The keyring does not answer",
                "Answer its question if it asks one, or start it again.",
            ),
        };
        KeyringView { state, reason: reason.into(), hint: hint.into() }
    }
}

/// The keyring, and how it was when somebody last looked.
#[derive(Debug)]
pub(crate) struct Keyring {
    seen: Mutex<KeyringView>,
    was_ready: AtomicBool,
}

impl Default for Keyring {
    fn default() -> Self {
        let checking = KeyringView {
            state: KeyringState::Checking,
            reason: "Asking the keyring".into(),
            hint: String::new(),
        };
        Self { seen: Mutex::new(checking), was_ready: AtomicBool::new(false) }
    }
}

impl Keyring {
    /// How it was when somebody last looked.
    pub(crate) fn seen(&self) -> KeyringView {
        lock(&self.seen).clone()
    }

    /// Looks which part is missing, and remembers it.
    pub(crate) async fn look(&self) -> KeyringView {
        let looking = tokio::time::timeout(PATIENCE, tokio::task::spawn_blocking(platform::look)).await;
        let found = match looking {
            Ok(Ok(found)) => found,
            Ok(Err(_)) | Err(_) => Err(Missing::Silent),
        };
        self.remember(found)
    }

    fn remember(&self, found: Result<(), Missing>) -> KeyringView {
        let view = match found {
            Ok(()) => {
                self.was_ready.store(true, Ordering::Relaxed);
                let reason = "Keyring unlocked".into();
                KeyringView { state: KeyringState::Ready, reason, hint: String::new() }
            }
            Err(missing) => missing.view(self.was_ready.load(Ordering::Relaxed)),
        };
        lock(&self.seen).clone_from(&view);
        view
    }

    /// Asks the person, through the system, to unlock it.
    pub(crate) async fn unlock(&self) -> KeyringView {
        let unlocked = tokio::task::spawn_blocking(platform::unlock).await.unwrap_or(Err(Missing::Silent));
        self.remember(unlocked)
    }

    /// Writes a secret.
    pub(crate) async fn write(&self, name: &str, secret: &SecretString) -> Result<(), Missing> {
        let (key, secret) = (name.to_owned(), secret.clone());
        self.using(move || entry(&key)?.set_password(secret.expose_secret())).await.map(drop)
    }

    /// Reads a secret, if there is one.
    pub(crate) async fn read(&self, name: &str) -> Result<Option<SecretString>, Missing> {
        let key = name.to_owned();
        self.using(move || entry(&key)?.get_password().map(SecretString::from)).await
    }

    /// Removes a secret. Whether there was one.
    pub(crate) async fn remove(&self, name: &str) -> Result<bool, Missing> {
        let key = name.to_owned();
        let removed = self.using(move || entry(&key)?.delete_credential()).await?;
        Ok(removed.is_some())
    }

    /// Runs a call that may wait for a prompt of the system; `None` where there is no such entry. What is missing is found out
    /// by looking: the errors of stores do not tell it apart.
    async fn using<T: Send + 'static>(
        &self,
        call: impl FnOnce() -> keyring_core::Result<T> + Send + 'static,
    ) -> Result<Option<T>, Missing> {
        let error = match tokio::task::spawn_blocking(call).await {
            Ok(Ok(value)) => return Ok(Some(value)),
            Ok(Err(Error::NoEntry)) => {
                // One that is locked may hide what it holds.
                let state = tokio::task::spawn_blocking(platform::look).await.unwrap_or(Err(Missing::Silent));
                self.remember(state);
                return state.map(|()| None);
            }
            Ok(Err(error)) => Some(error),
            Err(_) => None,
        };
        let found = tokio::task::spawn_blocking(platform::look).await.unwrap_or(Err(Missing::Silent));
        let missing = match (found, error) {
            (Err(missing), _) => missing,
            (Ok(()), Some(Error::NoStorageAccess(_))) => Missing::Locked,
            (Ok(()), _) => Missing::Refused,
        };
        tracing::info!(?missing, "the keyring was not used");
        self.remember(Err(missing));
        Err(missing)
    }

    /// The error of something that cannot be kept in the keyring, with what can be done instead.
    pub(crate) fn unavailable(&self, what: &str) -> ProtocolError {
        let view = self.seen();
        let hint = format!(
            "{} Or keep it in memory until Sandbook ends, or in a variable SANDBOOK_CREDENTIAL_… of the environment.",
            view.hint
        );
        ProtocolError::new(ErrorCode::KeyringUnavailable, format!("{}. {what}", view.reason), hint)
            .retryable()
    }
}

fn entry(name: &str) -> keyring_core::Result<Entry> {
    let store: Arc<CredentialStore> = platform::open()?;
    Entry::new_in_store(&store, SERVICE, name)
}

#[cfg(target_os = "linux")]
mod platform {
    use std::sync::Arc;

    use keyring_core::CredentialStore;
    use secret_service::{EncryptionType, Error, blocking::SecretService};

    use super::Missing;

    pub(super) fn open() -> keyring_core::Result<Arc<CredentialStore>> {
        let store: Arc<CredentialStore> = zbus_secret_service_keyring_store::Store::new()?;
        Ok(store)
    }

    pub(super) fn look() -> Result<(), Missing> {
        let service = connect()?;
        let collection = service.get_default_collection().map_err(|error| missing(&error))?;
        match collection.is_locked() {
            Ok(false) => Ok(()),
            Ok(true) => Err(Missing::Locked),
            Err(error) => Err(missing(&error)),
        }
    }

    pub(super) fn unlock() -> Result<(), Missing> {
        let service = connect()?;
        let collection = service.get_default_collection().map_err(|error| missing(&error))?;
        match collection.unlock() {
            Ok(()) => look(),
            Err(_) => Err(Missing::Locked),
        }
    }

    fn connect() -> Result<SecretService<'static>, Missing> {
        let bus = zbus::blocking::Connection::session().map_err(|_| Missing::Bus)?;
        // Nothing secret passes here: this connection only asks how the keyring is.
        SecretService::connect_with_existing(EncryptionType::Plain, bus).map_err(|_| Missing::Service)
    }

    fn missing(error: &Error) -> Missing {
        match error {
            Error::NoResult => Missing::Collection,
            Error::Locked | Error::Prompt | Error::PromptDisconnected => Missing::Locked,
            _ => Missing::Refused,
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod platform {
    use std::sync::Arc;

    use keyring_core::{CredentialStore, Entry, Error};

    use super::{Missing, SERVICE};

    #[cfg(target_os = "macos")]
    pub(super) fn open() -> keyring_core::Result<Arc<CredentialStore>> {
        let store: Arc<CredentialStore> = apple_native_keyring_store::keychain::Store::new()?;
        Ok(store)
    }

    #[cfg(windows)]
    pub(super) fn open() -> keyring_core::Result<Arc<CredentialStore>> {
        let store: Arc<CredentialStore> = windows_native_keyring_store::Store::new()?;
        Ok(store)
    }

    /// Asks for an entry that is never there.
    pub(super) fn look() -> Result<(), Missing> {
        let asked = open().and_then(|store| Entry::new_in_store(&store, SERVICE, "probe")?.get_password());
        match asked {
            Ok(_) | Err(Error::NoEntry) => Ok(()),
            Err(Error::NoStorageAccess(_)) => Err(Missing::Locked),
            Err(_) => Err(Missing::Refused),
        }
    }

    /// The system asks by itself, when the keyring is used.
    pub(super) fn unlock() -> Result<(), Missing> {
        look()
    }
}
