//! How a token travels: what a Jupyter server takes, and what a provider's proxy in front of one takes instead.

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use sandbook_sandbox::SandboxError;
use secrecy::{ExposeSecret, SecretString};

/// How a token travels.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manner {
    /// The header of HTTP requests, and what stands before the token in it.
    header: (&'static str, &'static str),
    /// The WebSocket's query parameter. Without one the token goes into its `Authorization` header.
    pub(super) query: Option<&'static str>,
    /// Whether the header of HTTP requests stands in the WebSocket's request as well.
    header_on_socket: bool,
    /// Whether the query parameter stands in HTTP requests as well, in place of the header.
    query_alone: bool,
    /// A header without a secret, in everything that is sent.
    agent: Option<(&'static str, &'static str)>,
}

impl Manner {
    /// As every Jupyter server takes it.
    pub(crate) const HEADER: Self = Self {
        header: ("authorization", "token "),
        query: None,
        header_on_socket: false,
        query_alone: false,
        agent: None,
    };

    /// For proxies that drop the header of a WebSocket.
    pub(crate) const QUERY: Self = Self { query: Some("token"), ..Self::HEADER };

    /// In the query of everything, for proxies that drop the header of everything.
    #[cfg(feature = "opensandbox")]
    pub(crate) const QUERY_ALONE: Self = Self { query_alone: true, ..Self::QUERY };

    /// In a header of an API that has no WebSocket.
    #[cfg(feature = "opensandbox")]
    pub(crate) const fn key(header: &'static str) -> Self {
        Self { header: (header, ""), ..Self::HEADER }
    }

    /// In the `Bearer` scheme, and in the WebSocket's query.
    pub(crate) const fn bearer() -> Self {
        Self { header: ("authorization", "Bearer "), ..Self::QUERY }
    }

    /// In a header and a query parameter of a proxy's own, which wants to know who asks.
    pub(crate) const fn of_proxy(
        header: &'static str,
        query: &'static str,
        agent: (&'static str, &'static str),
    ) -> Self {
        Self {
            header: (header, ""),
            query: Some(query),
            header_on_socket: true,
            agent: Some(agent),
            ..Self::HEADER
        }
    }

    /// What stands in an HTTP request.
    pub(super) fn headers(&self, token: Option<&SecretString>) -> Result<HeaderMap, SandboxError> {
        let mut headers = HeaderMap::new();
        if let Some((name, value)) = self.agent {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        let Some(token) = token.filter(|_| !self.query_alone) else { return Ok(headers) };
        let (name, scheme) = self.header;
        let value = HeaderValue::from_str(&format!("{scheme}{}", token.expose_secret()));
        let mut value = value.map_err(|_| SandboxError::Setting {
            setting: "token".into(),
            reason: "it has characters that no token has".into(),
        })?;
        value.set_sensitive(true);
        let name = if name == "authorization" { AUTHORIZATION } else { HeaderName::from_static(name) };
        headers.insert(name, value);
        Ok(headers)
    }

    /// What stands in the query of an HTTP request.
    pub(super) fn in_query(&self) -> Option<&'static str> {
        self.query.filter(|_| self.query_alone)
    }

    /// What stands in a WebSocket's request besides its own credential.
    pub(super) fn socket_headers(&self, token: Option<&SecretString>) -> Vec<(String, SecretString)> {
        let agent = self.agent.map(|(name, value)| (name.to_owned(), value.to_owned().into()));
        let token =
            token.filter(|_| self.header_on_socket).map(|token| (self.header.0.to_owned(), token.clone()));
        agent.into_iter().chain(token).collect()
    }
}
