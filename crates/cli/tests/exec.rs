//! `sandbook exec` with real kernels.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends where its ground is missing"
)]

mod support;

use std::time::{Duration, Instant};

use sandbook_test_support::{SelfSigned, Server, TOKEN, python};
use support::{Home, Ran, Running, children_named, is_alive, signal, wait_until};

#[test]
fn the_exit_status_is_the_codes_and_streams_go_where_they_belong() {
    let home = Home::new();
    let ran = home.run(&["exec", "import sys; print('out'); print('err', file=sys.stderr); 6*7"]);
    assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr.as_str()), (0, "out\n42\n", "err\n"));

    let ran = home.run(&["exec", "print('before'); 1/0"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (1, "before\n"));
    assert!(ran.stderr.contains("ZeroDivisionError: division by zero"), "{}", ran.stderr);
    assert!(!ran.stderr.contains('\u{1b}'), "no colours in a pipe");

    assert_eq!(home.run(&["exec", "import sys; sys.exit(7)"]).status, 7);
    assert_eq!(home.run(&["exec", "exit(4)"]).status, 4);
    assert_eq!(home.run(&["exec", "raise SystemExit(0)"]).status, 0);
    let ran = home.run(&["exec", "import sys; sys.exit('no such thing')"]);
    assert_eq!(ran.status, 1);
    assert!(ran.stderr.contains("no such thing"), "{}", ran.stderr);
}

#[test]
fn code_runs_in_a_plain_python_too() {
    let home = Home::new();
    let ran = home.run(&[
        "exec",
        "--runtime",
        "eval",
        "import sys; print('out'); print('err', file=sys.stderr); 6*7",
    ]);
    assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr.as_str()), (0, "out\n42\n", "err\n"));
    assert_eq!(home.run(&["exec", "--runtime", "eval", "import sys; sys.exit(7)"]).status, 7);
    let ran =
        home.run_with_input(&["exec", "--runtime", "eval", "print('hello ' + input('name? '))"], "Ada\n");
    assert_eq!((ran.status, ran.stdout.as_str()), (0, "name? hello Ada\n"));

    let python = format!("python={}", python().display());
    let ran =
        home.run(&["exec", "--runtime", "eval", "--setting", &python, "import sys; print(sys.executable)"]);
    assert_eq!((ran.status, ran.stdout.trim()), (0, python.trim_start_matches("python=")), "{}", ran.stderr);
    let ran = home.run(&["exec", "--runtime", "eval", "--setting", "pyhton=x", "1"]);
    assert_eq!(ran.status, 125, "{}", ran.stderr);
    assert!(ran.stderr.contains("pyhton"), "{}", ran.stderr);
    for misplaced in [["--kernel", "bash"], ["--server", "http://localhost:1/"]] {
        let ran = home.run(&["exec", "--runtime", "eval", misplaced[0], misplaced[1], "1"]);
        assert!(ran.status == 2 && ran.stderr.contains(misplaced[0]), "{} {}", ran.status, ran.stderr);
    }
}

