//! Plain http to another machine: what the person's policy says of it is what happens, and nothing goes out before.
//!
//! The other machine is `0.0.0.0`: an address that is not the loopback's, and that leads to this computer all the same.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop")]

mod common;

use std::net::TcpListener;

use common::{Home, Page, ask};
use sandbook_protocol::{ClientKind, Command, ConnectionId, ErrorCode, Reply, SandboxChoice, Secret};
use sandbook_test_support::{TOKEN, server};
use sandbook_workbench::{Session, Workbench};

/// Something that listens, and whether anybody came.
struct Ear(TcpListener);

impl Ear {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        Self(listener)
    }

    fn url(&self) -> String {
        format!("http://0.0.0.0:{}/", self.0.local_addr().unwrap().port())
    }

    fn heard_something(&self) -> bool {
        self.0.accept().is_ok()
    }
}

fn connect(url: &str, agreed: bool) -> Command {
    Command::Connect {
        pasted: None,
        address: Some(url.into()),
        token: Some(Secret::new(TOKEN)),
        runtime: None,
        kernel: None,
        name: None,
        trust_fingerprint: None,
        plain_http: agreed,
    }
}

fn set_policy(home: &Home, rule: &str) {
    let folders = sandbook_store::folders::Folders::inside(&home.0.path().join("state"));
    std::fs::write(folders.policies_file(), format!("format = 1\n[network]\nplain_http = \"{rule}\"\n"))
        .unwrap();
}

/// A connection to this address that nobody agreed to, as somebody writes it by hand.
fn write_connection(home: &Home, url: &str) -> ConnectionId {
    let folders = sandbook_store::folders::Folders::inside(&home.0.path().join("state"));
    let text = format!(
        "format = 1\n[[connection]]\nid = \"lab\"\nname = \"lab\"\nruntime = \"jupyter\"\n[connection.settings]\nserver_url = \"{url}\"\n"
    );
    std::fs::write(folders.connections_file(), text).unwrap();
    ConnectionId("lab".into())
}

/// Everything that sends something to a saved server.
fn everything_that_sends(page: &Page, connection: &ConnectionId) -> Vec<Command> {
    let choose = |choice| Command::ChooseSandbox { document: page.document.clone(), choice };
    let attach =
        SandboxChoice::AttachOnServer { connection: connection.clone(), kernel: "b4c6".into(), shared: true };
    vec![
        Command::ListServerKernels { connection: connection.clone() },
        Command::StoreCredential { connection: connection.clone(), secret: Secret::new(TOKEN) },
        Command::DeleteServerKernel { connection: connection.clone(), kernel: "b4c6".into() },
        choose(SandboxChoice::NewOnServer { connection: connection.clone(), kernel: None, keep: false }),
        choose(attach),
    ]
}

async fn open(home: &Home) -> (Workbench, Session) {
    let workbench = home.open().await;
    let session = workbench.connect(ClientKind::Browser);
    (workbench, session)
}

#[tokio::test(flavor = "multi_thread")]
async fn ask_asks_before_anything_is_sent_and_what_was_agreed_holds_for_that_server() {
    let server = server("jupyter_server", &["--ServerApp.allow_remote_access=True"]).await;
    let elsewhere = format!("http://0.0.0.0:{}/", server.url.port().unwrap());
    let (home, ear) = (Home::new(), Ear::new());
    let (workbench, session) = open(&home).await;
    assert_eq!(ask(&session, connect(&ear.url(), false)).await.unwrap_err().code, ErrorCode::NotEncrypted);
    assert!(!ear.heard_something(), "the question comes first");

    let Reply::Connection { connection } = ask(&session, connect(&elsewhere, true)).await.unwrap() else {
        panic!()
    };
    assert!(connection.plain_http);
    let list = Command::ListServerKernels { connection: connection.id.clone() };
    ask(&session, list.clone()).await.unwrap();
    workbench.shut_down().await;

    let (_workbench, session) = open(&home).await;
    let agreed = ask(&session, list.clone()).await;
    // Without a keyring the token went with the first owner; the address is asked all the same.
    assert!(
        !agreed.as_ref().is_err_and(|error| error.code == ErrorCode::NotEncrypted),
        "nobody is asked twice: {agreed:?}"
    );
    set_policy(&home, "refuse");
    assert_eq!(
        ask(&session, list).await.unwrap_err().code,
        ErrorCode::NotAllowed,
        "the policy is above that"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_sent_to_a_saved_server_that_nobody_agreed_to_or_that_is_refused() {
    for (rule, expected) in [("ask", ErrorCode::NotEncrypted), ("refuse", ErrorCode::NotAllowed)] {
        let (home, ear) = (Home::new(), Ear::new());
        let path = home.notebook("a.ipynb", &["1"]);
        let workbench = home.open().await;
        let page = Page::open(&workbench, &path).await;
        set_policy(&home, rule);
        let connection = write_connection(&home, &ear.url());
        for command in everything_that_sends(&page, &connection) {
            let said = format!("{command:?}");
            let error = page.ask(command).await.expect_err(&said);
            assert_eq!(error.code, expected, "{rule}: {said}");
        }
        assert_eq!(page.ask(connect(&ear.url(), false)).await.unwrap_err().code, expected);
        page.ask(Command::RefreshRuntimes).await.unwrap();
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        assert!(!ear.heard_something(), "{rule}: something was sent");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn allow_sends_without_a_question_and_this_computer_needs_no_leave() {
    let server = server("jupyter_server", &["--ServerApp.allow_remote_access=True"]).await;
    let port = server.url.port().unwrap();
    let home = Home::new();
    let (_workbench, session) = open(&home).await;
    set_policy(&home, "allow");
    ask(&session, connect(&format!("http://0.0.0.0:{port}/"), false)).await.unwrap();
    set_policy(&home, "refuse");
    ask(&session, connect(&format!("http://127.0.0.1:{port}/"), false)).await.unwrap();
    ask(&session, connect(&format!("http://localhost:{port}/"), false)).await.unwrap();
}
