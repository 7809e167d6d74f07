//! Kernels on real servers, through the contract.

#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests are not seen as tests

mod support;

use std::time::Duration;

use sandbook_runtimes::{
    jupyter::{Handle, JupyterSettings, ManagedServerSettings, ServerSettings},
    paste::parse_pasted,
};
use sandbook_sandbox::{
    CreateRequest, EventKind, ExecuteRequest, KernelStatus, OutcomeBuilder, Readiness, Runtime, SandboxError,
    StopChoice, StopReport,
};
use sandbook_test_support::{PATIENCE, SINGLE_USER, TOKEN, gateway, jupyter_server, python, rest, server};
use support::{Place, finish, is_busy, new_on, next_event, on, run, server_settings};
use url::Url;

async fn kernels(url: &Url) -> usize {
    rest("GET", url, "api/kernels").await.as_array().unwrap().len()
}

#[tokio::test]
async fn a_pasted_address_leads_to_a_kernel_that_is_deleted_on_stop() {
    let (place, server) = (Place::new(), server("jupyter_server", &["--ServerApp.base_url=/user/me/"]).await);
    let pasted =
        format!("http://127.0.0.1:{}/user/me/lab/tree/x.ipynb?token={TOKEN}", server.url.port().unwrap());
    let recognised = parse_pasted(&pasted).unwrap().into_server().unwrap();
    let request = CreateRequest {
        credential: recognised.token.clone(),
        ..place.request(on(ServerSettings::new(recognised.server.expose().clone())))
    };
    let sandbox = place.runtime.create(request).await.unwrap();
    assert_eq!(run(&sandbox, "6*7").await.text().as_deref(), Some("42"));
    assert!(sandbox.info().owned && !format!("{:?}", sandbox.info()).contains(TOKEN));
    assert_eq!(kernels(&server.url).await, 1);
    assert_eq!(sandbox.stop(StopChoice::Default, PATIENCE).await.unwrap(), StopReport::Ended);
    assert_eq!(kernels(&server.url).await, 0);
}

#[tokio::test]
async fn a_kept_kernel_is_listed_with_its_last_activity_and_can_be_removed() {
    let (place, server) = (Place::new(), jupyter_server().await);
    let sandbox = new_on(&place, &server.url).await;
    run(&sandbox, "x = 5").await;
    assert_eq!(sandbox.stop(StopChoice::Keep, PATIENCE).await.unwrap(), StopReport::LeftRunning);
    let request = place.request(on(server_settings(&server.url)));
    let listed = place.runtime.list(&request.settings, request.credential.as_ref()).await.unwrap();
    assert_eq!(listed.len(), 1);
    assert!(listed[0].last_activity.is_some() && listed[0].title.contains("python3"), "{listed:?}");
    let Handle::Server { kernel_id, .. } = Handle::read(&listed[0].handle).unwrap() else { panic!() };
    place
        .runtime
        .remove_kernel(&server_settings(&server.url), request.credential.as_ref(), &kernel_id)
        .await
        .unwrap();
    assert_eq!(kernels(&server.url).await, 0);
}

#[tokio::test]
async fn a_listed_kernel_can_be_joined_but_not_one_in_use_unasked() {
    let (place, server) = (Place::new(), jupyter_server().await);
    let owner = new_on(&place, &server.url).await;
    run(&owner, "x = 5").await;
    let Handle::Server { kernel_id, .. } = Handle::read(&owner.info().handle).unwrap() else { panic!() };
    let join = |share| {
        on(ServerSettings { kernel_id: Some(kernel_id.clone()), share, ..server_settings(&server.url) })
    };
    let refused = place.create(join(false)).await.err();
    assert!(matches!(refused, Some(SandboxError::InUse { .. })), "{refused:?}");
    let joined = place.create(join(true)).await.unwrap();
    assert_eq!(run(&joined, "x").await.text().as_deref(), Some("5"));
    assert!(!joined.info().owned);
    assert_eq!(joined.stop(StopChoice::Default, PATIENCE).await.unwrap(), StopReport::LeftRunning);
    assert!(run(&owner, "x").await.success());

    let busy = owner.execute(ExecuteRequest::new("import time; time.sleep(6)")).await.unwrap();
    is_busy(&owner).await;
    let joined = place.create(join(true)).await.unwrap();
    let mut status = joined.status();
    assert_eq!(*status.borrow_and_update(), KernelStatus::Busy);
    finish(busy, OutcomeBuilder::default()).await;
    let idle = status.wait_for(|status| *status == KernelStatus::Idle);
    drop(tokio::time::timeout(PATIENCE, idle).await.unwrap().unwrap());
    joined.stop(StopChoice::Default, PATIENCE).await.unwrap();
    owner.stop(StopChoice::Default, PATIENCE).await.unwrap();
    let gone = place.create(join(true)).await.err();
    assert!(matches!(gone, Some(SandboxError::Gone { .. })), "nothing is started in its place: {gone:?}");
    assert_eq!(kernels(&server.url).await, 0);
}

