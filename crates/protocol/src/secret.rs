//! A secret on its way into the owner.

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use ts_rs::TS;

/// A text that may hold a secret. It prints as `***`; it is serialised in clear, because a client has to send it, and
/// stands in commands only, and in the one reply that opens the web door.
#[derive(Clone, TS)]
#[ts(export, type = "string")]
pub struct Secret(SecretString);

impl Secret {
    /// Takes a secret.
    pub fn new(text: impl Into<String>) -> Self {
        Self(SecretString::from(text.into()))
    }

    /// Gives the secret away.
    pub fn into_inner(self) -> SecretString {
        self.0
    }

    /// The secret in clear.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.expose() == other.expose()
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("***")
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.expose_secret())
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_not_shown_by_debug() {
        assert_eq!(format!("{:?}", Secret::new("tok-123")), "***");
    }
}
