//! A sandbox at Modal by the owner: from a token pair to a run, and what becomes of it when the owner is killed.

#![cfg(all(unix, feature = "modal"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop")]

mod common;

use std::time::Duration;

use common::{Home, Page, ask};
use sandbook_protocol::{
    CellSelection, ClientKind, Command, ConnectionId, ConnectionView, ErrorCode, ProtocolError,
    ReadinessState, Reply, RunState, RuntimeKind, SandboxChoice, Secret, WorkspaceView,
};
use sandbook_test_support::{Modal, PATIENCE};
use sandbook_workbench::Session;
use serde_json::{Value, json};

/// Nowhere else, so that a test can look for it where no secret may be.
const ID: &str = "ak-m0dal0000owner";
const SECRET: &str = "as-n0b0dysh0uldsee4731";

fn modal(options: &[&str]) -> Modal {
    Modal::start(&[&["--token-id", ID, "--token-secret", SECRET], options].concat())
}

async fn connect(modal: &Modal, session: &Session, key: &str) -> Result<ConnectionView, ProtocolError> {
    let command = Command::ConnectAccount {
        runtime: RuntimeKind::Modal,
        address: Some(modal.url.to_string()),
        key: Some(Secret::new(key)),
        name: None,
        plain_http: false,
    };
    match ask(session, command).await? {
        Reply::Connection { connection } => Ok(*connection),
        other => panic!("{other:?}"),
    }
}

fn choice(connection: &ConnectionId, settings: Value) -> SandboxChoice {
    SandboxChoice::New { runtime: RuntimeKind::Modal, settings, connection: Some(connection.clone()) }
}

async fn workspace(session: &Session) -> WorkspaceView {
    match ask(session, Command::WatchWorkspace).await.unwrap() {
        Reply::Workspace { workspace } => *workspace,
        other => panic!("{other:?}"),
    }
}

fn holds_no_secret(home: &Home) {
    for file in home.files() {
        let bytes = std::fs::read(&file).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&bytes).contains(SECRET), "{}", file.display());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_pair_becomes_a_run_whose_price_is_known_before_and_nothing_is_left_afterwards() {
    let (home, modal) = (Home::new(), modal(&[]));
    let path = home.notebook("paid.ipynb", &["x = 40\nprint('on')", "x + 2"]);
    let workbench = home.open().await;
    let mut page = Page::open(&workbench, &path).await;
    for (key, code) in [
        (ID.to_owned(), ErrorCode::CredentialRefused),
        ("ak-wrong0000000 as-wrong0000000".to_owned(), ErrorCode::CredentialRefused),
        ("something else".to_owned(), ErrorCode::CredentialRefused),
    ] {
        let error = connect(&modal, &page.session, &key).await.unwrap_err();
        assert_eq!(error.code, code, "{error:?}");
    }
    assert!(workspace(&page.session).await.connections.is_empty(), "what was refused is not saved");
    let pasted = format!("modal token set --token-id {ID} --token-secret {SECRET}");
    let connection = connect(&modal, &page.session, &pasted).await.unwrap();
    assert_eq!((connection.kind, connection.readiness.state), (RuntimeKind::Modal, ReadinessState::Ready));

    let settings = json!({ "longest_life": 1800, "cpu": 1.0 });
    let survey = Command::SurveyRuntime {
        runtime: RuntimeKind::Modal,
        document: None,
        settings: settings.clone(),
        connection: Some(connection.id.clone()),
    };
    let Reply::Survey { survey } = ask(&page.session, survey).await.unwrap() else { panic!("no survey") };
    let most = survey.spending.clone().unwrap().at_most.unwrap();
    assert!(most.unit == "USD" && most.value > 0.05 && most.value < 0.1, "{most:?}");
    assert!(survey.spending.unwrap().offers[0].price.clone().unwrap().estimated.is_some());
    assert!(modal.creates().is_empty(), "looking makes nothing");

    let choose =
        Command::ChooseSandbox { document: page.document.clone(), choice: choice(&connection.id, settings) };
    let Reply::Sandbox { sandbox } = page.ask(choose).await.unwrap() else { panic!("no sandbox") };
    assert!(!sandbox.kept && sandbox.mark == "Mo", "{sandbox:?}");
    assert!(sandbox.lease.clone().unwrap().price.is_some(), "{sandbox:?}");
    page.ask(Command::Run { document: page.document.clone(), selection: CellSelection::All }).await.unwrap();
    page.until(|view| view.cells[1].run.state == RunState::Done).await;
    assert_eq!(page.text(0), "on\n");
    let shown = format!("{:?} {connection:?} {sandbox:?}", workspace(&page.session).await);
    assert!(!shown.contains(SECRET), "{shown}");
    workbench.shut_down().await;
    modal.until_none_runs().await;
    holds_no_secret(&home);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_owner_left_is_joined_again_and_what_it_had_not_finished_is_ended() {
    let (home, modal) = (Home::new(), modal(&["--hold-creates", "3"]));
    let path = home.notebook("paid.ipynb", &["x = 41"]);
    let workbench = home.open().await;
    let page = Page::open(&workbench, &path).await;
    let pair = format!("{ID} {SECRET}");
    let connection = connect(&modal, &page.session, &pair).await.unwrap();
    let choose = Command::ChooseSandbox {
        document: page.document.clone(),
        choice: choice(&connection.id, Value::Null),
    };
    let choosing = page.ask(choose);
    tokio::pin!(choosing);
    let asked = async {
        while modal.creates().is_empty() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::select! {
        done = &mut choosing => panic!("it is held: {done:?}"),
        () = asked => {}
    }
    let unfinished = home.as_a_kill_would_leave_it();
    choosing.await.unwrap();
    let living = home.as_a_kill_would_leave_it();

    let second = living.open().await;
    let session = second.connect(ClientKind::Browser);
    let key = || Command::StoreCredential {
        connection: connection.id.clone(),
        secret: Secret::new(format!("{ID} {SECRET}")),
    };
    ask(&session, key()).await.unwrap();
    let joined = async {
        while workspace(&session).await.sandboxes.is_empty() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(PATIENCE, joined).await.expect("it is joined");
    let sandbox = workspace(&session).await.sandboxes[0].clone();
    assert_eq!((sandbox.kind, sandbox.connection), (RuntimeKind::Modal, Some(connection.id.clone())));
    assert!(sandbox.lease.unwrap().ends_at.is_some());
    assert_eq!(modal.running().len(), 1);

    let third = unfinished.open().await;
    ask(&third.connect(ClientKind::Browser), key()).await.unwrap();
    modal.until_none_runs().await;
    for owner in [workbench, second, third] {
        owner.shut_down().await;
    }
    for home in [home, unfinished, living] {
        holds_no_secret(&home);
    }
}
