//! What only this runtime knows of a sandbox's settings. Unknown names are refused. Never a secret.

use std::path::PathBuf;

use sandbook_sandbox::{SandboxError, SandboxSettings};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

/// The `runtime` part of [`SandboxSettings`]; null means a kernel on this computer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum JupyterSettings {
    /// A kernel started on this computer, without a server.
    Local(LocalSettings),
    /// A Jupyter server, gateway or Hub server that runs already.
    Server(ServerSettings),
    /// A server that is started here for this sandbox, and ends with it.
    ManagedServer(ManagedServerSettings),
}

/// A kernel started on this computer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LocalSettings {
    /// The name of a kernelspec. `python3` and none mean the best Python for the working directory.
    pub kernel: Option<String>,
    /// This interpreter, which must have ipykernel.
    pub python: Option<PathBuf>,
}

/// A server that runs already.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerSettings {
    /// The server with its base path, without its token.
    pub url: Url,
    /// The kernelspec of a new kernel; the server's default if absent.
    #[serde(default)]
    pub kernel: Option<String>,
    /// A running kernel to join instead of starting one.
    #[serde(default)]
    pub kernel_id: Option<String>,
    /// Whether to join it even if somebody uses it.
    #[serde(default)]
    pub share: bool,
    /// SHA-256 of a certificate that is trusted for this connection, as hex pairs.
    #[serde(default)]
    pub trusted_certificate: Option<String>,
    /// Whether the token goes into the query of the WebSocket's address, for proxies that drop the header.
    #[serde(default)]
    pub token_in_query: bool,
}

/// A server that is started here.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ManagedServerSettings {
    /// The kernelspec of the kernel; the server's default if absent.
    pub kernel: Option<String>,
    /// The interpreter that has `jupyter_server`; the first that is found if absent.
    pub python: Option<PathBuf>,
}

impl ServerSettings {
    /// A new kernel of the server's default kind.
    pub const fn new(url: Url) -> Self {
        Self {
            url,
            kernel: None,
            kernel_id: None,
            share: false,
            trusted_certificate: None,
            token_in_query: false,
        }
    }
}

impl JupyterSettings {
    /// Reads the runtime's part of a sandbox's settings.
    pub fn read(settings: &SandboxSettings) -> Result<Self, SandboxError> {
        if settings.runtime == Value::Null {
            return Ok(Self::Local(LocalSettings::default()));
        }
        let read: Self = serde_json::from_value(settings.runtime.clone()).map_err(|error| {
            SandboxError::Setting { setting: "runtime".into(), reason: error.to_string() }
        })?;
        if let (Self::Server(_), false) = (&read, settings.environment.is_empty()) {
            return Err(SandboxError::Setting {
                setting: "environment".into(),
                reason: "a Jupyter server does not take environment variables for a kernel".into(),
            });
        }
        Ok(read)
    }

    /// As the `runtime` part.
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// What is needed to join a sandbox of this runtime again. No secret: the server's address comes without its token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Handle {
    /// A kernel on this computer.
    Local {
        /// Its connection file.
        connection_file: PathBuf,
    },
    /// A kernel on a server.
    Server {
        /// The kernel.
        kernel_id: String,
        /// Whether we started it.
        owned: bool,
        /// Our session, with which the server replays what we missed. Absent for kernels of others.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<String>,
    },
}

impl Handle {
    /// Reads one that was kept.
    pub fn read(handle: &sandbook_sandbox::AttachHandle) -> Result<Self, SandboxError> {
        serde_json::from_value(handle.0.clone())
            .map_err(|error| SandboxError::Setting { setting: "handle".into(), reason: error.to_string() })
    }

    /// To keep it.
    pub fn keep(&self) -> sandbook_sandbox::AttachHandle {
        sandbook_sandbox::AttachHandle(serde_json::to_value(self).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(runtime: Value) -> Result<JupyterSettings, SandboxError> {
        JupyterSettings::read(&SandboxSettings { runtime, ..SandboxSettings::default() })
    }

    #[test]
    fn nothing_means_a_kernel_here_and_an_unknown_name_is_refused() {
        assert_eq!(read(Value::Null).unwrap(), JupyterSettings::Local(LocalSettings::default()));
        assert!(read(json!({"kind": "local", "kernle": "x"})).is_err());
        assert!(read(json!({"kind": "server", "url": "http://h/", "tokn": "x"})).is_err());
    }

    #[test]
    fn settings_are_read_back_as_they_were_written() {
        let settings = JupyterSettings::Server(ServerSettings::new("http://h:8888/".parse().unwrap()));
        assert_eq!(read(settings.to_value()).unwrap(), settings);
    }

    #[test]
    fn environment_variables_for_a_server_s_kernel_are_refused_and_not_ignored() {
        let settings = SandboxSettings {
            environment: [("A".to_owned(), "b".to_owned())].into(),
            runtime: json!({"kind": "server", "url": "http://h/"}),
            ..SandboxSettings::default()
        };
        let error = JupyterSettings::read(&settings).unwrap_err();
        assert!(matches!(error, SandboxError::Setting { setting, .. } if setting == "environment"));
    }
}
