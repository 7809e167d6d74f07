//! Kernels of this computer, through the contract.

#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests are not seen as tests

mod support;

use std::time::{Duration, Instant};

use sandbook_runtimes::jupyter::{JupyterSettings, LocalSettings};
use sandbook_sandbox::{
    Capability, Client, Completeness, DeathCause, EventKind, ExecuteRequest, KernelStatus, OutcomeBuilder,
    Payload, Runtime, SandboxError, StopChoice, StopReport, StreamName,
};
use sandbook_test_support::PATIENCE;
use support::{Place, finish, is_busy, local_settings, next_event, run, run_request, stop, until_line};

#[tokio::test]
async fn code_runs_in_the_notebook_s_folder_and_its_outputs_come_in_order() {
    let place = Place::new();
    let sandbox = place.local().await;
    let outcome = run(&sandbox, "import os, sys\nprint(os.getcwd())\nprint('e', file=sys.stderr)\n6*7").await;
    let folder = std::fs::canonicalize(place.notebooks()).unwrap();
    assert_eq!(outcome.stdout.text(), format!("{}\n", folder.display()));
    assert_eq!((outcome.stderr.text().as_str(), outcome.text().as_deref()), ("e\n", Some("42")));
    assert_eq!((outcome.success(), outcome.execution_count), (true, Some(1)));
    stop(&sandbox).await;
}

#[tokio::test]
async fn text_streams_while_the_code_runs() {
    let place = Place::new();
    let sandbox = place.local().await;
    let code = "import time\nprint('first', flush=True)\ntime.sleep(3)\nprint('second')";
    let mut execution = sandbox.execute(ExecuteRequest::new(code)).await.unwrap();
    let first = |kind: &EventKind| matches!(kind, EventKind::Stream { text, .. } if text.contains("first"));
    let first = next_event(&mut execution, first).await.at;
    let end = next_event(&mut execution, |kind| matches!(kind, EventKind::End(_))).await.at;
    assert!(end.duration_since(first).unwrap() > Duration::from_secs(2));
}

#[tokio::test]
async fn outputs_that_come_faster_than_they_are_read_all_arrive() {
    let place = Place::new();
    let sandbox = place.local().await;
    let code =
        "import time\nprint('begun', flush=True)\ntime.sleep(0.5)\nfor i in range(4000): display('x' * 4000)";
    let mut execution = sandbox.execute(ExecuteRequest::new(code)).await.unwrap();
    next_event(&mut execution, |kind| matches!(kind, EventKind::Stream { .. })).await;
    // This is the only thread that reads the kernel's sockets.
    std::thread::sleep(Duration::from_secs(5));
    let mut shown = 0;
    while let Some(event) = execution.next().await {
        match event.kind {
            EventKind::Display { .. } => shown += 1,
            EventKind::End(_) => break,
            _ => {}
        }
    }
    assert_eq!(shown, 4000);
    stop(&sandbox).await;
}

#[tokio::test]
async fn an_error_an_exit_code_and_a_dropped_run_are_told_apart() {
    let place = Place::new();
    let sandbox = place.local().await;
    let outcome = run(&sandbox, "1/0").await;
    assert_eq!(outcome.code_error.as_ref().map(|error| error.name.as_str()), Some("ZeroDivisionError"));
    assert!(!outcome.success() && outcome.infrastructure.is_none());
    for (code, exit_code, success) in [
        ("import sys; sys.exit(3)", 3, false),
        ("import sys; sys.exit()", 0, true),
        ("raise SystemExit('no')", 1, false),
    ] {
        let outcome = run(&sandbox, code).await;
        assert_eq!(
            (outcome.exit_code, outcome.success(), outcome.code_error),
            (Some(exit_code), success, None),
            "{code}"
        );
    }
}

#[tokio::test]
async fn prompts_are_answered_and_a_password_is_marked() {
    let place = Place::new();
    let sandbox = place.local().await;
    let code = "import getpass\nprint(input('name? ') + getpass.getpass('secret? '))";
    let mut execution = sandbox.execute(ExecuteRequest::new(code)).await.unwrap();
    for (answer, masked) in [("me", false), ("pw", true)] {
        let event = next_event(&mut execution, |kind| matches!(kind, EventKind::InputRequest { .. })).await;
        assert!(matches!(event.kind, EventKind::InputRequest { password, .. } if password == masked));
        execution.input().send(answer.to_owned().into()).unwrap();
    }
    assert_eq!(finish(execution, OutcomeBuilder::default()).await.stdout.text(), "mepw\n");
}

