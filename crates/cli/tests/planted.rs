//! Secrets that were planted everywhere a person has them, looked for everywhere they must not be: in files, logs, errors, what
//! clients are sent, and the arguments and environment of every process that Sandbook starts.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends where its ground is missing"
)]

mod support;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    io::Write as _,
    process::Stdio,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use sandbook_client::Owner;
use sandbook_protocol::{
    CellSelection, ClientKind, Command as Request, CredentialKind, DocumentId, Push, Reply, RuntimeKind,
    SandboxChoice, Secret, WorkspaceView,
};
use sandbook_test_support::{Server, StandIn, TOKEN, jupyter_server, rest};
use support::{Home, Ran, Running, session::Session, wait_until};

/// Every secret, by where it was planted. Each stands nowhere else.
const PLANTED: [(&str, &str); 14] = [
    ("the token of a server", TOKEN),
    ("the link of a Colab page", "pl4nted-colab-link-8101"),
    ("the link of a Kaggle page", "pl4nted-kaggle-link-8102"),
    ("a fresh link", "pl4nted-fresh-link-8103"),
    ("a token that a server refuses", "pl4nted-refused-token-8104"),
    ("a Modal pair in the keyring", "as-pl4ntedmodalpair8105"),
    ("a Kaggle key in the keyring", "pl4nted0kaggle0key08106"),
    ("a Datalayer key in the keyring", "pl4nted-datalayer-key-8107"),
    ("an OpenSandbox key in memory", "pl4nted-opensandbox-key-8108"),
    ("a variable that Sandbook is told of", "pl4nted-variable-8109"),
    ("KAGGLE_KEY", "pl4nted-kaggle-variable-8110"),
    ("MODAL_TOKEN_SECRET", "pl4nted-modal-variable-8111"),
    ("DATALAYER_API_KEY", "pl4nted-datalayer-variable-8112"),
    ("SANDBOOK_TOKEN", "pl4nted-sandbook-token-8113"),
];

fn planted(place: &str) -> &'static str {
    PLANTED.iter().find(|(name, _)| *name == place).unwrap().1
}

/// Where a text gives a secret away.
fn found_in(text: &str) -> Vec<&'static str> {
    PLANTED.iter().filter(|(_, secret)| text.contains(secret)).map(|(place, _)| *place).collect()
}

/// The processes below one, it left out.
fn below(top: u32) -> BTreeSet<u32> {
    let mut parents = BTreeMap::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(process) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let parent = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1)?.parse().ok());
        parents.insert(process, parent.unwrap_or(0_u32));
    }
    let mut found = BTreeSet::from([top]);
    while let Some(more) =
        parents.iter().find(|(process, parent)| found.contains(parent) && !found.contains(process))
    {
        found.insert(*more.0);
    }
    found.remove(&top);
    found
}

/// Looks at every process below the owner, all the time.
struct Watch {
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<Seen>>,
}

#[derive(Default)]
struct Seen {
    /// The programs that were looked at.
    programs: BTreeSet<String>,
    /// The secrets that one of them held, with its program.
    given_away: BTreeSet<(String, &'static str)>,
}

impl Watch {
    fn start(owner: u32) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            let mut seen = Seen::default();
            while !stopped.load(Ordering::Relaxed) {
                for process in below(owner) {
                    let held = |name: &str| {
                        let bytes = std::fs::read(format!("/proc/{process}/{name}")).unwrap_or_default();
                        String::from_utf8_lossy(&bytes).replace('\0', " ")
                    };
                    let (arguments, environment) = (held("cmdline"), held("environ"));
                    let given_away = found_in(&format!("{arguments} {environment}"));
                    // Between its start and its program a child is a copy of its parent.
                    if arguments.contains("sandbook serve") {
                        continue;
                    }
                    seen.given_away.extend(given_away.into_iter().map(|place| (arguments.clone(), place)));
                    seen.programs.insert(arguments);
                }
                std::thread::sleep(Duration::from_millis(5));
            }
            seen
        });
        Self { stop, thread: Some(thread) }
    }

    fn end(mut self) -> Seen {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }
}

/// A client that keeps everything that it is sent.
struct Client {
    owner: Owner,
    sent: Arc<Mutex<String>>,
}

impl Client {
    async fn connect(home: &Home) -> Self {
        let (owner, mut pushes) = Owner::connect(&home.place(), ClientKind::Window).await.unwrap();
        let sent = Arc::new(Mutex::new(String::new()));
        let (kept, reader) = (sent.clone(), owner.clone());
        tokio::spawn(async move {
            while let Some(push) = pushes.next().await {
                if let Push::Patches { batch } = &push {
                    reader.acknowledge(batch.document.clone(), batch.sequence).await.unwrap();
                }
                let text = serde_json::to_string(&push).unwrap();
                kept.lock().unwrap().push_str(&text);
            }
        });
        Self { owner, sent }
    }

