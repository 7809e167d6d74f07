//! Code in sandboxes at Modal: a stand-in that speaks Modal's protocol and really runs processes.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests are not seen as tests

mod support;

use std::{process::Command, sync::Arc, time::Duration};

use sandbook_runtimes::modal::{ModalRuntime, ModalSettings, Sources};
use sandbook_sandbox::{
    AttachHandle, Capability, CreateRequest, EventKind, ExecuteRequest, KernelStatus, OutcomeBuilder,
    Progress, Runtime, Sandbox, SandboxError, SandboxSettings, StopChoice, StopReport, Support,
};
use sandbook_test_support::{Line, Modal, PATIENCE, Proxy, python};
use support::{finish, is_busy, next_event, run, run_request, until_line};
use tokio_util::sync::CancellationToken;

/// A runtime that finds no token by itself.
fn runtime() -> ModalRuntime {
    drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
    ModalRuntime::looking_in(Sources::default())
}

fn request(modal: &Modal, settings: ModalSettings) -> CreateRequest {
    let settings = ModalSettings { server_url: Some(modal.url.to_string()), ..settings };
    CreateRequest {
        settings: SandboxSettings { runtime: settings.to_value(), ..SandboxSettings::default() },
        credential: Some(modal.pair.clone().into()),
        progress: Progress::none(),
        cancel: CancellationToken::new(),
    }
}

async fn sandbox(modal: &Modal, settings: ModalSettings) -> Arc<dyn Sandbox> {
    runtime().create(request(modal, settings)).await.unwrap()
}

async fn until_status(sandbox: &Arc<dyn Sandbox>, wanted: impl Fn(&KernelStatus) -> bool) -> KernelStatus {
    let mut status = sandbox.status();
    tokio::time::timeout(PATIENCE, status.wait_for(wanted)).await.unwrap().unwrap().clone()
}

/// The numbers below a limit, one a line.
fn numbers(limit: u32) -> String {
    let numbers: Vec<String> = (0..limit).map(|number| number.to_string()).collect();
    numbers.join("\n") + "\n"
}

fn plain() -> ModalSettings {
    ModalSettings { plain: true, ..ModalSettings::default() }
}

#[tokio::test]
async fn modal_s_own_client_passes_on_the_stand_in() {
    let modal = Modal::start(&[]);
    let mut words = modal.pair.split(' ');
    let output = tokio::process::Command::new(python())
        .arg("-B")
        .arg(Modal::folder().join("modal_official.py"))
        .args([modal.url.as_str(), words.next().unwrap(), words.next().unwrap()])
        .output()
        .await
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(said.lines().filter(|line| line.starts_with("passed ")).count(), 9, "{said}");
}

#[tokio::test]
async fn state_is_kept_output_streams_and_results_are_rich() {
    let modal = Modal::start(&[]);
    let sandbox = sandbox(&modal, ModalSettings::default()).await;
    assert_eq!(run(&sandbox, "x = 40; x + 2").await.text().as_deref(), Some("42"));
    let code = "import time\nprint('first', flush=True)\ntime.sleep(1)\nprint('second')";
    let mut execution = sandbox.execute(ExecuteRequest::new(code)).await.unwrap();
    let mut builder = OutcomeBuilder::default();
    until_line(&mut execution, &mut builder, "first").await;
    let outcome = finish(execution, builder).await;
    assert_eq!(outcome.stdout.text(), "first\nsecond\n");
    let mut execution = sandbox
        .execute(ExecuteRequest::new("from IPython.display import HTML\nHTML('<b>x</b>')"))
        .await
        .unwrap();
    let result = next_event(&mut execution, |kind| matches!(kind, EventKind::Result { .. })).await;
    let EventKind::Result { data, .. } = result.kind else { panic!() };
    assert!(data.contains_key("text/html"), "{data:?}");
    let failed = run(&sandbox, "1/0").await;
    assert_eq!(failed.code_error.unwrap().name, "ZeroDivisionError");
    assert_eq!(run(&sandbox, "x").await.text().as_deref(), Some("40"));
    assert_eq!(sandbox.stop(StopChoice::Default, PATIENCE).await.unwrap(), StopReport::Ended);
    modal.until_none_runs().await;
    let calls = modal.record();
    let version = calls.iter().find(|entry| entry["call"] == "SandboxCreateV2").unwrap();
    assert_eq!(version["headers"]["x-modal-client-version"], "1.6.4");
}

