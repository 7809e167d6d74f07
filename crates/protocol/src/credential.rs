//! Credentials as a page sees them: everything about one but itself.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{ConnectionId, CredentialId, Readiness};

/// What a credential is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(export)]
pub enum CredentialKind {
    /// The token or password of a Jupyter server.
    JupyterToken,
    /// The secret of a Colab page's link. It ends within the hour.
    ColabLink,
    /// The secret of a Kaggle page's link. It ends with the page's session.
    KaggleLink,
    /// A Kaggle API token, or user name and key.
    KaggleToken,
    /// A Modal token: its id and its secret.
    ModalPair,
    /// The key of a Datalayer account.
    DatalayerKey,
    /// The key of an OpenSandbox server.
    OpensandboxKey,
}

impl CredentialKind {
    /// Every kind.
    pub const ALL: &[Self] = &[
        Self::JupyterToken,
        Self::ColabLink,
        Self::KaggleLink,
        Self::KaggleToken,
        Self::ModalPair,
        Self::DatalayerKey,
        Self::OpensandboxKey,
    ];

    /// Its name, as on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::JupyterToken => "jupyter_token",
            Self::ColabLink => "colab_link",
            Self::KaggleLink => "kaggle_link",
            Self::KaggleToken => "kaggle_token",
            Self::ModalPair => "modal_pair",
            Self::DatalayerKey => "datalayer_key",
            Self::OpensandboxKey => "opensandbox_key",
        }
    }

    /// The name of the runtime that it is for.
    pub const fn runtime(self) -> &'static str {
        match self {
            Self::JupyterToken => "jupyter",
            Self::ColabLink => "colab",
            Self::KaggleLink | Self::KaggleToken => "kaggle",
            Self::ModalPair => "modal",
            Self::DatalayerKey => "datalayer",
            Self::OpensandboxKey => "opensandbox",
        }
    }

    /// Whether it is the secret of a page's link: such a one belongs to its connection and is not added alone.
    pub const fn is_link(self) -> bool {
        matches!(self, Self::ColabLink | Self::KaggleLink)
    }

    /// The kind of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }
}

/// Where a credential is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(export)]
pub enum CredentialPlace {
    /// In the system's keyring.
    Keyring,
    /// In memory, until Sandbook ends.
    Memory,
    /// In a variable of the environment in which Sandbook was started.
    Environment,
    /// Nowhere: it was in memory of an earlier run, or its variable is not set. It has to be given again.
    Gone,
}

/// A credential, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct CredentialView {
    /// Its name for the owner.
    pub id: CredentialId,
    /// What the person calls it.
    pub name: String,
    /// What it is.
    pub kind: CredentialKind,
    /// Where it is kept.
    pub place: CredentialPlace,
    /// The variable that holds it, where it is kept in one.
    pub variable: Option<String>,
    /// When it was added, in milliseconds since 1970; unknown of one that an older Sandbook stored.
    #[ts(type = "number | null")]
    pub added_at: Option<u64>,
    /// When another secret was last put in its place.
    #[ts(type = "number | null")]
    pub replaced_at: Option<u64>,
    /// When it was last used.
    #[ts(type = "number | null")]
    pub used_at: Option<u64>,
    /// When it ends by itself, where that is known.
    #[ts(type = "number | null")]
    pub expires_at: Option<u64>,
    /// By when it should be replaced, from its age and its kind.
    #[ts(type = "number | null")]
    pub rotate_by: Option<u64>,
    /// The connections that use it.
    pub connections: Vec<ConnectionId>,
}

/// What came of asking with a credential.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct CredentialCheck {
    /// The connection that was asked; none where the credential was shown to its cloud without one.
    pub connection: Option<ConnectionId>,
    /// What the person calls who was asked.
    pub name: String,
    /// What they said.
    pub readiness: Readiness,
}

/// A credential of another program on this computer, which can be taken over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct CredentialImport {
    /// Its name for the owner, as long as the place does not change.
    pub id: String,
    /// What it is.
    pub kind: CredentialKind,
    /// What it would be called.
    pub name: String,
    /// Where it was found: a file, variables, a running server.
    pub found_in: String,
    /// Why it cannot be taken over.
    pub problem: Option<String>,
    /// Whether there is one of this kind and name already, which would be replaced.
    pub known: bool,
}

/// Which part of the keyring is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(export)]
pub enum KeyringState {
    /// None: it can be used.
    Ready,
    /// Being found out.
    Checking,
    /// There is no message bus over which one could be reached.
    NoBus,
    /// No keyring runs.
    NoService,
    /// One runs, and nothing has been made in it yet.
    NoCollection,
    /// It is locked.
    Locked,
    /// It was there in this run, and is gone.
    Vanished,
    /// It refuses, or does not answer.
    Refused,
}

/// Whether the system's keyring can be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct KeyringView {
    /// Which part of it is missing.
    pub state: KeyringState,
    /// The same in one line.
    pub reason: String,
    /// What to do about it; empty where there is nothing to do.
    pub hint: String,
}
