//! The HTTP side of a Jupyter server.
//!
//! One request where one is enough: a refused token ends the matter. Redirects are not followed, so a login page is
//! seen as what it is, and a token never travels to another host.

use std::{sync::Arc, time::Duration};

use reqwest::{Method, StatusCode, header};
use sandbook_jupyter::{Credential, Target};
use sandbook_sandbox::{SandboxError, SecretUrl};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use url::Url;

use super::{explain::not_json, manner::Manner, settings::ServerSettings, tls::Trust};
use crate::paste::is_loopback;

const CONNECT_PATIENCE: Duration = Duration::from_secs(10);
/// Starting a kernel can take a while; everything else is quick.
const PATIENCE: Duration = Duration::from_mins(1);
/// How long a server may take to answer what asks for nothing to be started.
const ANSWER_PATIENCE: Duration = Duration::from_secs(20);
/// How long a server may be silent over a start before it is asked whether it answers at all.
const SILENCE: Duration = Duration::from_secs(10);
/// How long a server may take to answer a question in plain HTTP.
const PLAIN_PATIENCE: Duration = Duration::from_secs(2);

/// A server that can be asked.
#[derive(Clone)]
pub(crate) struct Server {
    url: Url,
    pub(crate) address: String,
    pub(crate) token: Option<SecretString>,
    manner: Manner,
    /// Further headers of every request and every WebSocket.
    more: Vec<(String, SecretString)>,
    /// What it is taken for, in errors.
    pub(super) peer: &'static str,
    http: reqwest::Client,
    pub(super) trust: Trust,
}

impl Server {
    pub(crate) fn new(settings: &ServerSettings, token: Option<SecretString>) -> Result<Self, SandboxError> {
        let manner = if settings.token_in_query { Manner::QUERY } else { Manner::HEADER };
        Self::with(settings, token, manner)
    }

