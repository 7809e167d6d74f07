//! Servers and kernels: reading what was pasted, connecting, credentials, environments.

use sandbook_protocol::{
    Command, ConnectionId, ErrorCode, PastedId, ProtocolError, Reply, RuntimeKind, Secret,
};
use sandbook_runtimes::paste::{self, is_plain_http_elsewhere, parse_pasted};
use sandbook_store::config::Rule;
use secrecy::SecretString;
use uuid::Uuid;

use super::{Caller, credentials::takes_fresh, misplaced};
use crate::{
    accounts,
    clouds::{self, taken_apart},
    connections::Connection,
    credentials::{Kept, of_runtime},
    error::sandbox_error,
    owner::Workbench,
    pasted::{Pasted, not_recognised},
    runtimes::is_reached_by_link,
};

/// What a person agreed to for a server.
pub(super) struct Agreed {
    pub(super) trusted_fingerprint: Option<String>,
    pub(super) plain_http: bool,
}

/// What a person wrote of where to connect.
struct Fields {
    address: Option<String>,
    token: Option<Secret>,
    runtime: Option<RuntimeKind>,
    kernel: Option<String>,
}

pub(super) async fn handle(caller: &Caller<'_>, command: Command) -> Result<Reply, ProtocolError> {
    let owner = caller.owner;
    match command {
        Command::ReadPasted { text } => {
            let recognised = owner.0.pasted.read(&text.into_inner())?;
            Ok(Reply::Recognised { recognised })
        }
        Command::DismissPasted { pasted } => {
            owner.0.pasted.dismiss(&pasted);
            Ok(Reply::Done)
        }
        Command::Connect { pasted, address, token, runtime, kernel, name, trust_fingerprint, plain_http } => {
            let fields = Fields { address, token, runtime, kernel };
            let target = target(caller, pasted.as_ref(), fields)?;
            let agreed = Agreed { trusted_fingerprint: trust_fingerprint, plain_http };
            let connection = connect(caller, target, name, agreed).await?;
            if let Some(pasted) = pasted {
                owner.0.pasted.dismiss(&pasted);
            }
            Ok(Reply::Connection { connection: Box::new(owner.0.kernels.connection_view(&connection)) })
        }
        Command::ConnectAccount { runtime, address, key, name, plain_http } => {
            let key = key.map(|key| accounts::key_in(runtime, key.into_inner()));
            let key = key.or_else(|| accounts::importable(runtime).map(|(key, _)| key));
            let mut connection = accounts::connection(owner.0.connections.all(), runtime, address, name)?;
            connection.plain_http_agreed |= plain_http;
            let connection = connect_account(caller, connection, key).await?;
            Ok(Reply::Connection { connection: Box::new(owner.0.kernels.connection_view(&connection)) })
        }
        Command::RemoveConnection { connection } => {
            let connection = owner.0.connections.get(&connection)?;
            owner.0.connections.remove(&connection.id)?;
            remove_credential_of(owner, &connection).await;
            owner.workspace_changed();
            Ok(Reply::Done)
        }
        Command::StoreCredential { connection, secret } => {
            store(caller, &connection, secret.into_inner()).await
        }
        Command::RenewLink { connection, pasted } => {
            let link = owner.0.pasted.get(&pasted)?;
            let secret = clouds::secret_for(&owner.0.connections.get(&connection)?, link)?;
            let done = store(caller, &connection, secret).await?;
            owner.0.pasted.dismiss(&pasted);
            Ok(done)
        }
        Command::TrustCertificate { connection, fingerprint } => {
            trust(caller, &connection, fingerprint).await
        }
        Command::ListServerKernels { connection } => {
            let (connection, credential) = known(caller, &connection).await?;
            if accounts::is_account(connection.kind) {
                caller.asking(check(owner, &connection, credential)).await?;
                return Ok(Reply::ServerKernels {
                    running: Vec::new(),
                    listable: false,
                    startable: Vec::new(),
                });
            }
            if clouds::is_cloud(&connection) {
                caller.asking(check(owner, &connection, credential)).await?;
                return Ok(clouds::kernels(&connection));
            }
            let kept = owner.0.disk.records.kept_kernels().unwrap_or_default();
            caller.asking(owner.0.kernels.server_kernels(&connection, credential, &kept)).await
        }
        Command::DeleteServerKernel { connection, kernel } => {
            let (connection, credential) = known(caller, &connection).await?;
            owner.0.kernels.delete_server_kernel(&connection, credential, &kernel).await?;
            if let Err(error) = owner.0.disk.records.remove_kept_kernel(&kernel) {
                tracing::warn!(%error, "a removed kernel is still on record");
            }
            Ok(Reply::Done)
        }
        Command::CreateEnvironment { python } => {
            if owner.0.disk.policies().make_environment == Rule::Refuse {
                return Err(forbidden("kernels.make_environment", "No environment was made"));
            }
            let kernel =
                owner.0.kernels.create_environment(python, caller.progress(), caller.cancel.clone()).await?;
            owner.refresh().await;
            Ok(Reply::Kernel { kernel })
        }
        _ => Err(misplaced()),
    }
}

