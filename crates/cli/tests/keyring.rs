//! Credentials at the command line, with a real keyring that is there, locked, gone and back.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends where its ground is missing"
)]

mod support;

use std::{io::Write as _, process::Stdio};

use sandbook_client::Owner;
use sandbook_protocol::{ClientKind, Command as Request, ConnectionView, Reply, Secret};
use sandbook_test_support::{Server, TOKEN};
use serde_json::Value;
use support::{Home, Ran, Running, session::Session, wait_until};

const PAIR: &str = "ak-keyring0test0 as-s3cr3t0of0the0keyring0test";
const SECRET: &str = "s3cr3t0of0the0keyring0test";

/// A home, the session in which its owner runs, and that owner.
struct Desk {
    owner: Running,
    session: Session,
    home: Home,
}

impl Desk {
    fn open(start: impl FnOnce(&std::path::Path) -> Session, variables: &[(&str, &str)]) -> Self {
        let home = Home::new();
        let session = start(&home.path("session"));
        let mut serve = home.sandbook(&["serve", "--stay"]);
        session.enter(&mut serve);
        serve.envs(variables.iter().copied());
        let owner = Running::start(serve);
        assert!(wait_until(|| home.place().socket().exists()), "the owner did not start");
        Self { owner, session, home }
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        let mut command = self.home.sandbook(arguments);
        self.session.enter(&mut command);
        Ran::of(command.output().unwrap())
    }

