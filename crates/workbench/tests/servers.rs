//! Servers, from a pasted address to a run, and where their tokens do not go.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop")]

mod common;

use std::{net::TcpListener, path::Path, time::Duration};

use common::{Home, Page, ask};
use sandbook_protocol::{
    CellSelection, ClientKind, Command, ConnectionId, ErrorCode, ReadinessState, Recognised, Reply, RunState,
    SandboxChoice, Secret,
};
use sandbook_store::folders::Folders;
use sandbook_test_support::{PATIENCE, SelfSigned, Server, TOKEN, server, server_at};
use sandbook_workbench::Session;
use tokio_util::sync::CancellationToken;

fn address(server: &Server, tail: &str) -> String {
    format!("http://127.0.0.1:{}{tail}", server.url.port().unwrap())
}

async fn paste(session: &Session, text: &str) -> Recognised {
    match ask(session, Command::ReadPasted { text: Secret::new(text) }).await.unwrap() {
        Reply::Recognised { recognised } => recognised,
        other => panic!("{other:?}"),
    }
}

fn connect(recognised: &Recognised) -> Command {
    Command::Connect {
        pasted: Some(recognised.pasted.clone()),
        address: None,
        token: None,
        runtime: None,
        kernel: None,
        name: Some("lab".into()),
        trust_fingerprint: None,
        plain_http: false,
    }
}

fn connect_to(address: &str, token: Option<&str>) -> Command {
    Command::Connect {
        pasted: None,
        address: Some(address.into()),
        token: token.map(Secret::new),
        runtime: None,
        kernel: None,
        name: None,
        trust_fingerprint: None,
        plain_http: false,
    }
}

async fn connected(session: &Session, command: Command) -> ConnectionId {
    match ask(session, command).await.unwrap() {
        Reply::Connection { connection } => {
            assert_eq!(connection.readiness.state, ReadinessState::Ready);
            connection.id
        }
        other => panic!("{other:?}"),
    }
}

