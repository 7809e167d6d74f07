//! Kernels of clouds' open pages, by a link that is never an argument.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop")]

mod support;

use sandbook_test_support::{Server, StandIn, TOKEN, jupyter_server, rest};
use support::{Home, Ran, Running, children_named, signal, wait_until};

const SECRET: &str = "s3cr3t-of-a-link-4715";

#[tokio::test]
async fn code_runs_in_the_kernel_of_an_open_page_whose_link_is_in_the_environment() {
    let server = jupyter_server().await;
    let kernel = rest("POST", &server.url, "api/kernels").await["id"].as_str().unwrap().to_owned();
    let colab = StandIn::start("colab_proxy", &server, &[SECRET]);
    let kaggle = StandIn::start("kaggle_proxy", &server, &["17", SECRET]);
    let links = [
        ("colab", format!("{}api/kernels/{kernel}/channels?colab-runtime-proxy-token={SECRET}", colab.url)),
        ("kaggle", format!("{}k/17/{SECRET}/proxy/api/kernels/{kernel}/channels", kaggle.url)),
    ];
    let home = Home::new();
    for (runtime, link) in links {
        let arguments = ["exec", "--runtime", runtime, "x = globals().get('x', 40) + 1; x"];
        let ran = Ran::of(home.sandbook(&arguments).env("SANDBOOK_TOKEN", &link).output().unwrap());
        let expected = if runtime == "colab" { "41\n" } else { "42\n" };
        assert_eq!((ran.status, ran.stdout.as_str()), (0, expected), "{}", ran.stderr);
        assert!(!home.everything_written().contains(SECRET));

        let ran = home.run(&["exec", "--runtime", runtime, "1"]);
        assert!(ran.status == 125 && ran.stderr.contains("SANDBOOK_TOKEN"), "{}", ran.stderr);
        let in_argument = home.run(&["exec", "--server", &link, "1"]);
        assert!(
            in_argument.status == 2 && in_argument.stderr.contains("--runtime"),
            "{}",
            in_argument.stderr
        );
    }
    assert_eq!(server.kernels().unwrap().len(), 1, "the kernel of the page stays");
}

#[tokio::test]
async fn a_link_is_taken_from_standard_input_too_and_the_code_reads_what_follows() {
    let server = jupyter_server().await;
    let kernel = rest("POST", &server.url, "api/kernels").await["id"].as_str().unwrap().to_owned();
    let colab = StandIn::start("colab_proxy", &server, &[SECRET]);
    let link = format!("{}api/kernels/{kernel}/channels?colab-runtime-proxy-token={SECRET}", colab.url);
    let home = Home::new();
    let arguments = ["exec", "--runtime", "colab", "--token-stdin", "print('hello', input())"];
    let ran = home.run_with_input(&arguments, &format!("{link}\nAda\n"));
    assert_eq!((ran.status, ran.stdout.as_str()), (0, "hello Ada\n"), "{}", ran.stderr);
    assert!(!home.everything_written().contains(SECRET));

    let ran = home.run_with_input(&["exec", "--runtime", "colab", "--token-stdin", "1"], "\n");
    assert!(ran.status == 2 && ran.stderr.contains("No token"), "{} {}", ran.status, ran.stderr);
    let ran = home.run_with_input(&["exec", "--runtime", "colab", "--token-stdin", "-"], "x\n1\n");
    assert!(ran.status == 2 && ran.stderr.contains("both"), "{} {}", ran.status, ran.stderr);

    home.write("a.ipynb", &notebook("x = 6 * 7\nx"));
    let arguments = ["run", "a.ipynb", "--runtime", "colab", "--token-stdin"];
    let ran = home.run_with_input(&arguments, &format!("{link}\n"));
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let written = std::fs::read_to_string(home.path("a.out.ipynb")).unwrap();
    assert!(written.contains("42") && !written.contains(SECRET), "{written}");
}

/// A notebook of one cell.
fn notebook(source: &str) -> String {
    let cell = serde_json::json!({
        "cell_type": "code", "id": "a", "metadata": {}, "source": source, "outputs": [], "execution_count": null,
    });
    serde_json::json!({ "cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5 }).to_string()
}

#[test]
fn what_a_killed_command_made_on_a_server_is_ended_by_its_attendant() {
    let home = Home::new();
    let server = Server::start("jupyter_server", &[]);
    let code = "print('on', flush=True)\nimport time\ntime.sleep(600)";
    let mut command = home.sandbook(&["exec", "--server", server.url.as_str(), code]);
    command.env("SANDBOOK_TOKEN", TOKEN);
    let mut running = Running::start(command);
    assert_eq!(running.line(), "on");
    assert_eq!(server.kernels().unwrap().len(), 1);
    signal(running.id(), "KILL");
    assert!(wait_until(|| server.kernels().is_some_and(|kernels| kernels.is_empty())));
    assert!(wait_until(|| home.run(&["sandboxes", "list"]).stdout.contains("No sandbox runs")));
    assert!(!home.everything_written().contains(TOKEN));
}

#[test]
fn what_no_attendant_could_end_is_ended_by_the_next_owner() {
    let home = Home::new();
    // one that lets anybody in, so that a saved connection needs no keyring
    let open = ["--IdentityProvider.token=", "--ServerApp.disable_check_xsrf=True"];
    let server = Server::start("jupyter_server", &open);
    std::fs::create_dir_all(home.path("config")).unwrap();
    home.write(
        "config/connections.toml",
        &format!(
            "format = 1\n\n[[connection]]\nid = \"open\"\nname = \"Open\"\nruntime = \"jupyter\"\n\n\
             [connection.settings]\nserver_url = \"{}\"\n",
            server.url
        ),
    );
    let code = "print('on', flush=True)\nimport time\ntime.sleep(600)";
    let mut running = Running::start(home.sandbook(&["exec", "--server", "Open", code]));
    assert_eq!(running.line(), "on");
    let attendants = children_named(running.id(), "sandbook");
    assert_eq!(attendants.len(), 1);
    for process in attendants.into_iter().chain([running.id()]) {
        signal(process, "KILL");
    }
    drop(running.end());
    assert_eq!(server.kernels().unwrap().len(), 1, "nobody has ended it yet");
    let _owner = Running::start(home.sandbook(&["serve"]));
    assert!(wait_until(|| server.kernels().is_some_and(|kernels| kernels.is_empty())));
    assert!(wait_until(|| home.run(&["sandboxes", "list"]).stdout.contains("No sandbox runs")));
}
