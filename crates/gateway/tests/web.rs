//! The web door, as a browser, a hostile page and a curious program on the same computer find it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends where its ground is missing"
)]

mod support;

use sandbook_protocol::{
    CellKey, Command, DocumentId, ErrorCode, OutputBody, Patch, Push, Reply, ServerMessage, SourceEdit,
};
use support::{Browser, Doors, Web};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

fn client() -> reqwest::Client {
    reqwest::Client::new()
}

async fn open(browser: &mut Browser, path: &std::path::Path) -> DocumentId {
    let path = path.display().to_string();
    let Reply::Document { document, .. } = browser.request(Command::OpenDocument { path }).await.unwrap()
    else {
        panic!("not a document")
    };
    browser.request(Command::Subscribe { document: document.clone() }).await.unwrap();
    document
}

async fn first_cell(browser: &mut Browser) -> (CellKey, Vec<(String, String)>) {
    let snapshot = browser
        .push(|push| match push {
            Push::Snapshot { snapshot } => Some(snapshot.clone()),
            _ => None,
        })
        .await;
    let cell = &snapshot.cells[0];
    let resources = cell
        .outputs
        .iter()
        .filter_map(|output| match &output.body {
            OutputBody::Rich { representations, .. } => representations.first(),
            _ => None,
        })
        .map(|form| (form.media_type.clone(), form.resource.to_string()))
        .collect();
    (cell.key.clone(), resources)
}

#[tokio::test]
async fn an_invitation_opens_one_session_and_is_refused_when_used_again() {
    let doors = Doors::open().await;
    let web = Web::open(&doors).await;
    let session = web.session(&web.token).await;
    assert_ne!(session, web.token);
    assert_eq!(web.exchange(&web.token, Some(&web.origin())).await.status(), 403);
    assert_eq!(web.exchange(&session, Some(&web.origin())).await.status(), 403);
    web.browser(&session).await;
}

