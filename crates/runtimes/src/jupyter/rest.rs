//! The HTTP side of a Jupyter server.
//!
//! One request where one is enough: a refused token ends the matter. Redirects are not followed, so a login page is
//! seen as what it is, and a token never travels to another host.

use std::{sync::Arc, time::Duration};

use reqwest::{Method, StatusCode, header};
use sandbook_jupyter::{Credential, Target};
use sandbook_sandbox::{SandboxError, SecretUrl};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use url::Url;

use super::{explain::not_json, paste::is_loopback, settings::ServerSettings, tls::Trust};

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
pub(super) struct Server {
    url: Url,
    pub(super) address: String,
    pub(super) token: Option<SecretString>,
    token_in_query: bool,
    http: reqwest::Client,
    pub(super) trust: Trust,
}

impl Server {
    pub(super) fn new(settings: &ServerSettings, token: Option<SecretString>) -> Result<Self, SandboxError> {
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
            token_in_query: settings.token_in_query,
            http: builder.build().map_err(|error| SandboxError::Failed(error.without_url().to_string()))?,
            trust,
        })
    }

    /// The address, masked.
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// Host and port, for logs: the one part of an address that holds no secret.
    pub(super) fn host(&self) -> String {
        let port = self.url.port_or_known_default().unwrap_or_default();
        format!("{}:{port}", self.url.host_str().unwrap_or_default())
    }

    /// Where a kernel's WebSocket is.
    pub(super) fn target(&self, kernel_id: &str) -> Result<Target, SandboxError> {
        let credential = match &self.token {
            None => Credential::None,
            Some(token) if self.token_in_query => {
                Credential::Query { name: "token".into(), value: token.clone() }
            }
            Some(token) => Credential::Header(token.clone()),
        };
        let tls: Option<Arc<_>> =
            if self.url.scheme() == "https" { Some(self.trust.config()?) } else { None };
        Ok(Target {
            server: self.url.clone(),
            kernel_id: kernel_id.to_owned(),
            credential,
            headers: Vec::new(),
            tls,
        })
    }

    pub(super) async fn call(
        &self,
        method: Method,
        path: &[&str],
        body: Option<&Value>,
    ) -> Result<(StatusCode, Value), SandboxError> {
        let (status, answer) = self.send(method, path, body).await?;
        self.check(status)?;
        Ok((status, answer))
    }

    pub(super) async fn send(
        &self,
        method: Method,
        path: &[&str],
        body: Option<&Value>,
    ) -> Result<(StatusCode, Value), SandboxError> {
        let mut url = self.url.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().push("api").extend(path);
        }
        let starts = method == Method::POST;
        let mut request = self.http.request(method, url);
        if !starts {
            request = request.timeout(ANSWER_PATIENCE);
        }
        if let Some(token) = &self.token {
            let mut value = header::HeaderValue::from_str(&format!("token {}", token.expose_secret()))
                .map_err(|_| SandboxError::Setting {
                    setting: "token".into(),
                    reason: "it has characters that no token has".into(),
                })?;
            value.set_sensitive(true);
            request = request.header(header::AUTHORIZATION, value);
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

    /// Comes back when a server that owes an answer answers nothing else either.
    pub(super) async fn fallen_silent(&self) -> SandboxError {
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