#[tokio::test]
async fn a_kernel_that_runs_somebody_s_code_is_not_joined_unasked_even_where_nobody_is_connected() {
    let (place, server) = (Place::new(), jupyter_server().await);
    let gone = new_on(&place, &server.url).await;
    let Handle::Server { kernel_id, .. } = Handle::read(&gone.info().handle).unwrap() else { panic!() };
    let _running = gone.execute(ExecuteRequest::new("import time; time.sleep(600)")).await.unwrap();
    is_busy(&gone).await;
    assert_eq!(gone.stop(StopChoice::Keep, PATIENCE).await.unwrap(), StopReport::LeftRunning);
    drop(gone);
    let start = std::time::Instant::now();
    while rest("GET", &server.url, "api/kernels").await[0]["connections"] != 0 {
        assert!(start.elapsed() < PATIENCE, "the connection stays");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let join = ServerSettings { kernel_id: Some(kernel_id), share: false, ..server_settings(&server.url) };
    let refused = place.create(on(join)).await.err();
    assert!(matches!(refused, Some(SandboxError::InUse { .. })), "{refused:?}");
}

#[tokio::test]
async fn a_kernel_gateway_works_whether_or_not_it_lists_its_kernels() {
    let place = Place::new();
    for lists in [false, true] {
        let options: &[&str] = if lists { &["--JupyterWebsocketPersonality.list_kernels=True"] } else { &[] };
        let server = gateway(options).await;
        let sandbox = new_on(&place, &server.url).await;
        assert_eq!(run(&sandbox, "6*7").await.text().as_deref(), Some("42"));
        let request = place.request(on(server_settings(&server.url)));
        let listed = place.runtime.list(&request.settings, request.credential.as_ref()).await;
        match listed {
            Ok(listed) => assert!(lists && listed.len() == 1, "{listed:?}"),
            Err(error) => assert!(!lists && matches!(error, SandboxError::Unsupported { .. }), "{error:?}"),
        }
        let readiness = place.runtime.readiness(&request.settings, request.credential.as_ref()).await;
        assert!(
            matches!(&readiness, Readiness::Ready(kernels) if kernels.contains("Python 3")),
            "{readiness:?}"
        );
        sandbox.interrupt().await.unwrap();
        sandbox.restart().await.unwrap();
        assert_eq!(run(&sandbox, "7").await.text().as_deref(), Some("7"));
        assert_eq!(sandbox.stop(StopChoice::Default, PATIENCE).await.unwrap(), StopReport::Ended);
        let wrong = CreateRequest {
            credential: Some("wrong".to_owned().into()),
            ..place.request(on(server_settings(&server.url)))
        };
        let error = place.runtime.create(wrong).await.err();
        assert!(matches!(error, Some(SandboxError::Refused { status: 401, .. })), "{error:?}");
    }
}

#[tokio::test]
async fn notebook_7_and_the_server_of_a_hub_s_user_work_as_a_jupyter_server_does() {
    let place = Place::new();
    for module in ["notebook", SINGLE_USER] {
        let server = server(module, &[]).await;
        let sandbox = new_on(&place, &server.url).await;
        assert_eq!(run(&sandbox, "6*7").await.text().as_deref(), Some("42"), "{module}");
        sandbox.restart().await.unwrap();
        assert_eq!(run(&sandbox, "7").await.text().as_deref(), Some("7"), "{module}");
        assert_eq!(kernels(&server.url).await, 1, "{module}");
        assert_eq!(sandbox.stop(StopChoice::Default, PATIENCE).await.unwrap(), StopReport::Ended);
        assert_eq!(kernels(&server.url).await, 0, "{module}");
        let wrong = CreateRequest {
            credential: Some("wrong".to_owned().into()),
            ..place.request(on(server_settings(&server.url)))
        };
        let error = place.runtime.create(wrong).await.err();
        assert!(
            matches!(error, Some(SandboxError::Refused { status: 401 | 403, .. })),
            "{module}: {error:?}"
        );
    }
}

#[tokio::test]
async fn timeout_interrupt_and_restart_work_through_a_server() {
    let (place, server) = (Place::new(), jupyter_server().await);
    let sandbox = new_on(&place, &server.url).await;
    let request = ExecuteRequest {
        timeout: Some(Duration::from_secs(1)),
        ..ExecuteRequest::new("print('part', flush=True)\nwhile True: pass")
    };
    let outcome = support::run_request(&sandbox, request).await;
    assert!(outcome.timed_out && !outcome.success() && outcome.stdout.text() == "part\n", "{outcome:?}");
    let execution = sandbox.execute(ExecuteRequest::new("import time; time.sleep(60)")).await.unwrap();
    is_busy(&sandbox).await;
    sandbox.restart().await.unwrap();
    let outcome = finish(execution, OutcomeBuilder::default()).await;
    // The server interrupts a kernel before it restarts it; a quick one still says so.
    let restarted =
        matches!(&outcome.infrastructure, Some(SandboxError::Died { cause }) if cause.contains("restarted"));
    let interrupted = outcome.code_error.as_ref().is_some_and(|error| error.name == "KeyboardInterrupt");
    assert!((restarted || interrupted) && !outcome.success(), "{outcome:?}");
    assert_eq!(run(&sandbox, "2").await.text().as_deref(), Some("2"));
}

#[tokio::test]
async fn a_kernel_that_dies_on_a_server_is_told_without_a_cause() {
    let (place, server) = (Place::new(), jupyter_server().await);
    let sandbox = new_on(&place, &server.url).await;
    let outcome = run(&sandbox, "import os; os._exit(1)").await;
    assert!(
        matches!(&outcome.infrastructure, Some(SandboxError::Died { cause }) if cause == "not reported"),
        "{outcome:?}"
    );
    assert_eq!(run(&sandbox, "3").await.text().as_deref(), Some("3"), "its server has started another");
}

#[tokio::test]
async fn a_kernel_that_somebody_removed_is_gone() {
    let (place, server) = (Place::new(), jupyter_server().await);
    let sandbox = new_on(&place, &server.url).await;
    let Handle::Server { kernel_id, .. } = Handle::read(&sandbox.info().handle).unwrap() else { panic!() };
    rest("DELETE", &server.url, &format!("api/kernels/{kernel_id}")).await;
    let mut status = sandbox.status();
    let gone = status.wait_for(|status| matches!(status, KernelStatus::Gone { .. }));
    drop(tokio::time::timeout(PATIENCE, gone).await.unwrap().unwrap());
    assert!(matches!(sandbox.execute(ExecuteRequest::new("1")).await, Err(SandboxError::Gone { .. })));
    assert_eq!(sandbox.stop(StopChoice::Default, PATIENCE).await.unwrap(), StopReport::WasGone);
}

#[tokio::test]
async fn a_new_owner_takes_a_run_over_by_its_handle_and_gets_what_was_missed() {
    let (place, server) = (Place::new(), jupyter_server().await);
    let sandbox = new_on(&place, &server.url).await;
    let handle = sandbox.info().handle;
    run(&sandbox, "x = 9").await;
    sandbox.stop(StopChoice::Keep, PATIENCE).await.unwrap();
    drop(sandbox);
    let again = place.runtime.attach(handle, place.request(on(server_settings(&server.url)))).await.unwrap();
    assert!(again.info().owned);
    assert_eq!(run(&again, "x").await.text().as_deref(), Some("9"));
    assert_eq!(again.stop(StopChoice::Default, PATIENCE).await.unwrap(), StopReport::Ended);
}

#[tokio::test]
async fn a_server_started_here_runs_code_keeps_its_token_out_of_sight_and_leaves_nothing() {
    let place = Place::new();
    let settings =
        JupyterSettings::ManagedServer(ManagedServerSettings { python: Some(python()), kernel: None });
    let sandbox = place.create(settings).await.unwrap();
    let outcome = run(&sandbox, "import os\nprint(os.getcwd())\nprint('x' * 5_000_000)").await;
    let folder = std::fs::canonicalize(place.notebooks()).unwrap();
    let text = outcome.stdout.text();
    assert!(
        text.starts_with(&format!("{}\n", folder.display())) && text.len() > 5_000_000,
        "no limit on output"
    );
    let code = "import os\nprint(open(f'/proc/{os.getppid()}/cmdline').read().replace('\\0', ' '))\nprint(os.getppid())";
    let told = run(&sandbox, code).await.stdout.text();
    assert!(told.contains("jupyter_server") && !told.to_lowercase().contains("token"), "{told}");
    let pid = told.trim().lines().last().unwrap().to_owned();
    sandbox.stop(StopChoice::Default, PATIENCE).await.unwrap();
    drop(sandbox);
    let start = std::time::Instant::now();
    while std::path::Path::new(&format!("/proc/{pid}")).exists() {
        assert!(start.elapsed() < PATIENCE, "the server lives on");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(std::fs::read_dir(place.folder.path().join("run")).unwrap().count(), 0);
}

#[tokio::test]
async fn a_server_that_is_cancelled_while_it_starts_leaves_nothing() {
    let place = Place::new();
    let settings =
        JupyterSettings::ManagedServer(ManagedServerSettings { python: Some(python()), kernel: None });
    let request = place.request(settings);
    let cancel = request.cancel.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(300)).await;
        cancel.cancel();
    });
    assert!(matches!(place.runtime.create(request).await.err(), Some(SandboxError::Cancelled)));
    assert_eq!(std::fs::read_dir(place.folder.path().join("run")).unwrap().count(), 0);
}

