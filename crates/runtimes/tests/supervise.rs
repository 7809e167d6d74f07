//! Children that do not outlive their owner, with the supervisor as a real process.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used)] // helpers of tests are not seen as tests

mod support;

use std::{
    ffi::OsString,
    io::{BufRead, BufReader, Write},
    path::PathBuf,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use sandbook_runtimes::supervise::{Child, Exit, Guard, Launch, Report};
use sandbook_sandbox::{DeathCause, KernelStatus, SandboxError};
use support::{Place, lives, run};

fn supervisor() -> PathBuf {
    env!("CARGO_BIN_EXE_sandbook-supervise").into()
}

fn supervised(words: &[&str]) -> Launch {
    let words = words.iter().map(OsString::from).collect();
    Launch { words, supervisor: Some(vec![supervisor().into()]), ..Launch::default() }
}

async fn dies(pid: u32) {
    let start = Instant::now();
    while lives(pid) {
        assert!(start.elapsed() < Duration::from_secs(20), "process {pid} lives on");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn exit_code_signal_and_peak_memory_are_reported() {
    let child = Child::start(supervised(&["sh", "-c", "exit 7"])).await.unwrap();
    assert!(matches!(child.wait().await, Exit { code: Some(7), signal: None, peak_memory: Some(1..) }));
    let child = Child::start(supervised(&["sh", "-c", "kill -9 $$"])).await.unwrap();
    assert!(matches!(child.wait().await, Exit { code: None, signal: Some(9), .. }));
    let direct = Launch { supervisor: None, ..supervised(&["sh", "-c", "kill -9 $$"]) };
    let child = Child::start(direct).await.unwrap();
    assert!(matches!(child.wait().await, Exit { code: None, signal: Some(9), peak_memory: None }));
}

#[tokio::test]
async fn a_program_that_does_not_exist_is_an_error_with_or_without_a_supervisor() {
    for supervisor in [None, Some(vec![supervisor().into()])] {
        let launch = Launch { words: vec!["/nowhere/program".into()], supervisor, ..Launch::default() };
        let error = Child::start(launch).await.unwrap_err().to_string();
        assert!(error.contains("/nowhere/program") && error.contains("No such file"), "{error}");
    }
}

#[tokio::test]
async fn what_a_child_says_is_kept() {
    let child = Child::start(supervised(&["sh", "-c", "echo one; echo two >&2"])).await.unwrap();
    child.wait().await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(child.last_words(), "one\ntwo");
}

#[tokio::test]
async fn dropping_a_child_kills_its_whole_group() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let script = format!("sleep 100 & echo $! > {}; wait", file.display());
    let child = Child::start(supervised(&["sh", "-c", &script])).await.unwrap();
    let grandchild = loop {
        if let Ok(pid) = std::fs::read_to_string(&file).unwrap_or_default().trim().parse() {
            break pid;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    let pid = child.pid();
    assert!(lives(pid) && lives(grandchild));
    drop(child);
    dies(pid).await;
    dies(grandchild).await;
}

/// Starts the supervisor by hand, as an owner that can be killed would.
fn by_hand(words: &[&str]) -> (std::process::Child, BufReader<std::process::ChildStdout>, u32) {
    let mut process = Command::new(supervisor())
        .arg("--")
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut reports = BufReader::new(process.stdout.take().unwrap());
    let mut line = String::new();
    reports.read_line(&mut line).unwrap();
    let Ok(Report::Started { pid }) = serde_json::from_str(&line) else { panic!("{line}") };
    (process, reports, pid)
}

#[tokio::test]
async fn a_closed_pipe_kills_the_child_even_one_that_does_not_want_to_end() {
    let (mut process, _reports, pid) = by_hand(&["sh", "-c", "trap '' TERM; while :; do sleep 1; done"]);
    drop(process.stdin.take());
    dies(pid).await;
    assert!(process.wait().unwrap().code().is_some());
}

#[tokio::test]
async fn the_word_survive_lets_the_child_live_after_its_owner() {
    let (mut process, _reports, pid) = by_hand(&["sleep", "100"]);
    let mut pipe = process.stdin.take().unwrap();
    writeln!(pipe, "survive").unwrap();
    drop(pipe);
    tokio::time::sleep(Duration::from_millis(2500)).await;
    let lived = lives(pid);
    Command::new("kill").arg(pid.to_string()).status().unwrap();
    process.wait().unwrap();
    assert!(lived);
}

#[tokio::test]
async fn a_supervised_kernel_runs_is_interrupted_and_its_death_is_told_with_its_cause() {
    let place = Place::supervised(Some(vec![supervisor().into()]));
    let sandbox = place.local().await;
    assert_eq!(run(&sandbox, "1+1").await.text().as_deref(), Some("2"));
    let execution =
        sandbox.execute(sandbook_sandbox::ExecuteRequest::new("import time; time.sleep(60)")).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    sandbox.interrupt().await.unwrap();
    assert!(support::finish(execution, sandbook_sandbox::OutcomeBuilder::default()).await.interrupted);
    let outcome = run(&sandbox, "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)").await;
    assert!(
        matches!(&outcome.infrastructure, Some(SandboxError::Died { cause }) if cause == "signal 11"),
        "{outcome:?}"
    );
    let mut status = sandbox.status();
    let dead = status.wait_for(|status| *status == KernelStatus::Dead(DeathCause::Signal(11)));
    drop(tokio::time::timeout(Duration::from_secs(5), dead).await.unwrap().unwrap());
}

/// A process that nobody supervises, and that does not want to end.
fn stubborn() -> std::process::Child {
    Command::new("sh").args(["-c", "trap '' TERM HUP INT; while :; do sleep 1; done"]).spawn().unwrap()
}

#[tokio::test]
async fn what_is_under_guard_is_killed_when_its_owner_is_gone_and_what_was_let_go_is_not() {
    let [mut guarded, mut released] = [stubborn(), stubborn()];
    let mut guard = Command::new(supervisor()).arg("--guard").stdin(Stdio::piped()).spawn().unwrap();
    let mut pipe = guard.stdin.take().unwrap();
    writeln!(pipe, "+{}\n+{}\nnonsense\n+0\n+1\n-{}", guarded.id(), released.id(), released.id()).unwrap();
    drop(pipe);
    assert!(guard.wait().unwrap().success());
    dies(guarded.id()).await;
    let lived = lives(released.id());
    released.kill().unwrap();
    drop((guarded.wait(), released.wait()));
    assert!(lived);
}

#[tokio::test]
async fn a_guard_lets_go_of_what_is_dropped_and_ends_with_the_last_of_it() {
    let mut process = stubborn();
    let guard = Guard::start(&[supervisor().into()]).unwrap();
    let guarded = guard.take(process.id()).await.unwrap();
    drop(guarded);
    let guarded = guard.take(process.id()).await.unwrap();
    drop(guard);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(lives(process.id()));
    drop(guarded);
    tokio::time::sleep(Duration::from_millis(300)).await;
    let lived = lives(process.id());
    process.kill().unwrap();
    drop(process.wait());
    assert!(lived);
    let nowhere = Guard::start(&["/nowhere/program".into()]).unwrap_err().to_string();
    assert!(nowhere.contains("/nowhere/program"), "{nowhere}");
}
