//! The command port: the page's files, the exchange of an invitation, the WebSocket, resources by header.

use std::sync::Arc;

use axum::{
    Extension, Json, Router,
    body::Body,
    extract::{DefaultBodyLimit, Path, Request, State, WebSocketUpgrade},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::{any, get, post},
};
use sandbook_protocol::{ProtocolError, ResourceId, Secret};
use serde::{Deserialize, Serialize};
use tracing::Instrument;

use super::{
    Shared,
    origin::{Host, Refusal},
    output_port, secret, socket,
    tokens::BrowserSession,
};

/// The longest body of a request, in bytes. Only tokens come this way.
const MOST_BODY: usize = 4 * 1024;

pub(super) fn router(shared: &Arc<Shared>) -> Router {
    Router::new()
        .route("/api/session", post(exchange))
        .route("/api/socket", any(open_socket))
        .route("/api/resource/{id}", get(resource))
        .fallback(page_file)
        .layer(DefaultBodyLimit::max(MOST_BODY))
        .layer(middleware::from_fn(guard))
        .with_state(shared.clone())
}

/// Nothing is looked at before the request is known to come from our own page.
async fn guard(mut request: Request, next: Next) -> Response {
    let reading = matches!(*request.method(), Method::GET | Method::HEAD);
    let opens_socket = request.headers().contains_key(header::UPGRADE);
    let checked = Host::of(request.headers()).and_then(|host| {
        host.check_origin(request.headers(), !reading || opens_socket)?;
        Ok(host)
    });
    match checked {
        Ok(host) => {
            request.extensions_mut().insert(host);
            next.run(request).await
        }
        Err(refusal) => {
            tracing::warn!(?refusal, "a request to the command port was refused");
            let why = match refusal {
                Refusal::Host => "This address is not one of this computer's own names.",
                Refusal::Origin => "Only Sandbook's own page may do this.",
            };
            (StatusCode::FORBIDDEN, why).into_response()
        }
    }
}

#[derive(Deserialize)]
struct Exchange {
    token: Secret,
}

#[derive(Serialize)]
struct Exchanged {
    token: Secret,
}

async fn exchange(
    State(shared): State<Arc<Shared>>,
    Extension(host): Extension<Host>,
    Json(request): Json<Exchange>,
) -> Response {
    let token = secret();
    let session = BrowserSession { origin: host.origin() };
    if shared.change_tokens(|tokens| tokens.exchange(request.token.expose(), &token, session)) {
        let headers = [(header::CACHE_CONTROL, "no-store")];
        (headers, Json(Exchanged { token: Secret::new(token) })).into_response()
    } else {
        tracing::warn!("an invitation that is not good, or not any more, was refused");
        let why = "This address was used already, or is an old one. `sandbook web` prints a new one.";
        (StatusCode::FORBIDDEN, why).into_response()
    }
}

async fn open_socket(
    State(shared): State<Arc<Shared>>,
    Extension(host): Extension<Host>,
    upgrade: WebSocketUpgrade,
) -> Response {
    let span = tracing::info_span!("client", door = "web");
    upgrade.on_upgrade(move |socket| socket::converse(shared, host, socket).instrument(span))
}

/// A resource for the page's own script, which has no other way to its bytes: the output port lets itself be shown,
/// not read.
async fn resource(State(shared): State<Arc<Shared>>, Path(id): Path<String>, headers: HeaderMap) -> Response {
    let token = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.strip_prefix("Bearer "));
    if token.is_none_or(|token| shared.tokens().session(token).is_none()) {
        return (StatusCode::FORBIDDEN, "This needs the page's session.").into_response();
    }
    match shared.workbench.resource(&ResourceId(id)).await {
        Ok(content) => output_port::plain(content, "'none'", None, ""),
        Err(error) => refused(&error),
    }
}

/// The answer where there is no such resource.
pub(super) fn refused(error: &ProtocolError) -> Response {
    (StatusCode::NOT_FOUND, error.message.clone()).into_response()
}

async fn page_file(
    State(shared): State<Arc<Shared>>,
    Extension(host): Extension<Host>,
    method: Method,
    uri: Uri,
) -> Response {
    if !matches!(method, Method::GET | Method::HEAD) {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    let path = uri.path().trim_start_matches('/');
    let Some(file) = shared.page.file(path).await else {
        let why = if path.is_empty() {
            "This build of Sandbook has no page in it."
        } else {
            "There is no such file."
        };
        return (StatusCode::NOT_FOUND, why).into_response();
    };
    let cache = if file.immutable { "private, max-age=31536000, immutable" } else { "no-cache" };
    let mut response = Response::new(Body::from(file.bytes));
    let policy = policy(&host, shared.output_port);
    set(
        response.headers_mut(),
        &[
            (header::CONTENT_TYPE, file.media_type),
            (header::CACHE_CONTROL, cache),
            (header::CONTENT_SECURITY_POLICY, &policy),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (header::X_FRAME_OPTIONS, "DENY"),
            (header::REFERRER_POLICY, "no-referrer"),
            (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
            (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        ],
    );
    response
}

/// What the page may do: run its own script, show outputs from the output port, speak to this port. `frame-src` is
/// also what keeps a framed output from navigating itself elsewhere.
fn policy(host: &Host, output_port: u16) -> String {
    let (outputs, socket) = (host.origin_at(output_port), host.socket_origin());
    format!(
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; font-src 'self'; \
         img-src 'self' data: blob: {outputs}; media-src blob: {outputs}; connect-src 'self' {socket}; \
         frame-src {outputs}; worker-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
    )
}

/// Sets headers. A value that is no header is left out: every one here is made of checked parts.
pub(super) fn set(headers: &mut HeaderMap, values: &[(HeaderName, &str)]) {
    for (name, value) in values {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name.clone(), value);
        }
    }
}
