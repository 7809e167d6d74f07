//! The owner process: started on demand, one for everybody, gone when nobody needs it.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends where its ground is missing"
)]

mod support;

use std::{
    io::{Read, Write},
    path::Path,
};

use sandbook_client::{Listener, Owner, Pushes};
use sandbook_protocol::{
    ClientKind, Command, DocumentId, ErrorCode, Frame, ProtocolError, Reply, SandboxChoice, ServerMessage,
};
use sandbook_test_support::python;
use serde_json::Value;
use support::{Home, Ran, Running, is_alive, signal, wait_until};

/// `sandbook web --json`, and the address it printed.
fn web(home: &Home, arguments: &[&str]) -> (Running, Value) {
    let mut running = Running::start(home.sandbook(&[&["web", "--json"], arguments].concat()));
    let line = running.line();
    let door: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
    assert_eq!(door["type"], "web_door", "{line}");
    (running, door)
}

async fn connect(home: &Home, kind: ClientKind) -> (Owner, Pushes) {
    Owner::connect(&home.place(), kind).await.unwrap()
}

/// An open notebook with a kernel.
async fn notebook_with_kernel(home: &Home, owner: &Owner) -> DocumentId {
    let empty = r#"{"cells":[],"metadata":{},"nbformat":4,"nbformat_minor":4}"#;
    let path = home.write("a.ipynb", empty).display().to_string();
    let Reply::Document { document, .. } = owner.request(Command::OpenDocument { path }).await.unwrap()
    else {
        panic!("not a document")
    };
    let choice = SandboxChoice::KernelHere { kernel: format!("python:{}", python().display()) };
    owner.request(Command::ChooseSandbox { document: document.clone(), choice }).await.unwrap();
    document
}

#[test]
fn those_who_start_at_the_same_time_get_the_same_owner() {
    let home = Home::new();
    let started: Vec<Running> = (0..4).map(|_| Running::start(home.sandbook(&["web", "--json"]))).collect();
    let doors: Vec<(Running, Value)> = started
        .into_iter()
        .map(|mut running| {
            let door = serde_json::from_str(&running.line()).unwrap();
            (running, door)
        })
        .collect();
    let address = doors[0].1["address"].clone();
    assert!(doors.iter().all(|(_, door)| door["address"] == address), "one door");
    let mut urls: Vec<String> = doors.iter().map(|(_, door)| door["url"].to_string()).collect();
    urls.sort();
    urls.dedup();
    assert_eq!(urls.len(), 4, "each has a token of its own");
}

#[test]
fn an_owner_that_nobody_needs_leaves_and_takes_its_socket_along() {
    let home = Home::new();
    let (running, _) = web(&home, &[]);
    let owner = home.place().owner_process().unwrap();
    assert!(is_alive(owner));
    signal(running.id(), "INT");
    assert_eq!(running.end().status, 0);
    assert!(wait_until(|| !is_alive(owner)));
    assert!(!home.place().socket().exists());
}

