//! `sandbook doctor`: first contact with real servers, with the stand-ins of clouds, and with what is none of them.

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
    net::TcpListener,
};

use sandbook_test_support::{SelfSigned, Server, StandIn, TOKEN, jupyter_server, rest};
use serde_json::Value;
use support::{Home, Ran};

const SECRET: &str = "s3cr3t-of-a-link-4717";

/// Looks, with a credential in the environment.
fn look(home: &Home, arguments: &[&str], token: &str) -> Ran {
    let arguments = [&["doctor", "--json"], arguments].concat();
    Ran::of(home.sandbook(&arguments).env("SANDBOOK_TOKEN", token).output().unwrap())
}

/// What each step came to, as `step=finding`.
fn steps(ran: &Ran) -> Vec<String> {
    let checks = ran.lines().into_iter().filter(|line| line["type"] == "check");
    checks
        .map(|check| format!("{}={}", check["step"].as_str().unwrap(), check["finding"].as_str().unwrap()))
        .collect()
}

fn step(ran: &Ran, name: &str) -> Value {
    let found = ran.lines().into_iter().find(|line| line["step"] == name);
    found.unwrap_or_else(|| panic!("no step {name}: {}", ran.stdout))
}

fn save_connection(home: &Home, runtime: &str, url: &str, kernel: Option<&str>) {
    std::fs::create_dir_all(home.path("config")).unwrap();
    let kernel = kernel.map(|kernel| format!("kernel_id = \"{kernel}\"\n")).unwrap_or_default();
    home.write(
        "config/connections.toml",
        &format!(
            "format = 1\n\n[[connection]]\nid = \"mine\"\nname = \"My place\"\nruntime = \"{runtime}\"\n\n\
             [connection.settings]\nserver_url = \"{url}\"\n{kernel}"
        ),
    );
}

#[test]
fn a_saved_server_is_looked_at_without_starting_anything_and_tried_when_told_to() {
    let home = Home::new();
    let server = Server::start("jupyter_server", &[]);
    save_connection(&home, "jupyter", server.url.as_str(), None);
    let report = home.path("report.txt").display().to_string();
    let ran = look(&home, &["My place", "--report", &report], TOKEN);
    assert_eq!(ran.status, 0, "{ran:?}");
    let read_only = ["address", "encryption", "answer", "credential", "kernels", "files"];
    let skipped = ["channels", "code", "stop"];
    let expected: Vec<String> = read_only
        .iter()
        .map(|step| format!("{step}=as_expected"))
        .chain(skipped.iter().map(|step| format!("{step}=skipped")))
        .collect();
    assert_eq!(steps(&ran), expected);
    assert_eq!(server.kernels().unwrap().len(), 0, "nothing was started");
    let outcome = ran.lines().pop().unwrap();
    assert_eq!((&outcome["type"], &outcome["success"]), (&"outcome".into(), &true.into()));

    let written = std::fs::read_to_string(&report).unwrap();
    assert!(written.contains("nothing was made") && written.contains("credential"), "{written}");
    assert!(!written.contains(TOKEN) && !home.everything_written().contains(TOKEN));
    let again = look(&home, &["My place", "--report", &report], TOKEN);
    assert_eq!(again.status, 2, "a report is not written over: {again:?}");

    let ran = look(&home, &["My place", "--create"], TOKEN);
    assert_eq!(ran.status, 0, "{ran:?}");
    let tail = ["cost", "channels", "code", "stop"].map(|step| format!("{step}=as_expected"));
    assert_eq!(steps(&ran)[read_only.len()..], tail);
    assert_eq!(server.kernels().unwrap().len(), 0, "what was started is gone");
}

#[test]
fn a_wrong_token_a_closed_port_and_a_login_page_each_fail_at_their_step() {
    let home = Home::new();
    let server = Server::start("jupyter_server", &[]);
    let ran = look(&home, &["jupyter", "--server", server.url.as_str()], "wrong-token-0815");
    assert_eq!(ran.status, 1, "{ran:?}");
    let refused = step(&ran, "credential");
    assert_eq!((&refused["finding"], &refused["code"]), (&"failed".into(), &"credential_refused".into()));
    assert!(refused["found"].as_str().unwrap().contains("HTTP 403"), "{refused}");
    assert!(refused["hint"].as_str().is_some_and(|hint| !hint.is_empty()));
    assert_eq!(steps(&ran).last().unwrap(), "credential=failed", "nothing is tried after it");
    assert!(!ran.stdout.contains("wrong-token-0815") && !ran.stderr.contains("wrong-token-0815"));

    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let ran = look(&home, &["jupyter", "--server", &format!("http://127.0.0.1:{closed}/")], TOKEN);
    assert_eq!((ran.status, steps(&ran)), (1, vec!["address=failed".to_owned()]));
    assert_eq!(step(&ran, "address")["code"], "unreachable");

    let page = login_page();
    let ran = look(&home, &["jupyter", "--server", &format!("http://127.0.0.1:{page}/")], TOKEN);
    assert_eq!(ran.status, 1, "{ran:?}");
    let answer = step(&ran, "answer");
    assert_eq!((&answer["finding"], &answer["code"]), (&"failed".into(), &"not_a_server".into()));
}

