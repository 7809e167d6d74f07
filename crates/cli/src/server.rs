//! A Jupyter server that a command is to use: what it is called, its token, and whether anything may be sent there.

use std::sync::Arc;

use sandbook_notebook::Notebook;
use sandbook_runtimes::{
    jupyter::{JupyterRuntime, JupyterSettings, ServerSettings},
    paste::{Pasted, Provider, parse_pasted},
};
use sandbook_sandbox::{SandboxSettings, SecretUrl};
use sandbook_store::{
    config::{POLICIES, Policies, Rule, SettingsFile},
    folders::Folders,
};
use sandbook_workbench::own::{self, PlainHttp};
use secrecy::SecretString;
use url::Url;

use crate::{error::CommandError, input, sandbox::Plan};

/// The variable that holds a server's token.
pub(crate) const TOKEN: &str = "SANDBOOK_TOKEN";

/// What is asked of the runtime for a server in any form in which it can be named. Nothing is sent there.
pub(crate) async fn plan(
    runtime: JupyterRuntime,
    folders: &Folders,
    server: &str,
    trust: Option<String>,
    kernel: Option<String>,
    notebook: Option<&Notebook>,
) -> Result<Plan, CommandError> {
    let saved = own::saved_servers(folders)?;
    let named = saved.iter().find(|saved| saved.id == server || saved.name == server);
    let (mut settings, token, connection) = if let Some(connection) = named {
        (connection.settings.clone(), None, Some(connection))
    } else {
        let pasted = parse_pasted(server)
            .and_then(Pasted::into_server)
            .map_err(|error| CommandError::usage(error.code, error.message, error.hint))?;
        if pasted.provider != Provider::Jupyter {
            return Err(of_a_cloud(pasted.provider));
        }
        let address = pasted.server.expose();
        let connection = saved.iter().find(|saved| saved.settings.url == *address);
        let known = connection.map(|connection| connection.settings.clone());
        let mut settings = known.unwrap_or_else(|| ServerSettings::new(address.clone()));
        settings.kernel_id = pasted.kernel_id;
        (settings, pasted.token, connection)
    };
    let credential = match token.or_else(token_from_environment) {
        Some(token) => Some(token),
        None => match connection.and_then(|connection| connection.credential.as_deref()) {
            Some(name) => own::stored_credential(folders, name).await,
            None => None,
        },
    };
    let agreed = connection.is_some_and(|connection| connection.plain_http_agreed);
    let policies = Policies::of(&SettingsFile::open(&folders.policies_file(), &POLICIES)?);
    follow_plain_http(&settings.url, policies.plain_http, agreed, folders)?;
    settings.share = policies.attach_to_busy == Rule::Allow;
    settings.trusted_certificate = trust.or(settings.trusted_certificate);
    // A kernel that runs is what it is.
    if settings.kernel_id.is_none() {
        settings.kernel = kernel.or_else(|| notebook.and_then(Notebook::kernel_name)).or(settings.kernel);
    }
    let name = SecretUrl::new(settings.url.clone()).masked();
    let settings = SandboxSettings {
        runtime: JupyterSettings::Server(settings).to_value(),
        ..SandboxSettings::default()
    };
    let connection = connection.map(|connection| connection.id.clone());
    Ok(Plan { runtime: Arc::new(runtime), settings, credential, connection, name })
}

/// The token, or a cloud's link, that the environment holds.
pub(crate) fn token_from_environment() -> Option<SecretString> {
    std::env::var(TOKEN).ok().filter(|token| !token.is_empty()).map(SecretString::from)
}

/// A link of a cloud is a secret as a whole, and what stands on a command line is seen by others.
fn of_a_cloud(provider: Provider) -> CommandError {
    let name = provider.runtime();
    CommandError::usage(
        "not_a_server_url",
        format!("This is a link of {name}, not the address of a Jupyter server."),
        "Say --runtime with its name, and give the link in SANDBOOK_TOKEN or when asked.",
    )
}

/// The same for an address that a connection or a setting names.
pub(crate) fn check_plain_http(url: &Url, agreed: bool, folders: &Folders) -> Result<(), CommandError> {
    let policies = Policies::of(&SettingsFile::open(&folders.policies_file(), &POLICIES)?);
    follow_plain_http(url, policies.plain_http, agreed, folders)
}

/// Before anything goes to another machine unencrypted, the person's rule is followed; a person at a terminal is asked.
fn follow_plain_http(url: &Url, rule: Rule, agreed: bool, folders: &Folders) -> Result<(), CommandError> {
    let address = || SecretUrl::new(url.clone()).masked();
    let not_encrypted = || {
        format!(
            "{} is not encrypted: whoever is on the network in between can read the token and the code.",
            address()
        )
    };
    let in_file = folders.policies_file().display().to_string();
    match own::plain_http(url, rule, agreed) {
        PlainHttp::Allowed => Ok(()),
        PlainHttp::Ask => match input::ask_consent(&not_encrypted(), "Connect all the same?") {
            Some(true) => Ok(()),
            answer => {
                let why = if answer.is_none() {
                    " Nobody can be asked here, so nothing was sent."
                } else {
                    " Nothing was sent."
                };
                Err(CommandError::infrastructure(
                    "not_encrypted",
                    format!("{}{why}", not_encrypted()),
                    &format!(
                        "Use https or an SSH tunnel, or set network.plain_http = \"allow\" in {in_file}."
                    ),
                ))
            }
        },
        PlainHttp::Refused => Err(CommandError::infrastructure(
            "not_allowed",
            format!("Nothing was sent to {}, because the policy network.plain_http says refuse.", address()),
            &format!("Use https or an SSH tunnel, or change the policy in {in_file}."),
        )),
    }
}
