//! Monty through the contract, with its real worker: what it knows beyond what every runtime must do.

#![cfg(feature = "monty")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used)] // helpers of tests are not seen as tests

mod support;

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use sandbook_runtimes::{
    Surrounding,
    monty::{
        ExcType, FolderAccess, HostFunction, Memory, MontyException, MontyObject, MontyRuntime,
        MontySettings, Mount,
    },
};
use sandbook_sandbox::{
    Capability, CreateRequest, ExecuteRequest, Outcome, OutcomeBuilder, Progress, Runtime as _, Sandbox,
    SandboxError, SandboxSettings, Support,
};
use sandbook_test_support::{PATIENCE, python};
use support::{finish, is_busy, run, stop};
use tokio_util::sync::CancellationToken;

fn runtime() -> MontyRuntime {
    MontyRuntime::new(Surrounding {
        supervisor: Some(vec![env!("CARGO_BIN_EXE_sandbook-supervise").into()]),
        ..Surrounding::default()
    })
}

fn settings() -> MontySettings {
    let worker = python().parent().map(|programs| programs.join("monty"));
    MontySettings { worker, ..MontySettings::default() }
}

async fn create(
    runtime: &MontyRuntime,
    own: MontySettings,
    folder: Option<&Path>,
) -> Result<Arc<dyn Sandbox>, SandboxError> {
    let settings = SandboxSettings {
        working_directory: folder.map(Path::to_owned),
        runtime: own.to_value(),
        ..SandboxSettings::default()
    };
    let (progress, cancel) = (Progress::none(), CancellationToken::new());
    runtime.create(CreateRequest { settings, credential: None, progress, cancel }).await
}

async fn sandbox(own: MontySettings) -> Arc<dyn Sandbox> {
    create(&runtime(), own, None).await.unwrap()
}

/// Its result as text; its error where there is none.
fn text(outcome: &Outcome) -> String {
    let error = outcome.code_error.as_ref().map(|error| format!("{}: {}", error.name, error.value));
    outcome.text().or(error).unwrap_or_else(|| format!("{outcome:?}"))
}

fn text_argument(arguments: &[MontyObject]) -> String {
    arguments.first().and_then(|value| String::try_from(value).ok()).unwrap_or_default()
}

#[tokio::test]
async fn code_calls_the_functions_that_were_registered_and_no_others() {
    let shout = HostFunction::new("shout", async |call| {
        let end = call.named.iter().find(|(name, _)| name == "end").map(|(_, value)| value.to_string());
        let text = text_argument(&call.arguments).to_uppercase();
        Ok(MontyObject::String(text + end.as_deref().unwrap_or_default()))
    });
    let refuse = HostFunction::new("refuse", async |_| {
        Err(MontyException::new(ExcType::ValueError, Some("not today".into())))
    });
    let runtime = runtime().with_function(shout.documented("Says it louder.")).with_function(refuse);
    let sandbox = create(&runtime, settings(), None).await.unwrap();
    assert_eq!(text(&run(&sandbox, "shout('hey', end='!')").await), "'HEY!'");
    assert_eq!(text(&run(&sandbox, "[shout(word) for word in ['a', 'b']]").await), "['A', 'B']");
    assert_eq!(text(&run(&sandbox, "louder = shout\nlouder('kept')").await), "'KEPT'");
    assert_eq!(text(&run(&sandbox, "refuse()").await), "ValueError: not today");
    let caught = "try:\n    refuse()\nexcept ValueError as error:\n    found = str(error)\nfound";
    assert_eq!(text(&run(&sandbox, caught).await), "'not today'");
    assert!(text(&run(&sandbox, "whisper('x')").await).starts_with("NameError"));
    stop(&sandbox).await;
}

#[tokio::test]
async fn more_calls_than_a_thousand_are_answered() {
    let next = HostFunction::new("next_number", async |_| Ok(MontyObject::Int(1)));
    let sandbox = create(&runtime().with_function(next), settings(), None).await.unwrap();
    assert_eq!(text(&run(&sandbox, "sum([next_number() for _ in range(2500)])").await), "2500");
    stop(&sandbox).await;
}

#[tokio::test]
async fn a_function_that_does_not_answer_is_given_up_by_an_interrupt() {
    let never = HostFunction::new("never", async |_| std::future::pending().await);
    let sandbox = create(&runtime().with_function(never), settings(), None).await.unwrap();
    run(&sandbox, "kept = 17").await;
    let execution = sandbox.execute(ExecuteRequest::new("kept = 0\nnever()")).await.unwrap();
    is_busy(&sandbox).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    sandbox.interrupt().await.unwrap();
    assert!(finish(execution, OutcomeBuilder::default()).await.interrupted);
    assert_eq!(text(&run(&sandbox, "kept").await), "17");
    stop(&sandbox).await;
}

#[tokio::test]
async fn type_checking_is_off_unless_asked_for_and_refuses_code_before_it_runs() {
    let wrong =
        "print('ran')\ndef double(value: int) -> int:\n    return value * 2\n'x' if False else double('a')";
    let plain = sandbox(settings()).await;
    let outcome = run(&plain, wrong).await;
    assert_eq!((outcome.stdout.text().as_str(), text(&outcome).as_str()), ("ran\n", "'aa'"));
    stop(&plain).await;

    let checked = sandbox(MontySettings { type_check: true, ..settings() }).await;
    let outcome = run(&checked, wrong).await;
    assert_eq!(outcome.stdout.text(), "");
    assert_eq!(outcome.code_error.as_ref().unwrap().name, "TypeCheckError");
    let traceback = outcome.code_error.unwrap().traceback.join("\n");
    assert!(traceback.contains("invalid-argument-type"), "{traceback}");
    assert_eq!(text(&run(&checked, "x: int = 1\nx + 1").await), "2");
    stop(&checked).await;
}

