//! `sandbook credentials`: what the owner keeps, without ever showing it.
//!
//! A secret comes from standard input, or is typed where it is not shown; never from an argument, which others can see.

use std::io::{IsTerminal as _, Read as _};

use jiff::Timestamp;
use sandbook_client::Owner;
use sandbook_protocol::{
    ClientKind, Command, CredentialCheck, CredentialPlace, CredentialView, KeyringState, ReadinessState,
    Reply, Secret, WorkspaceView,
};
use serde_json::json;

use super::sandboxes::table;
use crate::{
    Ended,
    arguments::{Credentials, Kept},
    error::{CommandError, INFRASTRUCTURE},
    home, input, output,
};

pub(crate) async fn credentials(command: Credentials) -> Ended {
    let place = home::place(&home::folders()?);
    let (owner, pushes) =
        Owner::connect_or_start(&place, ClientKind::CommandLine, &home::this_program()?).await?;
    // What else it has to say is not for this command.
    drop(pushes);
    match command {
        Credentials::List { json } => list(&owner, json).await,
        Credentials::Add { kind, name, connections, kept } => {
            let users = workspace(&owner).await?.connections;
            let users = connections.iter().map(|wanted| {
                let found = users.iter().find(|user| user.id.as_str() == wanted || user.name == *wanted);
                found.map(|user| user.id.clone()).ok_or_else(|| no_such("connection", wanted))
            });
            let connections = users.collect::<Result<_, _>>()?;
            let Kept { variable, memory, json } = kept;
            let secret = secret(variable.as_deref(), "The credential")?;
            let command =
                Command::AddCredential { kind, name, secret, variable, connections, in_memory: memory };
            done(&owner, command, "is kept", json).await
        }
        Credentials::Replace { credential, kept } => {
            let view = find(&owner, &credential).await?;
            let Kept { variable, memory, json } = kept;
            let secret = secret(variable.as_deref(), &format!("The new credential {}", view.name))?;
            let command =
                Command::ReplaceCredential { credential: view.id, secret, variable, in_memory: memory };
            done(&owner, command, "is replaced, and is kept", json).await
        }
        Credentials::Test { credential, json } => test(&owner, &credential, json).await,
        Credentials::Delete { credential, yes, json } => delete(&owner, &credential, yes, json).await,
        Credentials::Import { source: None, json, .. } => imports(&owner, json).await,
        Credentials::Import { source: Some(import), memory, json } => {
            done(&owner, Command::ImportCredential { import, in_memory: memory }, "is kept", json).await
        }
    }
}

/// The secret, unless a variable holds it: what is typed at a terminal, or all of standard input.
fn secret(variable: Option<&str>, what: &str) -> Result<Option<Secret>, CommandError> {
    if variable.is_some() {
        return Ok(None);
    }
    let missing = || {
        CommandError::usage(
            "credential_missing",
            "No credential was given.",
            "Type it when asked, or write it to standard input.",
        )
    };
    if std::io::stdin().is_terminal() {
        let typed = input::type_secret(&format!("{what} (not shown)")).ok_or_else(missing)?;
        return Ok(Some(Secret::new(secrecy::ExposeSecret::expose_secret(&typed))));
    }
    let mut text = String::new();
    std::io::stdin().lock().take(64 * 1024).read_to_string(&mut text).map_err(|_| missing())?;
    if text.trim().is_empty() {
        return Err(missing());
    }
    Ok(Some(Secret::new(text)))
}

async fn workspace(owner: &Owner) -> Result<WorkspaceView, CommandError> {
    match owner.request(Command::WatchWorkspace).await? {
        Reply::Workspace { workspace } => Ok(*workspace),
        _ => Err(unexpected()),
    }
}

async fn find(owner: &Owner, wanted: &str) -> Result<CredentialView, CommandError> {
    let known = workspace(owner).await?.credentials;
    let mut found = known.into_iter().filter(|view| view.id.as_str() == wanted || view.name == wanted);
    match (found.next(), found.next()) {
        (Some(view), None) => Ok(view),
        (Some(_), Some(_)) => Err(CommandError::usage(
            "ambiguous",
            format!("More than one credential is called {wanted}."),
            "Say the id that `sandbook credentials list` shows.",
        )),
        _ => Err(no_such("credential", wanted)),
    }
}

async fn list(owner: &Owner, json: bool) -> Ended {
    // Looking at the keyring is part of the answer.
    owner.request(Command::LookAtKeyring).await?;
    let workspace = workspace(owner).await?;
    if json {
        output::line(&json!({
            "type": "credentials", "credentials": workspace.credentials, "keyring": workspace.keyring,
        }));
        return Ok(0);
    }
    if workspace.credentials.is_empty() {
        println!("No credential is kept.");
    } else {
        let rows: Vec<_> = workspace.credentials.iter().map(|view| row(view, &workspace)).collect();
        for line in table(&["ID", "NAME", "KIND", "KEPT", "ADDED", "USED", "ROTATE BY", "FOR"], &rows) {
            println!("{line}");
        }
    }
    if workspace.keyring.state != KeyringState::Ready {
        eprintln!("warning: {}.", workspace.keyring.reason);
        eprintln!("hint: {}", workspace.keyring.hint);
    }
    Ok(0)
}

