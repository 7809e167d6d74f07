//! Connections to the kernels of clouds' open pages, as the owner uses them: by a link that was pasted.
//!
//! A link is an address without its secret, a kernel, and the secret as the credential. The address never changes what it
//! is; the secret ends, and a fresh link goes on in the same kernel, for the connection and for the sandboxes that live.

use std::time::{Duration, SystemTime};

use sandbook_protocol::{
    CloudView, ConnectionId, ErrorCode, LinkView, ProtocolError, Readiness, ReadinessState, Reply,
    RuntimeKind, ServerKernel,
};
use sandbook_runtimes::{
    Runtimes,
    kaggle::separated,
    paste::{self, Provider, parse_pasted},
};
use sandbook_sandbox::{CredentialStatus, SandboxSettings};
use sandbook_store::config::Rule;
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;

use crate::{
    connections::Connection,
    kernels::Plan,
    pasted::{Pasted, not_recognised},
    runtimes::{self, label},
    sandboxes::capability,
    time::millis,
};

/// How long before its end a person is told that a fresh link will be needed.
pub(crate) const BEFORE_THE_END: Duration = Duration::from_mins(5);

/// Whether a connection's kernels are those of a cloud's pages.
pub(crate) fn is_cloud(connection: &Connection) -> bool {
    runtimes::is_reached_by_link(connection.kind)
}

/// The kind of a link's runtime, if this is one of a cloud that can be joined.
pub(crate) const fn kind_of(provider: Provider) -> Option<RuntimeKind> {
    match provider {
        Provider::Colab => Some(RuntimeKind::Colab),
        Provider::Kaggle => Some(RuntimeKind::Kaggle),
        Provider::Jupyter | Provider::OpenSandbox => None,
    }
}

/// A pasted link in its parts: the secret out of the address, everything secret in the credential.
pub(crate) fn taken_apart(found: paste::Recognised) -> Pasted {
    taken_apart_as(kind_of(found.provider).unwrap_or(RuntimeKind::Jupyter), found)
}

fn taken_apart_as(kind: RuntimeKind, found: paste::Recognised) -> Pasted {
    let kernel_id = found.kernel_id.filter(|_| kind != RuntimeKind::Jupyter);
    if kind != RuntimeKind::Kaggle {
        return Pasted { kind, server: found.server, token: found.token, kernel_id };
    }
    let (address, secret) = separated(found.server.expose());
    let token = match (secret, found.token) {
        (Some(secret), Some(token)) => {
            Some(format!("{}\n{}", secret.expose_secret(), token.expose_secret()).into())
        }
        (secret, token) => secret.or(token),
    };
    Pasted { kind, server: sandbook_sandbox::SecretUrl::new(address), token, kernel_id }
}

/// The address that a person wrote for a page of this cloud.
pub(crate) fn of_address(kind: RuntimeKind, found: paste::Recognised) -> Result<Pasted, ProtocolError> {
    match kind_of(found.provider) {
        Some(other) if other != kind => Err(ProtocolError::new(
            ErrorCode::NotRecognised,
            format!("This is an address of {}, not of {}.", label(other).0, label(kind).0),
            "Choose the other one, or write the address of this one.",
        )),
        _ => Ok(taken_apart_as(kind, found)),
    }
}

/// A link with what a person wrote beside it. A secret in the path stays, and a token is shown as well.
pub(crate) fn completed(
    link: Pasted,
    kernel: Option<String>,
    token: Option<SecretString>,
) -> Result<Pasted, ProtocolError> {
    let kernel_id = kernel.or(link.kernel_id);
    let has_secret_path = link.server.expose().path().contains("/***/");
    let token = match (link.token, token) {
        (Some(secret), Some(token)) if has_secret_path => {
            let secret = secret.expose_secret().lines().next().unwrap_or_default();
            Some(format!("{secret}\n{}", token.expose_secret()).into())
        }
        (of_link, written) => written.or(of_link),
    };
    let lacks = |what: &str| {
        ProtocolError::new(
            ErrorCode::BadSetting,
            format!("The {what} is missing, and nothing was sent."),
            "Copy it out of the channels link, or paste the whole link.",
        )
    };
    if link.kind == RuntimeKind::Colab && kernel_id.is_none() {
        return Err(lacks("kernel's id"));
    }
    if link.kind == RuntimeKind::Colab && token.is_none() {
        return Err(lacks("token"));
    }
    Ok(Pasted { token, kernel_id, ..link })
}

/// The clouds of this build, as a page sees them.
pub(crate) fn views(runtimes: &Runtimes) -> Vec<CloudView> {
    let kinds = RuntimeKind::ALL.iter().copied().filter(|kind| runtimes::is_reached_by_link(*kind));
    let views = kinds.filter_map(|kind| {
        let capabilities = runtimes.get(kind.name())?.capabilities(&SandboxSettings::default()).ok()?;
        let (title, mark) = label(kind);
        Some(CloudView {
            kind,
            title: title.into(),
            mark: mark.into(),
            capabilities: capabilities.iter().map(capability).collect(),
        })
    });
    views.collect()
}