    async fn ask(&self, request: Request) -> Option<Reply> {
        let answer = self.owner.request(request).await;
        let text = match &answer {
            Ok(reply) => format!("{} {reply:?}", serde_json::to_string(reply).unwrap()),
            Err(error) => format!("{error:?} {error}"),
        };
        self.sent.lock().unwrap().push_str(&text);
        answer.ok()
    }

    async fn paste(&self, text: &str) -> sandbook_protocol::PastedId {
        match self.ask(Request::ReadPasted { text: Secret::new(text) }).await {
            Some(Reply::Recognised { recognised }) => recognised.pasted,
            other => panic!("{other:?}"),
        }
    }

    /// Opens a notebook in a place and runs it until it has printed the last words.
    async fn run(&self, home: &Home, name: &str, code: &str, choice: SandboxChoice) {
        let cell = serde_json::json!({
            "cell_type": "code", "execution_count": null, "metadata": {}, "outputs": [], "source": code,
        });
        let notebook = serde_json::json!({
            "cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 4,
        });
        let path = home.write(name, &notebook.to_string()).display().to_string();
        let Some(Reply::Document { document, .. }) = self.ask(Request::OpenDocument { path }).await else {
            panic!("{name} does not open");
        };
        self.ask(Request::Subscribe { document: document.clone() }).await;
        let chosen = self.ask(Request::ChooseSandbox { document: document.clone(), choice }).await;
        assert!(chosen.is_some(), "{name} has no sandbox: {}", self.sent.lock().unwrap());
        self.ask(Request::Run { document: document.clone(), selection: CellSelection::All }).await;
        let words = format!("end of {name} 42");
        let sent = self.sent.clone();
        let is_there = move || sent.lock().unwrap().contains(&words);
        assert!(
            tokio::task::spawn_blocking(move || wait_until(is_there)).await.unwrap(),
            "{name} did not run: {}",
            self.sent.lock().unwrap()
        );
        self.close(document).await;
    }

    async fn close(&self, document: DocumentId) {
        let path = None;
        let choice = sandbook_protocol::SaveChoice::KeepMine;
        self.ask(Request::Save { document: document.clone(), path, choice }).await;
        self.ask(Request::Detach { document, keep: false }).await;
    }
}

fn connect(
    pasted: Option<sandbook_protocol::PastedId>,
    address: Option<String>,
    token: Option<&str>,
) -> Request {
    Request::Connect {
        pasted,
        address,
        token: token.map(Secret::new),
        runtime: None,
        kernel: None,
        name: None,
        trust_fingerprint: None,
        plain_http: false,
    }
}

fn add(kind: CredentialKind, secret: &str, in_memory: bool) -> Request {
    Request::AddCredential {
        kind,
        name: None,
        secret: Some(Secret::new(secret)),
        variable: None,
        connections: Vec::new(),
        in_memory,
    }
}

/// Says all that a program can find out about what it was given, and ends with the last words of a notebook.
fn tells_all(name: &str) -> String {
    format!(
        "import os, pathlib\n\
         print(dict(os.environ))\n\
         for process in ('self', os.getppid()):\n\
         \x20   for part in ('environ', 'cmdline'):\n\
         \x20       try:\n\
         \x20           print(pathlib.Path(f'/proc/{{process}}/{{part}}').read_bytes())\n\
         \x20       except OSError as error:\n\
         \x20           print(error)\n\
         print('end of {name}', 40 + 2)"
    )
}