/// A connection with its credential.
async fn known(
    caller: &Caller<'_>,
    id: &ConnectionId,
) -> Result<(Connection, Option<SecretString>), ProtocolError> {
    let connection = caller.owner.0.connections.get(id)?;
    let credential = caller.owner.0.credentials.of(&connection).await?;
    Ok((connection, credential))
}

/// Where to connect: what was pasted, or what stands in the fields.
fn target(caller: &Caller<'_>, pasted: Option<&PastedId>, fields: Fields) -> Result<Pasted, ProtocolError> {
    let cloud = fields.runtime.filter(|kind| is_reached_by_link(*kind));
    let target = if let Some(pasted) = pasted {
        caller.owner.0.pasted.get(pasted)?
    } else {
        let address = fields.address.as_deref().unwrap_or_default();
        let found = parse_pasted(address).and_then(paste::Pasted::into_server);
        let found = found.map_err(|error| not_recognised(&error))?;
        match cloud {
            Some(kind) => clouds::of_address(kind, found)?,
            None => taken_apart(found),
        }
    };
    let token = fields.token.map(Secret::into_inner);
    match cloud {
        Some(_) => clouds::completed(target, fields.kernel, token),
        None => Ok(Pasted { token: token.or(target.token), ..target }),
    }
}

/// Asks the server, then saves the connection and its credential.
pub(super) async fn connect(
    caller: &Caller<'_>,
    target: Pasted,
    name: Option<String>,
    agreed: Agreed,
) -> Result<Connection, ProtocolError> {
    let owner = caller.owner;
    let url = target.server.expose();
    let host = url.port().map_or_else(
        || url.host_str().unwrap_or_default().to_owned(),
        |port| format!("{}:{port}", url.host_str().unwrap_or_default()),
    );
    let mut all = owner.0.connections.all().into_iter();
    let existing = all.find(|known| known.kind == target.kind && known.server_url == url.as_str());
    // A server that is known keeps what nobody says anew.
    let known = existing.unwrap_or_else(|| Connection {
        id: ConnectionId(Uuid::now_v7().simple().to_string()),
        kind: target.kind,
        name: host,
        server_url: url.as_str().to_owned(),
        kernel_id: None,
        credential: None,
        trusted_fingerprint: None,
        plain_http_agreed: false,
    });
    let mut connection = Connection {
        name: name.filter(|name| !name.trim().is_empty()).unwrap_or(known.name),
        trusted_fingerprint: agreed.trusted_fingerprint.or(known.trusted_fingerprint),
        kernel_id: target.kernel_id,
        plain_http_agreed: known.plain_http_agreed || agreed.plain_http && is_plain_http_elsewhere(url),
        ..known
    };
    let credential = match (&target.token, connection.credential.as_deref()) {
        (None, Some(known)) => owner.0.credentials.load(known).await,
        (token, _) => token.clone(),
    };
    caller.asking(check(owner, &connection, credential)).await?;
    if let Some(token) = target.token {
        keep(caller, &mut connection, token).await;
    }
    owner.0.connections.put(&connection)?;
    owner.workspace_changed();
    Ok(connection)
}

/// Asks a cloud whether it takes the key, then saves the connection and puts the key into the keyring.
async fn connect_account(
    caller: &Caller<'_>,
    mut connection: Connection,
    key: Option<SecretString>,
) -> Result<Connection, ProtocolError> {
    let owner = caller.owner;
    accounts::check_plain_http(&connection, owner.0.disk.policies().plain_http)?;
    if key.is_none() && !accounts::may_need_no_key(connection.kind) {
        return Err(accounts::no_key(connection.kind));
    }
    let shown = match (&key, connection.credential.as_deref()) {
        (None, Some(known)) => owner.0.credentials.load(known).await,
        (key, _) => key.clone(),
    };
    caller.asking(check(owner, &connection, shown)).await?;
    if let Some(key) = key {
        keep(caller, &mut connection, key).await;
    }
    owner.0.connections.put(&connection)?;
    owner.workspace_changed();
    Ok(connection)
}

