//! Outputs under an address of their own, `out://localhost/ID`.
//!
//! They are another origin than the page's, and each answer carries a policy that leaves an output no network, no
//! storage and no way to the page, so that what a notebook brought along can run without being trusted. No answer
//! allows other origins to read it, so neither the page nor another output can fetch one: they are only shown. Where
//! the page's own script needs the bytes (a picture for the clipboard), it asks by a command that frames do not have.

use sandbook_client::Resource;
use sandbook_protocol::{ErrorCode, ProtocolError, frame_document, is_framed, output_headers};
use tauri::http::{Method, Request, Response, StatusCode};
use tauri::{Manager, Runtime, UriSchemeContext, UriSchemeResponder};

use crate::owner::OwnerLink;

/// The scheme.
pub(crate) const SCHEME: &str = "out";

/// The host that stands for the scheme where systems cannot have one of their own (Windows).
pub(crate) const HOST_ELSEWHERE: &str = "out.localhost";

/// The places that an output may load from, as source expressions: its own.
const SOURCES: &str = "out: http://out.localhost";

/// Answers a request of the web view, when the owner has.
#[allow(clippy::needless_pass_by_value, reason = "the web view hands them over by value")]
pub(crate) fn serve<R: Runtime>(
    context: UriSchemeContext<'_, R>,
    request: Request<Vec<u8>>,
    responder: UriSchemeResponder,
) {
    let app = context.app_handle().clone();
    tauri::async_runtime::spawn(async move {
        let found = match identifier(&request) {
            Some(id) => app.state::<OwnerLink>().resource(id).await,
            None => Err(ProtocolError::not_found("output")),
        };
        responder.respond(answer(found));
    });
}

/// The bytes of a resource, for the page's own script.
#[tauri::command]
pub(crate) async fn read_resource(
    owner: tauri::State<'_, OwnerLink>,
    id: String,
) -> Result<tauri::ipc::Response, ProtocolError> {
    Ok(tauri::ipc::Response::new(owner.resource(&id).await?.content.to_vec()))
}

/// The name in the address, if it is one.
fn identifier(request: &Request<Vec<u8>>) -> Option<&str> {
    let name = request.uri().path().strip_prefix('/')?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    (request.method() == Method::GET && !name.is_empty() && name.bytes().all(plain)).then_some(name)
}

fn answer(found: Result<Resource, ProtocolError>) -> Response<Vec<u8>> {
    match found {
        Ok(resource) if is_framed(&resource.media_type) => {
            let document = frame_document(&resource.media_type, &resource.content, SOURCES, None, "");
            respond(StatusCode::OK, &document.headers, None, document.body)
        }
        Ok(resource) => {
            let media_type = Some(resource.media_type.as_str());
            respond(StatusCode::OK, &output_headers(SOURCES, None, ""), media_type, resource.content.to_vec())
        }
        Err(error) => {
            let status = match error.code {
                ErrorCode::NotFound => StatusCode::NOT_FOUND,
                _ => StatusCode::BAD_GATEWAY,
            };
            let text = format!("{} {}", error.message, error.hint).into_bytes();
            respond(status, &output_headers(SOURCES, None, ""), Some("text/plain; charset=utf-8"), text)
        }
    }
}

fn respond(
    status: StatusCode,
    headers: &[(&'static str, String)],
    media_type: Option<&str>,
    body: Vec<u8>,
) -> Response<Vec<u8>> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    for (name, value) in headers {
        let value = if *name == "content-type" { media_type.unwrap_or(value) } else { value };
        // A notebook chooses its media types; one that is no header value is served as mere bytes.
        let value =
            value.parse().unwrap_or(tauri::http::HeaderValue::from_static("application/octet-stream"));
        response.headers_mut().insert(*name, value);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(media_type: &str, content: &'static str) -> Response<Vec<u8>> {
        answer(Ok(Resource { media_type: media_type.into(), content: content.into() }))
    }

    fn header<'a>(response: &'a Response<Vec<u8>>, name: &str) -> &'a str {
        response.headers().get(name).map_or("", |value| value.to_str().unwrap())
    }

    #[test]
    fn whatever_an_output_is_it_gets_no_network_and_no_origin() {
        for response in [
            resource("text/html", "<b>x</b>"),
            resource("image/png", "png"),
            resource("text/plain", "x"),
            answer(Err(ProtocolError::not_found("output"))),
        ] {
            let policy = header(&response, "content-security-policy");
            assert!(policy.contains("sandbox allow-scripts;"), "{policy}");
            assert!(policy.contains("connect-src 'none'"), "{policy}");
            assert!(!policy.contains("allow-same-origin"), "{policy}");
            assert_eq!(header(&response, "access-control-allow-origin"), "");
            assert_eq!(header(&response, "x-content-type-options"), "nosniff");
        }
    }

    #[test]
    fn an_image_is_served_as_it_is_and_code_inside_a_document() {
        let image = resource("image/png", "png");
        assert_eq!((header(&image, "content-type"), image.body().as_slice()), ("image/png", &b"png"[..]));
        let code = resource("image/svg+xml", "<svg/>");
        assert_eq!(header(&code, "content-type"), "text/html; charset=utf-8");
        assert!(String::from_utf8_lossy(code.body()).starts_with("<!doctype html>"));
    }

    #[test]
    fn a_media_type_that_is_no_header_value_is_served_as_bytes() {
        assert_eq!(header(&resource("a\nset-cookie: b", "x"), "content-type"), "application/octet-stream");
    }

    #[test]
    fn only_a_plain_name_is_looked_up() {
        let asked = |method: Method, address: &str| {
            let request = Request::builder().method(method).uri(address).body(Vec::new()).unwrap();
            identifier(&request).map(str::to_owned)
        };
        assert_eq!(asked(Method::GET, "out://localhost/4f-a_1"), Some("4f-a_1".into()));
        for address in
            ["out://localhost/", "out://localhost/a/b", "out://localhost/..%2fa", "out://localhost/a%00"]
        {
            assert_eq!(asked(Method::GET, address), None, "{address}");
        }
        assert_eq!(asked(Method::POST, "out://localhost/4f"), None);
    }
}
