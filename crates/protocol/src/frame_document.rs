//! The document that a frame loads to show an output that can run code.
//!
//! The window (scheme `out:`) and web mode (a second port) both serve outputs; what they wrap around one, and the
//! policy under which it runs, is decided here once. An output reaches its page by one thing only: a message with its
//! height. It has no network, no storage and no way to its parent, whatever its frame element says, because the
//! policy carries `sandbox` without `allow-same-origin`.
//!
//! The page puts `#dark` behind the address where its theme is dark.

/// The `type` of the message in which a framed output tells its page how high it is:
/// `{ "type": "sandbook-output-height", "height": 120 }`, in CSS pixels.
pub const HEIGHT_MESSAGE: &str = "sandbook-output-height";

/// A document for a frame, with the headers that have to go with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrameDocument {
    /// Names and values of the response's headers, `content-type` and the policy among them.
    pub headers: Vec<(&'static str, String)>,
    /// The document.
    pub body: Vec<u8>,
}

/// Whether an output of this media type can run code, and therefore is shown only inside a frame.
pub fn is_framed(media_type: &str) -> bool {
    let essence = essence(media_type);
    matches!(essence, "text/html" | "image/svg+xml" | "application/javascript" | "text/javascript")
        || essence.starts_with("application/vnd.")
}

/// Wraps an output for a frame.
///
/// For `images`, `ancestors` and `browser` see [`headers`].
pub fn frame_document(
    media_type: &str,
    content: &[u8],
    images: &str,
    ancestors: Option<&str>,
    browser: &str,
) -> FrameDocument {
    let text = String::from_utf8_lossy(content);
    let mut body = String::with_capacity(text.len() + HEAD.len() + SCRIPT.len() + 64);
    body.push_str(HEAD);
    match essence(media_type) {
        "text/html" | "image/svg+xml" => body.push_str(&text),
        "application/javascript" | "text/javascript" => body.push_str(&program(&text)),
        _ => body.push_str(&["<pre>", &escaped(&text), "</pre>"].concat()),
    }
    body.push_str(SCRIPT);
    FrameDocument { headers: headers(images, ancestors, browser), body: body.into_bytes() }
}

/// The headers under which anything that a notebook produced is served, framed or not.
///
/// `images` is the source expression of the place that outputs are served from (`out:`, `http://127.0.0.1:4000`).
/// `ancestors` are the pages that may show the frame, as source expressions; any page of the same program if absent.
/// `browser` is what the browser calls itself (its `User-Agent`), empty where that is not known.
pub fn headers(images: &str, ancestors: Option<&str>, browser: &str) -> Vec<(&'static str, String)> {
    let ancestors = ancestors.map(|pages| format!("; frame-ancestors {pages}")).unwrap_or_default();
    let webrtc = if knows_no_webrtc_directive(browser) { "" } else { "; webrtc 'block'" };
    let policy = format!(
        "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; \
         style-src 'unsafe-inline'; img-src data: blob: {images}; font-src data:; media-src data: blob: {images}; \
         connect-src 'none'; form-action 'none'; base-uri 'none'{webrtc}{ancestors}"
    );
    vec![
        ("content-type", "text/html; charset=utf-8".into()),
        ("content-security-policy", policy),
        ("x-content-type-options", "nosniff".into()),
        ("x-dns-prefetch-control", "off".into()),
        ("referrer-policy", "no-referrer".into()),
        ("cache-control", "no-store".into()),
    ]
}

/// Whether this browser is one of those that are known not to know the directive `webrtc` of Content Security Policy 3,
/// and complain about it in the console at every output. Whoever is not known is sent it. `tests/browser` fails when
/// Chromium learns it.
fn knows_no_webrtc_directive(browser: &str) -> bool {
    ["Chrome/", "Firefox/"].iter().any(|engine| browser.contains(engine))
}

