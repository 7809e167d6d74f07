//! Credentials as a person handles them: adding, replacing, asking with, deleting.

use sandbook_protocol::{
    Command, CredentialCheck, CredentialId, CredentialKind, CredentialView, ErrorCode, KeyringState,
    ProtocolError, ReadinessState, Reply, RuntimeKind, Secret,
};
use secrecy::SecretString;
use uuid::Uuid;

use super::{Caller, connections::warn, imports, misplaced};
use crate::{
    accounts, clouds,
    connections::Connection,
    credentials::{self, Given, usual_name},
    error::sandbox_error,
    owner::Workbench,
};

/// What a person gave, and where it shall be kept.
pub(super) struct Offered {
    pub(super) secret: Option<Secret>,
    pub(super) variable: Option<String>,
    pub(super) in_memory: bool,
}

pub(super) async fn handle(caller: &Caller<'_>, command: Command) -> Result<Reply, ProtocolError> {
    let owner = caller.owner;
    match command {
        Command::AddCredential { kind, name, secret, variable, connections, in_memory } => {
            let users: Result<Vec<_>, _> = connections.iter().map(|id| owner.0.connections.get(id)).collect();
            add(caller, kind, name, Offered { secret, variable, in_memory }, users?).await
        }
        Command::ReplaceCredential { credential, secret, variable, in_memory } => {
            let view = known(owner, &credential)?;
            replace(caller, view, Offered { secret, variable, in_memory }).await
        }
        Command::KeepCredential { credential } => {
            owner.0.credentials.keep(credential.as_str()).await?;
            told(owner, &credential)
        }
        Command::TestCredential { credential } => test(caller, &known(owner, &credential)?).await,
        Command::DeleteCredential { credential } => delete(owner, &known(owner, &credential)?).await,
        Command::LookAtKeyring => {
            let before = owner.0.credentials.keyring.seen().state;
            let now = owner.0.credentials.keyring.look().await.state;
            owner.workspace_changed();
            if now == KeyringState::Ready && !matches!(before, KeyringState::Ready | KeyringState::Checking) {
                owner.ask_anew();
            }
            Ok(Reply::Done)
        }
        Command::UnlockKeyring => {
            let keyring = caller.asking(async { Ok(owner.0.credentials.keyring.unlock().await) }).await?;
            owner.workspace_changed();
            if keyring.state != KeyringState::Ready {
                return Err(owner.0.credentials.keyring.unavailable("It was not unlocked."));
            }
            owner.ask_anew();
            Ok(Reply::Done)
        }
        Command::ListCredentialImports => Ok(imports::list(owner).await),
        Command::ImportCredential { import, in_memory } => {
            imports::take_over(caller, &import, in_memory).await
        }
        _ => Err(misplaced()),
    }
}

/// What is known of one.
fn known(owner: &Workbench, id: &CredentialId) -> Result<CredentialView, ProtocolError> {
    let mut views = owner.credential_views().into_iter();
    views.find(|view| view.id == *id).ok_or_else(|| ProtocolError::not_found("credential"))
}

pub(super) fn told(owner: &Workbench, id: &CredentialId) -> Result<Reply, ProtocolError> {
    owner.workspace_changed();
    Ok(Reply::Credential { credential: Box::new(known(owner, id)?) })
}

impl Offered {
    /// The secret itself, in the form in which it is kept, and where that is.
    fn read(self, kind: CredentialKind) -> Result<(SecretString, Given), ProtocolError> {
        match (self.secret, self.variable) {
            (Some(secret), None) => {
                let secret = credentials::read(kind, &secret.into_inner())?;
                let place = if self.in_memory { Given::Memory } else { Given::Keyring };
                Ok((secret.clone(), place(secret)))
            }
            (None, Some(name)) => {
                let name = name.trim().to_owned();
                if !name.starts_with(credentials::VARIABLE) {
                    return Err(ProtocolError::new(
                        ErrorCode::BadSetting,
                        format!("The variable's name does not begin with {}.", credentials::VARIABLE),
                        "Rename it. Variables with such names are kept away from everything that Sandbook starts.",
                    ));
                }
                let held = credentials::variable(&name).ok_or_else(|| {
                    ProtocolError::new(
                        ErrorCode::CredentialMissing,
                        format!("The variable {name} is not set where Sandbook was started."),
                        "Set it, end Sandbook with `sandbook quit`, and start it again.",
                    )
                })?;
                Ok((credentials::read(kind, &held)?, Given::Variable(name)))
            }
            _ => Err(ProtocolError::new(
                ErrorCode::BadRequest,
                "A credential is either a secret or the name of a variable.",
                "Give one of the two.",
            )),
        }
    }
}