#[tokio::test]
async fn input_interrupt_restart_and_a_time_limit_work() {
    let modal = Modal::start(&[]);
    let sandbox = sandbox(&modal, ModalSettings::default()).await;
    let mut execution =
        sandbox.execute(ExecuteRequest::new("name = input('who? '); print(name)")).await.unwrap();
    next_event(&mut execution, |kind| matches!(kind, EventKind::InputRequest { .. })).await;
    execution.input().send("Ada".to_owned().into()).unwrap();
    assert!(finish(execution, OutcomeBuilder::default()).await.success());
    assert_eq!(run(&sandbox, "name").await.text().as_deref(), Some("'Ada'"));

    let endless = "import time\nprint('on', flush=True)\nwhile True: time.sleep(0.05)";
    let mut execution = sandbox.execute(ExecuteRequest::new(endless)).await.unwrap();
    let mut builder = OutcomeBuilder::default();
    until_line(&mut execution, &mut builder, "on").await;
    sandbox.interrupt().await.unwrap();
    assert!(finish(execution, builder).await.interrupted);

    let limited =
        ExecuteRequest { timeout: Some(Duration::from_millis(500)), ..ExecuteRequest::new(endless) };
    let outcome = run_request(&sandbox, limited).await;
    assert!(outcome.timed_out && !outcome.success());
    assert_eq!(outcome.stdout.text(), "on\n", "what it printed by then stays");

    sandbox.restart().await.unwrap();
    assert_eq!(run(&sandbox, "name").await.code_error.unwrap().name, "NameError");
    assert_eq!(modal.creates().len(), 1, "the sandbox is the same");
    let completion = sandbox.complete("import o", 8).await.unwrap();
    assert!(completion.matches.iter().any(|found| found.text == "os"), "{completion:?}");
    support::stop(&sandbox).await;
}

#[tokio::test]
async fn a_kernel_that_dies_is_told_with_its_cause_and_can_be_restarted() {
    let modal = Modal::start(&[]);
    let sandbox = sandbox(&modal, ModalSettings::default()).await;
    let outcome = run(&sandbox, "import os\nprint('last', flush=True)\nos._exit(7)").await;
    assert!(
        matches!(&outcome.infrastructure, Some(SandboxError::Died { cause }) if cause == "exit code 7"),
        "{outcome:?}"
    );
    let dead = until_status(&sandbox, |status| matches!(status, KernelStatus::Dead(_))).await;
    assert_eq!(dead, KernelStatus::Dead(sandbook_sandbox::DeathCause::ExitCode(7)));
    sandbox.restart().await.unwrap();
    assert_eq!(run(&sandbox, "6*7").await.text().as_deref(), Some("42"));
    support::stop(&sandbox).await;
}

#[tokio::test]
async fn without_a_network_the_kernel_is_whole_and_nothing_is_reached() {
    let modal = Modal::start(&[]);
    let settings =
        ModalSettings { network: sandbook_runtimes::modal::NetworkPolicy::None, ..ModalSettings::default() };
    let sandbox = sandbox(&modal, settings).await;
    let access = &modal.creates()[0]["definition"]["network_access"]["network_access_type"];
    assert_eq!(access, "BLOCKED");
    // only root can take a network away here; elsewhere the stand-in only takes the setting
    if nix::unistd::geteuid().is_root() {
        let code = format!(
            "import socket\ntry:\n    socket.create_connection(('127.0.0.1', {}), 2)\nexcept OSError as error: print(type(error).__name__)",
            modal.url.port().unwrap()
        );
        let said = run(&sandbox, &code).await.stdout.text();
        assert!(!said.is_empty(), "it reached this computer");
    }
    assert_eq!(run(&sandbox, "6*7").await.text().as_deref(), Some("42"));
    support::stop(&sandbox).await;
}

#[tokio::test]
async fn environment_and_folder_are_the_kernel_s_and_no_token_is_in_the_sandbox() {
    let modal = Modal::start(&[]);
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().canonicalize().unwrap().join("here");
    std::fs::create_dir(&place).unwrap();
    let mut asked = request(&modal, ModalSettings::default());
    asked.settings.environment.insert("GREETING".into(), "hëllo 'you'".into());
    asked.settings.working_directory = Some(place.clone());
    let sandbox = runtime().create(asked).await.unwrap();
    assert_eq!(sandbox.info().working_directory.as_deref(), Some(place.to_str().unwrap()));
    let code = "import os; print(os.environ['GREETING']); print(os.getcwd())";
    assert_eq!(run(&sandbox, code).await.stdout.text(), format!("hëllo 'you'\n{}\n", place.display()));
    let all = run(&sandbox, "print(dict(os.environ)); print(open('/proc/self/cmdline').read())").await;
    let secret = modal.pair.split(' ').nth(1).unwrap();
    assert!(!all.stdout.text().contains(secret));
    support::stop(&sandbox).await;
}