#[tokio::test]
async fn asking_for_input_where_nobody_answers_is_an_error_in_the_code() {
    let place = Place::new();
    let outcome = Client::new(place.local().await).run("input('?')").await.unwrap();
    assert_eq!(outcome.code_error.map(|error| error.name).as_deref(), Some("StdinNotImplementedError"));
}

#[tokio::test]
async fn an_interrupt_ends_the_code_and_says_so() {
    let place = Place::new();
    let sandbox = place.local().await;
    let mut execution =
        sandbox.execute(ExecuteRequest::new("print('on', flush=True)\nwhile True: pass")).await.unwrap();
    next_event(&mut execution, |kind| matches!(kind, EventKind::Stream { .. })).await;
    sandbox.interrupt().await.unwrap();
    let outcome = finish(execution, OutcomeBuilder::default()).await;
    assert!(outcome.interrupted && !outcome.timed_out && !outcome.success());
    assert_eq!(run(&sandbox, "1").await.text().as_deref(), Some("1"));
}

#[tokio::test]
async fn a_timeout_interrupts_keeps_what_came_and_is_no_success() {
    let place = Place::new();
    let sandbox = place.local().await;
    let request = ExecuteRequest {
        timeout: Some(Duration::from_secs(1)),
        ..ExecuteRequest::new("print('part', flush=True)\nwhile True: pass")
    };
    let outcome = run_request(&sandbox, request).await;
    assert_eq!(
        (outcome.stdout.text().as_str(), outcome.timed_out, outcome.success()),
        ("part\n", true, false)
    );
    assert!(run(&sandbox, "1").await.success(), "the kernel is free again");
}

#[tokio::test]
async fn code_that_ignores_the_interrupt_is_ended_by_a_restart_when_asked() {
    let place = Place::new();
    let sandbox = place.local().await;
    assert!(run(&sandbox, "kept = 1").await.success());
    let code =
        "import time\nwhile True:\n    try:\n        time.sleep(1)\n    except KeyboardInterrupt: pass";
    let request = ExecuteRequest {
        timeout: Some(Duration::from_secs(1)),
        restart_after: Some(Duration::from_secs(1)),
        ..ExecuteRequest::new(code)
    };
    let outcome = run_request(&sandbox, request).await;
    assert!(outcome.timed_out && outcome.infrastructure.is_none(), "{outcome:?}");
    let mut status = sandbox.status();
    drop(
        tokio::time::timeout(PATIENCE, status.wait_for(|status| *status == KernelStatus::Idle))
            .await
            .unwrap()
            .unwrap(),
    );
    assert_eq!(run(&sandbox, "kept").await.code_error.map(|error| error.name).as_deref(), Some("NameError"));
}

