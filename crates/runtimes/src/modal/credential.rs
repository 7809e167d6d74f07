//! Whose Modal it is: a token pair, where it is shown, and where such pairs are found on this computer.
//!
//! A pair that a person gave comes first, then the environment's, then the one in the file of Modal's own tools. It has
//! two parts, and half of one is an error wherever it is found: Modal would only say that it is wrong.

use std::{collections::BTreeMap, path::PathBuf};

use sandbook_sandbox::SandboxError;
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use url::Url;

use super::settings::ModalSettings;
use crate::paste::{Pasted, parse_pasted};

/// Where Modal is, where nobody says otherwise.
const SERVER: &str = "https://api.modal.com";

/// A token pair.
#[derive(Debug, Clone)]
pub(super) struct Pair {
    /// The part that names it, `ak-…`.
    pub(super) id: String,
    /// The part that proves it, `as-…`.
    pub(super) secret: SecretString,
}

/// Who asks, and where.
#[derive(Debug, Clone)]
pub(super) struct Account {
    pub(super) pair: Pair,
    pub(super) server: Url,
    /// One of Modal's environments; the account's own if absent.
    pub(super) environment: Option<String>,
    /// Where the pair was found, for a person.
    pub(super) origin: String,
    /// Whether neither settings nor the file name the address.
    pub(super) is_at_the_usual_address: bool,
}

/// Where pairs are looked for on this computer.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// Environment variables, `MODAL_…`.
    pub variables: BTreeMap<String, String>,
    /// The file of Modal's own tools.
    pub file: Option<PathBuf>,
}

impl Sources {
    /// Those of this process.
    pub fn of_process() -> Self {
        let variables: BTreeMap<_, _> =
            std::env::vars().filter(|(name, _)| name.starts_with("MODAL_")).collect();
        let home = || directories::BaseDirs::new().map(|folders| folders.home_dir().join(".modal.toml"));
        let file = variables.get("MODAL_CONFIG_PATH").map(PathBuf::from).or_else(home);
        Self { variables, file }
    }

    fn variable(&self, name: &str) -> Option<&String> {
        self.variables.get(name).filter(|value| !value.is_empty())
    }
}

/// A profile in that file. What else is in it is Modal's.
#[derive(Debug, Clone, Default, Deserialize)]
struct Profile {
    #[serde(default)]
    active: bool,
    token_id: Option<String>,
    token_secret: Option<SecretString>,
    server_url: Option<String>,
    environment: Option<String>,
}

impl Account {
    /// Of a pair that was given, or else that is found.
    pub(super) fn find(
        settings: &ModalSettings,
        given: Option<&SecretString>,
        sources: &Sources,
    ) -> Result<Self, SandboxError> {
        // what the file says is of other accounts than the one that was given, unless a person names one of them
        let (name, profile) = match (given, settings.profile.as_deref()) {
            (Some(_), None) => (String::new(), Profile::default()),
            (_, wanted) => profile(wanted, sources)?,
        };
        let (pair, origin) = match given {
            Some(given) => (read(given)?, "the keyring".to_owned()),
            None => found(&profile, &name, sources)?,
        };
        let of_variable = sources.variable("MODAL_SERVER_URL").cloned();
        let is_at_the_usual_address =
            settings.server_url.is_none() && (of_variable.is_some() || profile.server_url.is_none());
        let server = settings.server_url.clone().or(of_variable).or(profile.server_url);
        // a list of addresses is one of equal ones
        let server = server.unwrap_or_else(|| SERVER.into());
        let server = server.split(',').next().unwrap_or_default().trim().to_owned();
        let server = Url::parse(&server).map_err(|error| setting("server_url", error.to_string()))?;
        let environment = settings.modal_environment.clone();
        let environment = environment.or_else(|| sources.variable("MODAL_ENVIRONMENT").cloned());
        let environment = environment.or(profile.environment);
        Ok(Self { pair, server, environment, origin, is_at_the_usual_address })
    }
}