pub(super) async fn add(
    caller: &Caller<'_>,
    kind: CredentialKind,
    name: Option<String>,
    offered: Offered,
    users: Vec<Connection>,
) -> Result<Reply, ProtocolError> {
    let owner = caller.owner;
    if kind.is_link() {
        return Err(ProtocolError::new(
            ErrorCode::BadRequest,
            "The secret of a link belongs to its page.",
            "Connect to the page with its link: the secret is kept with the connection.",
        ));
    }
    for user in &users {
        if !fits(user, kind) {
            return Err(ProtocolError::new(
                ErrorCode::BadRequest,
                format!("{} does not take such a credential. Nothing was saved.", user.name),
                "Choose another connection, or none.",
            ));
        }
    }
    let users = if users.is_empty() { first_of_account(owner, kind)? } else { users };
    let (secret, given) = offered.read(kind)?;
    let unasked = refuse_what_is_refused(caller, &users, &secret).await?;
    let id = CredentialId(Uuid::now_v7().simple().to_string());
    let title = name.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
    let title = title.unwrap_or_else(|| usual_name(kind));
    owner.0.credentials.put(id.as_str(), (kind, &title), given).await?;
    for user in users {
        owner.0.connections.put(&Connection { credential: Some(id.0.clone()), ..user })?;
    }
    tell_unasked(caller, &unasked);
    owner.ask_anew();
    told(owner, &id)
}

/// The key of an account is of use at once: where there is no connection to its cloud yet, one is made.
fn first_of_account(owner: &Workbench, kind: CredentialKind) -> Result<Vec<Connection>, ProtocolError> {
    let Some(runtime) = account_of(kind) else { return Ok(Vec::new()) };
    if owner.0.connections.all().iter().any(|connection| connection.kind == runtime) {
        return Ok(Vec::new());
    }
    Ok(vec![accounts::connection(Vec::new(), runtime, None, None)?])
}

/// The cloud whose accounts have such a key.
fn account_of(kind: CredentialKind) -> Option<RuntimeKind> {
    let runtime = RuntimeKind::named(kind.runtime())?;
    (accounts::is_account(runtime) && credentials::of_runtime(runtime) == kind).then_some(runtime)
}

pub(super) async fn replace(
    caller: &Caller<'_>,
    view: CredentialView,
    offered: Offered,
) -> Result<Reply, ProtocolError> {
    let owner = caller.owner;
    let users = users(owner, &view);
    let (secret, given) = offered.read(view.kind)?;
    let (secret, given) = match users.first() {
        // A link is taken apart by the connection whose page it is of.
        Some(user) if view.kind.is_link() => {
            let secret = clouds::fresh_credential(user, secret)?;
            let given = match given {
                Given::Keyring(_) => Given::Keyring(secret.clone()),
                Given::Memory(_) => Given::Memory(secret.clone()),
                variable @ Given::Variable(_) => variable,
            };
            (secret, given)
        }
        _ => (secret, given),
    };
    let unasked = refuse_what_is_refused(caller, &users, &secret).await?;
    owner.0.credentials.put(view.id.as_str(), (view.kind, &view.name), given).await?;
    for live in owner.live_sandboxes() {
        let user = users.iter().find(|user| live.connection.as_ref() == Some(&user.id));
        if user.is_some_and(takes_fresh) && live.is_usable() {
            live.sandbox.renew(secret.clone()).await.map_err(|error| sandbox_error(&error))?;
        }
    }
    tell_unasked(caller, &unasked);
    owner.ask_anew();
    told(owner, &view.id)
}