#[tokio::test]
async fn code_that_ignores_the_interrupt_is_told_as_timed_out_all_the_same() {
    let place = Place::new();
    let sandbox = place.local().await;
    let code = "import time\nend = time.time() + 12\nwhile time.time() < end:\n    try:\n        time.sleep(1)\n    except KeyboardInterrupt: pass";
    let request = ExecuteRequest { timeout: Some(Duration::from_secs(1)), ..ExecuteRequest::new(code) };
    let start = Instant::now();
    let outcome = run_request(&sandbox, request).await;
    assert!(
        outcome.timed_out && !outcome.success() && start.elapsed() < Duration::from_secs(11),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn a_restart_ends_what_runs_and_forgets_variables() {
    let place = Place::new();
    let sandbox = place.local().await;
    let execution = sandbox.execute(ExecuteRequest::new("x = 1\nimport time; time.sleep(60)")).await.unwrap();
    is_busy(&sandbox).await;
    sandbox.restart().await.unwrap();
    let outcome = finish(execution, OutcomeBuilder::default()).await;
    assert!(matches!(outcome.infrastructure, Some(SandboxError::Died { .. })), "{outcome:?}");
    let outcome = run(&sandbox, "x").await;
    assert_eq!(outcome.code_error.map(|error| error.name).as_deref(), Some("NameError"));
    assert_eq!(outcome.execution_count, Some(1));
}

#[tokio::test]
async fn a_kernel_s_death_is_known_within_a_second_with_its_cause_and_a_restart_mends_it() {
    let place = Place::new();
    let sandbox = place.local().await;
    for (code, cause) in [
        ("import os; os._exit(7)", DeathCause::ExitCode(7)),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", DeathCause::Signal(9)),
    ] {
        let code = format!("import time\nprint('before', flush=True)\ntime.sleep(0.5)\n{code}");
        let mut execution = sandbox.execute(ExecuteRequest::new(code)).await.unwrap();
        let before = next_event(&mut execution, |kind| matches!(kind, EventKind::Stream { .. })).await.at;
        let start = Instant::now();
        let outcome = finish(execution, OutcomeBuilder::default()).await;
        // Half a second of it is the code's own.
        assert!(start.elapsed() < Duration::from_millis(1_500), "{:?} after {before:?}", start.elapsed());
        let Some(SandboxError::Died { cause: told }) = &outcome.infrastructure else { panic!("{outcome:?}") };
        assert_eq!(*told, cause.to_string());
        let mut status = sandbox.status();
        let dead = status.wait_for(|status| *status == KernelStatus::Dead(cause.clone()));
        drop(tokio::time::timeout(PATIENCE, dead).await.unwrap().unwrap());
        assert!(matches!(sandbox.execute(ExecuteRequest::new("1")).await, Err(SandboxError::Died { .. })));
        sandbox.restart().await.unwrap();
        assert!(run(&sandbox, "1").await.success());
    }
}

#[tokio::test]
async fn a_kernel_of_this_computer_is_spoken_to_by_sockets_of_its_own_folder() {
    let place = Place::new();
    let sandbox = place.local().await;
    let code = "import json\nfrom ipykernel.connect import get_connection_file\njson.load(open(get_connection_file()))['transport']";
    assert_eq!(run(&sandbox, code).await.text().as_deref(), Some("'ipc'"));
    stop(&sandbox).await;
}

#[tokio::test]
async fn a_dead_kernel_whose_children_hold_its_sockets_open_is_known_all_the_same() {
    let place = Place::new();
    let sandbox = place.local().await;
    let code = "import os, time\nif os.fork() == 0:\n    time.sleep(8); os._exit(0)\nos._exit(5)";
    let start = Instant::now();
    let outcome = run(&sandbox, code).await;
    assert!(
        matches!(&outcome.infrastructure, Some(SandboxError::Died { cause }) if cause == "exit code 5"),
        "{outcome:?}"
    );
    assert!(start.elapsed() < Duration::from_secs(7), "before the child let the sockets go");
}

#[tokio::test]
async fn displays_updates_and_clearing_arrive_as_events() {
    let place = Place::new();
    let sandbox = place.local().await;
    let code = "from IPython.display import display, clear_output, Image\n\
        handle = display('a', display_id='d')\nhandle.update('b')\nclear_output(wait=True)\nprint('\\rx\\r\\x1b[31mred')";
    let mut execution = sandbox.execute(ExecuteRequest::new(code)).await.unwrap();
    let mut kinds = Vec::new();
    loop {
        match execution.next().await.unwrap().kind {
            EventKind::Display { display_id, .. } => kinds.push(format!("display {display_id:?}")),
            EventKind::DisplayUpdate { display_id, .. } => kinds.push(format!("update {display_id}")),
            EventKind::Clear { wait } => kinds.push(format!("clear {wait}")),
            EventKind::Stream { name: StreamName::Stdout, text } => kinds.push(text),
            EventKind::End(_) => break,
            _ => {}
        }
    }
    assert_eq!(kinds, ["display Some(\"d\")", "update d", "clear true", "\rx\r\u{1b}[31mred\n"]);
}

#[tokio::test]
async fn a_matplotlib_figure_arrives_as_an_image() {
    let place = Place::new();
    let sandbox = place.local().await;
    let outcome =
        run(&sandbox, "%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.show()")
            .await;
    let image = outcome.results.iter().find_map(|result| result.text_of("image/png")).unwrap();
    assert!(image.starts_with("iVBOR"), "{}", &image[..20]);
}

#[tokio::test]
async fn payloads_and_magics_work() {
    let place = Place::new();
    let sandbox = place.local().await;
    let mut execution =
        sandbox.execute(ExecuteRequest::new("get_ipython().set_next_input('next!')")).await.unwrap();
    let event = next_event(&mut execution, |kind| matches!(kind, EventKind::Payload(_))).await;
    assert!(matches!(event.kind, EventKind::Payload(Payload::SetNextInput { text, .. }) if text == "next!"));
    let mut execution = sandbox.execute(ExecuteRequest::new("len?")).await.unwrap();
    let event = next_event(&mut execution, |kind| matches!(kind, EventKind::Payload(_))).await;
    assert!(matches!(event.kind, EventKind::Payload(Payload::Page { data }) if data.contains("text/plain")));
    assert_eq!(run(&sandbox, "%%bash\necho from bash").await.stdout.text(), "from bash\n");
}

#[tokio::test]
async fn text_after_the_end_is_marked_late() {
    let place = Place::new();
    let sandbox = place.local().await;
    let code = "import threading, time\ndef late():\n    time.sleep(1); print('late')\nthreading.Thread(target=late).start()";
    let mut execution = sandbox.execute(ExecuteRequest::new(code)).await.unwrap();
    next_event(&mut execution, |kind| matches!(kind, EventKind::End(_))).await;
    let event = next_event(
        &mut execution,
        |kind| matches!(kind, EventKind::Stream { text, .. } if text.contains("late")),
    )
    .await;
    assert!(event.late);
}

#[tokio::test]
async fn completion_inspection_history_and_kernel_info_answer() {
    let place = Place::new();
    let sandbox = place.local().await;
    run(&sandbox, "zebra_function = lambda: 1").await;
    let reply = sandbox.complete("zebra_", 6).await.unwrap();
    assert!(reply.matches.iter().any(|found| found.text == "zebra_function"), "{reply:?}");
    assert_eq!((reply.start, reply.end), (0, 6));
    assert!(sandbox.inspect("len", 3, 0).await.unwrap().data.contains_key("text/plain"));
    assert!(
        matches!(sandbox.is_complete("for i in x:").await.unwrap(), Completeness::Incomplete(indent) if indent == "    ")
    );
    assert_eq!(sandbox.is_complete("1").await.unwrap(), Completeness::Complete);
    let history = sandbox.history(3).await.unwrap();
    assert!(history.iter().any(|entry| entry.source.contains("zebra_function")));
    let info = sandbox.kernel_info().await.unwrap();
    assert_eq!((info.language.as_str(), info.highlighter.as_deref()), ("python", Some("ipython3")));
}

#[tokio::test]
async fn a_kernel_of_another_language_runs_and_is_interrupted() {
    let place = Place::new();
    let settings = JupyterSettings::Local(LocalSettings { kernel: Some("bash".into()), python: None });
    let sandbox = place.create(settings).await.unwrap();
    assert_eq!(run(&sandbox, "echo $((6*7))").await.stdout.text(), "42\n");
    assert_eq!(sandbox.kernel_info().await.unwrap().language, "bash");
    let mut execution = sandbox.execute(ExecuteRequest::new("echo begun; sleep 60")).await.unwrap();
    let mut builder = OutcomeBuilder::default();
    until_line(&mut execution, &mut builder, "begun").await;
    // this kernel misses an interrupt that comes while it hands out a line
    tokio::time::sleep(Duration::from_secs(1)).await;
    sandbox.interrupt().await.unwrap();
    let outcome = finish(execution, builder).await;
    assert!(outcome.interrupted && !outcome.success(), "{outcome:?}");
    stop(&sandbox).await;
}

#[tokio::test]
async fn a_kernel_that_does_not_exist_or_start_says_why() {
    let place = Place::new();
    let named =
        |kernel: &str| JupyterSettings::Local(LocalSettings { kernel: Some(kernel.into()), python: None });
    let error = place.create(named("klingon")).await.err();
    assert!(
        matches!(&error, Some(SandboxError::NotInstalled { what, .. }) if what.contains("klingon")),
        "{error:?}"
    );
    let folder = place.folder.path().join("data/kernels/broken");
    std::fs::create_dir_all(&folder).unwrap();
    let spec = r#"{"argv": ["sh", "-c", "echo no such module >&2; exit 3", "{connection_file}"], "display_name": "Broken"}"#;
    std::fs::write(folder.join("kernel.json"), spec).unwrap();
    let error = place.create(named("broken")).await.err();
    let Some(SandboxError::StartFailed { detail, .. }) = error else { panic!("{error:?}") };
    assert!(detail.contains("no such module") && detail.contains("exit code 3"), "{detail}");
}

#[tokio::test]
async fn stopping_is_quick_leaves_nothing_behind_and_may_be_repeated() {
    let place = Place::new();
    let sandbox = place.local().await;
    let execution = sandbox.execute(ExecuteRequest::new("import time; time.sleep(60)")).await.unwrap();
    let report = sandbox.stop(StopChoice::Default, Duration::from_secs(10)).await.unwrap();
    assert_eq!(report, StopReport::Ended);
    assert!(!finish(execution, OutcomeBuilder::default()).await.success());
    assert_eq!(*sandbox.status().borrow(), KernelStatus::Stopped);
    assert_eq!(sandbox.stop(StopChoice::Default, Duration::from_secs(1)).await.unwrap(), StopReport::WasGone);
    assert_eq!(std::fs::read_dir(place.folder.path().join("run")).unwrap().count(), 0);
}

#[tokio::test]
async fn a_kernel_that_does_not_end_when_asked_is_killed() {
    let place = Place::new();
    let sandbox = place.local().await;
    // a moment later, or it stands still before it could say that it is busy
    let code = "import os, signal, time; time.sleep(0.5); os.kill(os.getpid(), signal.SIGSTOP)";
    run(&sandbox, code).await_stop(&sandbox).await;
}

trait AwaitStop {
    fn await_stop(self, sandbox: &std::sync::Arc<dyn sandbook_sandbox::Sandbox>) -> impl Future<Output = ()>;
}

impl<F: Future> AwaitStop for F {
    /// Starts the run, which never ends, and stops the sandbox under it.
    async fn await_stop(self, sandbox: &std::sync::Arc<dyn sandbook_sandbox::Sandbox>) {
        let stop = async {
            support::is_busy(sandbox).await;
            tokio::time::sleep(Duration::from_millis(1500)).await;
            sandbox.stop(StopChoice::Default, Duration::from_secs(1)).await.unwrap()
        };
        let (_, report) = tokio::join!(self, stop);
        assert_eq!(report, StopReport::Killed);
    }
}

#[tokio::test]
async fn dropping_a_sandbox_kills_its_kernel_even_while_code_runs() {
    let place = Place::new();
    let sandbox = place.local().await;
    let outcome = run(&sandbox, "import os; print(os.getpid())").await;
    let pid: i32 = outcome.stdout.text().trim().parse().unwrap();
    let execution = sandbox.execute(ExecuteRequest::new("while True: pass")).await.unwrap();
    drop((sandbox, execution));
    let start = Instant::now();
    while std::path::Path::new(&format!("/proc/{pid}/cmdline")).exists() && !is_zombie(pid) {
        assert!(start.elapsed() < Duration::from_secs(5), "the kernel lives on");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn is_zombie(pid: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat.contains(") Z"))
}

#[tokio::test]
async fn cancelling_a_start_stops_what_was_started() {
    let place = Place::new();
    let request = place.request(local_settings());
    request.cancel.cancel();
    assert!(matches!(place.runtime.create(request).await.err(), Some(SandboxError::Cancelled)));
    assert_eq!(std::fs::read_dir(place.folder.path().join("run")).unwrap().count(), 0);
}

#[tokio::test]
async fn a_kernel_can_be_joined_by_its_handle_and_is_left_by_whoever_joined() {
    let place = Place::new();
    let sandbox = place.local().await;
    run(&sandbox, "x = 41").await;
    let joined = place.runtime.attach(sandbox.info().handle, place.request(local_settings())).await.unwrap();
    assert_eq!(run(&joined, "x + 1").await.text().as_deref(), Some("42"));
    let report = joined.stop(StopChoice::Default, Duration::from_secs(1)).await.unwrap();
    assert_eq!(report, StopReport::LeftRunning);
    assert!(run(&sandbox, "x").await.success());
    assert!(
        sandbox.capabilities().has(Capability::Interrupt)
            && !sandbox.capabilities().has(Capability::Isolation)
    );
}