/// The pair of the environment or of the file.
fn found(profile: &Profile, name: &str, sources: &Sources) -> Result<(Pair, String), SandboxError> {
    let variable = |name| sources.variable(name).cloned();
    let of_variables = (variable("MODAL_TOKEN_ID"), variable("MODAL_TOKEN_SECRET").map(SecretString::from));
    if of_variables.0.is_some() || of_variables.1.is_some() {
        let missing = if of_variables.0.is_some() { "MODAL_TOKEN_SECRET" } else { "MODAL_TOKEN_ID" };
        return both(of_variables, missing).map(|pair| (pair, "the environment".to_owned()));
    }
    let of_file = (profile.token_id.clone(), profile.token_secret.clone());
    if of_file.0.is_none() && of_file.1.is_none() {
        return Err(SandboxError::CredentialMissing { address: "Modal".into() });
    }
    let missing = if of_file.0.is_some() { "token_secret" } else { "token_id" };
    both(of_file, &format!("{missing} of the profile {name}"))
        .map(|pair| (pair, format!("the profile {name} in ~/.modal.toml")))
}

fn both((id, secret): (Option<String>, Option<SecretString>), missing: &str) -> Result<Pair, SandboxError> {
    match (id, secret) {
        (Some(id), Some(secret)) => Pair { id, secret }.checked(),
        _ => Err(half(&format!("{missing} is missing"))),
    }
}

/// A pair as a person pasted it.
fn read(given: &SecretString) -> Result<Pair, SandboxError> {
    match parse_pasted(given.expose_secret()) {
        Ok(Pasted::Token(token)) if token.runtime == "modal" => {
            let id = token.account.ok_or_else(|| half("its id is missing"))?;
            Pair { id, secret: token.secret }.checked()
        }
        Err(error) if error.code == "half_a_token" => Err(half("the other half is missing")),
        _ => Err(setting("token", "it is no Modal token: that is a pair of ak-… and as-…".into())),
    }
}

impl Pair {
    /// In the form in which it is pasted and kept.
    pub(super) fn pasted(&self) -> SecretString {
        format!("{} {}", self.id, self.secret.expose_secret()).into()
    }

    /// Parts that were exchanged are as wrong as missing ones.
    fn checked(self) -> Result<Self, SandboxError> {
        if self.id.starts_with("as-") || self.secret.expose_secret().starts_with("ak-") {
            return Err(setting(
                "token",
                "its two parts are exchanged: the id begins with ak-, the secret with as-".into(),
            ));
        }
        Ok(self)
    }
}

/// The profile of this name, else the active one, else `default`; nothing where there is no file.
fn profile(wanted: Option<&str>, sources: &Sources) -> Result<(String, Profile), SandboxError> {
    let wanted = wanted.or_else(|| sources.variable("MODAL_PROFILE").map(String::as_str));
    let text = sources.file.as_ref().and_then(|file| std::fs::read_to_string(file).ok());
    let Some(text) = text else {
        return match wanted {
            Some(name) => Err(setting("profile", format!("there is no file with a profile {name}"))),
            None => Ok(("default".into(), Profile::default())),
        };
    };
    // what stands in it is secret, so the words of the parser are not passed on
    let mut profiles: BTreeMap<String, Profile> = toml::from_str(&text)
        .map_err(|_| setting("profile", "the file ~/.modal.toml cannot be read".into()))?;
    let active: Vec<&String> =
        profiles.iter().filter(|(_, profile)| profile.active).map(|(name, _)| name).collect();
    let name = match (wanted, &active[..]) {
        (Some(name), _) => name.to_owned(),
        (None, [one]) => (*one).clone(),
        (None, []) if profiles.len() == 1 || profiles.contains_key("default") => profiles
            .keys()
            .find(|name| *name == "default")
            .or(profiles.keys().next())
            .cloned()
            .unwrap_or_default(),
        (None, []) if profiles.is_empty() => return Ok(("default".into(), Profile::default())),
        (None, []) => {
            return Err(setting("profile", "none of the profiles in ~/.modal.toml is active".into()));
        }
        (None, _) => {
            return Err(setting("profile", "more than one profile in ~/.modal.toml is active".into()));
        }
    };
    match profiles.remove(&name) {
        Some(profile) => Ok((name, profile)),
        None => Err(setting("profile", format!("~/.modal.toml has no profile {name}"))),
    }
}

fn half(what: &str) -> SandboxError {
    setting("token", format!("it is half of a Modal token, which has two parts, ak-… and as-…: {what}"))
}