/// A request to the web door as its page makes it: status and body.
fn ask(port: u16, head: &str, body: &str) -> (u16, String) {
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
    let length = body.len();
    let request = format!(
        "{head} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:{port}\r\nConnection: close\r\n"
    );
    write!(stream, "{request}Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

#[test]
fn an_owner_that_was_killed_is_started_again_behind_the_same_port_and_knows_its_browsers() {
    let home = Home::new();
    let (mut running, door) = web(&home, &[]);
    let (_other, unused) = web(&home, &[]);
    let port: u16 =
        door["address"].as_str().unwrap().trim_end_matches('/').rsplit_once(':').unwrap().1.parse().unwrap();
    let token = |door: &Value| door["url"].as_str().unwrap().split_once("#token=").unwrap().1.to_owned();
    let exchange = |token: &str| ask(port, "POST /api/session", &format!(r#"{{"token":"{token}"}}"#));
    let (status, session) = exchange(&token(&door));
    assert_eq!(status, 200, "{session}");
    let session = serde_json::from_str::<Value>(&session).unwrap()["token"].as_str().unwrap().to_owned();

    for _ in 0..2 {
        let owner = home.place().owner_process().unwrap();
        signal(owner, "KILL");
        let line: Value = serde_json::from_str(&running.line()).unwrap();
        assert_eq!((&line["type"], &line["address"]), (&"owner_restarted".into(), &door["address"]));
        let next = home.place().owner_process().unwrap();
        assert!(next != owner && is_alive(next), "{owner} {next}");
        // There is no such resource, which only a page with a session is told.
        let with =
            |session: &str| format!("GET /api/resource/x HTTP/1.1\r\nAuthorization: Bearer {session}\r\nX:");
        assert_eq!(ask(port, &with(&session), "").0, 404, "its session is good");
        assert_eq!(ask(port, &with("another"), "").0, 403);
    }
    assert_eq!(exchange(&token(&door)).0, 403, "a spent address stays spent");
    assert_eq!(exchange(&token(&unused)).0, 200, "one that was not used can still be");
    assert!(!home.everything_written().contains(&session), "no token is written down");

    signal(running.id(), "INT");
    assert_eq!(running.end().status, 0);
}

#[test]
fn an_owner_that_cannot_start_says_why() {
    let home = Home::new();
    std::fs::create_dir_all(home.path("state")).unwrap();
    std::fs::create_dir_all(home.path("state/records.sqlite3")).unwrap();
    let ran = home.run(&["web"]);
    assert_eq!(ran.status, 125, "{ran:?}");
    assert!(ran.stderr.contains("records.sqlite3"), "{}", ran.stderr);
}

#[test]
fn quit_ends_the_owner_and_is_content_without_one() {
    let home = Home::new();
    let ran = home.run(&["quit"]);
    assert_eq!((ran.status, ran.stdout.contains("does not run")), (0, true));
    let (running, _) = web(&home, &[]);
    let owner = home.place().owner_process().unwrap();
    assert_eq!(home.run(&["quit"]).status, 0);
    assert!(wait_until(|| !is_alive(owner)));
    assert_ne!(running.end().status, 0, "whoever used it is told");
}

#[test]
fn the_second_serve_does_not_disturb_the_first() {
    let home = Home::new();
    let (_running, _) = web(&home, &[]);
    let owner = home.place().owner_process().unwrap();
    let ran = home.run(&["serve"]);
    assert_eq!(ran.status, 125);
    assert!(ran.stderr.contains("runs already"), "{}", ran.stderr);
    assert!(is_alive(owner));
    assert_eq!(home.place().owner_process(), Some(owner));
}

#[tokio::test]
async fn the_command_line_lists_the_sandboxes_of_the_window() {
    let home = Home::new();
    assert_eq!(home.run(&["sandboxes", "list"]).stdout, "No sandbox runs.\n");
    let (_running, _) = web(&home, &[]);
    let (window, _pushes) = connect(&home, ClientKind::Window).await;
    notebook_with_kernel(&home, &window).await;

    let ran = home.run(&["sandboxes", "list", "--json"]);
    let listed = &ran.lines()[0]["sandboxes"];
    assert_eq!(listed.as_array().map(Vec::len), Some(1), "{listed}");
    assert_eq!(listed[0]["kind"], "jupyter");
    let folder = home.path("").canonicalize().unwrap();
    assert_eq!(Path::new(listed[0]["working_directory"].as_str().unwrap()).canonicalize().unwrap(), folder);
    let text = home.run(&["sandboxes", "list"]).stdout;
    assert!(text.starts_with("ID") && text.contains(listed[0]["id"].as_str().unwrap()), "{text}");
}

#[tokio::test]
async fn cells_run_in_monty_where_there_is_no_python() {
    let home = Home::new();
    let _running = Running::start(home.sandbook_without_python(&["serve", "--stay"]));
    assert!(wait_until(|| home.place().socket().exists()));
    let (window, _pushes) = connect(&home, ClientKind::Window).await;
    let cell = r#"{"cell_type":"code","execution_count":null,"metadata":{},"outputs":[],"source":"6*7"}"#;
    let path = home.write(
        "a.ipynb",
        &format!(r#"{{"cells":[{cell}],"metadata":{{}},"nbformat":4,"nbformat_minor":4}}"#),
    );
    let open = Command::OpenDocument { path: path.display().to_string() };
    let Reply::Document { document, .. } = window.request(open).await.unwrap() else {
        panic!("not a document")
    };
    let selection = sandbook_protocol::CellSelection::All;
    window.request(Command::Run { document, selection }).await.unwrap();
    let listed = home.run(&["sandboxes", "list", "--json"]).lines()[0]["sandboxes"].clone();
    assert_eq!((&listed[0]["kind"], &listed[0]["title"]), (&"monty".into(), &"Monty".into()), "{listed}");
    // it saves by itself when the run is over
    assert!(wait_until(|| std::fs::read_to_string(&path).unwrap().contains("\"42\"")));
}

#[test]
fn the_sandbox_of_a_running_command_is_listed_and_an_owner_that_starts_leaves_it_alone() {
    let home = Home::new();
    let command = home.sandbook(&["exec", "print('here', flush=True)\ninput()\nprint('still here')"]);
    let mut running = Running::start_with_input(command);
    assert_eq!(running.line(), "here");
    let (_web, _) = web(&home, &[]);
    let listed = home.run(&["sandboxes", "list", "--json"]).lines()[0]["of_commands"].clone();
    assert_eq!(listed.as_array().map(Vec::len), Some(1), "{listed}");
    assert_eq!((&listed[0]["kind"], &listed[0]["state"]), (&"jupyter".into(), &"running".into()));
    running.type_line("");
    let ran = running.end();
    assert_eq!((ran.status, ran.stdout.as_str()), (0, "still here\n"), "{}", ran.stderr);
    assert!(
        home.run(&["sandboxes", "list", "--json"]).lines()[0]["of_commands"].as_array().unwrap().is_empty()
    );
}

#[tokio::test]
async fn quit_is_refused_while_a_cell_runs_unless_it_is_forced() {
    let home = Home::new();
    let (_running, _) = web(&home, &[]);
    let (window, _pushes) = connect(&home, ClientKind::Window).await;
    let document = notebook_with_kernel(&home, &window).await;
    let source = "import os, time; open('pid', 'w').write(str(os.getpid())); time.sleep(600)".to_owned();
    let insert = Command::InsertCell {
        document: document.clone(),
        index: 0,
        kind: sandbook_protocol::CellKind::Code,
        source,
    };
    window.request(insert).await.unwrap();
    let selection = sandbook_protocol::CellSelection::All;
    window.request(Command::Run { document, selection }).await.unwrap();

    let ran = home.run(&["quit"]);
    assert_ne!(ran.status, 0);
    assert!(ran.stderr.contains("a.ipynb"), "{}", ran.stderr);
    let owner = home.place().owner_process().unwrap();
    assert!(is_alive(owner));
    let written = || std::fs::read_to_string(home.path("pid")).ok().and_then(|text| text.parse::<u32>().ok());
    assert!(wait_until(|| written().is_some()));
    let kernel = written().unwrap();
    assert!(is_alive(kernel));
    assert_eq!(home.run(&["quit", "--force"]).status, 0);
    assert!(wait_until(|| !is_alive(owner)));
    assert!(wait_until(|| !is_alive(kernel)), "no kernel is left behind");
}

#[tokio::test]
async fn a_file_is_handed_to_the_window_that_is_open() {
    let home = Home::new();
    let (_running, _) = web(&home, &[]);
    let file = home.write("b.ipynb", "{}").display().to_string();
    let (_window, mut pushes) = connect(&home, ClientKind::Window).await;
    assert_eq!(home.run(&["open", "b.ipynb"]).status, 0);
    let asked = loop {
        if let sandbook_protocol::Push::OpenRequested { path } = pushes.next().await.unwrap() {
            break path;
        }
    };
    assert_eq!(Path::new(&asked).canonicalize().unwrap(), Path::new(&file).canonicalize().unwrap());
    assert_eq!(home.run(&["open", "missing.ipynb"]).status, 2);
}

/// Stands in the place of an owner of another version.
fn owner_of_another_version(home: &Home) -> tokio::task::JoinHandle<()> {
    let mut listener = Listener::bind(&home.place()).unwrap();
    tokio::spawn(async move {
        loop {
            let stream = listener.accept().await.unwrap();
            let (read, write) = tokio::io::split(stream);
            let _hello = sandbook_client::FrameReader::new(read).next().await;
            let error = ProtocolError::new(ErrorCode::VersionMismatch, "This program is older.", "Quit.");
            let refused = serde_json::to_vec(&ServerMessage::Refused { error }).unwrap();
            let _ = sandbook_client::FrameWriter::new(write).send(&Frame::Json(refused.into())).await;
        }
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_of_another_version_is_a_clear_error() {
    let home = Home::new();
    let standing_in = owner_of_another_version(&home);
    // Home's end would send its signal to this very process.
    let ran = Ran::of(home.sandbook(&["web", "--json"]).output().unwrap());
    standing_in.abort();
    let _ = standing_in.await;
    std::fs::remove_file(home.place().lock()).unwrap();
    assert_eq!(ran.status, 125);
    let line = &ran.lines()[0];
    assert_eq!((&line["type"], &line["code"]), (&"error".into(), &"version_mismatch".into()));
    assert_eq!(line["message"], "This program is older.");
}
