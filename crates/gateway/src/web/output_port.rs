//! The output port: whatever a notebook produced, under addresses that cannot be guessed.
//!
//! It answers GET only, looks at no header but Host and User-Agent, and sends none that would let another page read what it gives.
//! Everything goes out under the policy of outputs, so that opening one in a tab of its own gives it no more than its
//! frame does.

use std::sync::Arc;

use axum::{
    Router,
    body::Body,
    extract::{Path, Query, State},
    http::{HeaderMap, HeaderName, StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use sandbook_protocol::{ResourceId, frame_document, output_headers};
use sandbook_workbench::ResourceContent;
use serde::Deserialize;

use super::{
    Shared,
    command_port::{refused, set},
    origin::Host,
};

pub(super) fn router(shared: &Arc<Shared>) -> Router {
    Router::new().route("/{secret}/{id}", get(output)).with_state(shared.clone())
}

#[derive(Deserialize)]
struct Wanted {
    /// Saved under this name instead of shown.
    download: Option<String>,
}

async fn output(
    State(shared): State<Arc<Shared>>,
    Path((secret, id)): Path<(String, String)>,
    Query(wanted): Query<Wanted>,
    headers: HeaderMap,
) -> Response {
    let Ok(host) = Host::of(&headers) else {
        return (StatusCode::FORBIDDEN, "This address is not one of this computer's own names.")
            .into_response();
    };
    let Some(origin) = shared.tokens().by_outputs(&secret).map(|session| session.origin.clone()) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let content = match shared.workbench.resource(&ResourceId(id)).await {
        Ok(content) => content,
        Err(error) => return refused(&error),
    };
    let images = host.origin_at(shared.output_port);
    let browser = headers.get(header::USER_AGENT).and_then(|name| name.to_str().ok()).unwrap_or_default();
    match wanted.download {
        Some(name) => {
            let mut response = plain(content, "'none'", Some(&origin), browser);
            let name = utf8_percent_encode(&name, NON_ALPHANUMERIC);
            let disposition = format!("attachment; filename*=UTF-8''{name}");
            set(response.headers_mut(), &[(header::CONTENT_DISPOSITION, &disposition)]);
            response
        }
        None if content.framed => {
            let document =
                frame_document(&content.media_type, &content.bytes, &images, Some(&origin), browser);
            respond(Body::from(document.body), &document.headers)
        }
        None => plain(content, &images, Some(&origin), browser),
    }
}

/// A resource as it is, under the policy of outputs.
pub(super) fn plain(
    content: ResourceContent,
    images: &str,
    ancestors: Option<&str>,
    browser: &str,
) -> Response {
    let mut response = respond(Body::from(content.bytes), &output_headers(images, ancestors, browser));
    set(response.headers_mut(), &[(header::CONTENT_TYPE, &content.media_type)]);
    response
}

fn respond(body: Body, headers: &[(&'static str, String)]) -> Response {
    let mut response = Response::new(body);
    for (name, value) in headers {
        set(response.headers_mut(), &[(HeaderName::from_static(name), value)]);
    }
    response
}