#[tokio::test]
async fn streams_that_break_and_tokens_that_end_lose_nothing_and_double_nothing() {
    let modal = Modal::start(&[
        "--break-output-after",
        "20000",
        "--router-token-seconds",
        "2",
        "--auth-token-seconds",
        "2",
    ]);
    let sandbox = sandbox(&modal, ModalSettings::default()).await;
    let outcome = run(&sandbox, "for i in range(50_000): print(i)").await;
    let expected = numbers(50_000);
    assert!(outcome.stdout.text() == expected, "{} bytes came", outcome.stdout.text().len());
    let code = "import time\nfor i in range(30):\n    print(i, flush=True)\n    time.sleep(0.1)";
    assert_eq!(run(&sandbox, code).await.stdout.text().lines().count(), 30, "over more than one token");
    assert!(modal.count("SandboxGetCommandRouterAccess") > 0, "a token had to be renewed");
    assert_eq!(run(&sandbox, "len('x' * 3_000_000)").await.text().as_deref(), Some("3000000"));
    support::stop(&sandbox).await;
}

#[tokio::test]
async fn a_cut_line_says_so_and_what_ran_meanwhile_is_there_when_it_is_back() {
    let told = tempfile::NamedTempFile::new().unwrap();
    let modal = Modal::start(&["--router", told.path().to_str().unwrap()]);
    let proxy = Proxy::start(&modal.router).await;
    std::fs::write(told.path(), proxy.url.as_str()).unwrap();
    let sandbox = sandbox(&modal, ModalSettings::default()).await;
    let code = "import time\nprint('on', flush=True)\nfor i in range(40):\n    print(i, flush=True)\n    time.sleep(0.1)";
    let mut execution = sandbox.execute(ExecuteRequest::new(code)).await.unwrap();
    let mut builder = OutcomeBuilder::default();
    until_line(&mut execution, &mut builder, "on").await;
    proxy.set(Line::Cut);
    until_status(&sandbox, |status| matches!(status, KernelStatus::Reconnecting { .. })).await;
    proxy.set(Line::Open);
    sandbox.reconnect(true);
    let outcome = finish(execution, builder).await;
    assert!(outcome.success(), "{outcome:?}");
    let expected = numbers(40);
    assert_eq!(outcome.stdout.text(), format!("on\n{expected}"));
    support::stop(&sandbox).await;
}

#[tokio::test]
async fn a_sandbox_that_was_kept_is_joined_by_its_ids_with_its_state_and_a_gone_one_is_gone() {
    let modal = Modal::start(&[]);
    let first = sandbox(&modal, ModalSettings::default()).await;
    run(&first, "x = 40\nprint('y' * 100_000)").await;
    let handle = first.info().handle;
    let shown = handle.0.to_string();
    assert!(modal.pair.split(' ').all(|part| !shown.contains(part)), "{shown}");
    assert_eq!(first.stop(StopChoice::Keep, PATIENCE).await.unwrap(), StopReport::LeftRunning);
    drop(first);
    // a later owner may know the handle of an earlier moment only
    let mut early = handle.0.clone();
    early["read"] = 0.into();
    let again =
        runtime().attach(AttachHandle(early), request(&modal, ModalSettings::default())).await.unwrap();
    assert_eq!(run(&again, "x + 2").await.text().as_deref(), Some("42"));
    again.stop(StopChoice::Keep, PATIENCE).await.unwrap();
    let handle = again.info().handle;
    let last = runtime().attach(handle.clone(), request(&modal, ModalSettings::default())).await.unwrap();
    assert_eq!(run(&last, "x + 3").await.text().as_deref(), Some("43"));
    support::stop(&last).await;
    modal.until_none_runs().await;
    let gone = runtime().attach(handle, request(&modal, ModalSettings::default())).await;
    assert!(matches!(gone, Err(SandboxError::Gone { .. })), "{:?}", gone.err());
}

