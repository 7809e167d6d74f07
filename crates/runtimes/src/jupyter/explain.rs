//! What a server's refusal, silence or odd answer means, in the contract's errors.

use reqwest::{StatusCode, header};
use sandbook_sandbox::{SandboxError, SecretUrl};
use serde_json::Value;
use url::Url;

use super::rest::Server;

impl Server {
    pub(crate) fn check(&self, status: StatusCode) -> Result<(), SandboxError> {
        let address = self.address.clone();
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN if !self.shows_a_secret() => {
                Err(SandboxError::CredentialMissing { address })
            }
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                Err(SandboxError::Refused { address, status: status.as_u16() })
            }
            _ => Ok(()),
        }
    }

    pub(super) fn redirected(&self, location: Option<&header::HeaderValue>) -> SandboxError {
        let location = location.and_then(|location| location.to_str().ok()).unwrap_or_default();
        if location.contains("login") || location.contains("oauth") {
            return match &self.token {
                None => SandboxError::CredentialMissing { address: self.address.clone() },
                Some(_) => self.wrong_peer("it leads to a login page, so it takes no token here"),
            };
        }
        let to = Url::parse(location)
            .map_or_else(|_| "another page".to_owned(), |url| SecretUrl::new(url).masked());
        self.wrong_peer(&format!("it leads to {to}"))
    }

    pub(crate) fn wrong_peer(&self, detail: &str) -> SandboxError {
        SandboxError::WrongPeer {
            address: self.address.clone(),
            expected: self.peer.into(),
            detail: detail.to_owned(),
        }
    }

    pub(super) fn explain(&self, error: reqwest::Error) -> SandboxError {
        let error = error.without_url();
        if error.is_timeout() && !error.is_connect() {
            let detail = "it takes the connection and does not answer".into();
            return SandboxError::Unreachable { address: self.address.clone(), detail };
        }
        let mut detail = error.to_string();
        let mut cause = std::error::Error::source(&error);
        while let Some(inner) = cause {
            detail = inner.to_string();
            if let Some(tls) = tls_error(inner) {
                return self
                    .certificate(&tls.to_string(), matches!(tls, rustls::Error::InvalidCertificate(_)));
            }
            cause = inner.source();
        }
        SandboxError::Unreachable { address: self.address.clone(), detail }
    }

    /// What a failed TLS handshake means.
    fn certificate(&self, detail: &str, of_certificate: bool) -> SandboxError {
        let address = self.address.clone();
        if of_certificate {
            let (detail, fingerprint) = match self.trust.refused() {
                Some(refused) => (refused.reason, Some(refused.fingerprint)),
                None => (detail.to_owned(), None),
            };
            return SandboxError::Certificate { address, detail, fingerprint };
        }
        SandboxError::Unreachable { address, detail: format!("no secure connection: {detail}") }
    }

    /// What a failed WebSocket means.
    pub(super) fn explain_socket(&self, error: sandbook_jupyter::Error, kernel_id: &str) -> SandboxError {
        use sandbook_jupyter::Error;
        let address = self.address.clone();
        match error {
            Error::Refused { .. } if !self.shows_a_secret() => SandboxError::CredentialMissing { address },
            Error::Refused { status } => SandboxError::Refused { address, status },
            Error::KernelGone => SandboxError::Gone { what: format!("the kernel {kernel_id}") },
            Error::Unreachable { reason, .. } => SandboxError::Unreachable { address, detail: reason },
            Error::Tls { reason, .. } => self.certificate(&reason, self.trust.refused().is_some()),
            Error::TimedOut { after, .. } => SandboxError::TimedOut { what: address, limit: after },
            Error::NotAWebSocket { status } => self.wrong_peer(&format!("its kernel's WebSocket answered HTTP {status}; a proxy in between may not let WebSockets pass")),
            other => SandboxError::Failed(other.to_string()),
        }
    }
}

/// The TLS error in an error; I/O errors hold theirs aside from the chain of sources, and in each other.
fn tls_error<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a rustls::Error> {
    if let Some(tls) = error.downcast_ref::<rustls::Error>() {
        return Some(tls);
    }
    let inner = error.downcast_ref::<std::io::Error>()?.get_ref()?;
    tls_error(inner)
}

/// A server's own words for what went wrong.
pub(crate) fn said(status: StatusCode, answer: &Value) -> String {
    let text = |name| answer.get(name).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
    text("message")
        .or(text("reason"))
        .map_or_else(|| format!("HTTP {status}"), |message| format!("HTTP {}: {message}", status.as_u16()))
}

/// Whether a proxy answers for a server that is not up yet.
#[cfg(feature = "datalayer")]
pub(crate) fn is_warming_up(error: &SandboxError) -> bool {
    let SandboxError::WrongPeer { detail, .. } = error else { return false };
    ["HTTP 502", "HTTP 503", "HTTP 504"].iter().any(|status| detail.contains(status))
}

pub(super) fn not_json(status: StatusCode, bytes: &[u8]) -> String {
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(512)]).to_lowercase();
    if start.contains("<html") || start.contains("<!doctype html") {
        return format!(
            "a web page came (HTTP {}), perhaps a login page or another base path",
            status.as_u16()
        );
    }
    format!("HTTP {} without JSON", status.as_u16())
}
