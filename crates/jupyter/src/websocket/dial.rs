//! Opening one WebSocket to a kernel, with an error of its own for everything that can be in the way.

use std::{fmt, io, sync::Arc, time::Duration};

use secrecy::{ExposeSecret, SecretString};
use tokio::net::TcpStream;
use tokio_tungstenite::{
    Connector, MaybeTlsStream, WebSocketStream, client_async_tls_with_config,
    tungstenite::{
        Error as WsError,
        client::IntoClientRequest,
        error::{ProtocolError, SubProtocolError},
        handshake::client::Request,
        http::{HeaderName, HeaderValue, StatusCode, header},
        protocol::WebSocketConfig,
    },
};
use url::Url;

use super::watched::{Arrived, Watched};
use crate::{
    error::{Error, Result},
    framing,
    message::SessionId,
};

const PATIENCE: Duration = Duration::from_secs(20);
const ANSWER_PATIENCE: Duration = Duration::from_secs(5);

/// How a server wants to know who we are.
#[derive(Clone, Debug)]
pub enum Credential {
    /// Open to everybody.
    None,
    /// `Authorization: token T`: what every Jupyter server takes.
    Header(SecretString),
    /// A query parameter, for proxies that drop the header. It may end up in the server's log.
    Query {
        /// As `token`.
        name: String,
        /// Its value.
        value: SecretString,
    },
}

/// Where a kernel's WebSocket is.
#[derive(Clone)]
pub struct Target {
    /// The server with its base path, as `https://host/user/me/`; http or https.
    pub server: Url,
    /// The kernel.
    pub kernel_id: String,
    /// Who we are.
    pub credential: Credential,
    /// Further headers, as a proxy's own token.
    pub headers: Vec<(String, SecretString)>,
    /// Trust other than the system's, for https.
    pub tls: Option<Arc<rustls::ClientConfig>>,
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target")
            .field("host", &self.server.host_str())
            .field("kernel", &self.kernel_id)
            .finish_non_exhaustive()
    }
}

/// An open WebSocket.
pub(super) struct Line {
    pub(super) stream: WebSocketStream<MaybeTlsStream<Watched>>,
    pub(super) arrived: Arrived,
    pub(super) v1: bool,
}

impl Target {
    /// Host and port, for messages.
    fn host(&self) -> String {
        let host = self.server.host_str().unwrap_or_default();
        format!("{host}:{}", self.server.port_or_known_default().unwrap_or(80))
    }

    fn url(&self, session: &SessionId) -> Result<Url> {
        let mut url = self.socket_url(&["api", "kernels", &self.kernel_id, "channels"])?;
        url.query_pairs_mut().append_pair("session_id", session.as_str());
        if let Credential::Query { name, value } = &self.credential {
            url.query_pairs_mut().append_pair(name, value.expose_secret());
        }
        Ok(url)
    }

    fn socket_url(&self, path: &[&str]) -> Result<Url> {
        let mut url = self.server.clone();
        let scheme = match url.scheme() {
            "http" | "ws" => "ws",
            "https" | "wss" => "wss",
            other => return Err(Error::BadUrl(format!("{other}: is neither http nor https"))),
        };
        url.set_scheme(scheme).map_err(|()| Error::BadUrl("its scheme cannot be changed".into()))?;
        url.path_segments_mut()
            .map_err(|()| Error::BadUrl("it has no path".into()))?
            .pop_if_empty()
            .extend(path);
        Ok(url)
    }