#[tokio::test]
async fn a_wrong_or_missing_session_token_is_refused_before_anything_is_told() {
    let doors = Doors::open().await;
    let web = Web::open(&doors).await;
    let host = format!("127.0.0.1:{}", web.port);
    for token in [None, Some("wrong"), Some(web.token.as_str())] {
        let mut socket = web.socket(&host, Some(&web.origin())).await.unwrap();
        socket.hello(token).await;
        match socket.next().await {
            Some(ServerMessage::Refused { error }) => assert_eq!(error.code, ErrorCode::NotAllowed),
            other => panic!("{other:?}"),
        }
        assert!(socket.next().await.is_none(), "the socket is closed");
    }
    let mut socket = web.socket(&host, Some(&web.origin())).await.unwrap();
    socket.text(r#"{"type":"request","id":1,"command":{"type":"list_documents"}}"#.into()).await;
    assert!(matches!(socket.next().await, Some(ServerMessage::Refused { .. })));
}

#[tokio::test]
async fn every_origin_but_our_own_is_refused_on_the_command_port() {
    let doors = Doors::open().await;
    let web = Web::open(&doors).await;
    let host = format!("127.0.0.1:{}", web.port);
    let outputs_origin = format!("http://127.0.0.1:{}", web.port + 1);
    let foreign = [None, Some("null"), Some("http://evil.example"), Some(outputs_origin.as_str())];
    for origin in foreign {
        assert_eq!(web.exchange(&web.token, origin).await.status(), 403, "{origin:?}");
        assert_eq!(web.socket(&host, origin).await.err(), Some(403), "{origin:?}");
    }
    for origin in foreign.into_iter().flatten() {
        let page = client().get(&web.address).header("origin", origin).send().await.unwrap();
        assert_eq!(page.status(), 403, "{origin}");
    }
    // None of that has used the invitation up.
    web.session(&web.token).await;
}

#[tokio::test]
async fn other_names_for_this_computer_are_refused_and_a_tunnels_port_is_not() {
    let doors = Doors::open().await;
    let web = Web::open(&doors).await;
    let browser = web.browser(&web.session(&web.token).await).await;
    let status = async |address: &str, host: &str| {
        client().get(address).header("host", host).send().await.unwrap().status().as_u16()
    };
    for host in ["evil.example", "127.0.0.1.evil.example", "192.168.0.1", "localhost:x"] {
        assert_eq!(status(&web.address, host).await, 403, "{host}");
        assert_eq!(status(&format!("{}x", browser.resources), host).await, 403, "{host}");
        assert_eq!(web.socket(host, Some(&format!("http://{host}"))).await.err(), Some(403), "{host}");
    }
    for host in ["localhost:9000", "127.0.0.1:1", "[::1]:8888", "localhost"] {
        assert_eq!(status(&web.address, host).await, 200, "{host}");
        assert!(web.socket(host, Some(&format!("http://{host}"))).await.is_ok(), "{host}");
    }
}

#[tokio::test]
async fn outputs_come_from_a_second_port_that_lets_itself_be_shown_and_not_read() {
    let doors = Doors::open().await;
    let web = Web::open(&doors).await;
    let session = web.session(&web.token).await;
    let mut browser = web.browser(&session).await;
    open(&mut browser, &doors.notebook()).await;
    let (_, resources) = first_cell(&mut browser).await;
    let [(html, html_id), (png, png_id)] = resources.try_into().unwrap();
    assert_eq!((html.as_str(), png.as_str()), ("text/html", "image/png"));
    assert!(!browser.resources.starts_with(&web.address));

    let framed = format!("{}{html_id}", browser.resources);
    let response = client().get(&framed).header("origin", "null").send().await.unwrap();
    assert_eq!(response.status(), 200);
    let header = |name: &str| response.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
    let policy = header("content-security-policy").unwrap();
    assert!(policy.starts_with("sandbox allow-scripts; default-src 'none'"), "{policy}");
    assert!(policy.ends_with(&format!("frame-ancestors {}", web.origin())), "{policy}");
    assert_eq!(header("x-content-type-options").unwrap(), "nosniff");
    assert_eq!(header("access-control-allow-origin"), None);
    let body = response.text().await.unwrap();
    assert!(body.contains("<b>framed</b>") && body.contains("sandbook-output-height"), "{body}");

    let image = client().get(format!("{}{png_id}", browser.resources)).send().await.unwrap();
    assert_eq!(image.headers()["content-type"], "image/png");
    assert_eq!(image.bytes().await.unwrap().as_ref(), b"\x89PNG\r\n\x1a\n");

    let saved = client().get(format!("{framed}?download=a%22b.html")).send().await.unwrap();
    assert_eq!(saved.headers()["content-disposition"], "attachment; filename*=UTF-8''a%22b%2Ehtml");
    assert_eq!(saved.text().await.unwrap(), "<b>framed</b>");

    for refused in [
        client().post(&framed).send().await.unwrap(),
        client().request(reqwest::Method::OPTIONS, &framed).send().await.unwrap(),
    ] {
        assert_eq!(refused.status(), 405);
        assert!(!refused.headers().contains_key("access-control-allow-origin"));
    }
    let wrong_secret =
        framed.replace(&html_id, "").replace(browser.resources.rsplit('/').nth(1).unwrap(), "x");
    for address in [format!("{wrong_secret}{html_id}"), format!("{}nothing", browser.resources)] {
        assert_eq!(client().get(address).send().await.unwrap().status(), 404);
    }
}

#[tokio::test]
async fn the_page_reads_a_resource_with_its_session_in_a_header() {
    let doors = Doors::open().await;
    let web = Web::open(&doors).await;
    let session = web.session(&web.token).await;
    let mut browser = web.browser(&session).await;
    open(&mut browser, &doors.notebook()).await;
    let (_, resources) = first_cell(&mut browser).await;
    let address = format!("{}api/resource/{}", web.address, resources[0].1);
    let get = async |token: Option<&str>| {
        let mut request = client().get(&address);
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        request.send().await.unwrap()
    };
    assert_eq!(get(None).await.status(), 403);
    assert_eq!(get(Some(&web.token)).await.status(), 403);
    assert_eq!(get(Some(&session)).await.text().await.unwrap(), "<b>framed</b>");
}

#[tokio::test]
async fn the_page_comes_with_a_policy_that_names_only_itself_and_the_output_port() {
    let doors = Doors::open().await;
    let web = Web::open(&doors).await;
    let page = client().get(&web.address).send().await.unwrap();
    let policy = page.headers()["content-security-policy"].to_str().unwrap().to_owned();
    assert!(policy.contains("default-src 'none'; script-src 'self';"), "{policy}");
    assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
    assert!(!policy.contains('*') && !policy.contains("unsafe-eval"), "{policy}");
    assert!(!page.headers().contains_key("set-cookie"));
    assert!(page.text().await.unwrap().contains("the page"));
    let script = client().get(format!("{}assets/a.js", web.address)).send().await.unwrap();
    assert_eq!(script.headers()["content-type"], "text/javascript; charset=utf-8");
}

#[tokio::test]
async fn no_path_leads_out_of_the_pages_folder() {
    let doors = Doors::open().await;
    let web = Web::open(&doors).await;
    for path in [
        "/../secret.txt",
        "/assets/../../secret.txt",
        "/%2e%2e/secret.txt",
        "/..%2fsecret.txt",
        "//etc/passwd",
        "/assets/..\\..\\secret.txt",
        "/index.html/../../secret.txt",
    ] {
        // A client library would tidy the path up first.
        let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", web.port)).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 404") || answer.starts_with("HTTP/1.1 400"), "{path}: {answer}");
        assert!(!answer.contains("a secret"), "{path}");
    }
}