#[tokio::test]
async fn a_server_that_cannot_start_says_why_and_leaves_nothing() {
    let place = Place::new();
    let bare = place.folder.path().join("bare");
    let made = std::process::Command::new(python()).args(["-m", "venv", "--without-pip"]).arg(&bare).status();
    assert!(made.unwrap().success());
    let settings = ManagedServerSettings { python: Some(bare.join("bin/python")), kernel: None };
    let error = place.create(JupyterSettings::ManagedServer(settings)).await.err().unwrap();
    assert!(
        matches!(error, SandboxError::StartFailed { .. } | SandboxError::NotInstalled { .. }),
        "{error:?}"
    );
    assert!(error.to_string().contains("jupyter_server"), "{error}");
    let run = place.folder.path().join("run");
    assert_eq!(std::fs::read_dir(run).map_or(0, Iterator::count), 0);
}

#[tokio::test]
async fn input_is_answered_through_a_server() {
    let (place, server) = (Place::new(), jupyter_server().await);
    let sandbox = new_on(&place, &server.url).await;
    let mut execution = sandbox.execute(ExecuteRequest::new("print(input('? '))")).await.unwrap();
    next_event(&mut execution, |kind| matches!(kind, EventKind::InputRequest { .. })).await;
    execution.input().send("typed".to_owned().into()).unwrap();
    assert_eq!(finish(execution, OutcomeBuilder::default()).await.stdout.text(), "typed\n");
}

#[tokio::test]
async fn a_kernel_starts_in_the_root_of_its_server_wherever_the_server_was_started() {
    let root = tempfile::tempdir().unwrap();
    let option = format!("--ServerApp.root_dir={}", root.path().display());
    let server = server("jupyter_server", &[&option]).await;
    let sandbox = Place::new().create(on(server_settings(&server.url))).await.unwrap();
    let folder = run(&sandbox, "import os\nprint(os.getcwd())").await.stdout.text();
    assert_eq!(folder.trim(), root.path().canonicalize().unwrap().display().to_string());
    sandbox.stop(StopChoice::Default, PATIENCE).await.unwrap();
}
