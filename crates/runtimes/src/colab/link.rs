//! What leads to a Colab kernel: the machine's proxy, the kernel, and the token.

use sandbook_sandbox::{SandboxError, SandboxSettings};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use crate::{
    channels::{is_address, not_a_link, refuse_unknown},
    jupyter::{ServerSettings, manner::Manner, rest::Server},
    paste::{Pasted, Provider, is_plain_http_elsewhere, parse_pasted},
};

/// How a client of the proxy shows its token and its name.
const MANNER: Manner = Manner::of_proxy(
    "x-colab-runtime-proxy-token",
    "colab-runtime-proxy-token",
    ("x-colab-client-agent", "sandbook"),
);

/// What only this runtime knows of a sandbox's settings. Unknown names are refused. Never a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColabSettings {
    /// The machine's proxy with its base path, without the token.
    pub url: Url,
    /// The kernel of the tab.
    pub kernel_id: String,
}

impl ColabSettings {
    /// As the `runtime` part of [`SandboxSettings`].
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// What leads to a kernel.
#[derive(Clone)]
pub(super) struct Link {
    url: Url,
    pub(super) kernel_id: String,
    pub(super) token: SecretString,
}

impl Link {
    /// From the settings and the token; or from a whole channels link in place of the token, which needs no settings.
    /// A kernel that is already known is meant whatever the settings say.
    pub(super) fn of(
        settings: &SandboxSettings,
        credential: Option<&SecretString>,
        known: Option<String>,
    ) -> Result<Self, SandboxError> {
        refuse_unknown(
            settings,
            "the kernel of a Colab tab runs already and takes no environment variables",
            "the kernel of a Colab tab runs already and stays in the folder where it is",
        )?;
        let given = match &settings.runtime {
            Value::Null => None,
            own => Some(serde_json::from_value::<ColabSettings>(own.clone()).map_err(|error| {
                SandboxError::Setting { setting: "runtime".into(), reason: error.to_string() }
            })?),
        };
        let credential = credential.filter(|credential| !credential.expose_secret().trim().is_empty());
        match (given, credential) {
            (given, Some(credential)) if is_address(credential) => {
                let link = Self::pasted(credential)?;
                match given.map(|given| given.kernel_id).or(known) {
                    Some(kernel) if kernel != link.kernel_id => Err(of_another_kernel()),
                    _ => Ok(link),
                }
            }
            (Some(given), Some(token)) => {
                let kernel_id = known.unwrap_or(given.kernel_id);
                Ok(Self { url: given.url, kernel_id, token: token.clone() })
            }
            (Some(given), None) => Err(SandboxError::CredentialMissing {
                address: sandbook_sandbox::SecretUrl::new(given.url).masked(),
            }),
            (None, None) => Err(SandboxError::CredentialMissing { address: "Google Colab".into() }),
            (None, Some(_)) => Err(not_a_link("it is no channels link, and no address was set for a token")),
        }
    }

    /// A fresh token, or a fresh link to the same kernel.
    pub(super) fn renewed(&self, credential: SecretString) -> Result<Self, SandboxError> {
        if !is_address(&credential) {
            return Ok(Self { token: credential, ..self.clone() });
        }
        let link = Self::pasted(&credential)?;
        if link.kernel_id == self.kernel_id { Ok(link) } else { Err(of_another_kernel()) }
    }

    fn pasted(text: &SecretString) -> Result<Self, SandboxError> {
        let found = parse_pasted(text.expose_secret()).and_then(Pasted::into_server);
        let found = found.map_err(|error| not_a_link(&error.message))?;
        match (found.provider, found.kernel_id, found.token) {
            (Provider::Colab, Some(kernel_id), Some(token)) => {
                Ok(Self { url: found.server.expose().clone(), kernel_id, token })
            }
            (Provider::Colab, None, _) => Err(not_a_link("it names no kernel")),
            (Provider::Colab, _, None) => Err(not_a_link("it holds no token")),
            _ => Err(not_a_link("it is no link of Google Colab")),
        }
    }

    /// The server behind the proxy.
    pub(super) fn server(&self) -> Result<Server, SandboxError> {
        if is_plain_http_elsewhere(&self.url) {
            return Err(not_a_link("it is not encrypted, as no link of Colab is"));
        }
        Server::with(&ServerSettings::new(self.url.clone()), Some(self.token.clone()), MANNER)
    }

    /// Whether the proxy is a path of Colab's own host, which wants to hear that somebody is still there.
    pub(super) fn is_tunnel(&self) -> bool {
        self.url.path().contains("/tun/m/")
    }
}

fn of_another_kernel() -> SandboxError {
    not_a_link("it leads to another kernel; copy it from the same Colab tab")
}