    fn request(&self, session: &SessionId, v1: bool) -> Result<Request> {
        let url = self.url(session)?;
        let bad = |what: &str| Error::BadUrl(format!("{what} cannot stand in an HTTP header"));
        let mut request =
            url.as_str().into_client_request().map_err(|_| Error::BadUrl("no WebSocket address".into()))?;
        let headers = request.headers_mut();
        if let Credential::Header(token) = &self.credential {
            headers.insert(
                header::AUTHORIZATION,
                secret(&format!("token {}", token.expose_secret())).ok_or_else(|| bad("the token"))?,
            );
        }
        for (name, value) in &self.headers {
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad(name))?;
            headers.insert(name, secret(value.expose_secret()).ok_or_else(|| bad("a value"))?);
        }
        if v1 {
            headers.insert(header::SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(framing::V1));
        }
        Ok(request)
    }

    /// Opens the WebSocket: in the v1 framing if the server knows it, else in the older one.
    pub(super) async fn dial(&self, session: &SessionId, try_v1: bool) -> Result<Line> {
        let attempt = async {
            match self.dial_once(session, try_v1).await {
                Err(Attempt::NoSubprotocol) => self.dial_once(session, false).await,
                other => other,
            }
        };
        match tokio::time::timeout(PATIENCE, attempt).await {
            Ok(Ok(line)) => Ok(line),
            Ok(Err(Attempt::Failed(error))) => Err(error),
            Ok(Err(Attempt::NoSubprotocol)) => Err(Error::Protocol("the server agreed on no framing".into())),
            Err(_) => Err(Error::TimedOut { what: "the server", after: PATIENCE }),
        }
    }

    async fn dial_once(&self, session: &SessionId, v1: bool) -> Result<Line, Attempt> {
        let request = self.request(session, v1)?;
        let tcp = self.tcp().await.map_err(|error| self.unreachable(&error))?;
        let (stream, arrived) = Watched::new(tcp);
        // The message size is the kernel's business: an image may be larger than any limit set here.
        let config = WebSocketConfig::default().max_message_size(None).max_frame_size(None);
        let connector = self.tls.clone().map(Connector::Rustls);
        match client_async_tls_with_config(request, stream, Some(config), connector).await {
            Ok((stream, response)) => {
                let chosen = response.headers().get(header::SEC_WEBSOCKET_PROTOCOL);
                let v1 = chosen.is_some_and(|chosen| chosen == framing::V1);
                Ok(Line { stream, arrived, v1 })
            }
            Err(error) => Err(self.explain(error)),
        }
    }

    /// Whether the server answers at all, whatever it says; a proxy in front of one that does not says 5xx.
    pub(super) async fn answers(&self) -> bool {
        let ask = async {
            let request = self.socket_url(&["api"]).ok()?.as_str().into_client_request().ok()?;
            let stream = self.tcp().await.ok()?;
            let connector = self.tls.clone().map(Connector::Rustls);
            match client_async_tls_with_config(request, stream, None, connector).await {
                Ok(_) => Some(true),
                Err(WsError::Http(response)) => Some(!response.status().is_server_error()),
                Err(_) => None,
            }
        };
        tokio::time::timeout(ANSWER_PATIENCE, ask).await.ok().flatten().unwrap_or(false)
    }

    async fn tcp(&self) -> io::Result<TcpStream> {
        let host = self.server.host_str().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let stream = TcpStream::connect((host, self.server.port_or_known_default().unwrap_or(80))).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    fn unreachable(&self, error: &io::Error) -> Error {
        Error::Unreachable { host: self.host(), reason: error.to_string() }
    }

    fn explain(&self, error: WsError) -> Attempt {
        let failed = match error {
            WsError::Http(response) => match response.status() {
                StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                    Error::Refused { status: response.status().as_u16() }
                }
                StatusCode::NOT_FOUND => Error::KernelGone,
                status => Error::NotAWebSocket { status: status.as_u16() },
            },
            WsError::Protocol(ProtocolError::SecWebSocketSubProtocolError(
                SubProtocolError::NoSubProtocol,
            )) => {
                return Attempt::NoSubprotocol;
            }
            WsError::Tls(error) => Error::Tls { host: self.host(), reason: error.to_string() },
            WsError::Io(error) if is_tls(&error) => {
                Error::Tls { host: self.host(), reason: error.to_string() }
            }
            WsError::Io(error) => self.unreachable(&error),
            other => Error::Protocol(other.to_string()),
        };
        Attempt::Failed(failed)
    }
}

fn is_tls(error: &io::Error) -> bool {
    error.get_ref().is_some_and(<dyn std::error::Error + Send + Sync>::is::<rustls::Error>)
}

fn secret(value: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(value).ok()?;
    value.set_sensitive(true);
    Some(value)
}

enum Attempt {
    Failed(Error),
    NoSubprotocol,
}

impl From<Error> for Attempt {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(server: &str, credential: Credential) -> Target {
        Target {
            server: server.parse().unwrap(),
            kernel_id: "k/1".into(),
            credential,
            headers: Vec::new(),
            tls: None,
        }
    }

    #[test]
    fn the_token_goes_into_a_header_and_not_into_the_url() {
        let target = target("https://h/http/user/me/", Credential::Header("T".to_owned().into()));
        let request = target.request(&SessionId::from_kept("s"), true).unwrap();
        assert_eq!(request.uri(), "wss://h/http/user/me/api/kernels/k%2F1/channels?session_id=s");
        assert_eq!(request.headers()["authorization"], "token T");
        assert!(request.headers()["authorization"].is_sensitive());
    }

    #[test]
    fn a_query_token_is_sent_only_when_asked_for() {
        let credential = Credential::Query { name: "token".into(), value: "a b".to_owned().into() };
        let request = target("http://h:8888", credential).request(&SessionId::from_kept("s"), false).unwrap();
        assert_eq!(request.uri(), "ws://h:8888/api/kernels/k%2F1/channels?session_id=s&token=a+b");
        assert!(!request.headers().contains_key("authorization"));
    }

    #[test]
    fn debug_shows_no_secret() {
        let mut target = target("http://me:pw@h/k/SECRET/", Credential::Header("T0KEN".to_owned().into()));
        target.headers.push(("x".into(), "HEADER".to_owned().into()));
        let shown = format!("{target:?}");
        assert!(["pw", "SECRET", "T0KEN", "HEADER"].iter().all(|secret| !shown.contains(secret)), "{shown}");
    }
}