#[tokio::test]
async fn what_runs_when_its_owner_dies_is_found_busy_and_can_be_interrupted() {
    let modal = Modal::start(&[]);
    let first = sandbox(&modal, ModalSettings::default()).await;
    let code = "import time\nx = 1\nprint('on', flush=True)\nwhile True: time.sleep(0.05)";
    let mut execution = first.execute(ExecuteRequest::new(code)).await.unwrap();
    until_line(&mut execution, &mut OutcomeBuilder::default(), "on").await;
    let handle = first.info().handle;
    first.stop(StopChoice::Keep, PATIENCE).await.unwrap();
    drop(first);
    let again = runtime().attach(handle, request(&modal, ModalSettings::default())).await.unwrap();
    assert_eq!(*again.status().borrow(), KernelStatus::Busy);
    again.interrupt().await.unwrap();
    assert_eq!(run(&again, "x").await.text().as_deref(), Some("1"));
    support::stop(&again).await;
}

#[tokio::test]
async fn an_image_without_ipykernel_gets_plain_python_and_says_so() {
    let modal = Modal::start(&[]);
    let base =
        Command::new(python()).args(["-c", "import sys; print(sys._base_executable)"]).output().unwrap();
    let base = String::from_utf8(base.stdout).unwrap().trim().to_owned();
    let settings = ModalSettings { python: base, ..ModalSettings::default() };
    let sandbox = sandbox(&modal, settings).await;
    let execute = sandbox.capabilities().get(Capability::Execute).cloned();
    assert!(matches!(&execute, Some(Support::Limited(why)) if why.contains("no ipykernel")), "{execute:?}");
    assert_eq!(run(&sandbox, "x = 40\nx + 2").await.text().as_deref(), Some("42"));
    let code = "import os, sys, time\nprint('first', flush=True)\ntime.sleep(0.5)\nos.write(1, b'raw\\n')\nprint('error', file=sys.stderr)";
    let outcome = run(&sandbox, code).await;
    assert_eq!(outcome.stdout.text(), "first\nraw\n");
    assert_eq!(outcome.stderr.text(), "error\n");
    assert_eq!(run(&sandbox, "1/0").await.code_error.unwrap().name, "ZeroDivisionError");
    let execution = sandbox.execute(ExecuteRequest::new("while True: time.sleep(0.05)")).await.unwrap();
    is_busy(&sandbox).await;
    sandbox.interrupt().await.unwrap();
    assert!(finish(execution, OutcomeBuilder::default()).await.interrupted);
    sandbox.restart().await.unwrap();
    assert_eq!(run(&sandbox, "x").await.code_error.unwrap().name, "NameError");
    let kept = sandbox.stop(StopChoice::Keep, PATIENCE).await;
    assert!(matches!(kept, Err(SandboxError::Unsupported { .. })), "{kept:?}");
    support::stop(&sandbox).await;
    modal.until_none_runs().await;
}

#[tokio::test]
async fn plain_python_dies_with_its_cause_and_is_not_joined_by_anybody() {
    let modal = Modal::start(&[]);
    let sandbox = sandbox(&modal, plain()).await;
    let outcome = run(&sandbox, "import os\nos.kill(os.getpid(), 9)").await;
    assert!(
        matches!(&outcome.infrastructure, Some(SandboxError::Died { cause }) if cause == "signal 9"),
        "{outcome:?}"
    );
    let joined = runtime().attach(sandbox.info().handle, request(&modal, plain())).await;
    assert!(matches!(joined, Err(SandboxError::Unsupported { .. })));
    support::stop(&sandbox).await;
}

#[tokio::test]
async fn a_sandbox_that_nobody_uses_or_whose_life_is_over_ends_and_says_why() {
    let modal = Modal::start(&[]);
    let idle = ModalSettings { idle_timeout: 30, ..ModalSettings::default() };
    let short = ModalSettings { longest_life: 6, ..ModalSettings::default() };
    let (idle, short) = tokio::join!(sandbox(&modal, idle), sandbox(&modal, short));
    let lease = short.lease().unwrap();
    assert!(lease.ends.is_some() && lease.price.is_some() && lease.at_most.is_some(), "{lease:?}");
    let gone = until_status(&short, |status| matches!(status, KernelStatus::Gone { .. })).await;
    assert!(
        matches!(&gone, KernelStatus::Gone { reason } if reason.contains("longest life was over")),
        "{gone:?}"
    );
    let gone = until_status(&idle, |status| matches!(status, KernelStatus::Gone { .. })).await;
    assert!(
        matches!(&gone, KernelStatus::Gone { reason } if reason.contains("nobody used it for 30 seconds")),
        "{gone:?}"
    );
    modal.until_none_runs().await;
}
