//! Servers and kernels: reading what was pasted, connecting, credentials, environments.

use sandbook_protocol::{Command, ConnectionId, ErrorCode, PastedId, ProtocolError, Reply, Secret};
use sandbook_runtimes::jupyter::parse_pasted;
use sandbook_store::config::Rule;
use secrecy::SecretString;
use uuid::Uuid;

use super::{Caller, misplaced};
use crate::{connections::Connection, credentials::Kept, pasted::Pasted};

/// Said of http to another computer, unless the person's policy allows it.
const UNENCRYPTED: &str = "This address is not encrypted: whoever is on the network in between can read the token and the code. Use https or an SSH tunnel.";

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
        Command::Connect { pasted, address, token, name, trust_fingerprint } => {
            let target = target(caller, pasted.as_ref(), address.as_deref(), token)?;
            let connection = connect(caller, target, name, trust_fingerprint).await?;
            if let Some(pasted) = pasted {
                owner.0.pasted.dismiss(&pasted);
            }
            Ok(Reply::Connection { connection: Box::new(owner.0.kernels.connection_view(&connection)) })
        }
        Command::RemoveConnection { connection } => {
            let connection = owner.0.connections.get(&connection)?;
            owner.0.connections.remove(&connection.id)?;
            if let Some(name) = &connection.credential {
                owner.0.credentials.remove(name).await;
            }
            owner.workspace_changed();
            Ok(Reply::Done)
        }
        Command::StoreCredential { connection, secret } => {
            store(caller, &connection, secret.into_inner()).await
        }
        Command::ListServerKernels { connection } => {
            let (connection, credential) = known(caller, &connection).await?;
            let kept = owner.0.disk.records.kept_kernels().unwrap_or_default();
            owner.0.kernels.server_kernels(&connection, credential, &kept).await
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
    let credential = match connection.credential.as_deref() {
        Some(name) => caller.owner.0.credentials.load(name).await,
        None => None,
    };
    Ok((connection, credential))
}

/// Where to connect: what was pasted, or what stands in the fields.
fn target(
    caller: &Caller<'_>,
    pasted: Option<&PastedId>,
    address: Option<&str>,
    token: Option<Secret>,
) -> Result<Pasted, ProtocolError> {
    if let Some(pasted) = pasted {
        return caller.owner.0.pasted.get(pasted);
    }
    let found = parse_pasted(address.unwrap_or_default())
        .map_err(|error| ProtocolError::new(ErrorCode::NotRecognised, error.message, error.hint))?;
    let token = token.map(Secret::into_inner);
    Ok(Pasted { token: token.or_else(|| found.token.clone()), server: found.server })
}

/// Asks the server, then saves the connection and its credential.
async fn connect(
    caller: &Caller<'_>,
    target: Pasted,
    name: Option<String>,
    trusted_fingerprint: Option<String>,
) -> Result<Connection, ProtocolError> {
    let owner = caller.owner;
    let url = target.server.expose();
    let elsewhere = url.scheme() == "http" && !sandbook_runtimes::jupyter::is_loopback(url);
    if elsewhere && owner.0.disk.policies().plain_http == Rule::Refuse {
        return Err(forbidden("network.plain_http", "Nothing was sent"));
    }
    let host = url.port().map_or_else(
        || url.host_str().unwrap_or_default().to_owned(),
        |port| format!("{}:{port}", url.host_str().unwrap_or_default()),
    );
    let existing = owner.0.connections.all().into_iter().find(|known| known.server_url == url.as_str());
    let id = existing.as_ref().map_or_else(
        || ConnectionId(Uuid::now_v7().simple().to_string()),
        |connection| connection.id.clone(),
    );
    let mut connection = Connection {
        id,
        name: name.filter(|name| !name.trim().is_empty()).unwrap_or(host),
        server_url: url.as_str().to_owned(),
        credential: existing.and_then(|connection| connection.credential),
        trusted_fingerprint,
    };
    let checked = owner.0.kernels.check_server(&connection, target.token.clone()).await;
    if elsewhere && owner.0.disk.policies().plain_http == Rule::Ask {
        checked.map_err(|error| ProtocolError {
            message: format!("{} {UNENCRYPTED}", error.message),
            ..error
        })?;
        warn(caller, UNENCRYPTED.into());
    } else {
        checked?;
    }
    if let Some(token) = target.token {
        let credential = connection.credential.get_or_insert_with(|| connection.id.0.clone());
        tell_if_not_kept(caller, &owner.0.credentials.store(credential, token).await);
    }
    owner.0.connections.put(&connection)?;
    owner.workspace_changed();
    Ok(connection)
}

async fn store(caller: &Caller<'_>, id: &ConnectionId, secret: SecretString) -> Result<Reply, ProtocolError> {
    let owner = caller.owner;
    let mut connection = owner.0.connections.get(id)?;
    owner.0.kernels.check_server(&connection, Some(secret.clone())).await?;
    let credential = connection.credential.get_or_insert_with(|| id.0.clone());
    tell_if_not_kept(caller, &owner.0.credentials.store(credential, secret).await);
    owner.0.connections.put(&connection)?;
    owner.bring_back_sandboxes().await;
    owner.refresh().await;
    Ok(Reply::Done)
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

fn warn(caller: &Caller<'_>, message: String) {
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