/// Into the keyring, into memory, into a variable; and what is refused on the way there.
async fn plant(client: &Client) {
    let modal = format!("ak-planted0000 {}", planted("a Modal pair in the keyring"));
    let kaggle = format!(r#"{{"username":"ana","key":"{}"}}"#, planted("a Kaggle key in the keyring"));
    let refused = planted("a token that a server refuses");
    for request in [
        add(CredentialKind::ModalPair, &modal, false),
        add(CredentialKind::KaggleToken, &kaggle, false),
        add(CredentialKind::DatalayerKey, planted("a Datalayer key in the keyring"), false),
        add(CredentialKind::OpensandboxKey, planted("an OpenSandbox key in memory"), true),
    ] {
        assert!(client.ask(request).await.is_some(), "{}", client.sent.lock().unwrap());
    }
    for request in [
        add(CredentialKind::ModalPair, refused, false),
        add(CredentialKind::DatalayerKey, &format!("{refused} {refused}"), false),
        add(CredentialKind::ColabLink, refused, false),
        Request::ReadPasted { text: Secret::new(format!("not an address {refused}")) },
    ] {
        assert!(client.ask(request).await.is_none());
    }
    let variable = Request::AddCredential {
        kind: CredentialKind::OpensandboxKey,
        name: Some("by variable".into()),
        secret: None,
        variable: Some("SANDBOOK_CREDENTIAL_PLANTED".into()),
        connections: Vec::new(),
        in_memory: false,
    };
    client.ask(variable).await.unwrap();
    client.ask(Request::ListCredentialImports).await.unwrap();
    client
        .ask(Request::ImportCredential { import: "DATALAYER_API_KEY".into(), in_memory: false })
        .await
        .unwrap();
}

/// With the token of a server, after one that it refuses.
async fn run_on_a_server(client: &Client, home: &Home, server: &Server) {
    let refused = planted("a token that a server refuses");
    client.ask(connect(None, Some(server.url.to_string()), Some(refused))).await;
    let Some(Reply::Connection { connection: lab }) =
        client.ask(connect(None, Some(server.url.to_string()), Some(TOKEN))).await
    else {
        panic!("{}", client.sent.lock().unwrap());
    };
    let choice = SandboxChoice::NewOnServer { connection: lab.id.clone(), kernel: None, keep: false };
    client.run(home, "lab.ipynb", "print('end of lab.ipynb', 40 + 2)", choice).await;
}

/// With the links of two pages, after wrong ones, and on with fresh ones.
async fn run_on_pages(client: &Client, home: &Home, server: &Server) {
    let (fresh, refused) = (planted("a fresh link"), planted("a token that a server refuses"));
    for (name, stand_in, place) in [
        ("colab", "colab_proxy", "the link of a Colab page"),
        ("kaggle", "kaggle_proxy", "the link of a Kaggle page"),
    ] {
        let secret = planted(place);
        let is_kaggle = name == "kaggle";
        let proxy = if is_kaggle {
            StandIn::start(stand_in, server, &["12345678", secret])
        } else {
            StandIn::start(stand_in, server, &[secret])
        };
        let kernel = rest("POST", &server.url, "api/kernels").await["id"].as_str().unwrap().to_owned();
        let address = proxy.url.as_str().replace("http://", "ws://");
        let link = |secret: &str| {
            if is_kaggle {
                format!("{address}k/12345678/{secret}/proxy/api/kernels/{kernel}/channels?session_id=s")
            } else {
                format!("{address}api/kernels/{kernel}/channels?colab-runtime-proxy-token={secret}")
            }
        };
        let pasted = client.paste(&link(secret)).await;
        let Some(Reply::Connection { connection }) = client.ask(connect(Some(pasted), None, None)).await
        else {
            panic!("{}", client.sent.lock().unwrap());
        };
        let choice = SandboxChoice::AttachOnServer {
            connection: connection.id.clone(),
            kernel: kernel.clone(),
            shared: true,
        };
        let file = format!("{name}.ipynb");
        client.run(home, &file, &format!("print('end of {file}', 40 + 2)"), choice).await;
        // A wrong link and a fresh one.
        let store = |secret: &str| Request::StoreCredential {
            connection: connection.id.clone(),
            secret: Secret::new(link(secret)),
        };
        assert!(client.ask(store(refused)).await.is_none());
        let renew = if is_kaggle { format!("renew?secret={fresh}") } else { format!("renew?token={fresh}") };
        proxy.ask(&renew).await;
        assert!(client.ask(store(fresh)).await.is_some(), "{}", client.sent.lock().unwrap());
    }
}

/// In everything that runs on this computer and can look around.
async fn run_here(client: &Client, home: &Home) -> WorkspaceView {
    client.ask(Request::RefreshRuntimes).await.unwrap();
    let Some(Reply::Workspace { workspace }) = client.ask(Request::WatchWorkspace).await else { panic!() };
    for credential in &workspace.credentials {
        client.ask(Request::TestCredential { credential: credential.id.clone() }).await;
    }
    let mut kernels = workspace.runtimes.iter().flat_map(|runtime| &runtime.kernels);
    let kernel = kernels.find(|kernel| kernel.language == "python").expect("a Python").name.clone();
    let eval = serde_json::json!({ "python": sandbook_test_support::python() });
    for (file, choice) in [
        ("here.ipynb", SandboxChoice::KernelHere { kernel: kernel.clone() }),
        ("managed.ipynb", SandboxChoice::ManagedServer { kernel }),
        ("plain.ipynb", SandboxChoice::New { runtime: RuntimeKind::Eval, settings: eval, connection: None }),
    ] {
        client.run(home, file, &tells_all(file), choice).await;
    }
    let monty = SandboxChoice::New {
        runtime: RuntimeKind::Monty,
        settings: serde_json::Value::Null,
        connection: None,
    };
    client.run(home, "monty.ipynb", "print('end of monty.ipynb', 40 + 2)", monty).await;
    *workspace
}

/// The command line, with a secret on standard input and others in the environment: all that it said.
fn at_the_command_line(home: &Home, session: &Session) -> String {
    let modal = format!("ak-planted0000 {}", planted("a Modal pair in the keyring"));
    let mut said = String::new();
    for (words, input) in [
        (vec!["credentials", "list"], ""),
        (vec!["credentials", "list", "--json"], ""),
        (vec!["credentials", "import"], ""),
        (vec!["credentials", "replace", "Modal"], modal.as_str()),
        (vec!["credentials", "add", "--kind", "jupyter_token"], "two words pl4nted-refused-token-8104"),
        (vec!["exec", "import os; print(dict(os.environ))"], ""),
        (vec!["config", "path"], ""),
        (vec!["sandboxes", "list", "--json"], ""),
    ] {
        let mut command = home.sandbook(&words);
        session.enter(&mut command);
        command.env("MODAL_TOKEN_SECRET", planted("MODAL_TOKEN_SECRET"));
        command.env("SANDBOOK_TOKEN", planted("SANDBOOK_TOKEN"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let ran = Ran::of(child.wait_with_output().unwrap());
        writeln!(said, "{words:?} {ran:?}").unwrap();
    }
    said
}

#[tokio::test(flavor = "multi_thread")]
async fn a_planted_secret_is_in_no_file_no_log_no_error_no_message_and_no_child() {
    let home = Home::new();
    let session = Session::with_keyring(&home.path("session"));
    let mut serve = home.sandbook(&["serve", "--stay"]);
    session.enter(&mut serve);
    serve.env("RUST_LOG", "trace").env("KAGGLE_USERNAME", "ana").env("MODAL_TOKEN_ID", "ak-planted0000");
    // Nobody listens there, so no key of these leaves this computer.
    serve.env("DATALAYER_RUN_URL", "http://127.0.0.1:9/").env("OPEN_SANDBOX_DOMAIN", "http://127.0.0.1:9/");
    serve.env("SANDBOOK_CREDENTIAL_PLANTED", planted("a variable that Sandbook is told of"));
    for name in ["KAGGLE_KEY", "MODAL_TOKEN_SECRET", "DATALAYER_API_KEY", "SANDBOOK_TOKEN"] {
        serve.env(name, planted(name));
    }
    let owner = Running::start(serve);
    assert!(wait_until(|| home.place().socket().exists()), "the owner did not start");
    let watch = Watch::start(owner.id());
    let client = Client::connect(&home).await;
    client.ask(Request::WatchLogs).await;

    plant(&client).await;
    let server = jupyter_server().await;
    run_on_a_server(&client, &home, &server).await;
    run_on_pages(&client, &home, &server).await;
    let workspace = run_here(&client, &home).await;
    let said = at_the_command_line(&home, &session);

    client.ask(Request::DeleteCredential { credential: workspace.credentials[0].id.clone() }).await;
    client.ask(Request::Quit { force: true }).await;
    let seen = watch.end();
    let sent = client.sent.lock().unwrap().clone();
    let ended = tokio::task::spawn_blocking(move || owner.end()).await.unwrap();

    assert_eq!(seen.given_away, BTreeSet::new(), "a child was given a secret");
    let saw = |word: &str| seen.programs.iter().any(|arguments| arguments.contains(word));
    assert!(
        saw("ipykernel") && saw("jupyter_server") && saw("monty") && saw("supervise"),
        "the test looked at what it means to look at: {:#?}",
        seen.programs
    );
    assert_eq!(found_in(&sent), [""; 0], "a client was sent a secret");
    assert!(sent.contains("HOME"), "what the kernels told was looked at");
    assert_eq!(found_in(&said), [""; 0], "a command said a secret: {said}");
    assert_eq!(found_in(&format!("{ended:?}")), [""; 0], "the owner said a secret");
    let written = home.everything_written();
    assert!(written.contains("a sandbox started"), "the log was looked at");
    for text in [written, everything_in(&home)] {
        assert_eq!(found_in(&text), [""; 0], "a file holds a secret");
    }
}

/// The notebooks, and what the session keeps: the keyring's own file is encrypted.
fn everything_in(home: &Home) -> String {
    let mut text = String::new();
    let mut folders = vec![home.path("")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                Ok(kind) if kind.is_file() => {
                    text.push_str(&String::from_utf8_lossy(&std::fs::read(entry.path()).unwrap_or_default()));
                }
                _ => {}
            }
        }
    }
    text
}