fn row(view: &CredentialView, workspace: &WorkspaceView) -> [String; 8] {
    let users = workspace.connections.iter().filter(|user| view.connections.contains(&user.id));
    let users: Vec<_> = users.map(|user| user.name.as_str()).collect();
    let place = match view.place {
        CredentialPlace::Keyring => "keyring".to_owned(),
        CredentialPlace::Memory => "memory".to_owned(),
        CredentialPlace::Environment => view.variable.clone().unwrap_or_default(),
        CredentialPlace::Gone => "gone".to_owned(),
    };
    [
        view.id.to_string(),
        view.name.clone(),
        view.kind.name().to_owned(),
        place,
        day(view.added_at),
        day(view.used_at),
        day(view.expires_at.or(view.rotate_by)),
        if users.is_empty() { "nothing yet".into() } else { users.join(", ") },
    ]
}

fn day(at: Option<u64>) -> String {
    let at = at.and_then(|at| i64::try_from(at).ok()).and_then(|at| Timestamp::from_millisecond(at).ok());
    at.map_or_else(|| "-".into(), |at| at.strftime("%Y-%m-%d").to_string())
}

async fn done(owner: &Owner, command: Command, what: &str, json: bool) -> Ended {
    let Reply::Credential { credential } = owner.request(command).await? else { return Err(unexpected()) };
    if json {
        output::line(&json!({ "type": "credential", "credential": credential }));
        return Ok(0);
    }
    let place = match credential.place {
        CredentialPlace::Keyring => "in the keyring".to_owned(),
        CredentialPlace::Environment => format!("in {}", credential.variable.unwrap_or_default()),
        CredentialPlace::Memory | CredentialPlace::Gone => {
            "in memory, until the owner process ends".to_owned()
        }
    };
    println!("{} ({}) {what} {place}.", credential.name, credential.id);
    Ok(0)
}

async fn test(owner: &Owner, wanted: &str, json: bool) -> Ended {
    let view = find(owner, wanted).await?;
    let command = Command::TestCredential { credential: view.id };
    let Reply::CredentialChecked { checks } = owner.request(command).await? else { return Err(unexpected()) };
    let is_good = checks.iter().all(|check| check.readiness.state == ReadinessState::Ready);
    if json {
        output::line(&json!({ "type": "credential_checks", "good": is_good, "checks": checks }));
    } else if checks.is_empty() {
        println!("Nothing uses {} yet, so there is nobody to ask.", view.name);
    }
    for CredentialCheck { name, readiness, .. } in checks.iter().filter(|_| !json) {
        let good = if readiness.state == ReadinessState::Ready { "good" } else { "not good" };
        println!("{name}: {good}. {}", readiness.reason);
    }
    Ok(if is_good { 0 } else { INFRASTRUCTURE })
}

async fn delete(owner: &Owner, wanted: &str, yes: bool, json: bool) -> Ended {
    let view = find(owner, wanted).await?;
    let workspace = workspace(owner).await?;
    let users = workspace.connections.iter().filter(|user| view.connections.contains(&user.id));
    let users: Vec<_> = users.map(|user| user.name.as_str()).collect();
    let lost = match users.as_slice() {
        [] => "No connection uses it.".to_owned(),
        users => format!("Lost by: {}. What runs goes on.", users.join(", ")),
    };
    if !yes && input::ask_consent(&lost, &format!("Delete {}?", view.name)) != Some(true) {
        return Err(CommandError::usage(
            "cancelled",
            "Nothing was deleted.",
            "Answer y, or say --yes where nobody can be asked.",
        ));
    }
    let command = Command::DeleteCredential { credential: view.id };
    let Reply::CredentialDeleted { lost } = owner.request(command).await? else { return Err(unexpected()) };
    if json {
        output::line(&json!({ "type": "credential_deleted", "lost": lost }));
    } else if lost.is_empty() {
        println!("{} is deleted.", view.name);
    } else {
        println!("{} is deleted. Lost by: {}.", view.name, lost.join(", "));
    }
    Ok(0)
}

async fn imports(owner: &Owner, json: bool) -> Ended {
    let reply = owner.request(Command::ListCredentialImports).await?;
    let Reply::CredentialImports { imports } = reply else { return Err(unexpected()) };
    if json {
        output::line(&json!({ "type": "credential_imports", "imports": imports }));
    } else if imports.is_empty() {
        println!("No credential of another program was found.");
    } else {
        let rows: Vec<_> = imports
            .into_iter()
            .map(|import| {
                let state = import.problem.unwrap_or_else(|| {
                    if import.known { "would replace the one of this name" } else { "can be taken over" }
                        .into()
                });
                [import.id, import.kind.name().to_owned(), import.name, state]
            })
            .collect();
        for line in table(&["SOURCE", "KIND", "NAME", "STATE"], &rows) {
            println!("{line}");
        }
    }
    Ok(0)
}

fn no_such(what: &str, wanted: &str) -> CommandError {
    CommandError::usage(
        "not_found",
        format!("There is no {what} called {wanted}."),
        "`sandbook credentials list` shows what there is.",
    )
}

fn unexpected() -> CommandError {
    CommandError::infrastructure("internal", "The owner answered something else.", "")
}
