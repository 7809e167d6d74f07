//! The HTTP side of a Jupyter server.
//!
//! One request where one is enough: a refused token ends the matter. Redirects are not followed, so a login page is
//! seen as what it is, and a token never travels to another host.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use reqwest::{Method, StatusCode, header};
use sandbook_jupyter::{Credential, Target};
use sandbook_sandbox::{SandboxError, SecretUrl};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use url::Url;

use super::{
    explain::{not_json, said},
    paste::is_loopback,
    settings::ServerSettings,
    tls::Trust,
};

const CONNECT_PATIENCE: Duration = Duration::from_secs(10);
/// Starting a kernel can take a while; everything else is quick.
pub(super) const PATIENCE: Duration = Duration::from_mins(1);
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

/// A kernel as a server describes it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct KernelModel {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) state: String,
    pub(super) connections: Option<u32>,
    pub(super) last_activity: Option<SystemTime>,
}

/// A kernelspec as a server describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerKernelSpec {
    /// Its name.
    pub name: String,
    /// What a person sees.
    pub display_name: String,
    /// As `python`.
    pub language: String,
    /// Whether the server takes it when none is named.
    pub default: bool,
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

    /// Starts a kernel; `folder` is relative to the server's root.
    pub(super) async fn start_kernel(
        &self,
        name: Option<&str>,
        folder: Option<&str>,
    ) -> Result<KernelModel, SandboxError> {
        let mut body = json!({});
        if let Some(name) = name {
            body["name"] = name.into();
        }
        if let Some(folder) = folder {
            body["path"] = folder.into();
        }
        let (status, answer) = self.call(Method::POST, &["kernels"], Some(&body)).await?;
        if !status.is_success() {
            let what = name.map_or_else(|| "the kernel".to_owned(), |name| format!("the kernel {name}"));
            return Err(SandboxError::StartFailed { what, detail: said(status, &answer) });
        }
        KernelModel::read(&answer).ok_or_else(|| self.wrong_peer("its answer names no kernel"))
    }

    pub(super) async fn kernel(&self, id: &str) -> Result<KernelModel, SandboxError> {
        let answer = self.of_kernel(Method::GET, id, &[]).await?;
        KernelModel::read(&answer).ok_or_else(|| self.wrong_peer("its answer names no kernel"))
    }

    pub(super) async fn interrupt(&self, id: &str) -> Result<(), SandboxError> {
        self.of_kernel(Method::POST, id, &["interrupt"]).await.map(drop)
    }

    pub(super) async fn restart(&self, id: &str) -> Result<(), SandboxError> {
        self.of_kernel(Method::POST, id, &["restart"]).await.map(drop)
    }

    /// Shuts a kernel down; one that is gone already is [`SandboxError::Gone`].
    pub(super) async fn remove(&self, id: &str) -> Result<(), SandboxError> {
        self.of_kernel(Method::DELETE, id, &[]).await.map(drop)
    }

    async fn of_kernel(&self, method: Method, id: &str, action: &[&str]) -> Result<Value, SandboxError> {
        let path: Vec<&str> = ["kernels", id].iter().chain(action).copied().collect();
        let body = (method == Method::POST).then(|| json!({}));
        match self.call(method, &path, body.as_ref()).await? {
            (StatusCode::NOT_FOUND, _) => Err(SandboxError::Gone { what: format!("the kernel {id}") }),
            (status, answer) if status.is_success() => Ok(answer),
            (status, answer) => {
                Err(SandboxError::Failed(format!("{} answered: {}", self.address, said(status, &answer))))
            }
        }
    }

    /// The kernels that run there. A Kernel Gateway tells only when it was started so.
    pub(super) async fn kernels(&self) -> Result<Vec<KernelModel>, SandboxError> {
        let (status, answer) = self.send(Method::GET, &["kernels"], None).await?;
        // A gateway answers a wrong token with 401, and names a reason with 403.
        if status == StatusCode::FORBIDDEN && answer.get("reason").is_some_and(Value::is_string) {
            let reason = "This Kernel Gateway does not list its kernels (it was started without list_kernels). Starting one works.";
            return Err(SandboxError::Unsupported { reason: reason.into() });
        }
        self.check(status)?;
        let list = answer.as_array().ok_or_else(|| self.wrong_peer(&said(status, &answer)))?;
        Ok(list.iter().filter_map(KernelModel::read).collect())
    }

    /// Which document each kernel runs for, where the server tells.
    pub(super) async fn documents(&self) -> Vec<(String, String)> {
        let Ok((_, Value::Array(sessions))) = self.call(Method::GET, &["sessions"], None).await else {
            return Vec::new();
        };
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let read = |session: &Value| Some((text(session.pointer("/kernel/id"))?, text(session.get("path"))?));
        sessions.iter().filter_map(read).collect()
    }

    /// The kernels that it can start. Also the way to find out, in one request, whether server and token are right.
    pub(super) async fn kernelspecs(&self) -> Result<Vec<ServerKernelSpec>, SandboxError> {
        let (status, answer) = self.call(Method::GET, &["kernelspecs"], None).await?;
        let specs = answer.get("kernelspecs").and_then(Value::as_object);
        let specs = specs.ok_or_else(|| self.wrong_peer(&said(status, &answer)))?;
        let default = answer.get("default").and_then(Value::as_str).unwrap_or_default();
        let text = |spec: &Value, name: &str| {
            spec.pointer(&format!("/spec/{name}")).and_then(Value::as_str).map(str::to_owned)
        };
        let read = |(name, spec): (&String, &Value)| ServerKernelSpec {
            display_name: text(spec, "display_name").unwrap_or_else(|| name.clone()),
            language: text(spec, "language").unwrap_or_default(),
            default: name == default,
            name: name.clone(),
        };
        Ok(specs.iter().map(read).collect())
    }

    async fn call(
        &self,
        method: Method,
        path: &[&str],
        body: Option<&Value>,
    ) -> Result<(StatusCode, Value), SandboxError> {
        let (status, answer) = self.send(method, path, body).await?;
        self.check(status)?;
        Ok((status, answer))
    }

    async fn send(
        &self,
        method: Method,
        path: &[&str],
        body: Option<&Value>,
    ) -> Result<(StatusCode, Value), SandboxError> {
        let mut url = self.url.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().push("api").extend(path);
        }
        let mut request = self.http.request(method, url);
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

    fn not_https(&self) -> SandboxError {
        let detail =
            "no secure connection: it speaks http, not https. Try the address with http:// instead".into();
        SandboxError::Unreachable { address: self.address.clone(), detail }
    }
}

fn read_time(text: &str) -> Option<SystemTime> {
    let time = text.parse::<jiff::Timestamp>().ok()?;
    Some(SystemTime::UNIX_EPOCH + Duration::from_millis(time.as_millisecond().try_into().ok()?))
}

impl KernelModel {
    fn read(value: &Value) -> Option<Self> {
        let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
        Some(Self {
            id: text("id")?,
            name: text("name").unwrap_or_default(),
            state: text("execution_state").unwrap_or_else(|| "unknown".into()),
            connections: value
                .get("connections")
                .and_then(Value::as_u64)
                .and_then(|count| count.try_into().ok()),
            last_activity: text("last_activity").as_deref().and_then(read_time),
        })
    }
}
