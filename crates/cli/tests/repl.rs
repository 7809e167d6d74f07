//! `sandbook repl` at a real terminal.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends where its ground is missing"
)]

mod support;

use std::os::unix::fs::PermissionsExt;

use sandbook_test_support::{Server, StandIn, TOKEN, jupyter_server, rest};
use support::{Home, children_named, is_alive, signal, terminal::Terminal, wait_until};

const SECRET: &str = "s3cr3t-of-a-link-4716";

fn session(home: &Home, arguments: &[&str]) -> Terminal {
    Terminal::start(&home.sandbook(&[&["repl"], arguments].concat()))
}

/// The process of the kernel, told by itself.
fn kernel_of(terminal: &mut Terminal) -> u32 {
    terminal.run("import os; print('process', os.getpid(), 'end')", "process ");
    terminal.wait_for(" end").trim().parse().unwrap()
}

#[test]
fn code_that_is_typed_runs_in_one_kernel_line_by_line_and_block_by_block() {
    let home = Home::new();
    let mut terminal = session(&home, &["--runtime", "jupyter"]);
    let greeting = terminal.wait_for(":help lists");
    assert!(greeting.contains("Python"), "{greeting}");
    terminal.run("x = 40", "\n");
    terminal.run("x + 2", "42");
    terminal.prompt();
    terminal.enter("for i in range(2):");
    terminal.enter("print('n', i * 21)");
    terminal.enter("");
    terminal.wait_for("n 0");
    terminal.wait_for("n 21");
    terminal.run("print('an' + 'swer:', 1 / 0)", "ZeroDivisionError");
    terminal.run(":help", ":restart");
    terminal.run("'what is ' + 'kept ' + str(x)", "what is kept 40");
    terminal.run(":exit", "");
    assert_eq!(terminal.end(), 0, "{}", terminal.shown());
}

#[test]
fn what_is_typed_is_completed_by_the_kernel() {
    let home = Home::new();
    let mut terminal = session(&home, &["--runtime", "jupyter"]);
    terminal.run("a_long_name_of_mine = 5", "\n");
    terminal.prompt();
    terminal.press("a_long_na\t");
    terminal.wait_for("a_long_name_of_mine");
    terminal.enter(" + 2");
    terminal.wait_for("7");
    terminal.run(":quit", "");
    assert_eq!(terminal.end(), 0, "{}", terminal.shown());
}

#[test]
fn ctrl_c_interrupts_the_code_and_not_the_session_and_drops_what_is_typed() {
    let home = Home::new();
    let mut terminal = session(&home, &["--runtime", "jupyter"]);
    terminal.run("x = 17; import time; print('on' + 'going'); time.sleep(600)", "ongoing");
    terminal.press("\u{3}");
    terminal.wait_for("KeyboardInterrupt");
    terminal.prompt();
    terminal.press("1 / 0\u{3}");
    terminal.run("x * 2", "34");
    // an answer that is never given does not keep the next line
    terminal.run("input('wh' + 'ich? ')", "which? ");
    terminal.press("\u{3}");
    terminal.wait_for("KeyboardInterrupt");
    terminal.run("x * 3", "51");
    terminal.run("input('na' + 'me? ') * 2", "name? ");
    terminal.enter("ab");
    terminal.wait_for("'abab'");
    terminal.prompt();
    terminal.press("\u{4}");
    assert_eq!(terminal.end(), 0, "{}", terminal.shown());
    assert!(!terminal.shown().contains("ZeroDivisionError"), "{}", terminal.shown());
}

#[test]
fn pictures_are_saved_beside_and_what_was_typed_is_remembered_without_secrets() {
    let home = Home::new();
    let mut terminal = session(&home, &["--runtime", "jupyter"]);
    let picture = "display({'image/png': 'aGVsbG8=', 'text/plain': 'a pic' + 'ture'}, raw=True)";
    terminal.run(picture, "a picture");
    terminal.wait_for("image saved: ");
    let path = terminal.wait_for("]");
    assert_eq!(std::fs::read(&path).unwrap(), b"hello", "{path}");
    assert_eq!(std::path::Path::new(&path).parent(), Some(home.path("image").parent().unwrap()));
    terminal.run("api_token = 'hf_abcdefghijklmnopqrstuvwxyz0123'", "\n");
    terminal.run("exit(3)", "");
    assert_eq!(terminal.end(), 3, "{}", terminal.shown());

    let history = home.path("state/repl-history");
    let kept = std::fs::read_to_string(&history).unwrap();
    assert!(kept.contains("display(") && !kept.contains("hf_abc"), "{kept}");
    assert_eq!(std::fs::metadata(&history).unwrap().permissions().mode() & 0o777, 0o600);
    let mut terminal = session(&home, &["--runtime", "eval"]);
    terminal.prompt();
    // one key back in the history of the last session
    terminal.press("\u{1b}[A");
    terminal.wait_for("exit(3)");
    terminal.press("\u{3}");
    terminal.prompt();
    terminal.press("\u{4}");
    assert_eq!(terminal.end(), 0, "{}", terminal.shown());
}