/// Whether what lives on can go on with a fresh secret.
pub(super) fn takes_fresh(connection: &Connection) -> bool {
    clouds::is_cloud(connection) || accounts::is_account(connection.kind)
}

fn users(owner: &Workbench, view: &CredentialView) -> Vec<Connection> {
    let all = owner.0.connections.all().into_iter();
    all.filter(|connection| connection.credential.as_deref() == Some(view.id.as_str())).collect()
}

fn fits(connection: &Connection, kind: CredentialKind) -> bool {
    connection.kind.name() == kind.runtime() && credentials::of_runtime(connection.kind) == kind
}

/// Asks all that use a credential whether they take another secret. Those that could not be asked are named.
async fn refuse_what_is_refused(
    caller: &Caller<'_>,
    users: &[Connection],
    secret: &SecretString,
) -> Result<Vec<String>, ProtocolError> {
    let mut unasked = Vec::new();
    for user in users {
        let asked = async { Ok(caller.owner.connection_readiness(user, Some(secret)).await) };
        let readiness = caller.asking(asked).await?;
        match readiness.state {
            ReadinessState::Ready => {}
            ReadinessState::NeedsCredential => {
                return Err(ProtocolError::new(
                    ErrorCode::CredentialRefused,
                    format!("{} does not take it. Nothing was saved.", user.name),
                    "Copy it again, all of it.",
                ));
            }
            _ => unasked.push(user.name.clone()),
        }
    }
    Ok(unasked)
}

fn tell_unasked(caller: &Caller<'_>, unasked: &[String]) {
    if !unasked.is_empty() {
        warn(caller, format!("It is saved. {} could not be asked whether it is taken.", unasked.join(", ")));
    }
}

async fn test(caller: &Caller<'_>, view: &CredentialView) -> Result<Reply, ProtocolError> {
    let owner = caller.owner;
    let secret = owner.0.credentials.look(view.id.as_str()).await.map_err(|reason| {
        ProtocolError::new(
            ErrorCode::KeyringUnavailable,
            format!("{reason}, so nobody was asked."),
            owner.0.credentials.keyring.seen().hint,
        )
        .retryable()
    })?;
    let secret = secret.ok_or_else(|| {
        ProtocolError::new(
            ErrorCode::CredentialMissing,
            format!("The secret of {} is not there any more, so nobody was asked.", view.name),
            "Replace it.",
        )
    })?;
    let mut checks = Vec::new();
    for user in users(owner, view) {
        let asked = async { Ok(owner.connection_readiness(&user, Some(&secret)).await) };
        let readiness = caller.asking(asked).await?;
        owner.0.kernels.remember_readiness(&user.id, readiness.clone());
        checks.push(CredentialCheck { connection: Some(user.id), name: user.name, readiness });
    }
    // One of an account can be shown to its cloud without a connection.
    if let Some(kind) = account_of(view.kind).filter(|_| checks.is_empty()) {
        let connection = accounts::connection(Vec::new(), kind, None, None)?;
        let asked = async { Ok(owner.connection_readiness(&connection, Some(&secret)).await) };
        let readiness = caller.asking(asked).await?;
        checks.push(CredentialCheck { connection: None, name: connection.name, readiness });
    }
    owner.workspace_changed();
    Ok(Reply::CredentialChecked { checks })
}

async fn delete(owner: &Workbench, view: &CredentialView) -> Result<Reply, ProtocolError> {
    owner.0.credentials.remove(view.id.as_str()).await?;
    let mut lost = Vec::new();
    for user in users(owner, view) {
        lost.push(user.name.clone());
        owner.0.connections.put(&Connection { credential: None, ..user })?;
    }
    owner.ask_anew();
    Ok(Reply::CredentialDeleted { lost })
}
