//! Where a server's token comes from when it is in no argument and no variable: the keyring, or the person.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends where its ground is missing"
)]

mod support;

use std::{
    os::unix::fs::DirBuilderExt,
    process::{Command, Stdio},
};

use sandbook_client::Owner;
use sandbook_protocol::{ClientKind, Command as Request, Secret};
use sandbook_test_support::{Server, TOKEN, python};
use support::{Home, Ran, Running, wait_until};

/// Unlocks a keyring that is thrown away with its message bus, runs an owner beside it, and once `go` is there, a command.
const WITH_KEYRING: &str = r#"
printf throwaway | gnome-keyring-daemon --unlock --components=secrets >/dev/null 2>&1
"$1" serve --stay 2>/dev/null &
owner=$!
while [ ! -e go ]; do sleep 0.05; done
"$1" exec --server "my lab" "print('by keyring')"
status=$?
kill $owner
wait $owner
exit $status
"#;

#[tokio::test]
async fn the_token_of_a_saved_connection_is_taken_from_the_keyring() {
    let home = Home::new();
    let server = Server::start("jupyter_server", &[]);
    for name in ["xdg-run", "xdg-data"] {
        std::fs::DirBuilder::new().mode(0o700).create(home.path(name)).unwrap();
    }
    let own = home.sandbook(&[]);
    let mut command = Command::new("dbus-run-session");
    command.args(["--", "sh", "-c", WITH_KEYRING, "sh"]).arg(own.get_program()).current_dir(home.path(""));
    for (name, value) in own.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.env("XDG_RUNTIME_DIR", home.path("xdg-run")).env("XDG_DATA_HOME", home.path("xdg-data"));
    let running = Running::start({
        command.stdin(Stdio::null());
        command
    });

    assert!(wait_until(|| home.place().socket().exists()), "the owner did not start");
    let (owner, _pushes) = Owner::connect(&home.place(), ClientKind::Window).await.unwrap();
    let connect = Request::Connect {
        pasted: None,
        address: Some(server.url.to_string()),
        token: Some(Secret::new(TOKEN)),
        runtime: None,
        kernel: None,
        name: Some("my lab".into()),
        trust_fingerprint: None,
        plain_http: false,
    };
    owner.request(connect).await.unwrap();
    home.write("go", "");
    let ran = tokio::task::spawn_blocking(move || running.end()).await.unwrap();
    assert_eq!((ran.status, ran.stdout.as_str()), (0, "by keyring\n"), "{}", ran.stderr);
    assert!(!home.everything_written().contains(TOKEN), "the token is in a file");
}

/// Runs a command at a terminal of its own, types a line when it is asked for a token or an answer, and prints what the
/// terminal showed.
const AT_A_TERMINAL: &str = r#"
import os, pty, sys, termios, time
shown = b""
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[2], sys.argv[2:])
typed = False
while True:
    try:
        piece = os.read(terminal, 4096)
    except OSError:
        break
    if not piece:
        break
    shown += piece
    if shown.rstrip().endswith((b":", b"[y/N]")) and not typed:
        typed = True
        # Nobody types a token before the terminal stops showing what is typed.
        while b"Token of" in shown and termios.tcgetattr(terminal)[3] & termios.ECHO:
            time.sleep(0.01)
        os.write(terminal, sys.argv[1].encode() + b"\n")
status = os.waitpid(pid, 0)[1]
sys.stdout.write(shown.decode())
sys.exit(os.waitstatus_to_exitcode(status))
"#;

/// Runs `own` at a terminal where `line` is typed.
fn at_a_terminal(own: &Command, line: &str) -> Ran {
    let mut command = Command::new(python());
    command.args(["-c", AT_A_TERMINAL, line]).arg(own.get_program()).args(own.get_args());
    for (name, value) in own.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    Ran::of(command.stdin(Stdio::null()).output().unwrap())
}

#[test]
fn a_missing_token_is_asked_for_at_a_terminal_and_not_shown() {
    let home = Home::new();
    let server = Server::start("jupyter_server", &[]);
    let own = home.sandbook(&["exec", "--server", server.url.as_str(), "print('by person')"]);
    let ran = at_a_terminal(&own, TOKEN);
    assert_eq!(ran.status, 0, "{ran:?}");
    assert!(ran.stdout.contains("Token of") && ran.stdout.contains("by person"), "{}", ran.stdout);
    assert!(!ran.stdout.contains(TOKEN), "the token was shown: {}", ran.stdout);
}

#[test]
fn http_to_another_machine_is_what_the_policy_says_and_asked_before_the_token_is_sent() {
    let home = Home::new();
    // An address that is not the loopback's, and leads here all the same.
    let ear = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    ear.set_nonblocking(true).unwrap();
    let elsewhere = format!("http://0.0.0.0:{}/?token={TOKEN}", ear.local_addr().unwrap().port());
    let exec = |address: &str| home.sandbook(&["exec", "--server", address, "print('sent')"]);
    let says = |rule: &str| {
        home.write("config/policies.toml", &format!("format = 1\n[network]\nplain_http = \"{rule}\"\n"));
    };
    std::fs::create_dir_all(home.path("config")).unwrap();

    let ran = Ran::of(exec(&elsewhere).output().unwrap());
    assert_eq!(ran.status, 125, "{ran:?}");
    assert!(
        ran.stderr.contains("is not encrypted") && ran.stderr.contains("Nobody can be asked"),
        "{}",
        ran.stderr
    );
    assert!(!ran.stderr.contains(TOKEN), "{}", ran.stderr);
    let ran = at_a_terminal(&exec(&elsewhere), "n");
    assert_eq!(ran.status, 125, "{ran:?}");
    assert!(ran.stdout.contains("[y/N]") && !ran.stdout.contains(TOKEN), "{}", ran.stdout);
    says("refuse");
    let ran = Ran::of(exec(&elsewhere).output().unwrap());
    assert!(ran.status == 125 && ran.stderr.contains("network.plain_http says refuse"), "{ran:?}");
    assert!(ear.accept().is_err(), "nothing was sent");

    let server = Server::start("jupyter_server", &["--ServerApp.allow_remote_access=True"]);
    let elsewhere = format!("http://0.0.0.0:{}/?token={TOKEN}", server.url.port().unwrap());
    says("ask");
    let ran = at_a_terminal(&exec(&elsewhere), "y");
    assert!(ran.status == 0 && ran.stdout.contains("sent"), "{ran:?}");
    says("allow");
    let ran = Ran::of(exec(&elsewhere).output().unwrap());
    assert_eq!((ran.status, ran.stdout.as_str()), (0, "sent\n"), "{}", ran.stderr);
}
