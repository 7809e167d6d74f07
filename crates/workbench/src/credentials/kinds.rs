//! What each kind of credential looks like, when it ends, and when it should be replaced.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use jiff::{SignedDuration, Timestamp};
use sandbook_protocol::{CredentialKind, ErrorCode, ProtocolError, RuntimeKind};
use sandbook_runtimes::paste::{Pasted, TokenLine, parse_pasted};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};

use crate::pasted::not_recognised;

/// The beginning of variables that may hold a credential. No child of Sandbook inherits one.
pub(crate) const VARIABLE: &str = "SANDBOOK_CREDENTIAL_";

/// The longest credential. A pasted file is none.
const LONGEST: usize = 16 * 1024;

/// The life that Google's own clients are told for the secret of a link.
const LINK: SignedDuration = SignedDuration::from_hours(1);

/// The kind of what a connection of a runtime needs.
pub(crate) fn of_runtime(kind: RuntimeKind) -> CredentialKind {
    // the link is what a connection to Kaggle is made with, though an API token is for the same cloud
    let mut of_it = CredentialKind::ALL.iter().filter(|known| known.runtime() == kind.name());
    of_it.next().copied().unwrap_or(CredentialKind::JupyterToken)
}

/// What a person is told that it is.
pub(crate) const fn title(kind: CredentialKind) -> &'static str {
    match kind {
        CredentialKind::JupyterToken => "Jupyter server",
        CredentialKind::ColabLink => "Google Colab",
        CredentialKind::KaggleLink | CredentialKind::KaggleToken => "Kaggle",
        CredentialKind::ModalPair => "Modal",
        CredentialKind::DatalayerKey => "Datalayer",
        CredentialKind::OpensandboxKey => "OpenSandbox",
    }
}

/// For how many days one may be used before it should be replaced. A link ends before that.
pub(crate) const fn rotate_after(kind: CredentialKind) -> Option<u16> {
    match kind {
        CredentialKind::ColabLink | CredentialKind::KaggleLink => None,
        CredentialKind::JupyterToken => Some(180),
        CredentialKind::KaggleToken
        | CredentialKind::ModalPair
        | CredentialKind::DatalayerKey
        | CredentialKind::OpensandboxKey => Some(90),
    }
}

/// The secret in what a person gave, in the one form in which it is kept.
pub(crate) fn read(kind: CredentialKind, given: &SecretString) -> Result<SecretString, ProtocolError> {
    let text = given.expose_secret().trim();
    if text.is_empty() || text.len() > LONGEST {
        return Err(wrong(kind, "is empty or too long"));
    }
    match kind {
        CredentialKind::JupyterToken if text.contains("://") => {
            let found = parse_pasted(text).and_then(Pasted::into_server);
            let found = found.map_err(|error| not_recognised(&error))?;
            found.token.ok_or_else(|| wrong(kind, "is an address without a token"))
        }
        // What is in a link is for its connection to take apart.
        CredentialKind::ColabLink | CredentialKind::KaggleLink => Ok(given.clone()),
        CredentialKind::JupyterToken => one_word(kind, text),
        CredentialKind::KaggleToken => {
            let token = line(kind, text)?.ok_or_else(|| {
                wrong(kind, "is neither the file kaggle.json, nor KAGGLE_USERNAME and KAGGLE_KEY, nor KGAT_…")
            })?;
            Ok(match token.account {
                Some(user) => {
                    json!({ "username": user, "key": token.secret.expose_secret() }).to_string().into()
                }
                None => token.secret,
            })
        }
        CredentialKind::ModalPair => {
            let token = line(kind, text)?.ok_or_else(|| wrong(kind, "is not a pair of ak-… and as-…"))?;
            let id = token.account.unwrap_or_default();
            Ok(format!("{id} {}", token.secret.expose_secret()).into())
        }
        CredentialKind::DatalayerKey | CredentialKind::OpensandboxKey => match line(kind, text)? {
            Some(token) => Ok(token.secret),
            None => one_word(kind, text),
        },
    }
}

/// The token that a text is in the form of the cloud's own tools; none where it is another text.
fn line(kind: CredentialKind, text: &str) -> Result<Option<TokenLine>, ProtocolError> {
    match parse_pasted(text) {
        Ok(Pasted::Token(token)) if token.runtime == kind.runtime() => Ok(Some(token)),
        Ok(Pasted::Token(token)) => Err(wrong(kind, &format!("is {}", token.name))),
        Err(error) if error.code == "half_a_token" => Err(not_recognised(&error)),
        _ => Ok(None),
    }
}

fn one_word(kind: CredentialKind, text: &str) -> Result<SecretString, ProtocolError> {
    if text.chars().any(|character| character.is_whitespace() || character.is_control()) {
        return Err(wrong(kind, "is more than one word"));
    }
    Ok(text.to_owned().into())
}

fn wrong(kind: CredentialKind, what: &str) -> ProtocolError {
    ProtocolError::new(
        ErrorCode::NotRecognised,
        format!("What was given for {} {what}. Nothing was saved.", title(kind)),
        "Copy it again, all of it.",
    )
}