/// A server that answers everything with a page to sign in on, as a network that wants payment does. It ends with the
/// test's process.
fn login_page() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut head = [0; 4096];
            let _ = stream.read(&mut head);
            let page = "<!doctype html><title>Sign in</title><form>";
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{page}",
                page.len()
            );
        }
    });
    port
}

#[test]
fn a_certificate_that_nobody_vouches_for_fails_with_its_fingerprint_and_passes_once_trusted() {
    let home = Home::new();
    let certificate = SelfSigned::new("127.0.0.1", false);
    let server = Server::start("jupyter_server", &certificate.options().each_ref().map(String::as_str));
    let ran = look(&home, &["jupyter", "--server", server.url.as_str()], TOKEN);
    assert_eq!(ran.status, 1, "{ran:?}");
    assert_eq!(steps(&ran), ["address=as_expected", "encryption=failed"]);
    assert_eq!(step(&ran, "encryption")["code"], "certificate_untrusted");
}

#[tokio::test]
async fn the_kernel_of_a_page_is_joined_asked_one_line_and_left_as_it_was() {
    let server = jupyter_server().await;
    let kernel = rest("POST", &server.url, "api/kernels").await["id"].as_str().unwrap().to_owned();
    let colab = StandIn::start("colab_proxy", &server, &[SECRET]);
    let kaggle = StandIn::start("kaggle_proxy", &server, &["17", SECRET]);
    let sockets = StandIn::start("kaggle_proxy", &server, &["17", SECRET, "sockets-only"]);
    let of_kaggle = |url: &url::Url| format!("{url}k/17/{SECRET}/proxy/api/kernels/{kernel}/channels");
    let links = [
        ("colab", format!("{}api/kernels/{kernel}/channels?colab-runtime-proxy-token={SECRET}", colab.url)),
        ("kaggle", of_kaggle(&kaggle.url)),
    ];
    let home = Home::new();
    let all =
        ["address", "encryption", "answer", "credential", "kernels", "files", "cost", "channels", "code"];
    for (runtime, link) in links {
        let report = home.path(&format!("{runtime}.txt")).display().to_string();
        let ran = look(&home, &[runtime, "--report", &report], &link);
        assert_eq!(ran.status, 0, "{ran:?}");
        let expected: Vec<String> =
            all.iter().chain(&["stop"]).map(|step| format!("{step}=as_expected")).collect();
        assert_eq!(steps(&ran), expected);
        let written = std::fs::read_to_string(&report).unwrap();
        for text in [&ran.stdout, &ran.stderr, &written] {
            assert!(!text.contains(SECRET), "{text}");
        }
    }
    // where nothing but the WebSocket is served, that is a difference, and the rest is tried all the same
    let ran = look(&home, &["kaggle"], &of_kaggle(&sockets.url));
    assert_eq!(ran.status, 0, "{ran:?}");
    for (name, finding) in
        [("answer", "differs"), ("credential", "differs"), ("files", "differs"), ("code", "as_expected")]
    {
        assert_eq!(step(&ran, name)["finding"], finding, "{name}");
    }
    assert_eq!(server.kernels().unwrap().len(), 1, "the kernel of the page stays");

    let wrong =
        format!("{}api/kernels/{kernel}/channels?colab-runtime-proxy-token=wr0ng-token-4718", colab.url);
    let ran = look(&home, &["colab"], &wrong);
    assert_eq!((ran.status, step(&ran, "credential")["code"].as_str()), (1, Some("credential_refused")));
    assert!(!ran.stdout.contains("wr0ng-token-4718"), "{}", ran.stdout);
    // a saved connection is the same, with its address in the file and the secret beside it
    save_connection(&home, "colab", colab.url.as_str(), Some(&kernel));
    let ran = look(&home, &["My place"], SECRET);
    assert_eq!((ran.status, step(&ran, "stop")["finding"].as_str()), (0, Some("as_expected")), "{ran:?}");
}

#[test]
fn places_of_this_computer_say_whether_they_are_ready_and_are_tried_when_told_to() {
    let home = Home::new();
    for runtime in ["jupyter", "eval", "monty"] {
        let ran = look(&home, &[runtime], "");
        assert_eq!((ran.status, steps(&ran)[0].as_str()), (0, "readiness=as_expected"), "{ran:?}");
        let ran = look(&home, &[runtime, "--create"], "");
        assert_eq!(ran.status, 0, "{ran:?}");
        assert_eq!(step(&ran, "stop")["finding"], "as_expected", "{ran:?}");
    }
    let ran = home.run(&["doctor", "eval", "--create"]);
    assert!(ran.stdout.contains("ok ") && ran.stdout.contains("as expected, "), "{}", ran.stdout);
    let ran = home.run(&["doctor", "no such place"]);
    assert!(ran.status == 2 && ran.stderr.contains("jupyter"), "{} {}", ran.status, ran.stderr);
}
