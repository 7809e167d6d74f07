//! Tokens of clouds, as their own tools take them: a command, lines of a shell, a file.

use secrecy::SecretString;
use serde_json::Value;

use super::NotRecognised;

/// A token of a cloud.
#[derive(Debug, Clone)]
pub struct TokenLine {
    /// The name of the runtime it is for.
    pub runtime: &'static str,
    /// What it is, in a few words.
    pub name: &'static str,
    /// The public part: a user's name, the id of a pair.
    pub account: Option<String>,
    /// The secret part.
    pub secret: SecretString,
    /// The text, with `***` for what is secret.
    pub shown: String,
}

/// How a cloud's tools name the parts of a token.
struct Shape {
    runtime: &'static str,
    name: &'static str,
    /// Names of the public part, where there is one.
    account: &'static [&'static str],
    secret: &'static [&'static str],
    half: &'static str,
}

const MODAL: Shape = Shape {
    runtime: "modal",
    name: "a Modal token",
    account: &["--token-id", "modal_token_id", "token_id"],
    secret: &["--token-secret", "modal_token_secret", "token_secret"],
    half: "A Modal token has two parts: copy the whole line with ak-… and as-…",
};
const KAGGLE: Shape = Shape {
    runtime: "kaggle",
    name: "a Kaggle API token",
    account: &["kaggle_username", "username"],
    secret: &["kaggle_key", "key"],
    half: "A Kaggle token has a user name and a key: copy the whole file kaggle.json.",
};
const KAGGLE_SINGLE: Shape =
    Shape { account: &[], secret: &["kaggle_api_token"], half: "Copy the whole line.", ..KAGGLE };
const DATALAYER: Shape = Shape {
    runtime: "datalayer",
    name: "a Datalayer token",
    account: &[],
    secret: &["datalayer_api_key", "datalayer_token"],
    half: "Copy the whole line.",
};
const OPENSANDBOX: Shape = Shape {
    runtime: "opensandbox",
    name: "an OpenSandbox key",
    account: &[],
    secret: &["open_sandbox_api_key"],
    half: "Copy the whole line.",
};

/// The token that a text is; an error for half of one. `None` where it is none.
pub(super) fn read(text: &str) -> Option<Result<TokenLine, NotRecognised>> {
    if let Some(token) = alone(text) {
        return Some(token);
    }
    let pairs = pairs(text)?;
    [&MODAL, &KAGGLE_SINGLE, &DATALAYER, &OPENSANDBOX, &KAGGLE]
        .into_iter()
        .find_map(|shape| shape.find(&pairs))
}

impl Shape {
    fn find(&self, pairs: &[(String, String)]) -> Option<Result<TokenLine, NotRecognised>> {
        let of = |names: &[&str]| {
            let pair = pairs.iter().find(|(name, value)| names.contains(&name.as_str()) && !value.is_empty());
            pair.map(|(_, value)| value.clone())
        };
        let (account, secret) = (of(self.account), of(self.secret));
        // a user name alone is anybody's
        let has_other_name =
            pairs.iter().any(|(name, _)| matches!(name.as_str(), "host" | "url" | "password"));
        match (account, secret) {
            (None, None) => None,
            (Some(_), None) if self.runtime == "kaggle" && pairs.len() > 1 || has_other_name => None,
            (account, Some(secret)) if account.is_some() || self.account.is_empty() => {
                Some(Ok(self.token(account, secret)))
            }
            (None, Some(_))
                if self.runtime == "kaggle" && !pairs.iter().any(|(name, _)| name == "kaggle_key") =>
            {
                None
            }
            _ => Some(Err(self.half())),
        }
    }

    fn token(&self, account: Option<String>, secret: String) -> TokenLine {
        let shown = match &account {
            Some(account) => format!("{} of {account}: ***", self.name),
            None => format!("{}: ***", self.name),
        };
        let secret = SecretString::from(secret);
        TokenLine { runtime: self.runtime, name: self.name, account, secret, shown }
    }

    fn half(&self) -> NotRecognised {
        let message = format!("This is half of {}.", self.name);
        NotRecognised { code: "half_a_token", message, hint: self.half }
    }
}

/// A token whose beginning says whose it is.
fn alone(text: &str) -> Option<Result<TokenLine, NotRecognised>> {
    let mut words = text.split_whitespace();
    let (first, second) = (words.next()?, words.next());
    let is_token = |word: &str, begin: &str| {
        let rest = word.strip_prefix(begin);
        rest.is_some_and(|rest| {
            rest.len() >= 8 && rest.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        })
    };
    match second {
        None if is_token(first, "KGAT_") => Some(Ok(KAGGLE_SINGLE.token(None, first.to_owned()))),
        None if is_token(first, "ak-") || is_token(first, "as-") => Some(Err(MODAL.half())),
        Some(second) if is_token(first, "ak-") && is_token(second, "as-") => {
            Some(Ok(MODAL.token(Some(first.to_owned()), second.to_owned())))
        }
        _ => None,
    }
}

/// Names, in small letters, with their values: of JSON, of `name=value`, of `name = "value"` lines, of `--name value`.
fn pairs(text: &str) -> Option<Vec<(String, String)>> {
    if text.starts_with('{') {
        let Value::Object(object) = serde_json::from_str(text).ok()? else { return None };
        let read = |(name, value): (String, Value)| Some((name.to_lowercase(), value.as_str()?.to_owned()));
        return Some(object.into_iter().filter_map(read).collect());
    }
    let spaced = text.replace('=', " = ");
    let words: Vec<&str> =
        spaced.split([' ', '\t', '\n', '\r', ';']).filter(|word| !word.is_empty()).collect();
    let clean = |word: &str| word.trim_matches(['"', '\'', ',', ':']).to_owned();
    let mut pairs = Vec::new();
    for (index, word) in words.iter().enumerate() {
        let is_option = word.starts_with("--");
        let value = match words.get(index + 1) {
            Some(&"=") => words.get(index + 2),
            next if is_option => next,
            _ => None,
        };
        if let Some(value) = value.filter(|value| **value != "=") {
            pairs.push((clean(word).to_lowercase(), clean(value)));
        }
    }
    (!pairs.is_empty()).then_some(pairs)
}
