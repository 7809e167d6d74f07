//! Accounts of clouds where sandboxes cost something: from a key to a run, and what becomes of it when the owner is killed.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop")]

mod common;

use std::time::Duration;

use common::{Home, Page, ask};
use sandbook_protocol::{
    CellSelection, ClientKind, Command, ConnectionId, ConnectionView, ErrorCode, PillState, ProtocolError,
    ReadinessState, Reply, RunState, RuntimeKind, SandboxChoice, Secret, SurveyView, WorkspaceView,
};
use sandbook_test_support::{PATIENCE, Server, StandIn, jupyter_server};
use sandbook_workbench::Session;
use serde_json::{Value, json};

/// Nowhere else, so that a test can look for it where no secret may be.
const KEY: &str = "acc0unt-k3y-that-nobody-should-see-4719";
const FRESH: &str = "fr3sh-k3y-that-nobody-should-see-4720";

struct Cloud {
    _server: Server,
    stand_in: StandIn,
}

impl Cloud {
    async fn open(options: &[&str]) -> Self {
        let server = jupyter_server().await;
        let arguments: Vec<&str> = [KEY].into_iter().chain(options.iter().copied()).collect();
        let stand_in = StandIn::start("datalayer", &server, &arguments);
        Self { _server: server, stand_in }
    }

    async fn connect(&self, session: &Session, key: &str) -> Result<ConnectionView, ProtocolError> {
        let command = Command::ConnectAccount {
            runtime: RuntimeKind::Datalayer,
            address: Some(self.stand_in.url.to_string()),
            key: Some(Secret::new(key)),
            name: None,
            plain_http: false,
        };
        match ask(session, command).await? {
            Reply::Connection { connection } => Ok(*connection),
            other => panic!("{other:?}"),
        }
    }