#[tokio::test]
async fn two_browsers_see_the_same_document_and_each_others_edits() {
    let doors = Doors::open().await;
    let web = Web::open(&doors).await;
    let mut first = web.browser(&web.session(&web.token).await).await;
    let invitation = web.invite().await;
    let mut second = web.browser(&web.session(&invitation).await).await;
    assert_ne!(first.resources, second.resources);

    let path = doors.notebook();
    let document = open(&mut first, &path).await;
    assert_eq!(open(&mut second, &path).await, document);
    let (cell, _) = first_cell(&mut first).await;
    assert_eq!(first_cell(&mut second).await.0, cell);

    let edits = vec![SourceEdit { from: 0, to: 1, insert: "typed".into() }];
    let edit = Command::EditSource { document, cell: cell.clone(), base_revision: 0, edits: edits.clone() };
    first.request(edit).await.unwrap();
    let seen = second
        .push(|push| match push {
            Push::Patches { batch } => batch.patches.iter().find_map(|patch| match patch {
                Patch::SourceEdited { cell, edits, .. } => Some((cell.clone(), edits.clone())),
                _ => None,
            }),
            _ => None,
        })
        .await;
    assert_eq!(seen, (cell, edits));
}

#[tokio::test]
async fn the_door_is_open_as_long_as_the_client_that_asked_for_it_is_there() {
    let doors = Doors::open().await;
    let web = Web::open(&doors).await;
    let mut browser = web.browser(&web.session(&web.token).await).await;
    let (second, _pushes) = doors.client().await;
    let elsewhere = Command::OpenWebDoor { port: Some(web.port.wrapping_add(1).max(1024)) };
    let refused = second.request(elsewhere).await.err().unwrap();
    assert_eq!(sandbook_protocol::ProtocolError::from(refused).code, ErrorCode::BadSetting);
    drop(second);
    assert_eq!(client().get(&web.address).send().await.unwrap().status(), 200);

    let address = web.address.clone();
    drop(web);
    assert!(browser.socket.next().await.is_none(), "the browser's connection ends");
    for _ in 0..100 {
        if client().get(&address).send().await.is_err() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    panic!("the port is still open");
}

#[tokio::test]
async fn a_page_cannot_open_doors_and_an_unreadable_request_does_not_end_its_conversation() {
    let doors = Doors::open().await;
    let web = Web::open(&doors).await;
    let mut browser = web.browser(&web.session(&web.token).await).await;
    let error = browser.request(Command::OpenWebDoor { port: None }).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::NotAllowed);

    browser.socket.text(r#"{"type":"request","id":77,"command":{"type":"no_such_command"}}"#.into()).await;
    match browser.socket.next().await {
        Some(ServerMessage::Response(response)) => {
            assert_eq!((response.id, response.error.unwrap().code), (77, ErrorCode::BadRequest));
        }
        other => panic!("{other:?}"),
    }
    assert!(browser.request(Command::ListDocuments).await.is_ok());
}