/// What a variable holds.
pub(crate) fn variable(name: &str) -> Option<SecretString> {
    let held = std::env::var(name).ok()?;
    let held = held.trim();
    (!held.is_empty()).then(|| held.to_owned().into())
}

/// When a credential ends by itself: what it says itself, as a JSON web token does, or what is known of its kind.
pub(crate) fn expires(kind: CredentialKind, secret: &SecretString, now: Timestamp) -> Option<Timestamp> {
    let told = secret.expose_secret().split_whitespace().find_map(told);
    told.or_else(|| {
        (kind == CredentialKind::ColabLink).then(|| now.checked_add(LINK).unwrap_or(Timestamp::MAX))
    })
}

fn told(token: &str) -> Option<Timestamp> {
    let mut parts = token.split('.');
    let (_head, claims, _signature, None) = (parts.next()?, parts.next()?, parts.next()?, parts.next())
    else {
        return None;
    };
    let claims = BASE64_URL_SAFE_NO_PAD.decode(claims.trim_end_matches('=')).ok()?;
    let claims: Value = serde_json::from_slice(&claims).ok()?;
    Timestamp::from_second(claims.get("exp")?.as_i64()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(kind: CredentialKind, text: &str) -> Result<String, String> {
        let read = read(kind, &text.to_owned().into());
        read.map(|secret| secret.expose_secret().to_owned()).map_err(|error| error.message)
    }

    #[test]
    fn every_kind_is_taken_in_the_forms_in_which_its_makers_give_it_and_kept_in_one() {
        use CredentialKind as Kind;
        for (kind, given, expected) in [
            (Kind::JupyterToken, " abc123 \n", "abc123"),
            (Kind::JupyterToken, "http://h:8888/lab?token=abc123", "abc123"),
            (
                Kind::KaggleToken,
                r#"{"username":"ana","key":"0123456789abcdef"}"#,
                r#"{"username":"ana","key":"0123456789abcdef"}"#,
            ),
            (
                Kind::KaggleToken,
                "KAGGLE_USERNAME=ana KAGGLE_KEY=0123456789abcdef",
                r#"{"username":"ana","key":"0123456789abcdef"}"#,
            ),
            (Kind::KaggleToken, "KGAT_0123456789abcdef", "KGAT_0123456789abcdef"),
            (
                Kind::ModalPair,
                "modal token set --token-id ak-0123456789 --token-secret as-0123456789",
                "ak-0123456789 as-0123456789",
            ),
            (Kind::DatalayerKey, "DATALAYER_API_KEY=abc.def", "abc.def"),
            (Kind::DatalayerKey, "abcdef", "abcdef"),
            (Kind::OpensandboxKey, "OPEN_SANDBOX_API_KEY=abcdef", "abcdef"),
        ] {
            assert_eq!(kept(kind, given), Ok(expected.into()), "{given}");
        }
    }

    #[test]
    fn what_is_no_credential_of_a_kind_is_refused_without_being_repeated() {
        use CredentialKind as Kind;
        for (kind, given, why) in [
            (Kind::JupyterToken, "", "empty"),
            (Kind::JupyterToken, "two s3cretwords", "more than one word"),
            (Kind::JupyterToken, "http://s3cret-host:8888/lab", "without a token"),
            (Kind::KaggleToken, "s3cret0123456789", "neither the file kaggle.json"),
            (Kind::KaggleToken, "KAGGLE_KEY=s3cret0123456789", "half of"),
            (Kind::ModalPair, "ak-s3cret0123456789", "half of"),
            (Kind::ModalPair, "KGAT_s3cret0123456789", "is a Kaggle API token"),
            (Kind::DatalayerKey, "ak-s3cret0123 as-s3cret0123", "is a Modal token"),
        ] {
            let said = kept(kind, given).expect_err(given);
            assert!(said.contains(why) && !said.contains("s3cret"), "{given}: {said}");
        }
    }

    #[test]
    fn an_end_is_what_the_credential_says_or_what_is_known_of_its_kind() {
        let now = Timestamp::from_second(1_000).unwrap();
        let claims = BASE64_URL_SAFE_NO_PAD.encode(r#"{"exp": 5000}"#);
        let web_token = SecretString::from(format!("eyJh.{claims}.sig"));
        let end = |kind, secret: &SecretString| expires(kind, secret, now).map(Timestamp::as_second);
        assert_eq!(end(CredentialKind::DatalayerKey, &web_token), Some(5_000));
        assert_eq!(end(CredentialKind::ColabLink, &web_token), Some(5_000));
        assert_eq!(end(CredentialKind::ColabLink, &"plain".to_owned().into()), Some(4_600));
        assert_eq!(end(CredentialKind::ModalPair, &"ak-1 as-2".to_owned().into()), None);
    }

    #[test]
    fn each_runtime_with_a_credential_has_its_kind() {
        assert_eq!(of_runtime(RuntimeKind::Jupyter), CredentialKind::JupyterToken);
        assert_eq!(of_runtime(RuntimeKind::Kaggle), CredentialKind::KaggleLink);
        assert_eq!(of_runtime(RuntimeKind::Datalayer), CredentialKind::DatalayerKey);
        for kind in CredentialKind::ALL {
            assert_eq!(CredentialKind::named(kind.name()), Some(*kind));
        }
    }
}
