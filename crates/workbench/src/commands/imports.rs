//! Credentials of other programs, as a person takes them over.

use sandbook_protocol::{
    CredentialId, CredentialImport, ErrorCode, KeyringState, ProtocolError, Reply, RuntimeKind, Secret,
};
use sandbook_sandbox::SecretUrl;
use secrecy::ExposeSecret as _;

use super::{
    Caller,
    connections::{self, Agreed},
    credentials::{Offered, add, replace, told},
};
use crate::{
    credentials::{Found, Places},
    owner::Workbench,
    pasted::Pasted,
};

/// What was found. Nothing is taken over.
pub(super) async fn list(owner: &Workbench) -> Reply {
    let views = owner.credential_views();
    let known = |found: &Found| views.iter().any(|view| view.kind == found.kind && view.name == found.name);
    let imports = found().await.into_iter().map(|found| CredentialImport {
        known: known(&found),
        id: found.id,
        kind: found.kind,
        name: found.name,
        found_in: found.place,
        problem: found.secret.err(),
    });
    Reply::CredentialImports { imports: imports.collect() }
}

async fn found() -> Vec<Found> {
    tokio::task::spawn_blocking(|| Places::of_process().look()).await.unwrap_or_default()
}

/// Takes over what another program has: a server becomes a connection, anything else a credential.
pub(super) async fn take_over(
    caller: &Caller<'_>,
    import: &str,
    in_memory: bool,
) -> Result<Reply, ProtocolError> {
    let owner = caller.owner;
    let found = found().await.into_iter().find(|found| found.id == import);
    let found = found.ok_or_else(|| ProtocolError::not_found("credential to take over"))?;
    let secret = found.secret.map_err(|problem| {
        ProtocolError::new(
            ErrorCode::NotRecognised,
            format!("{problem}. Nothing was saved."),
            "Mend it where it was found, or give the credential here.",
        )
    })?;
    if let Some(url) = found.server {
        // A connection keeps its token in memory by itself where it has to.
        if in_memory && owner.0.credentials.keyring.look().await.state == KeyringState::Ready {
            return Err(ProtocolError::new(
                ErrorCode::BadRequest,
                "The token of a connection is kept in the keyring. Nothing was saved.",
                "Take it over without asking for memory.",
            ));
        }
        let server = SecretUrl::new(url);
        let target = Pasted { kind: RuntimeKind::Jupyter, server, token: Some(secret), kernel_id: None };
        let agreed = Agreed { trusted_fingerprint: None, plain_http: false };
        let connection = connections::connect(caller, target, None, agreed).await?;
        let credential = connection.credential.ok_or_else(|| ProtocolError::not_found("credential"))?;
        return told(owner, &CredentialId(credential));
    }
    let offered = Offered { secret: Some(Secret::new(secret.expose_secret())), variable: None, in_memory };
    let mut views = owner.credential_views().into_iter();
    let same = views.find(|view| view.kind == found.kind && view.name == found.name);
    match same {
        Some(view) => replace(caller, view, offered).await,
        None => add(caller, found.kind, Some(found.name), offered, Vec::new()).await,
    }
}