/// Every file below a folder that holds the token.
fn files_with_the_token(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().map_while(Result::ok) {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files_with_the_token(&path));
        } else if std::fs::read(&path)
            .is_ok_and(|bytes| bytes.windows(TOKEN.len()).any(|window| window == TOKEN.as_bytes()))
        {
            found.push(path);
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pasted_address_becomes_a_run_and_its_token_is_in_no_answer_and_no_file() {
    let (home, server) = (Home::new(), server("jupyter_server", &[]).await);
    let path = home.notebook("remote.ipynb", &["import os\nprint('here', 6 * 7, [name for name, value in os.environ.items() if 't0k3n' in value and not name.startswith('JUPYTER')])"]);
    let workbench = home.open().await;
    let mut page = Page::open(&workbench, &path).await;
    let recognised =
        paste(&page.session, &address(&server, &format!("/lab/tree/x.ipynb?token={TOKEN}"))).await;
    assert!(recognised.has_secret && recognised.complete);
    assert!(!format!("{recognised:?}").contains(TOKEN));
    let connection = connected(&page.session, connect(&recognised)).await;
    let choice = SandboxChoice::NewOnServer { connection: connection.clone(), kernel: None, keep: false };
    page.ask(Command::ChooseSandbox { document: page.document.clone(), choice }).await.unwrap();
    page.ask(Command::Run { document: page.document.clone(), selection: CellSelection::All }).await.unwrap();
    page.until(|view| view.cells[0].run.state == RunState::Done).await;
    page.settle().await;
    assert_eq!(page.text(0), "here 42 []\n");
    let Reply::Workspace { workspace } = page.ask(Command::WatchWorkspace).await.unwrap() else { panic!() };
    assert!(!format!("{workspace:?}").contains(TOKEN));
    assert_eq!(workspace.connections[0].display_url, address(&server, "/"));
    page.ask(Command::Save {
        document: page.document.clone(),
        path: None,
        choice: sandbook_protocol::SaveChoice::Ask,
    })
    .await
    .unwrap();
    workbench.shut_down().await;
    assert_eq!(files_with_the_token(home.0.path()), Vec::<std::path::PathBuf>::new());
    let listed = ask(&page.session, Command::ListServerKernels { connection }).await.unwrap();
    assert!(
        matches!(&listed, Reply::ServerKernels { running, .. } if running.is_empty()),
        "its kernel is gone: {listed:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_a_server_is_told_apart() {
    let (home, server) = (Home::new(), server("jupyter_server", &[]).await);
    let workbench = home.open().await;
    let session = workbench.connect(ClientKind::Browser);
    let refused = |command| async { ask(&session, command).await.unwrap_err().code };
    assert_eq!(
        refused(connect_to(&address(&server, "/"), Some("wrong"))).await,
        ErrorCode::CredentialRefused
    );
    assert_eq!(refused(connect_to(&address(&server, "/"), None)).await, ErrorCode::CredentialMissing);
    let unused = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    assert_eq!(refused(connect_to(&format!("http://{unused}/"), Some("x"))).await, ErrorCode::Unreachable);
    assert_eq!(refused(connect_to("what is this", None)).await, ErrorCode::NotRecognised);
    let Reply::Workspace { workspace } = ask(&session, Command::WatchWorkspace).await.unwrap() else {
        panic!()
    };
    assert!(workspace.connections.is_empty(), "nothing is saved that did not work");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kernel_that_somebody_uses_is_joined_only_when_the_person_agrees() {
    let (home, server) = (Home::new(), server("jupyter_server", &[]).await);
    let workbench = home.open().await;
    let mut first = Page::open(&workbench, &home.notebook("first.ipynb", &["shared = 41"])).await;
    let connection = connected(&first.session, connect_to(&address(&server, "/"), Some(TOKEN))).await;
    let choice = SandboxChoice::NewOnServer { connection: connection.clone(), kernel: None, keep: false };
    first.ask(Command::ChooseSandbox { document: first.document.clone(), choice }).await.unwrap();
    first
        .ask(Command::Run { document: first.document.clone(), selection: CellSelection::All })
        .await
        .unwrap();
    first.until(|view| view.cells[0].run.state == RunState::Done).await;
    let Reply::ServerKernels { running, .. } =
        first.ask(Command::ListServerKernels { connection: connection.clone() }).await.unwrap()
    else {
        panic!()
    };
    let mut second = Page::open(&workbench, &home.notebook("second.ipynb", &["shared + 1"])).await;
    let attach = |shared| SandboxChoice::AttachOnServer {
        connection: connection.clone(),
        kernel: running[0].id.clone(),
        shared,
    };
    let alone =
        second.ask(Command::ChooseSandbox { document: second.document.clone(), choice: attach(false) }).await;
    assert_eq!(alone.unwrap_err().code, ErrorCode::KernelInUse);
    second
        .ask(Command::ChooseSandbox { document: second.document.clone(), choice: attach(true) })
        .await
        .unwrap();
    second
        .ask(Command::Run { document: second.document.clone(), selection: CellSelection::All })
        .await
        .unwrap();
    second.until(|view| view.cells[0].run.state == RunState::Done).await;
    assert!(format!("{:?}", second.cell(0).outputs).contains("42"));

    let policies = Folders::inside(&home.0.path().join("state")).policies_file();
    let third = Page::open(&workbench, &home.notebook("third.ipynb", &["shared"])).await;
    for (rule, asked, is_joined) in [("refuse", true, false), ("allow", false, true)] {
        std::fs::write(&policies, format!("format = 1\n[kernels]\nattach_to_busy = \"{rule}\"\n")).unwrap();
        let choice = attach(asked);
        let answer = third.ask(Command::ChooseSandbox { document: third.document.clone(), choice }).await;
        assert_eq!(answer.is_ok(), is_joined, "{rule}: {answer:?}");
    }
    workbench.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kernel_that_was_kept_is_listed_as_such_and_can_be_removed() {
    let (home, server) = (Home::new(), server("jupyter_server", &[]).await);
    let workbench = home.open().await;
    let page = Page::open(&workbench, &home.notebook("kept.ipynb", &["1"])).await;
    let connection = connected(&page.session, connect_to(&address(&server, "/"), Some(TOKEN))).await;
    let choice = SandboxChoice::NewOnServer { connection: connection.clone(), kernel: None, keep: true };
    page.ask(Command::ChooseSandbox { document: page.document.clone(), choice }).await.unwrap();
    workbench.shut_down().await;
    let list = || async {
        let list = Command::ListServerKernels { connection: connection.clone() };
        match page.ask(list).await.unwrap() {
            Reply::ServerKernels { running, .. } => running,
            other => panic!("{other:?}"),
        }
    };
    let kernels = list().await;
    assert_eq!(kernels.iter().map(|kernel| kernel.kept).collect::<Vec<_>>(), [true]);
    let remove =
        Command::DeleteServerKernel { connection: connection.clone(), kernel: kernels[0].id.clone() };
    page.ask(remove).await.unwrap();
    assert!(list().await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_notebook_goes_on_with_its_kernel_on_a_server_after_its_owner_was_killed() {
    let (home, server) = (Home::new(), server("jupyter_server", &[]).await);
    let path = home.notebook("going-on.ipynb", &["x = 41", "x + 1"]);
    let run = |page: &Page, index: usize| Command::Run {
        document: page.document.clone(),
        selection: CellSelection::Cells { cells: vec![page.key(index)] },
    };
    let first_owner = async {
        let workbench = home.open().await;
        let mut page = Page::open(&workbench, &path).await;
        let connection = connected(&page.session, connect_to(&address(&server, "/"), Some(TOKEN))).await;
        let choice = SandboxChoice::NewOnServer { connection: connection.clone(), kernel: None, keep: false };
        page.ask(Command::ChooseSandbox { document: page.document.clone(), choice }).await.unwrap();
        page.ask(run(&page, 0)).await.unwrap();
        page.until(|view| view.cells[0].run.state == RunState::Done).await;
        connection
    };
    // A runtime that is gone takes everything with it in the middle of things, as a kill does.
    let connection = std::thread::scope(|scope| {
        let owner = scope.spawn(|| {
            let runtime = tokio::runtime::Runtime::new().unwrap();
            let connection = runtime.block_on(first_owner);
            runtime.shutdown_background();
            connection
        });
        owner.join().unwrap()
    });
    // Its token was in memory only, so the next owner is given it again.
    let workbench = home.open().await;
    let mut page = Page::open(&workbench, &path).await;
    let token = Command::StoreCredential { connection, secret: Secret::new(TOKEN) };
    page.ask(token).await.unwrap();
    page.until(|view| view.status.sandbox.is_some()).await;
    page.ask(run(&page, 1)).await.unwrap();
    page.until(|view| view.cells[1].run.state == RunState::Done).await;
    assert!(format!("{:?}", page.cell(1).outputs).contains("42"));
    workbench.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_self_signed_certificate_is_shown_by_its_fingerprint_and_runs_code_once_it_is_trusted() {
    for as_authority in [true, false] {
        let certificate = SelfSigned::new("elsewhere.example", as_authority);
        let server = server("jupyter_server", &certificate.options().each_ref().map(String::as_str)).await;
        let home = Home::new();
        let workbench = home.open().await;
        let mut page = Page::open(&workbench, &home.notebook("n.ipynb", &["print(6 * 7)"])).await;
        let command = |fingerprint| Command::Connect {
            pasted: None,
            address: Some(server.url.to_string()),
            token: Some(Secret::new(TOKEN)),
            runtime: None,
            kernel: None,
            name: None,
            trust_fingerprint: fingerprint,
            plain_http: false,
        };
        let error = page.ask(command(None)).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::CertificateUntrusted);
        assert!(error.message.contains("it is self-signed"), "{error}");
        let connection = connected(&page.session, command(Some(error.fingerprint.unwrap()))).await;
        let choice = SandboxChoice::NewOnServer { connection, kernel: None, keep: false };
        page.ask(Command::ChooseSandbox { document: page.document.clone(), choice }).await.unwrap();
        page.ask(Command::Run { document: page.document.clone(), selection: CellSelection::All })
            .await
            .unwrap();
        page.until(|view| view.cells[0].run.state == RunState::Done).await;
        page.settle().await;
        assert_eq!(page.text(0), "42\n");
        workbench.shut_down().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_changed_is_trusted_for_its_connection_alone_and_the_old_one_until_then() {
    let [old, new] = ["old.example", "new.example"].map(|host| SelfSigned::new(host, false));
    let first = server("jupyter_server", &old.options().each_ref().map(String::as_str)).await;
    let home = Home::new();
    let workbench = home.open().await;
    let session = workbench.connect(ClientKind::Browser);
    let (url, port) = (first.url.to_string(), first.url.port().unwrap());
    let connect = |trust: Option<&str>| Command::Connect {
        pasted: None,
        address: Some(url.clone()),
        token: Some(Secret::new(TOKEN)),
        runtime: None,
        kernel: None,
        name: None,
        trust_fingerprint: trust.map(str::to_owned),
        plain_http: false,
    };
    let before = ask(&session, connect(None)).await.unwrap_err().fingerprint.unwrap();
    let connection = connected(&session, connect(Some(&before))).await;
    let trusted = async || {
        let Reply::Workspace { workspace } = ask(&session, Command::WatchWorkspace).await.unwrap() else {
            panic!()
        };
        workspace.connections[0].trusted_fingerprint.clone()
    };
    ask(&session, connect(None)).await.unwrap();
    assert_eq!(trusted().await.as_deref(), Some(before.as_str()), "connecting again keeps it");

    drop(first);
    let _second = server_at(port, "jupyter_server", &new.options().each_ref().map(String::as_str)).await;
    let list = Command::ListServerKernels { connection: connection.clone() };
    let now = ask(&session, list.clone()).await.unwrap_err().fingerprint.unwrap();
    assert_ne!(now, before);
    assert!(ask(&session, connect(None)).await.is_err());
    assert_eq!(trusted().await.as_deref(), Some(before.as_str()), "nobody trusted another one");

    let trust = |fingerprint: &str| Command::TrustCertificate {
        connection: connection.clone(),
        fingerprint: fingerprint.to_owned(),
    };
    let error = ask(&session, trust("AB:CD")).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::CertificateUntrusted);
    assert_eq!(trusted().await.as_deref(), Some(before.as_str()), "this is not the one that it shows");
    ask(&session, trust(&now)).await.unwrap();
    assert_eq!(trusted().await.as_deref(), Some(now.as_str()));
    ask(&session, list).await.unwrap();

    // The very same certificate at another address is another connection, which nobody trusted.
    let elsewhere = server("jupyter_server", &new.options().each_ref().map(String::as_str)).await;
    let connect = Command::Connect {
        pasted: None,
        address: Some(elsewhere.url.to_string()),
        token: Some(Secret::new(TOKEN)),
        runtime: None,
        kernel: None,
        name: None,
        trust_fingerprint: None,
        plain_http: false,
    };
    let refused = ask(&session, connect).await.unwrap_err();
    assert_eq!(
        (refused.code, refused.fingerprint.as_deref()),
        (ErrorCode::CertificateUntrusted, Some(now.as_str()))
    );
    workbench.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_that_is_stopped_at_any_moment_leaves_no_kernel_on_the_server() {
    let server = server("jupyter_server", &[]).await;
    let home = Home::new();
    let workbench = home.open().await;
    let page = Page::open(&workbench, &home.notebook("n.ipynb", &["1"])).await;
    let url = server.url.to_string();
    let connection = connected(&page.session, connect_to(&url, Some(TOKEN))).await;
    let mut stopped = 0;
    for wait in [0, 1, 5, 20, 60, 150, 300] {
        let cancel = CancellationToken::new();
        let choice = SandboxChoice::NewOnServer { connection: connection.clone(), kernel: None, keep: false };
        let command = Command::ChooseSandbox { document: page.document.clone(), choice };
        let start = page.session.handle(1, command, cancel.clone());
        let stop = async {
            tokio::time::sleep(Duration::from_millis(wait)).await;
            cancel.cancel();
        };
        match tokio::join!(start, stop).0 {
            Ok(_) => {
                page.ask(Command::Detach { document: page.document.clone(), keep: false }).await.unwrap();
            }
            Err(error) => {
                assert_eq!(error.code, ErrorCode::Cancelled, "{error}");
                stopped += 1;
            }
        }
    }
    assert!(stopped > 0);
    let running = async || {
        let list = Command::ListServerKernels { connection: connection.clone() };
        let Reply::ServerKernels { running, .. } = page.ask(list).await.unwrap() else { panic!() };
        running.len()
    };
    let start = std::time::Instant::now();
    // A kernel whose making was on its way is removed when the server has made it.
    tokio::time::sleep(Duration::from_secs(2)).await;
    while running().await > 0 {
        assert!(start.elapsed() < PATIENCE, "kernels are left");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    workbench.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_answer_is_not_waited_for_once_nobody_wants_to_know() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let home = Home::new();
    let workbench = home.open().await;
    let session = workbench.connect(ClientKind::Browser);
    let url = format!("http://127.0.0.1:{}/", silent.local_addr().unwrap().port());
    let cancel = CancellationToken::new();
    let connecting = session.handle(1, connect_to(&url, Some(TOKEN)), cancel.clone());
    let give_up = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        cancel.cancel();
    };
    let start = std::time::Instant::now();
    let error = tokio::join!(connecting, give_up).0.unwrap_err();
    assert_eq!(error.code, ErrorCode::Cancelled);
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    workbench.shut_down().await;
}