/// What a page sees of the link that leads to a sandbox.
pub(crate) fn link(kind: RuntimeKind, credential: CredentialStatus) -> Option<LinkView> {
    runtimes::is_reached_by_link(kind).then(|| match credential {
        CredentialStatus::Good { until } => LinkView { good_until: until.map(millis), refused: false },
        CredentialStatus::Refused => LinkView { good_until: None, refused: true },
    })
}

/// What a runtime is told of a connection.
pub(crate) fn settings(connection: &Connection) -> SandboxSettings {
    let runtime = json!({ "url": connection.server_url, "kernel_id": connection.kernel_id });
    SandboxSettings { runtime, ..SandboxSettings::default() }
}

/// Whether a connection can be used now.
pub(crate) async fn readiness(
    runtimes: &Runtimes,
    connection: &Connection,
    credential: Option<&SecretString>,
) -> Readiness {
    match runtimes.get(connection.kind.name()) {
        Some(runtime) => runtimes::readiness(runtime.readiness(&settings(connection), credential).await),
        None => Readiness {
            state: ReadinessState::NeedsSetup,
            reason: runtimes::not_built(connection.kind).message,
        },
    }
}

/// The error of a connection that cannot be used.
pub(crate) fn usable(readiness: &Readiness) -> Result<(), ProtocolError> {
    let (code, hint) = match readiness.state {
        ReadinessState::Ready => return Ok(()),
        ReadinessState::NeedsCredential => (
            ErrorCode::CredentialRefused,
            "A link stops working when its page reloads or its machine is disconnected. Copy a new channels link from the same page.",
        ),
        ReadinessState::NeedsSetup | ReadinessState::Checking => {
            (ErrorCode::BadSetting, "Copy the whole channels link.")
        }
        ReadinessState::NotReachable => (ErrorCode::Unreachable, "Look whether the page is still open."),
    };
    Err(ProtocolError::new(code, sandbook_sandbox::sentence(&readiness.reason), hint))
}

/// A page uses its kernel as well, so a rule that refuses kernels in use refuses these.
pub(crate) fn check_policy(attach_to_busy: Rule) -> Result<(), ProtocolError> {
    if attach_to_busy != Rule::Refuse {
        return Ok(());
    }
    Err(ProtocolError::new(
        ErrorCode::NotAllowed,
        "The kernel was not joined: its page uses it, and the policy kernels.attach_to_busy says refuse.",
        "Change it in policies.toml if you want this.",
    ))
}

/// What has to be asked for the kernel of a connection.
pub(crate) fn plan(
    runtimes: &Runtimes,
    connection: Connection,
    credential: Option<SecretString>,
    kept: bool,
) -> Result<Plan, ProtocolError> {
    Ok(Plan {
        runtime: runtimes.get(connection.kind.name()).ok_or_else(|| runtimes::not_built(connection.kind))?,
        settings: settings(&connection),
        credential,
        display_name: connection.name,
        connection: Some(connection.id),
        kept,
    })
}

/// What can be chosen at a connection: the kernel of its page, or a new one where the link names none.
pub(crate) fn kernels(connection: &Connection) -> Reply {
    let running = connection.kernel_id.iter().map(|id| ServerKernel {
        id: id.clone(),
        name: "The kernel of the page".into(),
        state: String::new(),
        connections: None,
        idle_seconds: None,
        used_by: None,
        kept: false,
    });
    Reply::ServerKernels { running: running.collect(), listable: true, startable: Vec::new() }
}

/// The credential that a person gave for a connection: as it is, or out of a fresh link to the same kernel.
pub(crate) fn fresh_credential(
    connection: &Connection,
    given: SecretString,
) -> Result<SecretString, ProtocolError> {
    if !given.expose_secret().contains("://") {
        return Ok(given);
    }
    let found = parse_pasted(given.expose_secret()).and_then(paste::Pasted::into_server);
    secret_for(connection, taken_apart(found.map_err(|error| not_recognised(&error))?))
}

/// The secret of a fresh link, where that leads to the kernel of this connection.
pub(crate) fn secret_for(connection: &Connection, link: Pasted) -> Result<SecretString, ProtocolError> {
    let refused = |message: &str| {
        ProtocolError::new(
            ErrorCode::NotRecognised,
            message,
            "Copy the channels link from the page that this connection is to.",
        )
    };
    if !is_cloud(connection) || link.kind != connection.kind || link.kernel_id != connection.kernel_id {
        return Err(refused("This link leads to another kernel."));
    }
    link.token.ok_or_else(|| refused("This link holds no token."))
}

/// How long until a person has to be told that a credential ends.
pub(crate) fn until_told(end: SystemTime) -> Duration {
    let moment = end.checked_sub(BEFORE_THE_END).unwrap_or(end);
    moment.duration_since(SystemTime::now()).unwrap_or_default()
}

/// What a person is told then, or when the credential was refused.
pub(crate) fn wants_fresh_link(name: &str, connection: Option<&ConnectionId>, ended: bool) -> String {
    let what = if ended {
        format!("The link to {name} is not taken any more.")
    } else {
        format!("The link to {name} ends in five minutes or sooner.")
    };
    let how = if connection.is_some() {
        "Copy a new channels link from the same page and paste it where its notebook asks for it."
    } else {
        "Copy a new channels link from the same page and paste it."
    };
    format!("{what} Outputs stay, and what runs goes on. {how}")
}
