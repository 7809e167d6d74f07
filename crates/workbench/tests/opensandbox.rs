//! OpenSandbox servers: from a pasted address to a run, its end put off, and what becomes of it when the owner is killed.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop")]

mod common;

use std::time::Duration;

use common::{Home, Page, ask};
use sandbook_protocol::{
    CellSelection, ClientKind, Command, ConnectionView, ErrorCode, ProtocolError, ReadinessState, Reply,
    RunState, RuntimeKind, SandboxChoice, SandboxView, Secret, WorkspaceView,
};
use sandbook_test_support::{OpenSandboxServer, PATIENCE};
use sandbook_workbench::Session;
use serde_json::{Value, json};

/// Nowhere else, so that a test can look for it where no secret may be.
const KEY: &str = "k3y-that-nobody-should-see-4730";

async fn connect(
    session: &Session,
    address: &str,
    key: Option<&str>,
) -> Result<ConnectionView, ProtocolError> {
    let command = Command::ConnectAccount {
        runtime: RuntimeKind::Opensandbox,
        address: Some(address.to_owned()),
        key: key.map(Secret::new),
        name: None,
        plain_http: false,
    };
    match ask(session, command).await? {
        Reply::Connection { connection } => Ok(*connection),
        other => panic!("{other:?}"),
    }
}

fn choice(connection: &ConnectionView, settings: Value) -> SandboxChoice {
    let connection = Some(connection.id.clone());
    SandboxChoice::New { runtime: RuntimeKind::Opensandbox, settings, connection }
}

async fn workspace(session: &Session) -> WorkspaceView {
    match ask(session, Command::WatchWorkspace).await.unwrap() {
        Reply::Workspace { workspace } => *workspace,
        other => panic!("{other:?}"),
    }
}

async fn until_there_are(server: &OpenSandboxServer, count: usize) {
    let counted = async {
        while server.sandboxes().await.len() != count {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(PATIENCE, counted).await.unwrap_or_else(|_| panic!("there are not {count}"));
}

async fn run_all(page: &mut Page) {
    page.ask(Command::Run { document: page.document.clone(), selection: CellSelection::All }).await.unwrap();
    page.until(|view| view.cells.iter().all(|cell| cell.run.state == RunState::Done)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pasted_address_leads_to_a_run_and_the_end_can_be_put_off() {
    let server = OpenSandboxServer::start(Some(KEY)).await;
    let home = Home::new();
    let path = home.notebook("remote.ipynb", &["x = 40\nprint('on', x + 2)"]);
    let workbench = home.open().await;
    let mut page = Page::open(&workbench, &path).await;

    let text = Secret::new(format!("export OPEN_SANDBOX_DOMAIN={}", server.domain()));
    let Reply::Recognised { recognised } = page.ask(Command::ReadPasted { text }).await.unwrap() else {
        panic!("it is not recognised")
    };
    assert_eq!(recognised.kind, Some(RuntimeKind::Opensandbox));
    let address = recognised.display_url.unwrap();

    let wrong = connect(&page.session, &address, Some("wr0ng")).await.unwrap_err();
    assert_eq!(wrong.code, ErrorCode::CredentialRefused, "{wrong:?}");
    let without = connect(&page.session, &address, None).await.unwrap_err();
    assert_eq!(without.code, ErrorCode::CredentialRefused, "{without:?}");
    let elsewhere = connect(&page.session, "192.0.2.7:8080", Some(KEY)).await.unwrap_err();
    assert_eq!(elsewhere.code, ErrorCode::NotEncrypted, "the key does not travel in the clear unasked");
    assert!(workspace(&page.session).await.connections.is_empty(), "what was refused is not saved");
    let connection = connect(&page.session, &server.domain(), Some(KEY)).await.unwrap();
    assert_eq!(
        (connection.display_url.as_str(), connection.readiness.state, connection.has_credential),
        (address.as_str(), ReadinessState::Ready, true)
    );
    assert_eq!(connect(&page.session, &address, Some(KEY)).await.unwrap().id, connection.id);

    let command = Command::SurveyRuntime {
        runtime: RuntimeKind::Opensandbox,
        document: None,
        settings: json!({ "minutes": 0 }),
        connection: Some(connection.id.clone()),
    };
    let Reply::Survey { survey } = page.ask(command).await.unwrap() else { panic!("no survey") };
    assert_eq!((survey.problems.len(), survey.readiness.state), (1, ReadinessState::Ready), "{survey:?}");
    until_there_are(&server, 0).await;

    let choice = choice(&connection, json!({ "minutes": 5 }));
    let choose = Command::ChooseSandbox { document: page.document.clone(), choice };
    let Reply::Sandbox { sandbox } = page.ask(choose).await.unwrap() else { panic!("no sandbox") };
    run_all(&mut page).await;
    assert_eq!(page.text(0), "on 42\n");
    let before = lease_end(&sandbox);
    page.ask(Command::ProlongSandbox { sandbox: sandbox.id.clone(), seconds: 3600 }).await.unwrap();
    let shown = workspace(&page.session).await;
    assert!(lease_end(&shown.sandboxes[0]) > before + 50 * 60_000, "{:?}", shown.sandboxes);
    let said = format!("{shown:?} {recognised_text} {wrong:?}", recognised_text = recognised.display_text);
    assert!(!said.contains(KEY), "{said}");
    workbench.shut_down().await;
    until_there_are(&server, 0).await;
    holds_no_key(&home);
}

fn lease_end(sandbox: &SandboxView) -> u64 {
    sandbox.lease.as_ref().and_then(|lease| lease.ends_at).expect("it ends by itself")
}

fn holds_no_key(home: &Home) {
    for file in home.files() {
        let bytes = std::fs::read(&file).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&bytes).contains(KEY), "{}", file.display());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_owner_left_is_joined_again_and_what_it_had_not_finished_is_removed() {
    let server = OpenSandboxServer::start(Some(KEY)).await;
    let home = Home::new();
    let path = home.notebook("remote.ipynb", &["x = 41"]);
    let workbench = home.open().await;
    let page = Page::open(&workbench, &path).await;
    let connection = connect(&page.session, &server.domain(), Some(KEY)).await.unwrap();
    let choice = choice(&connection, json!({ "image": "sandbook/slow:1" }));
    let choose = Command::ChooseSandbox { document: page.document.clone(), choice };
    let choosing = page.ask(choose);
    tokio::pin!(choosing);
    tokio::select! {
        done = &mut choosing => panic!("it takes a while: {done:?}"),
        () = until_there_are(&server, 1) => {}
    }
    let unfinished = home.as_a_kill_would_leave_it();
    choosing.await.unwrap();
    let living = home.as_a_kill_would_leave_it();

    let second = living.open().await;
    let session = second.connect(ClientKind::Browser);
    let key = || Command::StoreCredential { connection: connection.id.clone(), secret: Secret::new(KEY) };
    ask(&session, key()).await.unwrap();
    let joined = async {
        while workspace(&session).await.sandboxes.is_empty() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(PATIENCE, joined).await.expect("it is joined");
    let sandbox = workspace(&session).await.sandboxes[0].clone();
    assert_eq!((sandbox.kind, sandbox.connection), (RuntimeKind::Opensandbox, Some(connection.id.clone())));
    until_there_are(&server, 1).await;

    let third = unfinished.open().await;
    ask(&third.connect(ClientKind::Browser), key()).await.unwrap();
    until_there_are(&server, 0).await;
    for owner in [workbench, second, third] {
        owner.shut_down().await;
    }
    for home in [home, unfinished, living] {
        holds_no_key(&home);
    }
}