#[tokio::test]
async fn type_checking_knows_stubs_and_the_declarations_of_registered_functions() {
    let length = HostFunction::new("length", async |call| {
        Ok(MontyObject::Int(text_argument(&call.arguments).len().try_into().unwrap_or_default()))
    });
    let runtime = runtime().with_function(length.declared("def length(text: str) -> int: ..."));
    let stubs = Some("def elsewhere(value: int) -> str: ...".to_owned());
    let own = MontySettings { type_check: true, type_check_stubs: stubs, ..settings() };
    let sandbox = create(&runtime, own, None).await.unwrap();
    assert_eq!(text(&run(&sandbox, "length('four') + 1").await), "5");
    for wrong in ["length(4)", "elsewhere('x')"] {
        let outcome = run(&sandbox, wrong).await;
        assert_eq!(outcome.code_error.unwrap().name, "TypeCheckError", "{wrong}");
    }
    // known to the checker, and there is nobody who answers
    assert!(text(&run(&sandbox, "elsewhere(1)").await).starts_with("NameError"));
    stop(&sandbox).await;
}

#[tokio::test]
async fn files_are_there_only_where_a_folder_was_granted_and_only_those() {
    let (work, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::write(work.path().join("in.txt"), "mine").unwrap();
    std::fs::write(data.path().join("in.txt"), "others").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", data.path().join("way-out")).unwrap();
    let read = |path: &str| format!("from pathlib import Path\nPath({path:?}).read_text()");
    let write = |path: &str| format!("from pathlib import Path\nPath({path:?}).write_text('new')");

    let nothing = sandbox(settings()).await;
    for path in ["/work/in.txt", "/etc/passwd", &work.path().join("in.txt").display().to_string()] {
        assert!(text(&run(&nothing, &read(path)).await).starts_with("PermissionError"), "{path}");
    }
    stop(&nothing).await;

    let mounts = vec![Mount { source: data.path().to_owned(), target: "/data".into(), read_only: true }];
    let own = MontySettings { folder: FolderAccess::Write, mounts, ..settings() };
    let granted = create(&runtime(), own, Some(work.path())).await.unwrap();
    assert_eq!(text(&run(&granted, &read("/work/in.txt")).await), "'mine'");
    assert_eq!(text(&run(&granted, &read("/data/in.txt")).await), "'others'");
    run(&granted, &write("/work/out.txt")).await;
    assert_eq!(std::fs::read_to_string(work.path().join("out.txt")).unwrap(), "new");
    assert!(text(&run(&granted, &write("/data/in.txt")).await).starts_with("PermissionError"));
    assert_eq!(std::fs::read_to_string(data.path().join("in.txt")).unwrap(), "others");
    for path in ["/data/way-out", "/data/../etc/passwd", "/etc/passwd"] {
        assert!(text(&run(&granted, &read(path)).await).starts_with("PermissionError"), "{path}");
    }
    let isolation = granted.capabilities();
    let Some(Support::Yes(said)) = isolation.get(Capability::Isolation) else { panic!("{isolation:?}") };
    assert!(said.contains("granted"), "{said}");
    stop(&granted).await;

    let own = MontySettings { folder: FolderAccess::Read, ..settings() };
    let missing = create(&runtime(), own, Some(Path::new("/nowhere"))).await.err();
    assert!(matches!(missing, Some(SandboxError::FolderMissing { .. })), "{missing:?}");
}

#[tokio::test]
async fn a_run_that_needs_too_much_memory_is_taken_back_and_the_next_one_goes_on() {
    let own = MontySettings { memory: Memory::bytes(32 << 20), ..settings() };
    let sandbox = sandbox(own).await;
    run(&sandbox, "kept = [1, 2]").await;
    let outcome = run(&sandbox, "kept.append(3)\nlarge = [0] * 50_000_000").await;
    assert_eq!(outcome.code_error.unwrap().name, "MemoryError");
    assert_eq!(text(&run(&sandbox, "kept").await), "[1, 2]");
    stop(&sandbox).await;
}

#[tokio::test]
async fn an_interrupt_goes_back_to_before_the_run_within_the_blink_of_an_eye() {
    let sandbox = sandbox(settings()).await;
    run(&sandbox, "kept = list(range(1000))").await;
    let mut took = Vec::new();
    for _ in 0..5 {
        let execution = sandbox.execute(ExecuteRequest::new("kept = []\nwhile True: pass")).await.unwrap();
        is_busy(&sandbox).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
        let start = Instant::now();
        sandbox.interrupt().await.unwrap();
        assert!(finish(execution, OutcomeBuilder::default()).await.interrupted);
        took.push(start.elapsed());
    }
    assert_eq!(text(&run(&sandbox, "len(kept)").await), "1000");
    took.sort();
    // 50 ms are wanted; a machine with other work gets some more
    assert!(took[2] < Duration::from_millis(250), "{took:?}");
    stop(&sandbox).await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn workers_are_gone_when_their_sandbox_is() {
    let sandbox = sandbox(settings()).await;
    let running = sandbox.execute(ExecuteRequest::new("while True: pass")).await.unwrap();
    is_busy(&sandbox).await;
    let workers = support::children_named("monty");
    assert!(!workers.is_empty());
    drop(running);
    stop(&sandbox).await;
    let start = Instant::now();
    while workers.iter().any(|worker| support::lives(*worker)) {
        assert!(start.elapsed() < PATIENCE, "{workers:?} live on");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