#[test]
fn code_runs_in_monty_where_nothing_is_installed() {
    let home = Home::new();
    let ran = home.run(&["exec", "--runtime", "monty", "x = 40\nprint('on')\nx + 2"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (0, "on\n42\n"), "{}", ran.stderr);
    assert_eq!(home.run(&["exec", "--runtime", "monty", "1/0"]).status, 1);
    let ran = home.run(&["exec", "--runtime", "monty", "--setting", "seconds_per_run=1", "while True: pass"]);
    assert!(ran.status == 1 && ran.stderr.contains("TimeoutError"), "{} {}", ran.status, ran.stderr);
    let ran = home.run(&["exec", "--runtime", "monty", "--setting", "type_check=true", "1 + 'a'"]);
    assert!(ran.status == 1 && ran.stderr.contains("TypeCheckError"), "{} {}", ran.status, ran.stderr);
}

#[test]
fn where_there_is_no_python_the_code_runs_in_monty_and_that_is_said() {
    let home = Home::new();
    let ran = Ran::of(home.sandbook_without_python(&["exec", "6*7"]).output().unwrap());
    assert_eq!((ran.status, ran.stdout.as_str()), (0, "42\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("no Python was found") && ran.stderr.contains("Monty"), "{}", ran.stderr);
    // who asks for something else gets that, or why not
    for asked in [&["--runtime", "jupyter"][..], &["--kernel", "python3"]] {
        let arguments = [&["exec"], asked, &["6*7"]].concat();
        let ran = Ran::of(home.sandbook_without_python(&arguments).output().unwrap());
        assert_eq!((ran.status, ran.stdout.as_str()), (125, ""), "{}", ran.stderr);
    }
    // and without its worker, what is missing is a Python
    std::fs::remove_file(home.path("programs/monty")).unwrap();
    let ran = Ran::of(home.sandbook(&["exec", "6*7"]).env("PATH", home.path("programs")).output().unwrap());
    assert!(ran.status == 125 && ran.stderr.contains("Python"), "{} {}", ran.status, ran.stderr);
}

#[test]
fn monty_gets_the_folder_where_that_is_granted() {
    let home = Home::new();
    home.write("data.txt", "17");
    let code = "from pathlib import Path\nint(Path('/work/data.txt').read_text()) + 1";
    let refused = home.run(&["exec", "--runtime", "monty", code]);
    assert!(refused.status == 1 && refused.stderr.contains("PermissionError"), "{}", refused.stderr);
    let ran = home.run(&["exec", "--runtime", "monty", "--setting", "folder=read", code]);
    assert_eq!((ran.status, ran.stdout.as_str()), (0, "18\n"), "{}", ran.stderr);
}

#[test]
fn a_killed_command_leaves_no_worker_behind_whose_code_never_ends() {
    let home = Home::new();
    let code = "print('on')\nwhile True:\n    pass";
    let mut running = Running::start(home.sandbook(&["exec", "--runtime", "monty", code]));
    assert_eq!(running.line(), "on");
    let workers = children_named(running.id(), "monty");
    assert!(!workers.is_empty());
    signal(running.id(), "KILL");
    let gone = wait_until(|| workers.iter().all(|worker| !is_alive(*worker)));
    for worker in workers.iter().filter(|worker| is_alive(**worker)) {
        signal(*worker, "KILL");
    }
    assert!(gone);
}

#[test]
fn code_comes_from_an_argument_a_file_or_standard_input_and_may_ask_for_input() {
    let home = Home::new();
    let file = home.write("code.py", "print('from', 'a file')").display().to_string();
    assert_eq!(home.run(&["exec", "-f", &file]).stdout, "from a file\n");
    assert_eq!(home.run_with_input(&["exec", "-"], "print(1)\nprint(2)\n").stdout, "1\n2\n");
    let marked = home.write("marked.py", "\u{feff}print('marked')").display().to_string();
    assert_eq!(home.run(&["exec", "-f", &marked]).stdout, "marked\n");
    assert_eq!(home.run_with_input(&["exec", "-"], "\u{feff}print(3)").stdout, "3\n");
    assert_eq!(home.run(&["exec", "--", "-6*7"]).stdout, "-42\n");
    let ran = home.run_with_input(&["exec", "print('hello ' + input('name? '))"], "Ada\n");
    assert_eq!((ran.status, ran.stdout.as_str()), (0, "name? hello Ada\n"));
}

#[test]
fn an_option_that_is_not_known_is_never_run_as_code() {
    let home = Home::new();
    for unknown in [&["--jsn"][..], &["--jsn", "1"], &["1", "--jsn"]] {
        let ran = home.run(&[&["exec"], unknown].concat());
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{unknown:?}");
        assert!(ran.stderr.contains("unexpected argument '--jsn'"), "{}", ran.stderr);
    }
}

#[test]
fn input_that_has_ended_is_an_error_in_the_code_as_in_python_itself() {
    let home = Home::new();
    for code in ["input()", "import getpass; getpass.getpass()"] {
        let ran = home.run(&["exec", code]);
        assert_eq!(ran.status, 1, "{code}: {ran:?}");
        assert!(ran.stderr.contains("EOFError"), "{code}: {}", ran.stderr);
    }
    // A last line without an end is a line, an empty line is one too, and after them comes the end, again and again.
    let code = "read = [input(), input()]\nfor _ in range(2):\n    try:\n        input()\n    except EOFError:\n        read.append('end')\nread";
    let ran = home.run_with_input(&["exec", code], "\nlast");
    assert_eq!((ran.status, ran.stdout.as_str()), (0, "['', 'last', 'end', 'end']\n"), "{}", ran.stderr);

    let ran = home.run(&["exec", "--json", "input('name? ')"]);
    let outcome = ran.lines().pop().unwrap();
    assert_eq!((ran.status, &outcome["code_error"]["name"]), (1, &"EOFError".into()), "{outcome}");
}

#[test]
fn a_kernel_of_another_language_runs_too() {
    let home = Home::new();
    std::fs::create_dir_all(home.path("jupyter/kernels/bash")).unwrap();
    let spec = serde_json::json!({
        "argv": [python(), "-m", "bash_kernel", "-f", "{connection_file}"],
        "display_name": "Bash", "language": "bash", "env": { "PS1": "$" },
    });
    home.write("jupyter/kernels/bash/kernel.json", &spec.to_string());
    let mut command = home.sandbook(&["exec", "--kernel", "bash", "echo \"from $0\" | tr a-z A-Z"]);
    let ran = support::Ran::of(command.env("JUPYTER_PATH", home.path("jupyter")).output().unwrap());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(ran.stdout.starts_with("FROM "), "{}", ran.stdout);
}

#[test]
fn output_is_seen_while_the_code_runs() {
    let home = Home::new();
    let code =
        "import sys\nprint('first', flush=True)\nassert sys.stdin is not None\ninput()\nprint('second')";
    let mut running = Running::start_with_input(home.sandbook(&["exec", code]));
    // The code waits for input that never came, so what is read now came before its end.
    assert_eq!(running.line(), "first");
}

#[test]
fn a_reader_that_has_seen_enough_ends_the_run_quietly() {
    let home = Home::new();
    let code = "import os, time\nprint(os.getpid(), flush=True)\nwhile True:\n    print('more', flush=True); time.sleep(0.01)";
    let mut running = Running::start(home.sandbook(&["exec", code]));
    let kernel: u32 = running.line().parse().unwrap();
    let ran = running.stop_reading();
    assert_eq!((ran.status, ran.stderr.as_str()), (141, ""));
    assert!(wait_until(|| !is_alive(kernel)));
}

#[test]
fn a_time_limit_ends_with_124_and_keeps_what_was_printed() {
    let home = Home::new();
    let ran =
        home.run(&["exec", "--timeout", "1", "import time; print('kept', flush=True); time.sleep(600)"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (124, "kept\n"));
    assert!(ran.stderr.contains("interrupted after 1 s") && ran.stderr.contains("hint: "), "{}", ran.stderr);

    home.run(&["config", "path"]);
    std::fs::create_dir_all(home.path("config")).unwrap();
    home.write("config/settings.toml", "format = 1\n[timeouts]\nexec_seconds = 1\n");
    assert_eq!(home.run(&["exec", "import time; time.sleep(600)"]).status, 124);
}

#[test]
fn ctrl_c_interrupts_the_code_and_ends_with_130() {
    let home = Home::new();
    let code = "import os, time\nprint(os.getpid(), flush=True)\ntime.sleep(600)";
    let mut running = Running::start(home.sandbook(&["exec", code]));
    let kernel: u32 = running.line().parse().unwrap();
    signal(running.id(), "INT");
    let ran = running.end();
    assert_eq!(ran.status, 130, "{}", ran.stderr);
    assert!(ran.stderr.contains("KeyboardInterrupt"), "{}", ran.stderr);
    assert!(wait_until(|| !is_alive(kernel)));
}

#[test]
fn a_second_ctrl_c_does_not_wait_for_code_that_will_not_end() {
    let home = Home::new();
    let code = "import os, time\nprint(os.getpid(), flush=True)\nwhile True:\n    try:\n        time.sleep(600)\n    except KeyboardInterrupt:\n        print('no', flush=True)";
    let mut running = Running::start(home.sandbook(&["exec", code]));
    let kernel: u32 = running.line().parse().unwrap();
    signal(running.id(), "INT");
    assert_eq!(running.line(), "no");
    let start = Instant::now();
    signal(running.id(), "INT");
    assert_eq!(running.end().status, 130);
    assert!(start.elapsed() < Duration::from_mins(1));
    assert!(wait_until(|| !is_alive(kernel)));
}

#[test]
fn a_dead_kernel_is_no_failure_of_the_code() {
    let home = Home::new();
    let ran = home.run(&["exec", "import os; os.kill(os.getpid(), 9)"]);
    assert_eq!(ran.status, 125);
    assert!(ran.stderr.contains("error: The kernel died (signal 9)."), "{}", ran.stderr);
    assert_eq!(ran.stderr.lines().filter(|line| line.starts_with("hint: ")).count(), 1);
}

#[test]
fn a_killed_command_leaves_no_kernel_behind() {
    let home = Home::new();
    let code = "import os, time\nprint(os.getpid(), flush=True)\ntime.sleep(600)";
    let mut running = Running::start(home.sandbook(&["exec", code]));
    let kernel: u32 = running.line().parse().unwrap();
    signal(running.id(), "KILL");
    assert!(wait_until(|| !is_alive(kernel)));
}

#[test]
fn json_is_one_event_a_line_and_ends_with_the_outcome() {
    let home = Home::new();
    let code = "import sys\nfrom IPython.display import display, HTML\nprint('a')\nprint('b', file=sys.stderr)\ndisplay(HTML('<b>x</b>'))\n41 + 1";
    let ran = home.run(&["exec", "--json", code]);
    let lines = ran.lines();
    let types: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    for expected in ["started", "stream", "display", "result"] {
        assert!(types.contains(&expected), "{types:?}");
    }
    let outcome = lines.last().unwrap();
    assert_eq!(types.iter().filter(|kind| **kind == "outcome").count(), 1);
    assert_eq!(outcome["type"], "outcome");
    assert_eq!((&outcome["success"], &outcome["exit_status"]), (&true.into(), &0.into()));
    assert_eq!(
        (&outcome["stdout"], &outcome["stderr"], &outcome["text"]),
        (&"a\n".into(), &"b\n".into(), &"42".into())
    );
    assert_eq!(outcome["results"][0]["data"]["text/html"], "<b>x</b>");
    assert_eq!(outcome["execution_count"], 1);
    assert!(outcome["started_at"].is_u64() && outcome["duration_ms"].is_u64(), "{outcome}");
    assert_eq!(ran.status, 0);
}

#[test]
fn json_tells_an_exit_code_an_error_a_time_limit_and_a_dead_kernel_apart() {
    let home = Home::new();
    let cases = [
        ("import sys; sys.exit(3)", "exit_code", 3),
        ("1/0", "code_error", 1),
        ("while True: pass", "timed_out", 124),
        ("import os; os._exit(1)", "infrastructure_error", 125),
    ];
    for (code, kind, status) in cases {
        let ran = home.run(&["exec", "--json", "--timeout", "5", code]);
        let outcome = ran.lines().pop().unwrap();
        assert_eq!((ran.status, &outcome["success"]), (status, &false.into()), "{outcome}");
        let told = |field: &str| {
            !matches!(&outcome[field], serde_json::Value::Null | serde_json::Value::Bool(false))
        };
        // An interrupt that the limit sent is an error in the code as well.
        let others = cases.iter().map(|case| case.1).filter(|other| *other != kind && kind != "timed_out");
        assert!(told(kind) && !others.clone().any(told), "{outcome}");
        assert_eq!(told("interrupted"), kind == "timed_out", "{outcome}");
    }
}

#[test]
fn rust_log_says_how_much_is_written_into_the_log() {
    for (level, wanted) in [("off", false), ("trace", true)] {
        let home = Home::new();
        let mut command = home.sandbook(&["exec", "1"]);
        assert!(command.env("RUST_LOG", level).output().unwrap().status.success());
        let log = home.everything_written();
        assert_eq!(log.contains(r#""level":""#), wanted, "{level}");
    }
}

#[test]
fn a_computer_that_slept_goes_on_where_it_was_and_misses_no_line() {
    let server = Server::start("jupyter_server", &[]);
    let home = Home::new();
    let code =
        "import time\nfor line in range(40):\n    print('line', line, flush=True)\n    time.sleep(0.25)";
    let mut command = home.sandbook(&["exec", "--server", server.url.as_str(), code]);
    command.env("SANDBOOK_TOKEN", TOKEN);
    let mut running = Running::start(command);
    assert_eq!(running.line(), "line 0");
    signal(running.id(), "STOP");
    std::thread::sleep(Duration::from_secs(6));
    signal(running.id(), "CONT");
    let ran = running.end();
    let told: Vec<&str> = ran.stdout.lines().collect();
    let all: Vec<String> = (1..40).map(|line| format!("line {line}")).collect();
    assert_eq!((ran.status, told), (0, all.iter().map(String::as_str).collect()), "{}", ran.stderr);
}

#[test]
fn where_no_kernel_is_found_the_error_says_what_to_do() {
    let home = Home::new();
    let ran = home.run(&["exec", "--kernel", "no-such-kernel", "1"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (125, ""));
    assert!(ran.stderr.starts_with("error: ") && ran.stderr.contains("\nhint: "), "{}", ran.stderr);

    let ran = home.run(&["exec", "--json", "--kernel", "no-such-kernel", "1"]);
    let lines = ran.lines();
    assert_eq!((ran.status, lines.len()), (125, 1));
    assert_eq!(lines[0]["type"], "outcome");
    assert_eq!(lines[0]["success"], false);
    assert_eq!(lines[0]["infrastructure_error"]["code"], "no_kernel_found");
}

#[test]
fn wrong_arguments_end_with_2() {
    let home = Home::new();
    for arguments in
        [vec!["exec"], vec!["exec", "-f", "/no/such/file"], vec!["exec", "--timeout", "soon", "1"]]
    {
        assert_eq!(home.run(&arguments).status, 2, "{arguments:?}");
    }
    let ran = home.run(&["exec", "--json", "-f", "/no/such/file"]);
    let outcome = &ran.lines()[0];
    assert_eq!((ran.status, &outcome["infrastructure_error"]["code"]), (2, &"file_unreadable".into()));
}

#[test]
fn a_server_is_used_with_a_token_from_the_environment_or_the_address_and_left_as_it_was() {
    let home = Home::new();
    let server = Server::start("jupyter_server", &[]);
    let with_token = |token: Option<&str>, address: &str, json: bool| {
        let mut arguments = vec!["exec", "--server", address];
        if json {
            arguments.push("--json");
        }
        arguments.push("print('on the server')");
        let mut command = home.sandbook(&arguments);
        if let Some(token) = token {
            command.env("SANDBOOK_TOKEN", token);
        }
        support::Ran::of(command.output().unwrap())
    };
    let ran = with_token(Some(TOKEN), server.url.as_str(), false);
    assert_eq!((ran.status, ran.stdout.as_str()), (0, "on the server\n"), "{}", ran.stderr);
    let pasted = format!("{}lab/tree/a.ipynb?token={TOKEN}", server.url);
    assert_eq!(with_token(None, &pasted, false).stdout, "on the server\n");
    assert!(
        wait_until(|| server.kernels().is_some_and(|kernels| kernels.is_empty())),
        "its kernels are deleted"
    );

    for (token, code) in [(Some("wrong-token-0815"), "credential_refused"), (None, "credential_missing")] {
        let ran = with_token(token, server.url.as_str(), true);
        let lines = ran.lines();
        assert_eq!(ran.status, 125);
        let found = lines.last().unwrap()["infrastructure_error"]["code"].as_str().unwrap().to_owned();
        assert_eq!(found, code, "{lines:?}");
    }
    let written = home.everything_written();
    assert!(written.contains("the sandbox ended"), "something was logged");
    assert!(!written.contains(TOKEN) && !written.contains("wrong-token-0815"), "a token was written down");
}

#[test]
fn an_address_where_nobody_listens_is_unreachable() {
    let home = Home::new();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let address = format!("http://127.0.0.1:{port}/?token=abcdef");
    let ran = home.run(&["exec", "--server", &address, "1"]);
    assert_eq!(ran.status, 125);
    assert!(ran.stderr.starts_with("error: ") && !ran.stderr.contains("abcdef"), "{}", ran.stderr);
}

#[test]
fn a_self_signed_certificate_is_trusted_by_the_fingerprint_that_the_error_shows() {
    let home = Home::new();
    for as_authority in [true, false] {
        let certificate = SelfSigned::new("elsewhere.example", as_authority);
        let server = Server::start("jupyter_server", &certificate.options().each_ref().map(String::as_str));
        let run = |more: &[&str]| {
            let arguments = [&["exec", "--server", server.url.as_str(), "print(6 * 7)"], more].concat();
            support::Ran::of(home.sandbook(&arguments).env("SANDBOOK_TOKEN", TOKEN).output().unwrap())
        };
        let ran = run(&[]);
        assert_eq!(ran.status, 125);
        assert!(ran.stderr.contains("it is self-signed"), "{}", ran.stderr);
        let (_, fingerprint) = ran.stderr.trim_end().rsplit_once("--trust ").expect("the way to trust it");
        let ran = run(&["--trust", fingerprint]);
        assert_eq!((ran.status, ran.stdout.as_str()), (0, "42\n"), "{}", ran.stderr);
    }
}

#[test]
fn a_kernel_that_died_on_a_server_is_not_left_to_the_server() {
    let home = Home::new();
    let server = Server::start("jupyter_server", &[]);
    let code = "import os; os.kill(os.getpid(), 9)";
    let arguments = ["exec", "--server", server.url.as_str(), code];
    let ran = support::Ran::of(home.sandbook(&arguments).env("SANDBOOK_TOKEN", TOKEN).output().unwrap());
    assert_eq!(ran.status, 125, "{}", ran.stderr);
    assert!(!ran.stderr.contains("HTTP 500"), "{}", ran.stderr);
    assert!(wait_until(|| server.kernels().is_some_and(|kernels| kernels.is_empty())));
}