    /// One that wants its token in a manner of its own.
    pub(crate) fn with(
        settings: &ServerSettings,
        token: Option<SecretString>,
        manner: Manner,
    ) -> Result<Self, SandboxError> {
        let bad = |reason: String| SandboxError::Setting { setting: "url".into(), reason };
        if !matches!(settings.url.scheme(), "http" | "https") || !settings.url.has_host() {
            return Err(bad("it is no http or https address".into()));
        }
        if !settings.url.username().is_empty() || settings.url.password().is_some() {
            return Err(bad("a user name and password in an address are not used; give the token".into()));
        }
        let trust = Trust::new(settings.trusted_certificate.as_deref());
        let mut builder = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT_PATIENCE)
            .timeout(PATIENCE)
            .tcp_nodelay(true);
        if is_loopback(&settings.url) {
            builder = builder.no_proxy();
        }
        if settings.url.scheme() == "https" {
            builder = builder.tls_backend_preconfigured((*trust.config()?).clone());
        }
        Ok(Self {
            address: SecretUrl::new(settings.url.clone()).masked(),
            url: settings.url.clone(),
            token: token.filter(|token| !token.expose_secret().is_empty()),
            manner,
            more: Vec::new(),
            peer: "a Jupyter server",
            http: builder.build().map_err(|error| SandboxError::Failed(error.without_url().to_string()))?,
            trust,
        })
    }

    /// The same, but no Jupyter server: another API below `/api/`, of which errors speak by this name.
    #[cfg(any(feature = "datalayer", feature = "opensandbox"))]
    pub(crate) fn expecting(self, peer: &'static str) -> Self {
        Self { peer, ..self }
    }

    /// The same, with further headers in everything that is sent.
    #[cfg(feature = "opensandbox")]
    pub(crate) fn with_headers(self, more: Vec<(String, SecretString)>) -> Result<Self, SandboxError> {
        let server = Self { more, ..self };
        server.headers().map(|_| server)
    }

    fn headers(&self) -> Result<header::HeaderMap, SandboxError> {
        let mut headers = self.manner.headers(self.token.as_ref())?;
        for (name, value) in &self.more {
            let bad =
                || SandboxError::Failed(format!("{} asks for a header that cannot be sent", self.address));
            let name = header::HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
            let mut value = header::HeaderValue::from_str(value.expose_secret()).map_err(|_| bad())?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        Ok(headers)
    }

    /// The address, masked.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Host and port, for logs: the one part of an address that holds no secret.
    pub(crate) fn host(&self) -> String {
        let port = self.url.port_or_known_default().unwrap_or_default();
        format!("{}:{port}", self.url.host_str().unwrap_or_default())
    }

    /// The address, with whatever secret is in its path.
    pub(super) const fn url(&self) -> &Url {
        &self.url
    }

    /// What a connection is opened to.
    pub(super) fn socket_name(&self) -> (String, u16) {
        let host = self.url.host_str().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        (host.to_owned(), self.url.port_or_known_default().unwrap_or_default())
    }

    /// Where a kernel's WebSocket is.
    pub(crate) fn target(&self, kernel_id: &str) -> Result<Target, SandboxError> {
        let credential = match (&self.token, self.manner.query) {
            (None, _) => Credential::None,
            (Some(token), Some(name)) => Credential::Query { name: name.into(), value: token.clone() },
            (Some(token), None) => Credential::Header(token.clone()),
        };
        let tls: Option<Arc<_>> =
            if self.url.scheme() == "https" { Some(self.trust.config()?) } else { None };
        Ok(Target {
            server: self.url.clone(),
            kernel_id: kernel_id.to_owned(),
            credential,
            headers: [self.manner.socket_headers(self.token.as_ref()), self.more.clone()].concat(),
            tls,
        })
    }

    pub(crate) async fn call(
        &self,
        method: Method,
        path: &[&str],
        body: Option<&Value>,
    ) -> Result<(StatusCode, Value), SandboxError> {
        let (status, answer) = self.send(method, path, body).await?;
        self.check(status)?;
        Ok((status, answer))
    }

    pub(crate) async fn send(
        &self,
        method: Method,
        path: &[&str],
        body: Option<&Value>,
    ) -> Result<(StatusCode, Value), SandboxError> {
        let patience = (method != Method::POST).then_some(ANSWER_PATIENCE);
        let path: Vec<&str> = ["api"].iter().chain(path).copied().collect();
        self.send_below(method, &path, &[], body, patience).await
    }

    /// The same below the address itself, with a query, and with a patience other than the longest.
    pub(crate) async fn send_below(
        &self,
        method: Method,
        path: &[&str],
        query: &[(&str, &str)],
        body: Option<&Value>,
        patience: Option<Duration>,
    ) -> Result<(StatusCode, Value), SandboxError> {
        let mut url = self.url.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        if let (Some(name), Some(token)) = (self.manner.in_query(), &self.token) {
            url.query_pairs_mut().append_pair(name, token.expose_secret());
        }
        let mut request = self.http.request(method, url).headers(self.headers()?);
        if let Some(patience) = patience {
            request = request.timeout(patience);
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        let response = match request.send().await {
            Ok(response) => response,
            Err(error) if error.is_timeout() && self.speaks_plain_http().await => {
                return Err(self.not_https());
            }
            Err(error) if !error.is_timeout() && !error.is_connect() && self.speaks_tls().await => {
                let detail = "it speaks https, not http. Try the address with https:// instead".into();
                return Err(SandboxError::Unreachable { address: self.address.clone(), detail });
            }
            Err(error) => return Err(self.explain(error)),
        };
        let status = response.status();
        if status.is_redirection() {
            return Err(self.redirected(response.headers().get(header::LOCATION)));
        }
        let bytes = response.bytes().await.map_err(|error| self.explain(error))?;
        if bytes.is_empty() && status.is_success() {
            return Ok((status, Value::Null));
        }
        let known_answer = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
        match serde_json::from_slice(&bytes) {
            Ok(answer) => Ok((status, answer)),
            Err(_) if known_answer => Ok((status, Value::Null)),
            Err(_) => Err(self.wrong_peer(&not_json(status, &bytes))),
        }
    }

    /// Asks for a page beside the API, with a header of its own. The answer's body is nobody's business.
    pub(crate) async fn touch(&self, page: &str, header: (&'static str, &'static str)) -> Option<StatusCode> {
        let url = self.url.join(page).ok()?;
        let request = self.http.get(url).headers(self.headers().ok()?);
        let answer = request.header(header.0, header.1).timeout(ANSWER_PATIENCE).send().await;
        answer.ok().map(|answer| answer.status())
    }

    /// Whether it is told who asks: by a token, or by a secret in its address.
    pub(super) fn shows_a_secret(&self) -> bool {
        self.token.is_some() || SecretUrl::new(self.url.clone()).has_secret()
    }

    /// Comes back when a server that owes an answer answers nothing else either.
    pub(crate) async fn fallen_silent(&self) -> SandboxError {
        loop {
            tokio::time::sleep(SILENCE).await;
            if let Err(error @ SandboxError::Unreachable { .. }) = self.send(Method::GET, &[], None).await {
                return error;
            }
        }
    }

    /// Whether plain HTTP is answered at an https address: such a server waits for the rest of what it takes for a
    /// request, and the handshake runs out of time. Nothing of ours is in the question.
    async fn speaks_plain_http(&self) -> bool {
        let (Some(host), "https") = (self.url.host_str(), self.url.scheme()) else { return false };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let port = self.url.port_or_known_default().unwrap_or(443);
        let ask = async {
            let mut stream = tokio::net::TcpStream::connect((host, port)).await?;
            stream.write_all(b"HEAD / HTTP/1.0\r\n\r\n").await?;
            let mut start = [0; 5];
            stream.read_exact(&mut start).await?;
            Ok::<_, std::io::Error>(start == *b"HTTP/")
        };
        matches!(tokio::time::timeout(PLAIN_PATIENCE, ask).await, Ok(Ok(true)))
    }

    /// Whether TLS is answered at an http address: such a server drops what is not TLS. Nothing of ours is in the question.
    async fn speaks_tls(&self) -> bool {
        let port = self.url.port_or_known_default();
        let mut url = self.url.clone();
        if url.scheme() != "http" || url.set_scheme("https").is_err() || url.set_port(port).is_err() {
            return false;
        }
        let trust = Trust::new(None);
        let Ok(config) = trust.config() else { return false };
        let client = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(PLAIN_PATIENCE)
            .no_proxy()
            .tls_backend_preconfigured((*config).clone())
            .build();
        let Ok(client) = client else { return false };
        client.head(url).send().await.is_ok() || trust.refused().is_some()
    }

    fn not_https(&self) -> SandboxError {
        let detail =
            "no secure connection: it speaks http, not https. Try the address with http:// instead".into();
        SandboxError::Unreachable { address: self.address.clone(), detail }
    }
}