    fn run_with_input(&self, arguments: &[&str], input: &str) -> Ran {
        let mut command = self.home.sandbook(arguments);
        self.session.enter(&mut command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        Ran::of(child.wait_with_output().unwrap())
    }

    /// What `credentials list` says, as JSON.
    fn listed(&self) -> Value {
        let ran = self.run(&["credentials", "list", "--json"]);
        assert_eq!(ran.status, 0, "{ran:?}");
        ran.lines().remove(0)
    }

    fn keyring(&self) -> String {
        self.listed()["keyring"]["state"].as_str().unwrap().to_owned()
    }

    fn add_pair(&self, more: &[&str]) -> Ran {
        let words = ["credentials", "add", "--kind", "modal_pair", "--name", "machines"];
        self.run_with_input(&[&words[..], more].concat(), PAIR)
    }

    /// Connects to a server with its token, or without one.
    async fn connect(&self, server: &Server, token: Option<&str>) -> ConnectionView {
        let (owner, pushes) = Owner::connect(&self.home.place(), ClientKind::Window).await.unwrap();
        drop(pushes);
        let connect = Request::Connect {
            pasted: None,
            address: Some(server.url.to_string()),
            token: token.map(Secret::new),
            runtime: None,
            kernel: None,
            name: Some("my lab".into()),
            trust_fingerprint: None,
            plain_http: false,
        };
        match owner.request(connect).await.unwrap() {
            Reply::Connection { connection } => *connection,
            other => panic!("{other:?}"),
        }
    }

    /// Nothing that was written holds a secret; the keyring's own file is encrypted.
    fn holds_no_secret(&self) {
        let written = self.home.everything_written();
        assert!(!written.contains(SECRET) && !written.contains(TOKEN), "a secret is in a file");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_credential_is_listed_asked_with_replaced_and_deleted_and_never_shown() {
    let desk = Desk::open(Session::with_keyring, &[]);
    let server = Server::start("jupyter_server", &[]);
    let connection = desk.connect(&server, Some(TOKEN)).await;

    let listed = desk.listed();
    assert_eq!(listed["keyring"]["state"], "ready", "{listed}");
    let known = &listed["credentials"][0];
    assert_eq!((&known["name"], &known["kind"]), (&"my lab".into(), &"jupyter_token".into()), "{known}");
    assert_eq!((&known["place"], &known["replaced_at"]), (&"keyring".into(), &Value::Null), "{known}");
    assert_eq!(known["connections"], serde_json::json!([connection.id]));
    let (added, rotate) = (known["added_at"].as_u64().unwrap(), known["rotate_by"].as_u64().unwrap());
    assert_eq!(rotate - added, 180 * 86_400_000);

    let asked = desk.run(&["credentials", "test", "my lab"]);
    assert!(asked.status == 0 && asked.stdout.starts_with("my lab: good."), "{asked:?}");
    let refused = desk.run_with_input(&["credentials", "replace", "my lab"], "wr0ng-t0ken");
    assert!(refused.status == 125 && refused.stderr.contains("Nothing was saved"), "{refused:?}");
    assert!(!refused.stderr.contains("wr0ng"), "{refused:?}");
    assert_eq!(desk.run(&["credentials", "test", "my lab"]).status, 0, "the old one stayed");
    let used = desk.run(&["exec", "--server", "my lab", "print('with it')"]);
    assert_eq!(used.stdout, "with it\n", "{used:?}");
    let replaced = desk.run_with_input(&["credentials", "replace", "my lab"], TOKEN);
    assert!(replaced.status == 0 && replaced.stdout.contains("in the keyring"), "{replaced:?}");
    let known = desk.listed()["credentials"][0].clone();
    assert!(known["replaced_at"].is_u64() && known["used_at"].is_u64(), "{known}");
    assert_eq!(known["connections"], serde_json::json!([connection.id]), "its connections keep it");

    let half = desk.run_with_input(&["credentials", "add", "--kind", "modal_pair"], "ak-keyring0test0");
    assert!(half.status == 125 && half.stderr.contains("half of a Modal token"), "{half:?}");
    assert_eq!(desk.add_pair(&[]).status, 0);
    let table = desk.run(&["credentials", "list"]);
    assert!(table.stdout.contains("machines") && table.stdout.contains("modal_pair"), "{table:?}");

    let asked = desk.run(&["credentials", "delete", "my lab"]);
    assert!(asked.status == 2 && asked.stderr.contains("--yes"), "nobody can be asked: {asked:?}");
    let deleted = desk.run(&["credentials", "delete", "my lab", "--yes"]);
    assert_eq!(deleted.stdout, "my lab is deleted. Lost by: my lab.\n");
    let left = desk.listed();
    let names: Vec<_> = left["credentials"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["machines"]);
    let without = desk.run(&["exec", "--server", "my lab", "print('without')"]);
    assert!(without.status == 125 && !without.stdout.contains("without"), "{without:?}");
    for ran in [&refused, &replaced, &table, &deleted, &without] {
        let said = format!("{ran:?}");
        assert!(!said.contains(TOKEN) && !said.contains(SECRET), "{said}");
    }
    desk.holds_no_secret();
}

#[test]
fn a_locked_keyring_is_named_and_used_again_once_it_is_open() {
    let mut desk = Desk::open(Session::with_keyring, &[]);
    let owner = desk.owner.id();
    assert_eq!(desk.keyring(), "ready");
    desk.session.lock();
    assert_eq!(desk.keyring(), "locked");
    let refused = desk.add_pair(&[]);
    assert_eq!(refused.status, 125, "{refused:?}");
    assert!(refused.stderr.contains("The keyring is locked. Nothing was saved."), "{}", refused.stderr);
    assert!(refused.stderr.contains("in memory") && refused.stderr.contains("SANDBOOK_CREDENTIAL_"));
    assert_eq!(desk.listed()["credentials"], serde_json::json!([]));

    let in_memory = desk.add_pair(&["--memory"]);
    assert!(in_memory.status == 0 && in_memory.stdout.contains("in memory"), "{in_memory:?}");
    assert_eq!(desk.listed()["credentials"][0]["place"], "memory");
    desk.holds_no_secret();

    // Its next start asks for the password again, and gets it.
    desk.session.take_keyring_away();
    desk.session.bring_keyring();
    assert_eq!(desk.keyring(), "ready");
    let kept = desk.run_with_input(&["credentials", "replace", "machines"], PAIR);
    assert!(kept.status == 0 && kept.stdout.contains("in the keyring"), "{kept:?}");
    assert_eq!(desk.home.place().owner_process(), Some(owner), "by the same owner");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_vanished_keyring_is_named_and_what_it_holds_is_used_again_once_it_is_back() {
    let mut desk = Desk::open(Session::with_keyring, &[]);
    let server = Server::start("jupyter_server", &[]);
    desk.connect(&server, Some(TOKEN)).await;
    assert_eq!(desk.keyring(), "ready");
    desk.session.take_keyring_away();
    assert_eq!(desk.keyring(), "vanished");
    let asked = desk.run(&["credentials", "test", "my lab"]);
    assert!(asked.status == 125 && asked.stderr.contains("was there and is gone"), "{asked:?}");
    let deleted = desk.run(&["credentials", "delete", "my lab", "--yes"]);
    assert!(deleted.status == 125 && deleted.stderr.contains("still in it"), "{deleted:?}");
    assert_eq!(desk.listed()["credentials"][0]["connections"].as_array().unwrap().len(), 1);

    desk.session.bring_keyring();
    assert_eq!(desk.keyring(), "ready");
    let asked = desk.run(&["credentials", "test", "my lab"]);
    assert!(asked.status == 0 && asked.stdout.contains("good"), "{asked:?}");
    desk.holds_no_secret();
}

#[test]
fn a_missing_bus_and_a_missing_service_are_told_apart_and_memory_is_offered_for_both() {
    let without_service = Desk::open(Session::start, &[]);
    assert_eq!(without_service.keyring(), "no_service");
    let without_bus =
        Desk::open(Session::start, &[("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent/bus")]);
    assert_eq!(without_bus.keyring(), "no_bus");
    for (desk, said) in
        [(&without_service, "No keyring runs on this computer"), (&without_bus, "no message bus")]
    {
        let refused = desk.add_pair(&[]);
        assert!(refused.status == 125 && refused.stderr.contains(said), "{refused:?}");
        let listed = desk.run(&["credentials", "list"]);
        assert!(listed.stderr.contains(said) && listed.stderr.contains("hint: "), "{listed:?}");
        assert_eq!(desk.add_pair(&["--memory"]).status, 0);
        desk.holds_no_secret();
    }
}

#[test]
fn what_was_only_in_memory_is_said_to_be_gone_after_a_new_start() {
    let desk = Desk::open(Session::start, &[]);
    assert_eq!(desk.add_pair(&["--memory"]).status, 0);
    assert_eq!(desk.run(&["quit", "--force"]).status, 0);
    let mut serve = desk.home.sandbook(&["serve", "--stay"]);
    desk.session.enter(&mut serve);
    let _owner = Running::start(serve);
    assert!(wait_until(|| desk.home.place().socket().exists()), "the owner did not start");
    let known = desk.listed()["credentials"][0].clone();
    assert_eq!((&known["name"], &known["place"]), (&"machines".into(), &"gone".into()), "{known}");
    let asked = desk.run(&["credentials", "test", "machines"]);
    assert!(asked.status == 125 && asked.stderr.contains("not there any more"), "{asked:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_variable_holds_a_credential_without_a_keyring_and_no_kernel_inherits_it() {
    const NAME: &str = "SANDBOOK_CREDENTIAL_LAB";
    let desk = Desk::open(Session::start, &[(NAME, TOKEN)]);
    let server = Server::start("jupyter_server", &[]);
    let wrong = desk.run(&["credentials", "add", "--kind", "jupyter_token", "--variable", "MY_TOKEN"]);
    assert!(wrong.stderr.contains("does not begin with SANDBOOK_CREDENTIAL_"), "{wrong:?}");
    let unset = desk.run(&[
        "credentials",
        "add",
        "--kind",
        "jupyter_token",
        "--variable",
        "SANDBOOK_CREDENTIAL_NOT_SET",
    ]);
    assert!(unset.status == 125 && unset.stderr.contains("is not set"), "{unset:?}");

    desk.connect(&server, Some(TOKEN)).await;
    let added = desk.run(&[
        "credentials",
        "add",
        "--kind",
        "jupyter_token",
        "--variable",
        NAME,
        "--connection",
        "my lab",
    ]);
    assert!(added.status == 0 && added.stdout.contains(NAME), "{added:?}");
    let mut exec = desk.home.sandbook(&["exec", "--server", "my lab", "print('by variable')"]);
    desk.session.enter(&mut exec);
    let ran = Ran::of(exec.env(NAME, TOKEN).output().unwrap());
    assert_eq!(ran.stdout, "by variable\n", "{ran:?}");

    let code = "import os\nprint([name for name in os.environ if 'CREDENTIAL' in name or 'MODAL' in name])";
    let mut exec = desk.home.sandbook(&["exec", code]);
    desk.session.enter(&mut exec);
    let ran = Ran::of(exec.env(NAME, TOKEN).env("MODAL_TOKEN_SECRET", SECRET).output().unwrap());
    assert_eq!(ran.stdout, "[]\n", "{ran:?}");
    desk.holds_no_secret();
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_of_other_programs_are_shown_first_and_taken_over_only_when_asked_for() {
    let key = "0123456789abcdef0123456789abcdef";
    let home_files = |desk: &Desk| {
        std::fs::create_dir(desk.home.path(".kaggle")).unwrap();
        desk.home.write(".kaggle/kaggle.json", &format!(r#"{{"username":"ana","key":"{key}"}}"#));
        desk.home.write(".modal.toml", "[half]\ntoken_id = \"ak-keyring0test0\"\n");
    };
    let desk = Desk::open(Session::with_keyring, &[("DATALAYER_API_KEY", SECRET)]);
    home_files(&desk);
    let server = Server::start("jupyter_server", &[]);
    let runtime = desk.home.path("session/data/jupyter/runtime");
    std::fs::create_dir_all(&runtime).unwrap();
    std::fs::write(
        runtime.join("jpserver-1.json"),
        format!(r#"{{"url":"{}","token":"{TOKEN}","pid":{}}}"#, server.url, std::process::id()),
    )
    .unwrap();

    let shown = desk.run(&["credentials", "import"]);
    for words in ["~/.kaggle/kaggle.json", "Kaggle, ana", "token_secret is missing", "DATALAYER_API_KEY"] {
        assert!(shown.stdout.contains(words), "{words}: {}", shown.stdout);
    }
    assert!(![TOKEN, SECRET, key].iter().any(|secret| shown.stdout.contains(secret)), "{}", shown.stdout);
    assert_eq!(desk.listed()["credentials"], serde_json::json!([]), "nothing was taken over");

    let half = desk.run(&["credentials", "import", "~/.modal.toml, profile half"]);
    assert!(half.status == 125 && half.stderr.contains("Half of a pair"), "{half:?}");
    for source in ["~/.kaggle/kaggle.json", &format!("Jupyter server at {}", server.url)] {
        let taken = desk.run(&["credentials", "import", source]);
        assert_eq!(taken.status, 0, "{source}: {taken:?}");
    }
    let listed = desk.listed();
    let mut kinds: Vec<_> =
        listed["credentials"].as_array().unwrap().iter().map(|one| one["kind"].as_str().unwrap()).collect();
    kinds.sort_unstable();
    assert_eq!(kinds, ["jupyter_token", "kaggle_token"], "{listed}");
    assert!(!desk.home.everything_written().contains(key), "a key is in a file");
    desk.holds_no_secret();
}