const HEAD: &str = "<!doctype html><meta charset=\"utf-8\"><style>\
:root{color-scheme:light;background:transparent}:root.dark{color-scheme:dark}\
body{margin:0;display:flow-root;font:13px/1.45 Inter,system-ui,sans-serif;overflow-x:auto;overflow-y:hidden}\
svg,img{max-width:100%}\
</style><script>if(location.hash==='#dark')document.documentElement.className='dark'</script><body>";

/// `body.scrollHeight` is the height of the content; the root's is never less than the frame's own height, and a
/// frame that only grows would leave a hole behind a figure that shrank.
const SCRIPT: &str = "<script>(()=>{let last=-1;const tell=()=>{\
const height=Math.ceil(document.body.scrollHeight);if(height===last)return;last=height;\
parent.postMessage({type:'sandbook-output-height',height},'*')};\
new ResizeObserver(tell).observe(document.body);addEventListener('load',tell);\
new MutationObserver(tell).observe(document.body,{subtree:true,childList:true,attributes:true});tell()})()</script>";

fn essence(media_type: &str) -> &str {
    media_type.split(';').next().unwrap_or_default().trim()
}

/// A program gets `element`, as notebooks expect it. It stands in the document as a string, so that nothing in it can
/// end the script element.
fn program(source: &str) -> String {
    let literal = serde_json::Value::from(source).to_string().replace('<', "\\u003c");
    format!(
        "<div id=\"output\"></div><script>{{const element=document.getElementById('output');\
         try{{new Function('element',{literal})(element)}}\
         catch(error){{const line=document.createElement('pre');line.textContent=String(error);element.append(line)}}}}\
         </script>"
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(media_type: &str, content: &str) -> String {
        String::from_utf8(frame_document(media_type, content.as_bytes(), "out:", None, "").body).unwrap()
    }

    #[test]
    fn a_frame_has_no_network_no_origin_and_only_the_pages_that_may_show_it() {
        let document =
            frame_document("text/html", b"<p>x</p>", "http://127.0.0.1:2", Some("http://127.0.0.1:1"), "");
        let policy = &document.headers.iter().find(|(name, _)| *name == "content-security-policy").unwrap().1;
        for directive in [
            "sandbox allow-scripts;",
            "default-src 'none'",
            "connect-src 'none'",
            "img-src data: blob: http://127.0.0.1:2;",
            "frame-ancestors http://127.0.0.1:1",
        ] {
            assert!(policy.contains(directive), "{policy}");
        }
        assert!(!policy.contains("allow-same-origin"));
        assert!(!document.headers.iter().any(|(name, _)| name.starts_with("access-control")));
    }

    #[test]
    fn the_webrtc_directive_goes_to_every_browser_but_those_that_do_not_know_it() {
        let sent = |browser: &str| headers("out:", None, browser)[1].1.contains("; webrtc 'block'");
        assert!(
            sent("")
                && sent("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/605.1.15 Version/18.0 Safari/605.1.15")
        );
        assert!(!sent("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/156.0.0.0 Safari/537.36"));
        assert!(!sent("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"));
    }

    #[test]
    fn a_program_cannot_end_its_script_element() {
        let document = body("application/javascript", "element.innerHTML='</script><b>'");
        assert!(!document.contains("'</script><b>"), "{document}");
        assert!(document.contains("\\u003c/script>"));
    }

    #[test]
    fn what_is_neither_html_nor_svg_nor_a_program_is_shown_as_text() {
        assert!(body("application/x-thing", "<script>alert(1)</script>").contains("&lt;script>alert(1)"));
        assert!(body("text/html; charset=utf-8", "<b>hi</b>").contains("<b>hi</b>"));
    }

    #[test]
    fn what_can_run_code_belongs_in_a_frame() {
        for framed in
            ["text/html; charset=utf-8", "image/svg+xml", "text/javascript", "application/vnd.plotly.v1+json"]
        {
            assert!(is_framed(framed), "{framed}");
        }
        for plain in ["image/png", "text/plain", "application/json", "text/x-html"] {
            assert!(!is_framed(plain), "{plain}");
        }
    }

    #[test]
    fn the_height_message_has_the_declared_type() {
        assert!(SCRIPT.contains(HEIGHT_MESSAGE));
    }
}