/// Asks a server once; an error says what is wrong.
async fn check(
    owner: &Workbench,
    connection: &Connection,
    credential: Option<SecretString>,
) -> Result<(), ProtocolError> {
    if accounts::is_account(connection.kind) {
        let runtimes = &owner.0.runtimes.runtimes;
        let readiness = accounts::readiness(runtimes, connection, credential.as_ref()).await;
        owner.0.kernels.remember_readiness(&connection.id, readiness.clone());
        return accounts::usable(&readiness);
    }
    if !clouds::is_cloud(connection) {
        return owner.0.kernels.check_server(connection, credential).await;
    }
    let readiness = clouds::readiness(&owner.0.runtimes.runtimes, connection, credential.as_ref()).await;
    owner.0.kernels.remember_readiness(&connection.id, readiness.clone());
    clouds::usable(&readiness)
}

async fn store(caller: &Caller<'_>, id: &ConnectionId, secret: SecretString) -> Result<Reply, ProtocolError> {
    let owner = caller.owner;
    let mut connection = owner.0.connections.get(id)?;
    let secret =
        if clouds::is_cloud(&connection) { clouds::fresh_credential(&connection, secret)? } else { secret };
    caller.asking(check(owner, &connection, Some(secret.clone()))).await?;
    for live in owner.live_sandboxes() {
        if live.connection.as_ref() == Some(id) && takes_fresh(&connection) && live.is_usable() {
            live.sandbox.renew(secret.clone()).await.map_err(|error| sandbox_error(&error))?;
        }
    }
    keep(caller, &mut connection, secret).await;
    owner.0.connections.put(&connection)?;
    owner.bring_back_sandboxes().await;
    owner.refresh().await;
    Ok(Reply::Done)
}

/// Trusts the certificate that a server shows, where it is the one that the person compared.
async fn trust(caller: &Caller<'_>, id: &ConnectionId, fingerprint: String) -> Result<Reply, ProtocolError> {
    let owner = caller.owner;
    let connection = owner.0.connections.get(id)?;
    // A certificate can be compared without the credential.
    let credential = owner.0.credentials.of(&connection).await.unwrap_or_default();
    let connection = Connection { trusted_fingerprint: Some(fingerprint), ..connection };
    match caller.asking(owner.0.kernels.check_server(&connection, credential)).await {
        // No certificate was shown, or another one.
        Err(error)
            if matches!(
                error.code,
                ErrorCode::CertificateUntrusted | ErrorCode::Unreachable | ErrorCode::Cancelled
            ) =>
        {
            return Err(error);
        }
        // Whatever else is wrong was said behind this certificate, and is for the next step to mend.
        Ok(()) | Err(_) => owner.0.connections.put(&connection)?,
    }
    owner.bring_back_sandboxes().await;
    owner.refresh().await;
    Ok(Reply::Done)
}

/// Keeps the credential of a connection under the name that it has, or gives it one.
async fn keep(caller: &Caller<'_>, connection: &mut Connection, secret: SecretString) {
    let credentials = &caller.owner.0.credentials;
    let what = (of_runtime(connection.kind), connection.name.as_str());
    let name = connection.credential.get_or_insert_with(|| connection.id.0.clone());
    tell_if_not_kept(caller, &credentials.store(name, what, secret).await);
}

/// Removes the credential that was stored with a connection, unless another uses it. One that was added by itself stays.
async fn remove_credential_of(owner: &Workbench, connection: &Connection) {
    let Some(name) = connection.credential.as_deref().filter(|name| *name == connection.id.as_str()) else {
        return;
    };
    let all = owner.0.connections.all();
    if all.iter().any(|other| other.credential.as_deref() == Some(name)) {
        return;
    }
    if let Err(error) = owner.0.credentials.remove(name).await {
        tracing::warn!(%error, "the credential of a connection that was removed is still there");
    }
}

/// A person who connects must know when the token will be gone tomorrow.
fn tell_if_not_kept(caller: &Caller<'_>, kept: &Kept) {
    if let Kept::Memory(reason) = kept {
        warn(
            caller,
            format!("{reason} The token is kept until Sandbook ends, and will be asked for again then."),
        );
    }
}

pub(super) fn warn(caller: &Caller<'_>, message: String) {
    let toast = sandbook_protocol::Toast { level: sandbook_protocol::LogLevel::Warn, message, error: None };
    caller.mailbox.push(sandbook_protocol::Push::Toast { toast });
}

fn forbidden(policy: &str, what: &str) -> ProtocolError {
    ProtocolError::new(
        ErrorCode::NotAllowed,
        format!("{what}, because the policy {policy} says refuse."),
        "Change it in policies.toml if you want this.",
    )
}