#[test]
fn a_plain_python_and_monty_keep_what_was_typed_and_end_with_the_session() {
    for runtime in ["eval", "monty"] {
        let home = Home::new();
        let mut terminal = session(&home, &["--variant", runtime]);
        terminal.run("x = 40", "\n");
        terminal.prompt();
        terminal.enter("def more(n):");
        terminal.enter("return n + 2");
        terminal.enter("");
        terminal.run("more(x)", "42");
        terminal.prompt();
        for line in ["def spin():", "print('on' + 'going')", "while True:", "pass", ""] {
            terminal.enter(line);
        }
        terminal.run("spin()", "ongoing");
        terminal.press("\u{3}");
        terminal.wait_for("KeyboardInterrupt");
        terminal.run("more(x) + 1", "43");
        let workers = children_named(terminal.id(), if runtime == "monty" { "monty" } else { "sandbook" });
        terminal.run(":exit", "");
        assert_eq!(terminal.end(), 0, "{}", terminal.shown());
        assert!(!workers.is_empty(), "{runtime}");
        assert!(wait_until(|| workers.iter().all(|worker| !is_alive(*worker))), "{runtime}");
    }
}

#[test]
fn the_kernel_ends_with_the_session_also_when_that_is_killed_hung_up_or_asked_to_end() {
    let home = Home::new();
    for way in ["KILL", "TERM", "HUP", "closed"] {
        let mut terminal = session(&home, &["--runtime", "jupyter"]);
        let kernel = kernel_of(&mut terminal);
        terminal.prompt();
        match way {
            "closed" => terminal.hang_up(),
            signal_name => signal(terminal.id(), signal_name),
        }
        let status = terminal.end();
        assert!(wait_until(|| !is_alive(kernel)), "{way}");
        match way {
            "KILL" => assert_eq!(status, 137),
            // whichever of the two ends of a terminal is noticed first
            "closed" => {}
            _ => assert_eq!(status, 143, "{way}: {}", terminal.shown()),
        }
    }
}

#[test]
fn a_dead_kernel_can_be_restarted_without_leaving() {
    let home = Home::new();
    let mut terminal = session(&home, &["--runtime", "jupyter"]);
    terminal.run("import os; os._exit(3)", "The kernel died");
    terminal.wait_for(":restart");
    terminal.run(":restart", "was restarted");
    terminal.run("40 + 2", "42");
    terminal.run(":exit", "");
    assert_eq!(terminal.end(), 0, "{}", terminal.shown());
}

#[test]
fn where_no_place_is_named_one_is_asked_for() {
    let home = Home::new();
    let mut terminal = session(&home, &[]);
    terminal.wait_for("Where shall the code run?");
    let offered = terminal.wait_for("Name or number");
    for name in ["jupyter", "server", "eval", "monty", "colab", "kaggle"] {
        assert!(offered.contains(name), "{name}: {offered}");
    }
    terminal.enter("no-such-place");
    terminal.wait_for("is none of them");
    terminal.enter("eval");
    terminal.wait_for("isolation: None");
    terminal.run("6 * 7", "42");
    terminal.run(":exit", "");
    assert_eq!(terminal.end(), 0, "{}", terminal.shown());
}

#[tokio::test]
async fn the_link_of_a_page_is_asked_for_and_never_shown_whole_or_in_parts() {
    let server = jupyter_server().await;
    let kernel = rest("POST", &server.url, "api/kernels").await["id"].as_str().unwrap().to_owned();
    let colab = StandIn::start("colab_proxy", &server, &[SECRET]);
    let kaggle = StandIn::start("kaggle_proxy", &server, &["17", SECRET]);
    let of_colab = format!("{}api/kernels/{kernel}/channels?colab-runtime-proxy-token={SECRET}", colab.url);
    let of_kaggle = format!("{}k/17/{SECRET}/proxy/", kaggle.url);
    let home = Home::new();
    let sessions = [
        ("colab", vec![of_colab.clone()], "41"),
        ("colab", vec![String::new(), colab.url.to_string(), kernel.clone(), SECRET.into()], "42"),
        ("kaggle", vec![String::new(), of_kaggle, kernel.clone(), String::new()], "43"),
    ];
    for (runtime, answers, expected) in sessions {
        let mut terminal = session(&home, &["--runtime", runtime]);
        terminal.wait_for("Channels link");
        for answer in answers {
            terminal.wait_for(": ");
            terminal.enter(&answer);
        }
        terminal.run("x = globals().get('x', 40) + 1; x", expected);
        terminal.run(":exit", "");
        assert_eq!(terminal.end(), 0, "{}", terminal.shown());
        assert!(!terminal.shown().contains(SECRET), "{}", terminal.shown());
    }
    assert!(!home.everything_written().contains(SECRET));
    assert_eq!(server.kernels().unwrap().len(), 1, "the kernel of the page stays");
}

#[test]
fn a_kernel_on_a_server_ends_with_the_session_also_when_that_is_killed() {
    let home = Home::new();
    let server = Server::start("jupyter_server", &[]);
    let nothing_runs = || wait_until(|| server.kernels().is_some_and(|kernels| kernels.is_empty()));
    for way in [":exit", "KILL"] {
        let mut terminal = session(&home, &["--server", server.url.as_str()]);
        terminal.wait_for("Token of");
        terminal.enter(TOKEN);
        terminal.run("40 + 2", "42");
        assert_eq!(server.kernels().unwrap().len(), 1);
        terminal.prompt();
        if way == "KILL" {
            signal(terminal.id(), "KILL");
        } else {
            terminal.enter(way);
        }
        terminal.end();
        assert!(nothing_runs(), "{way}");
        assert!(!terminal.shown().contains(TOKEN), "{}", terminal.shown());
    }
    assert!(!home.everything_written().contains(TOKEN), "the token is in a file");
    assert!(wait_until(|| home.run(&["sandboxes", "list"]).stdout.contains("No sandbox runs")));
}

#[test]
fn without_a_terminal_a_session_says_what_to_use_instead() {
    let home = Home::new();
    let ran = home.run_with_input(&["repl", "--runtime", "eval"], "1 + 1\n");
    assert_eq!((ran.status, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("sandbook exec"), "{}", ran.stderr);
}
