//! Credentials in the system keyring, named by connection.
//!
//! The keyring is opened at each use, not once: it may be locked when the owner starts and open a minute later. Where
//! it cannot be used at all, a credential is held in memory until the owner ends, and the caller is told so; it is
//! never written to a file. Nothing here is ever shown, logged or sent back to a page.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use keyring_core::{CredentialStore, Entry, Error};
use sandbook_protocol::{Readiness, ReadinessState};
use secrecy::{ExposeSecret, SecretString};

const SERVICE: &str = "Sandbook";

/// Where a credential was put.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kept {
    /// In the system keyring.
    Keyring,
    /// In memory only, for this reason.
    Memory(String),
}

/// The person's credentials.
#[derive(Default)]
pub(crate) struct Credentials {
    memory: Arc<Mutex<HashMap<String, SecretString>>>,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Credentials")
    }
}

impl Credentials {
    /// Keeps a credential under a name.
    pub(crate) async fn store(&self, name: &str, secret: SecretString) -> Kept {
        let (key, value) = (name.to_owned(), secret.clone());
        let result = blocking(move || entry(&key)?.set_password(value.expose_secret())).await;
        match result {
            Ok(()) => {
                self.forget_in_memory(name);
                Kept::Keyring
            }
            Err(reason) => {
                if let Ok(mut memory) = self.memory.lock() {
                    memory.insert(name.to_owned(), secret);
                }
                Kept::Memory(reason)
            }
        }
    }

    /// The credential of a name, if there is one and the keyring gives it.
    pub(crate) async fn load(&self, name: &str) -> Option<SecretString> {
        if let Some(secret) = self.memory.lock().ok().and_then(|memory| memory.get(name).cloned()) {
            return Some(secret);
        }
        let key = name.to_owned();
        blocking(move || entry(&key)?.get_password()).await.ok().map(SecretString::from)
    }

    /// Forgets the credential of a name.
    pub(crate) async fn remove(&self, name: &str) {
        self.forget_in_memory(name);
        let key = name.to_owned();
        if let Err(reason) = blocking(move || entry(&key)?.delete_credential()).await {
            tracing::debug!(name, reason, "no credential was removed from the keyring");
        }
    }

    /// Whether the keyring can be used.
    pub(crate) async fn readiness(&self) -> Readiness {
        let probe = blocking(|| match entry("probe")?.get_password() {
            Ok(_) | Err(Error::NoEntry) => Ok(()),
            Err(error) => Err(error),
        });
        match probe.await {
            Ok(()) => Readiness { state: ReadinessState::Ready, reason: "Keyring unlocked".into() },
            Err(reason) => Readiness { state: ReadinessState::NeedsSetup, reason },
        }
    }

    fn forget_in_memory(&self, name: &str) {
        if let Ok(mut memory) = self.memory.lock() {
            memory.remove(name);
        }
    }
}

/// The credential that the keyring holds under a name, for a command that makes a sandbox in its own process.
pub async fn stored_credential(name: &str) -> Option<SecretString> {
    Credentials::default().load(name).await
}

/// Runs a call that may wait for a prompt of the system. The error is one line without a secret.
async fn blocking<T: Send + 'static>(
    call: impl FnOnce() -> keyring_core::Result<T> + Send + 'static,
) -> Result<T, String> {
    match tokio::task::spawn_blocking(call).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(reason(&error)),
        Err(_) => Err("The keyring did not answer.".into()),
    }
}

fn reason(error: &Error) -> String {
    match error {
        Error::NoEntry => "There is no such credential.".into(),
        Error::NoStorageAccess(_) => "The keyring is locked.".into(),
        Error::PlatformFailure(_) | Error::NoDefaultStore => "This computer has no running keyring.".into(),
        _ => "The keyring refused.".into(),
    }
}

fn entry(name: &str) -> keyring_core::Result<Entry> {
    Entry::new_in_store(&platform::open()?, SERVICE, name)
}

mod platform {
    use super::{Arc, CredentialStore};

    #[cfg(target_os = "linux")]
    pub(super) fn open() -> keyring_core::Result<Arc<CredentialStore>> {
        let store: Arc<CredentialStore> = zbus_secret_service_keyring_store::Store::new()?;
        Ok(store)
    }

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
}
