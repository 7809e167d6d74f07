//! Jupyter servers, as the owner uses them: asking one, what runs there, what a page sees of a connection.

use std::time::SystemTime;

use sandbook_protocol::{
    ConnectionId, ConnectionView, ErrorCode, KernelChoice, ProtocolError, Readiness, ReadinessState, Reply,
    ServerKernel,
};
use sandbook_runtimes::{
    jupyter::{Handle, JupyterSettings, ServerSettings},
    paste::is_plain_http_elsewhere,
};
use sandbook_sandbox::{AttachHandle, Listed, Runtime as _, SandboxError, SandboxSettings};
use sandbook_store::records::KeptKernel;
use secrecy::SecretString;
use url::Url;

use crate::{
    connections::Connection, error::sandbox_error, kernels::Kernels, owner::lock, plain_http::plain_http,
    runtimes,
};

impl Kernels {
    /// Whether a server can be used now.
    pub(crate) async fn server_readiness(
        &self,
        connection: &Connection,
        credential: Option<&SecretString>,
    ) -> Readiness {
        let settings = match self.sandbox_settings(connection) {
            Ok(settings) => settings,
            Err(error) => return Readiness { state: ReadinessState::NeedsSetup, reason: error.message },
        };
        runtimes::readiness(self.runtime.readiness(&settings, credential).await)
    }

    pub(crate) fn remember_readiness(&self, connection: &ConnectionId, readiness: Readiness) {
        lock(&self.servers).insert(connection.clone(), readiness);
    }

    /// What a page sees of a connection.
    pub(crate) fn connection_view(&self, connection: &Connection) -> ConnectionView {
        let url = Url::parse(&connection.server_url).ok();
        let known = lock(&self.servers).get(&connection.id).cloned();
        ConnectionView {
            id: connection.id.clone(),
            kind: connection.kind,
            name: connection.name.clone(),
            display_url: url.clone().map_or_else(
                || connection.server_url.clone(),
                |url| sandbook_sandbox::SecretUrl::new(url).masked(),
            ),
            kernel_id: connection.kernel_id.clone(),
            readiness: known.unwrap_or_else(|| Readiness {
                state: ReadinessState::Checking,
                reason: "Asking the server".into(),
            }),
            has_credential: connection.credential.is_some(),
            plain_http: url.as_ref().is_some_and(is_plain_http_elsewhere),
            trusted_fingerprint: connection.trusted_fingerprint.clone(),
        }
    }

    /// Asks a server once; an error says what is wrong with address, certificate or credential.
    pub(crate) async fn check_server(
        &self,
        connection: &Connection,
        credential: Option<SecretString>,
    ) -> Result<(), ProtocolError> {
        let settings = self.server_settings(connection)?;
        let specs = self.runtime.server_kernelspecs(&settings, credential.as_ref()).await;
        let specs = specs.map_err(|error| sandbox_error(&error))?;
        let reason = match specs.as_slice() {
            [only] => format!("{} can be started", only.display_name),
            specs => format!("{} kinds of kernels can be started", specs.len()),
        };
        self.remember_readiness(&connection.id, Readiness { state: ReadinessState::Ready, reason });
        Ok(())
    }

    /// How a server is reached, if something may be sent there.
    pub(crate) fn server_settings(&self, connection: &Connection) -> Result<ServerSettings, ProtocolError> {
        let settings = server_settings(connection)?;
        let rule = self.disk.policies().plain_http;
        plain_http(&settings.url, rule, connection.plain_http_agreed).check()?;
        Ok(settings)
    }

    /// The same for the runtime.
    pub(crate) fn sandbox_settings(&self, connection: &Connection) -> Result<SandboxSettings, ProtocolError> {
        let runtime = JupyterSettings::Server(self.server_settings(connection)?).to_value();
        Ok(SandboxSettings { runtime, ..SandboxSettings::default() })
    }

    /// The kernels that run on a server, and those that can be started there.
    pub(crate) async fn server_kernels(
        &self,
        connection: &Connection,
        credential: Option<SecretString>,
        kept: &[KeptKernel],
    ) -> Result<Reply, ProtocolError> {
        let settings = self.server_settings(connection)?;
        let specs = self.runtime.server_kernelspecs(&settings, credential.as_ref()).await;
        let specs = specs.map_err(|error| sandbox_error(&error))?;
        let listed = self.runtime.list(&self.sandbox_settings(connection)?, credential.as_ref()).await;
        let (listed, listable) = match listed {
            Ok(listed) => (listed, true),
            Err(SandboxError::Unsupported { .. }) => (Vec::new(), false),
            Err(error) => return Err(sandbox_error(&error)),
        };
        let now = SystemTime::now();
        let startable = specs.into_iter().map(|spec| KernelChoice {
            name: spec.name,
            display_name: spec.display_name,
            language: spec.language,
            origin: connection.name.clone(),
        });
        Ok(Reply::ServerKernels {
            running: listed.into_iter().filter_map(|listed| server_kernel(listed, kept, now)).collect(),
            listable,
            startable: startable.collect(),
        })
    }

    /// Removes a kernel on a server.
    pub(crate) async fn delete_server_kernel(
        &self,
        connection: &Connection,
        credential: Option<SecretString>,
        kernel: &str,
    ) -> Result<(), ProtocolError> {
        let settings = self.server_settings(connection)?;
        let deleted = self.runtime.remove_kernel(&settings, credential.as_ref(), kernel).await;
        deleted.map_err(|error| sandbox_error(&error))
    }
}

/// The kernel's id, where it is one on a server.
pub(crate) fn kernel_on_server(handle: &AttachHandle) -> Option<String> {
    match Handle::read(handle) {
        Ok(Handle::Server { kernel_id, .. }) => Some(kernel_id),
        _ => None,
    }
}

/// A kernel that runs on a server, as a page sees it.
fn server_kernel(listed: Listed, kept: &[KeptKernel], now: SystemTime) -> Option<ServerKernel> {
    let kernel_id = kernel_on_server(&listed.handle)?;
    let idle = listed.last_activity.and_then(|moment| now.duration_since(moment).ok());
    let (name, used_by) = match listed.title.split_once(" — ") {
        Some((name, document)) => (name.to_owned(), Some(document.to_owned())),
        None => (listed.title, None),
    };
    Some(ServerKernel {
        kept: kept.iter().any(|kept| kept.id == kernel_id),
        id: kernel_id,
        name,
        state: listed.state,
        connections: listed.connections,
        idle_seconds: idle.map(|idle| idle.as_secs()),
        used_by,
    })
}

/// How a server is reached. Whether something may be sent there is not looked at.
pub(crate) fn server_settings(connection: &Connection) -> Result<ServerSettings, ProtocolError> {
    let url = Url::parse(&connection.server_url).map_err(|error| {
        ProtocolError::new(
            ErrorCode::BadSetting,
            format!("The address of {} cannot be read: {error}.", connection.name),
            "Remove the connection and add it again.",
        )
    })?;
    Ok(ServerSettings {
        trusted_certificate: connection.trusted_fingerprint.clone(),
        ..ServerSettings::new(url)
    })
}
