//! Names of things, as opaque strings: a client compares and returns them, and reads nothing out of them.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

macro_rules! identifier {
    ($($(#[$documentation:meta])* $name:ident),* $(,)?) => {$(
        $(#[$documentation])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, TS)]
        #[serde(transparent)]
        #[ts(export)]
        pub struct $name(pub String);

        impl $name {
            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text)
            }
        }
    )*};
}

identifier! {
    /// One client of the owner, given at the welcome. It signs that client's edits.
    ClientId,
    /// An open notebook.
    DocumentId,
    /// A cell of an open notebook. It never changes, and is not the id in the file.
    CellKey,
    /// One output of a cell.
    OutputId,
    /// One run of some code.
    ExecutionId,
    /// One live sandbox.
    SandboxId,
    /// A saved connection.
    ConnectionId,
    /// A credential: the name under which it is kept.
    CredentialId,
    /// A pasted text that the owner holds until it is connected or dismissed.
    PastedId,
    /// A payload that is fetched by URL. Unguessable.
    ResourceId,
}
