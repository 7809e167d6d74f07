//! Accounts of clouds where sandboxes are made, as the owner uses them.
//!
//! A connection to an account is an address and, in the keyring, a key. What is made with it costs something, so it is made
//! only where a person chose it with its settings. Looking at an account and saving it makes nothing there.

use sandbook_protocol::{
    AccountView, ConnectionId, ErrorCode, ProtocolError, Readiness, ReadinessState, RuntimeKind,
};
use sandbook_runtimes::{
    Runtimes,
    paste::{Pasted, parse_pasted},
};
use sandbook_sandbox::SandboxSettings;
use sandbook_store::config::Rule;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Map, Value};
use url::Url;
use uuid::Uuid;

use crate::{
    connections::Connection,
    kernels::Plan,
    owner::Workbench,
    plain_http::plain_http,
    runtimes::{self, label, not_built},
    sandboxes::capability,
};

/// What the owner has to know of a cloud with accounts.
struct Account {
    /// The address that is meant where a person writes none.
    address: &'static str,
    /// The variable that names another one.
    address_from: &'static str,
    /// The variable that may hold a key, where there is one alone.
    key_from: Option<&'static str>,
    /// The runtime's setting for the address.
    setting: &'static str,
    /// Whether it is a server of a person's own, which may need no key.
    own_server: bool,
}

const fn account(kind: RuntimeKind) -> Option<Account> {
    match kind {
        RuntimeKind::Datalayer => Some(Account {
            address: "https://prod1.datalayer.run/",
            address_from: "DATALAYER_RUN_URL",
            key_from: Some("DATALAYER_API_KEY"),
            setting: "run_url",
            own_server: false,
        }),
        RuntimeKind::Opensandbox => Some(Account {
            address: "http://localhost:8080/",
            address_from: "OPEN_SANDBOX_DOMAIN",
            key_from: Some("OPEN_SANDBOX_API_KEY"),
            setting: "domain",
            own_server: true,
        }),
        // its pairs are looked for by the runtime, as Modal's own tools look for them
        RuntimeKind::Modal => Some(Account {
            address: "https://api.modal.com/",
            address_from: "MODAL_SERVER_URL",
            key_from: None,
            setting: "server_url",
            own_server: false,
        }),
        _ => None,
    }
}

/// Whether its sandboxes are made with the key of an account.
pub const fn is_account(kind: RuntimeKind) -> bool {
    account(kind).is_some()
}