    /// Waits until so many runtimes live there.
    async fn has(&self, count: usize) {
        let counted = async {
            while self.stand_in.ask("runtimes").await.as_array().unwrap().len() != count {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(PATIENCE, counted).await.unwrap_or_else(|_| panic!("there are not {count}"));
    }
}

fn choice(connection: &ConnectionId, settings: Value) -> SandboxChoice {
    SandboxChoice::New { runtime: RuntimeKind::Datalayer, settings, connection: Some(connection.clone()) }
}

async fn survey(session: &Session, connection: &ConnectionId, settings: Value) -> SurveyView {
    let command = Command::SurveyRuntime {
        runtime: RuntimeKind::Datalayer,
        document: None,
        settings,
        connection: Some(connection.clone()),
    };
    match ask(session, command).await.unwrap() {
        Reply::Survey { survey } => *survey,
        other => panic!("{other:?}"),
    }
}

async fn workspace(session: &Session) -> WorkspaceView {
    match ask(session, Command::WatchWorkspace).await.unwrap() {
        Reply::Workspace { workspace } => *workspace,
        other => panic!("{other:?}"),
    }
}

fn holds_no_key(home: &Home) {
    for file in home.files() {
        let bytes = std::fs::read(&file).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(KEY) && !text.contains(FRESH), "{}", file.display());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_becomes_a_run_whose_price_is_known_before_and_whose_end_is_shown() {
    let (home, cloud) = (Home::new(), Cloud::open(&[]).await);
    let path = home.notebook("paid.ipynb", &["x = 40\nprint('on')", "x + 2"]);
    let workbench = home.open().await;
    let mut page = Page::open(&workbench, &path).await;

    let wrong = cloud.connect(&page.session, "wr0ng").await.unwrap_err();
    assert_eq!(wrong.code, ErrorCode::CredentialRefused, "{wrong:?}");
    assert!(workspace(&page.session).await.connections.is_empty(), "what was refused is not saved");
    let connection = cloud.connect(&page.session, KEY).await.unwrap();
    assert_eq!(
        (connection.kind, connection.readiness.state),
        (RuntimeKind::Datalayer, ReadinessState::Ready)
    );
    let again = cloud.connect(&page.session, &format!("export DATALAYER_API_KEY='{KEY}'")).await.unwrap();
    assert_eq!(again.id, connection.id, "an account that is known is not saved twice");

    let elsewhere = Command::ReadPasted { text: Secret::new(&*format!("DATALAYER_API_KEY={KEY}")) };
    let elsewhere = page.ask(elsewhere).await.unwrap_err();
    assert!(
        elsewhere.hint.contains("Choose Datalayer") && !format!("{elsewhere:?}").contains(KEY),
        "{elsewhere:?}"
    );

    let settings = json!({ "environment": "python-cpu-env", "minutes": 5 });
    let told = survey(&page.session, &connection.id, settings.clone()).await;
    let spending = told.spending.clone().unwrap();
    assert_eq!(spending.chosen.as_deref(), Some("python-cpu-env"));
    assert!((spending.at_most.unwrap().value - 5.1).abs() < 1e-9 && spending.offers.len() == 3);
    cloud.has(0).await;

    let choose =
        Command::ChooseSandbox { document: page.document.clone(), choice: choice(&connection.id, settings) };
    let Reply::Sandbox { sandbox } = page.ask(choose).await.unwrap() else { panic!("no sandbox") };
    assert!(!sandbox.kept && sandbox.mark == "Dl", "{sandbox:?}");
    let lease = sandbox.lease.clone().unwrap();
    assert!(lease.ends_at.is_some() && !lease.renewable, "{lease:?}");
    page.ask(Command::Run { document: page.document.clone(), selection: CellSelection::All }).await.unwrap();
    page.until(|view| view.cells[1].run.state == RunState::Done).await;
    assert_eq!(page.text(0), "on\n");

    let pause = |pause| Command::PauseSandbox { sandbox: sandbox.id.clone(), pause };
    page.ask(pause(true)).await.unwrap();
    assert_eq!(workspace(&page.session).await.sandboxes[0].kernel.state, PillState::Paused);
    page.ask(pause(false)).await.unwrap();
    page.ask(Command::Run { document: page.document.clone(), selection: CellSelection::All }).await.unwrap();
    page.until(|view| view.cells[1].run.state == RunState::Done && view.cells[1].execution_count == Some(4))
        .await;

    // the runtime lives on with a fresh key, and is ended with that one
    cloud.stand_in.ask(&format!("key?is={FRESH}")).await;
    let secret = Secret::new(FRESH);
    page.ask(Command::StoreCredential { connection: connection.id.clone(), secret }).await.unwrap();
    let shown = format!("{:?} {told:?} {connection:?} {wrong:?}", workspace(&page.session).await);
    assert!(!shown.contains(KEY) && !shown.contains(FRESH), "{shown}");
    workbench.shut_down().await;
    cloud.has(0).await;
    holds_no_key(&home);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_owner_left_is_joined_again_and_what_it_had_not_finished_is_removed() {
    let (home, cloud) = (Home::new(), Cloud::open(&["warm-up=3"]).await);
    let path = home.notebook("paid.ipynb", &["x = 41"]);
    let workbench = home.open().await;
    let page = Page::open(&workbench, &path).await;
    let connection = cloud.connect(&page.session, KEY).await.unwrap();
    let choose = Command::ChooseSandbox {
        document: page.document.clone(),
        choice: choice(&connection.id, json!({ "minutes": 60 })),
    };
    let choosing = page.ask(choose);
    tokio::pin!(choosing);
    tokio::select! {
        done = &mut choosing => panic!("it warms up: {done:?}"),
        () = cloud.has(1) => {}
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
    assert_eq!((sandbox.kind, sandbox.connection), (RuntimeKind::Datalayer, Some(connection.id.clone())));
    assert!(sandbox.lease.is_some());
    cloud.has(1).await;

    let third = unfinished.open().await;
    ask(&third.connect(ClientKind::Browser), key()).await.unwrap();
    cloud.has(0).await;
    for owner in [workbench, second, third] {
        owner.shut_down().await;
    }
    for home in [home, unfinished, living] {
        holds_no_key(&home);
    }
}
