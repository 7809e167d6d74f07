//! What leads to a kernel in a Kaggle session: the proxy, the secret in its path or an API token, and the kernel.

use sandbook_sandbox::{SandboxError, SandboxSettings, SecretUrl};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use super::address::{joined, separated, wants_secret};
use crate::{
    channels::{is_address, not_a_link, refuse_unknown},
    jupyter::{ServerSettings, manner::Manner, rest::Server},
    paste::{Pasted, Provider, is_plain_http_elsewhere, parse_pasted},
};

/// What only this runtime knows of a sandbox's settings. Unknown names are refused. Never a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KaggleSettings {
    /// The session's proxy, with `***` in the place of the secret in its path.
    pub url: Url,
    /// The kernel of the session. Without one a kernel is started, and removed on stop.
    #[serde(default)]
    pub kernel_id: Option<String>,
    /// The kernelspec of a new kernel; the server's default if absent.
    #[serde(default)]
    pub kernel: Option<String>,
}

impl KaggleSettings {
    /// As the `runtime` part of [`SandboxSettings`].
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// What leads to a kernel.
#[derive(Clone)]
pub(super) struct Link {
    /// With the secret in it, where it has one.
    url: Url,
    token: Option<SecretString>,
    pub(super) kernel_id: Option<String>,
    pub(super) kernel: Option<String>,
}

impl Link {
    /// From the settings and the credential; or from a whole channels link in place of the credential, which needs no
    /// settings. A credential is the secret of the path, an API token, or one on a line after the other.
    pub(super) fn of(
        settings: &SandboxSettings,
        credential: Option<&SecretString>,
    ) -> Result<Self, SandboxError> {
        refuse_unknown(
            settings,
            "a Kaggle session takes no environment variables for a kernel",
            "the kernels of a Kaggle session are in the folder where they are",
        )?;
        let given = match &settings.runtime {
            Value::Null => None,
            own => Some(serde_json::from_value::<KaggleSettings>(own.clone()).map_err(|error| {
                SandboxError::Setting { setting: "runtime".into(), reason: error.to_string() }
            })?),
        };
        let credential = credential.filter(|credential| !credential.expose_secret().trim().is_empty());
        match (given, credential) {
            (given, Some(credential)) if is_address(credential) => {
                let link = Self::pasted(credential)?;
                match given.and_then(|given| given.kernel_id) {
                    Some(kernel) if Some(&kernel) != link.kernel_id.as_ref() => Err(of_another_kernel()),
                    _ => Ok(link),
                }
            }
            (Some(given), credential) => Self::named(given, credential),
            (None, None) => Err(SandboxError::CredentialMissing { address: "Kaggle".into() }),
            (None, Some(_)) => Err(not_a_link("it is no channels link, and no address was set for a token")),
        }
    }

    fn named(given: KaggleSettings, credential: Option<&SecretString>) -> Result<Self, SandboxError> {
        if separated(&given.url).1.is_some() {
            return Err(SandboxError::Setting {
                setting: "url".into(),
                reason: "it holds its secret; write *** in that place and give the secret as the credential"
                    .into(),
            });
        }
        let missing =
            || SandboxError::CredentialMissing { address: SecretUrl::new(given.url.clone()).masked() };
        let credential = credential.ok_or_else(missing)?;
        let (url, token) = if wants_secret(&given.url) {
            let (secret, token) = lines(credential);
            (joined(&given.url, &secret), token)
        } else {
            (given.url, Some(credential.clone()))
        };
        Ok(Self { url, token, kernel_id: given.kernel_id, kernel: given.kernel })
    }

    /// A fresh credential, or a fresh link to the same kernel.
    pub(super) fn renewed(&self, credential: &SecretString, kernel_id: &str) -> Result<Self, SandboxError> {
        if !is_address(credential) {
            let given = KaggleSettings {
                url: separated(&self.url).0,
                kernel_id: self.kernel_id.clone(),
                kernel: self.kernel.clone(),
            };
            return Self::named(given, Some(credential));
        }
        let link = Self::pasted(credential)?;
        match &link.kernel_id {
            Some(kernel) if kernel != kernel_id => Err(of_another_kernel()),
            _ => Ok(link),
        }
    }

    fn pasted(text: &SecretString) -> Result<Self, SandboxError> {
        let found = parse_pasted(text.expose_secret()).and_then(Pasted::into_server);
        let found = found.map_err(|error| not_a_link(&error.message))?;
        if found.provider != Provider::Kaggle {
            return Err(not_a_link("it is no link of a Kaggle session"));
        }
        let url = found.server.expose().clone();
        Ok(Self { url, token: found.token, kernel_id: found.kernel_id, kernel: None })
    }

    /// The server behind the proxy.
    pub(super) fn server(&self) -> Result<Server, SandboxError> {
        if is_plain_http_elsewhere(&self.url) {
            return Err(not_a_link("it is not encrypted, as no link of Kaggle is"));
        }
        Server::with(&ServerSettings::new(self.url.clone()), self.token.clone(), Manner::bearer())
    }

    /// Asks the server once, in one line.
    pub(super) async fn check(&self) -> Result<String, SandboxError> {
        let server = self.server()?;
        let Some(kernel) = &self.kernel_id else {
            return Ok(format!("{} kinds of kernels can be started", server.kernelspecs().await?.len()));
        };
        match server.kernel(kernel).await {
            Ok(kernel) => Ok(format!("The session's kernel is {}", kernel.state)),
            Err(SandboxError::WrongPeer { .. }) => Ok("The session's proxy answers".into()),
            Err(error) => Err(error),
        }
    }
}

/// The secret of the path, and an API token where there is a second line.
fn lines(credential: &SecretString) -> (SecretString, Option<SecretString>) {
    let mut lines = credential.expose_secret().lines().map(str::trim).filter(|line| !line.is_empty());
    let secret = lines.next().unwrap_or_default().to_owned();
    (secret.into(), lines.next().map(|token| token.to_owned().into()))
}

fn of_another_kernel() -> SandboxError {
    not_a_link("it leads to another kernel; copy it from the same Kaggle page")
}