impl Account {
    fn address(&self) -> String {
        variable(self.address_from).unwrap_or_else(|| self.address.to_owned())
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// The key that this process finds in its environment for a kind. A runtime that looks for keys itself is left to it.
pub fn key_from_environment(kind: RuntimeKind) -> Option<SecretString> {
    variable(account(kind)?.key_from?).map(SecretString::from)
}

/// The key on this computer that can be taken over into the keyring, and where it is.
pub(crate) fn importable(kind: RuntimeKind) -> Option<(SecretString, String)> {
    #[cfg(feature = "modal")]
    if kind == RuntimeKind::Modal {
        return sandbook_runtimes::modal::found();
    }
    Some((key_from_environment(kind)?, account(kind)?.key_from?.to_owned()))
}

/// The clouds of this build, as a page sees them.
pub(crate) fn views(runtimes: &Runtimes) -> Vec<AccountView> {
    let views = RuntimeKind::ALL.iter().filter_map(|kind| {
        let account = account(*kind)?;
        let capabilities = runtimes.get(kind.name())?.capabilities(&SandboxSettings::default()).ok()?;
        let (title, mark) = label(*kind);
        Some(AccountView {
            kind: *kind,
            title: title.into(),
            mark: mark.into(),
            address: normal(&account.address()),
            own_server: account.own_server,
            importable: importable(*kind).map(|(_, place)| place),
            capabilities: capabilities.iter().map(capability).collect(),
        })
    });
    views.collect()
}

/// What a runtime is told of a connection, beside what a person chose.
pub(crate) fn settings(connection: &Connection, own: Value) -> SandboxSettings {
    let mut fields = match own {
        Value::Object(fields) => fields,
        Value::Null => Map::new(),
        // for the runtime to refuse
        other => return SandboxSettings { runtime: other, ..SandboxSettings::default() },
    };
    if let Some(account) = account(connection.kind) {
        fields.insert(account.setting.into(), connection.server_url.clone().into());
    }
    SandboxSettings { runtime: fields.into(), ..SandboxSettings::default() }
}

/// Whether settings mean this connection: by its address, or by none.
pub(crate) fn is_meant(connection: &Connection, own: &Value) -> bool {
    let address = account(connection.kind).and_then(|account| own.get(account.setting)?.as_str().map(normal));
    address.is_none_or(|address| address == normal(&connection.server_url))
}

/// An address as it is compared with another. One without a scheme is plain http, as OpenSandbox's own tools have it.
fn normal(address: &str) -> String {
    let whole = if address.contains("://") { address.to_owned() } else { format!("http://{address}") };
    whole.parse::<Url>().map_or_else(|_| address.to_owned(), |url| url.to_string())
}

/// Whether a key is needed, as far as can be said without asking.
pub(crate) const fn may_need_no_key(kind: RuntimeKind) -> bool {
    matches!(account(kind), Some(Account { own_server: true, .. }))
}

/// Whether something may be sent to the address of a connection.
pub(crate) fn check_plain_http(connection: &Connection, rule: Rule) -> Result<(), ProtocolError> {
    let url = connection.server_url.parse::<Url>();
    url.map_or(Ok(()), |url| plain_http(&url, rule, connection.plain_http_agreed).check())
}

/// The address to which these settings lead, where it can be read.
pub(crate) fn address_in(kind: RuntimeKind, own: &Value) -> Option<Url> {
    let account = account(kind)?;
    let written = own.get(account.setting).and_then(Value::as_str).map(str::to_owned);
    normal(&written.unwrap_or_else(|| account.address())).parse().ok()
}

/// Whether a connection can be used now.
pub(crate) async fn readiness(
    runtimes: &Runtimes,
    connection: &Connection,
    credential: Option<&SecretString>,
) -> Readiness {
    let Some(runtime) = runtimes.get(connection.kind.name()) else {
        let reason = not_built(connection.kind).message;
        return Readiness { state: ReadinessState::NeedsSetup, reason };
    };
    runtimes::readiness(runtime.readiness(&settings(connection, Value::Null), credential).await)
}

/// The error of a connection that cannot be used.
pub(crate) fn usable(readiness: &Readiness) -> Result<(), ProtocolError> {
    let (code, hint) = match readiness.state {
        ReadinessState::Ready => return Ok(()),
        ReadinessState::NeedsCredential => (
            ErrorCode::CredentialRefused,
            "Copy the key again from your account's page. Nothing was started.",
        ),
        ReadinessState::NeedsSetup | ReadinessState::Checking => {
            (ErrorCode::BadSetting, "Change the address.")
        }
        ReadinessState::NotReachable => (ErrorCode::Unreachable, "Check the address and the network."),
    };
    Err(ProtocolError::new(code, sandbook_sandbox::sentence(&readiness.reason), hint))
}

/// The connection to an account, as it would be saved: one that is known with this address, or a new one.
pub(crate) fn connection(
    known: Vec<Connection>,
    kind: RuntimeKind,
    address: Option<String>,
    name: Option<String>,
) -> Result<Connection, ProtocolError> {
    let account = account(kind).ok_or_else(|| not_built(kind))?;
    let written = address.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    let address = normal(&written.unwrap_or_else(|| account.address()));
    let found = known.into_iter().find(|known| known.kind == kind && known.server_url == address);
    let connection = found.unwrap_or_else(|| Connection {
        id: ConnectionId(Uuid::now_v7().simple().to_string()),
        kind,
        name: if account.own_server { host(&address) } else { label(kind).0.into() },
        server_url: address,
        kernel_id: None,
        credential: None,
        trusted_fingerprint: None,
        plain_http_agreed: false,
    });
    let name = name.filter(|name| !name.trim().is_empty());
    Ok(Connection { name: name.unwrap_or_else(|| connection.name.clone()), ..connection })
}

/// The key in what a person pasted: the line with which the cloud's own tools take it, or the key alone.
pub(crate) fn key_in(kind: RuntimeKind, text: SecretString) -> SecretString {
    match parse_pasted(text.expose_secret()) {
        Ok(Pasted::Token(line)) if line.runtime == kind.name() => match line.account {
            // a pair is two parts
            Some(public) => format!("{public} {}", line.secret.expose_secret()).into(),
            None => line.secret,
        },
        _ => text,
    }
}

/// Host and port, where an address has them.
fn host(address: &str) -> String {
    let url = address.parse::<Url>().ok();
    let host = url.as_ref().and_then(|url| Some((url.host_str()?.to_owned(), url.port())));
    match host {
        Some((host, Some(port))) => format!("{host}:{port}"),
        Some((host, None)) => host,
        None => address.to_owned(),
    }
}

/// Nobody gave a key.
pub(crate) fn no_key(kind: RuntimeKind) -> ProtocolError {
    ProtocolError::new(
        ErrorCode::CredentialMissing,
        format!("{} asks for the key of an account, and none was given.", label(kind).0),
        "Make one on your account's page, and paste it.",
    )
}

impl Workbench {
    /// What has to be asked for a new sandbox of an account: that of the connection, or of the only one there is.
    pub(crate) async fn plan_with_account(
        &self,
        kind: RuntimeKind,
        own: Value,
        connection: Option<&ConnectionId>,
        kept: bool,
    ) -> Result<Plan, ProtocolError> {
        let runtime = self.0.runtimes.runtimes.get(kind.name()).ok_or_else(|| not_built(kind))?;
        let only = || self.0.connections.all().into_iter().find(|known| known.kind == kind);
        let connection = if let Some(connection) = connection {
            self.0.connections.get(connection)?
        } else {
            only().ok_or_else(|| no_key(kind))?
        };
        if connection.kind != kind {
            return Err(ProtocolError::not_found("connection"));
        }
        check_plain_http(&connection, self.0.disk.policies().plain_http)?;
        let credential = self.0.credentials.of(&connection).await?;
        Ok(Plan {
            runtime,
            settings: settings(&connection, own),
            credential,
            display_name: connection.name,
            connection: Some(connection.id),
            kept,
        })
    }
}
