//! Keys of accounts and servers elsewhere, which people keep in variables: no child inherits them, least of all one that runs
//! code.

use std::process::Command;

/// What such variables are called.
const NAMES: [&str; 9] = [
    "DATALAYER_API_KEY",
    "DATALAYER_EXTERNAL_TOKEN",
    "KAGGLE_API_TOKEN",
    "KAGGLE_KEY",
    "MODAL_TOKEN_ID",
    "MODAL_TOKEN_SECRET",
    "OPEN_SANDBOX_API_KEY",
    "SANDBOOK_TOKEN",
    "TEST_DATALAYER_API_KEY",
];

/// How variables begin that hold what a person told Sandbook to read there.
const BEGINNING: &str = "SANDBOOK_CREDENTIAL_";

/// Whether a variable holds a key.
fn is_key(name: &str) -> bool {
    NAMES.contains(&name) || name.starts_with(BEGINNING)
}

/// Lets a child start without the keys in our own environment.
pub(crate) fn without_keys(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(is_key) {
            command.env_remove(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_known_by_their_names_and_nothing_else_is_one() {
        for name in ["KAGGLE_KEY", "MODAL_TOKEN_SECRET", "SANDBOOK_TOKEN", "SANDBOOK_CREDENTIAL_LAB"] {
            assert!(is_key(name), "{name}");
        }
        for name in ["JUPYTER_TOKEN", "KAGGLE_USERNAME", "MODAL_ENVIRONMENT", "SANDBOOK_STATE_DIR", "PATH"] {
            assert!(!is_key(name), "{name}");
        }
    }
}