fn setting(setting: &str, reason: String) -> SandboxError {
    SandboxError::Setting { setting: setting.into(), reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "ak-0123456789abcdef";
    const SECRET: &str = "as-fedcba9876543210";

    fn sources(variables: &[(&str, &str)], file: Option<&str>) -> (Sources, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("modal.toml");
        if let Some(text) = file {
            std::fs::write(&path, text).unwrap();
        }
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        (Sources { variables: variables.collect(), file: Some(path) }, folder)
    }

    fn find(
        given: Option<&str>,
        variables: &[(&str, &str)],
        file: Option<&str>,
    ) -> Result<Account, SandboxError> {
        let (sources, _folder) = sources(variables, file);
        let given = given.map(|given| SecretString::from(given.to_owned()));
        Account::find(&ModalSettings::default(), given.as_ref(), &sources)
    }

    #[test]
    fn a_pair_is_taken_from_the_person_then_the_environment_then_the_active_profile() {
        let file = "[other]\ntoken_id = \"ak-other000000\"\ntoken_secret = \"as-other000000\"\n[mine]\ntoken_id = \"ak-file0000000\"\ntoken_secret = \"as-file0000000\"\nactive = true\nserver_url = \"https://example.org\"\nenvironment = \"dev\"\n";
        let variables = [("MODAL_TOKEN_ID", "ak-environment0"), ("MODAL_TOKEN_SECRET", "as-environment0")];
        let given = format!("modal token set --token-id {ID} --token-secret {SECRET}");
        let account = find(Some(&given), &variables, Some(file)).unwrap();
        assert_eq!((account.pair.id.as_str(), account.pair.secret.expose_secret()), (ID, SECRET));
        let account = find(None, &variables, Some(file)).unwrap();
        assert_eq!(
            (account.pair.id.as_str(), account.origin.as_str()),
            ("ak-environment0", "the environment")
        );
        let account = find(None, &[], Some(file)).unwrap();
        assert_eq!(account.pair.id, "ak-file0000000");
        assert_eq!(
            (account.server.as_str(), account.environment.as_deref()),
            ("https://example.org/", Some("dev"))
        );
        let account = find(None, &[("MODAL_PROFILE", "other")], Some(file)).unwrap();
        assert_eq!(
            (account.pair.id.as_str(), account.server.as_str()),
            ("ak-other000000", "https://api.modal.com/")
        );
    }

    #[test]
    fn half_a_pair_is_one_error_wherever_it_is_found_and_never_shows_what_is_secret() {
        let half_of_file = format!("[default]\ntoken_secret = \"{SECRET}\"\n");
        for (given, variables, file) in [
            (Some(ID), vec![], None),
            (Some(SECRET), vec![], None),
            (None, vec![("MODAL_TOKEN_ID", ID)], None),
            (None, vec![("MODAL_TOKEN_SECRET", SECRET)], None),
            (None, vec![], Some(half_of_file.as_str())),
        ] {
            let error = find(given, &variables, file).unwrap_err();
            let said = error.to_string();
            assert!(
                matches!(&error, SandboxError::Setting { setting, .. } if setting == "token"),
                "{error:?}"
            );
            assert!(said.contains("half of a Modal token") && !said.contains(&SECRET[3..]), "{said}");
        }
    }

    #[test]
    fn a_file_without_one_active_profile_is_an_error_and_a_missing_one_is_a_missing_pair() {
        let two = "[a]\ntoken_id=\"x\"\n[b]\ntoken_id=\"y\"\n";
        assert!(matches!(find(None, &[], Some(two)), Err(SandboxError::Setting { .. })));
        let both = "[a]\nactive=true\n[b]\nactive=true\n";
        assert!(matches!(find(None, &[], Some(both)), Err(SandboxError::Setting { .. })));
        let broken = find(None, &[], Some("token_secret = \"as-verysecret\nx")).unwrap_err().to_string();
        assert!(!broken.contains("verysecret"), "{broken}");
        assert!(matches!(find(None, &[], None), Err(SandboxError::CredentialMissing { .. })));
        assert!(find(None, &[("MODAL_PROFILE", "nobody")], Some("[a]\n")).is_err());
    }
}
