//! Kernels on real servers, through the contract.

#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests are not seen as tests

mod support;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use sandbook_runtimes::jupyter::{
    Handle, JupyterSettings, ManagedServerSettings, ServerSettings, parse_pasted,
};
use sandbook_sandbox::{
    CreateRequest, EventKind, ExecuteRequest, Execution, KernelStatus, Outcome, OutcomeBuilder, Readiness,
    Runtime, Sandbox, SandboxError, StopChoice, StopReport,
};
use sandbook_test_support::{
    Line, PATIENCE, Proxy, TOKEN, gateway, jupyter_server, python, rest, server, server_at,
};
use support::{Place, finish, is_busy, next_event, run, server_settings, until_line};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};
use url::Url;

fn on(settings: ServerSettings) -> JupyterSettings {
    JupyterSettings::Server(settings)
}

async fn new_on(place: &Place, url: &Url) -> Arc<dyn Sandbox> {
    place.create(on(server_settings(url))).await.unwrap()
}

async fn kernels(url: &Url) -> usize {
    rest("GET", url, "api/kernels").await.as_array().unwrap().len()
}

#[tokio::test]
async fn a_pasted_address_leads_to_a_kernel_that_is_deleted_on_stop() {
    let (place, server) = (Place::new(), server("jupyter_server", &["--ServerApp.base_url=/user/me/"]).await);
    let pasted =
        format!("http://127.0.0.1:{}/user/me/lab/tree/x.ipynb?token={TOKEN}", server.url.port().unwrap());
    let recognised = parse_pasted(&pasted).unwrap();
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
async fn a_wrong_token_is_one_request_and_one_error_and_a_missing_one_is_asked_for() {
    let (place, server) = (Place::new(), jupyter_server().await);
    let proxy = Proxy::start(&server.url).await;
    for (token, is_expected) in [
        (
            Some("wrong"),
            (|error| matches!(error, SandboxError::Refused { status: 403, .. })) as fn(&SandboxError) -> bool,
        ),
        (None, |error| matches!(error, SandboxError::CredentialMissing { .. })),
    ] {
        let before = proxy.accepted();
        let credential = token.map(|token| token.to_owned().into());
        let request = CreateRequest { credential, ..place.request(on(server_settings(&proxy.url))) };
        let error = place.runtime.create(request).await.err().unwrap();
        assert!(is_expected(&error), "{error:?}");
        assert_eq!(proxy.accepted() - before, 1);
    }
    assert_eq!(kernels(&server.url).await, 0);
}

/// Answers every connection with the same bytes, and counts.
async fn answering(answer: &'static str) -> (Url, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::SeqCst);
            let mut buffer = [0; 4096];
            drop(stream.read(&mut buffer).await);
            drop(stream.write_all(answer.as_bytes()).await);
        }
    });
    (url, count)
}

#[tokio::test]
async fn what_is_no_jupyter_server_says_what_it_is() {
    let place = Place::new();
    let cases = [
        (
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 20\r\n\r\n<html>log in</html>\n",
            "web page",
        ),
        ("HTTP/1.1 302 Found\r\nLocation: /hub/login?next=x\r\nContent-Length: 0\r\n\r\n", "login page"),
        (
            "HTTP/1.1 302 Found\r\nLocation: https://other.org/?token=s3cr3t\r\nContent-Length: 0\r\n\r\n",
            "token=***",
        ),
        ("HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\nnot found", "HTTP 404"),
        (
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n[]",
            "names no kernel",
        ),
    ];
    for (answer, told) in cases {
        let (url, count) = answering(answer).await;
        let error = place.create(on(server_settings(&url))).await.err();
        let Some(SandboxError::WrongPeer { detail, .. }) = error else { panic!("{answer}: {error:?}") };
        assert!(detail.contains(told), "{detail}");
        assert_eq!(count.load(Ordering::SeqCst), 1, "{answer}");
    }
    let (url, _) = answering("SSH-2.0-OpenSSH_9.2\r\n").await;
    let error = place.create(on(server_settings(&url))).await.err();
    assert!(matches!(error, Some(SandboxError::Unreachable { .. })), "{error:?}");
}

#[tokio::test]
async fn a_host_that_does_not_answer_is_unreachable() {
    let place = Place::new();
    for url in ["http://127.0.0.1:9/", "http://no-such-host.invalid/"] {
        let error = place.create(on(server_settings(&url.parse().unwrap()))).await.err();
        assert!(matches!(error, Some(SandboxError::Unreachable { .. })), "{error:?}");
    }
}

#[tokio::test]
async fn a_self_signed_certificate_shows_its_fingerprint_and_can_be_trusted_for_its_connection() {
    let folder = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(["elsewhere.example".to_owned()]).unwrap();
    let (certificate, key) = (folder.path().join("c.pem"), folder.path().join("k.pem"));
    std::fs::write(&certificate, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let options = [
        format!("--ServerApp.certfile={}", certificate.display()),
        format!("--ServerApp.keyfile={}", key.display()),
    ];
    let server = server("jupyter_server", &options.each_ref().map(String::as_str)).await;
    let place = Place::new();
    let error = place.create(on(server_settings(&server.url))).await.err();
    let Some(SandboxError::Certificate { fingerprint: Some(fingerprint), .. }) = error else {
        panic!("{error:?}")
    };
    assert_eq!(fingerprint.split(':').count(), 32);

    let trusting = |fingerprint: &str| {
        on(ServerSettings {
            trusted_certificate: Some(fingerprint.to_owned()),
            ..server_settings(&server.url)
        })
    };
    let sandbox = place.create(trusting(&fingerprint)).await.unwrap();
    assert_eq!(run(&sandbox, "1+1").await.text().as_deref(), Some("2"));
    sandbox.stop(StopChoice::Default, PATIENCE).await.unwrap();

    let other =
        fingerprint.replace(&fingerprint[..2], if fingerprint.starts_with("00") { "01" } else { "00" });
    let error = place.create(trusting(&other)).await.err();
    assert!(matches!(error, Some(SandboxError::Certificate { .. })), "{error:?}");
}

#[tokio::test]
async fn plain_http_where_https_is_spoken_is_told() {
    let (url, _) = answering("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n").await;
    let https = url.as_str().replace("http:", "https:").parse().unwrap();
    let error = Place::new().create(on(server_settings(&https))).await.err();
    let Some(SandboxError::Unreachable { detail, .. }) = error else { panic!("{error:?}") };
    assert!(detail.contains("secure"), "{detail}");
}

#[tokio::test]
async fn https_where_only_http_is_spoken_is_told_as_that() {
    let server = jupyter_server().await;
    let https = server.url.as_str().replace("http:", "https:").parse().unwrap();
    let error = Place::new().create(on(server_settings(&https))).await.err();
    let Some(SandboxError::Unreachable { detail, .. }) = error else { panic!("{error:?}") };
    assert!(detail.contains("speaks http, not https"), "{detail}");
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
    assert!(
        matches!(&outcome.infrastructure, Some(SandboxError::Died { cause }) if cause.contains("restarted")),
        "{outcome:?}"
    );
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

const COUNTING: &str = "import time\nfor i in range(30):\n    print(i, flush=True)\n    time.sleep(0.1)";

#[tokio::test]
async fn a_cut_line_is_told_and_mended_with_nothing_lost_or_doubled() {
    let (place, server) = (Place::new(), jupyter_server().await);
    let proxy = Proxy::start(&server.url).await;
    let sandbox = new_on(&place, &proxy.url).await;
    let mut execution = sandbox.execute(ExecuteRequest::new(COUNTING)).await.unwrap();
    let (mut status, mut builder) = (sandbox.status(), OutcomeBuilder::default());
    // between two lines, when nothing is on its way that a cut would swallow
    until_line(&mut execution, &mut builder, "7").await;
    proxy.set(Line::Cut);
    let reconnecting = status.wait_for(|status| matches!(status, KernelStatus::Reconnecting { .. }));
    drop(tokio::time::timeout(PATIENCE, reconnecting).await.unwrap().unwrap());
    tokio::time::sleep(Duration::from_secs(1)).await;
    proxy.set(Line::Open);
    sandbox.reconnect(true);
    let (outcome, gaps) = finish_with_gaps(execution, builder).await;
    let expected: String = (0..30).fold(String::new(), |text, i| text + &format!("{i}\n"));
    assert_eq!((outcome.stdout.text(), outcome.success()), (expected, true));
    assert!(matches!(gaps[..], [(_, true)]), "{gaps:?}");
}

/// Runs an execution to its end: its outcome, and for each gap how long it was and whether all was replayed.
async fn finish_with_gaps(
    mut execution: Execution,
    mut builder: OutcomeBuilder,
) -> (Outcome, Vec<(Duration, bool)>) {
    let mut gaps = Vec::new();
    loop {
        let event = tokio::time::timeout(PATIENCE, execution.next()).await.unwrap().unwrap();
        if let EventKind::Gap { away_ms, replayed } = event.kind {
            gaps.push((Duration::from_millis(away_ms), replayed));
        }
        if builder.push(&event) {
            return (builder.finish(), gaps);
        }
    }
}

#[tokio::test]
async fn a_server_that_stood_still_loses_no_line_and_the_gap_is_told_as_long_as_it_was() {
    const STILL: Duration = Duration::from_secs(20);
    let (place, server) = (Place::new(), jupyter_server().await);
    let sandbox = new_on(&place, &server.url).await;
    let code = COUNTING.replace("30", "80");
    let mut execution = sandbox.execute(ExecuteRequest::new(code)).await.unwrap();
    let (status, mut builder) = (sandbox.status(), OutcomeBuilder::default());
    until_line(&mut execution, &mut builder, "7").await;
    server.signal("STOP");
    tokio::time::sleep(STILL).await;
    assert!(matches!(*status.borrow(), KernelStatus::Reconnecting { .. }), "{:?}", *status.borrow());
    server.signal("CONT");
    let (outcome, gaps) = finish_with_gaps(execution, builder).await;
    let expected: String = (0..80).fold(String::new(), |text, i| text + &format!("{i}\n"));
    assert_eq!((outcome.stdout.text(), outcome.success()), (expected, true));
    assert!(matches!(gaps[..], [(gap, true)] if gap + Duration::from_secs(1) > STILL), "{gaps:?}");
}

#[tokio::test]
async fn a_connection_that_the_network_forgot_is_replaced_and_the_run_ends() {
    let (place, server) = (Place::new(), jupyter_server().await);
    let proxy = Proxy::start(&server.url).await;
    let sandbox = new_on(&place, &proxy.url).await;
    let mut execution = sandbox.execute(ExecuteRequest::new(COUNTING.replace("30", "400"))).await.unwrap();
    let mut builder = OutcomeBuilder::default();
    until_line(&mut execution, &mut builder, "7").await;
    proxy.set(Line::Forgotten);
    let (outcome, gaps) = finish_with_gaps(execution, builder).await;
    assert!(outcome.success() && outcome.stdout.text().ends_with("399\n"), "{outcome:?}");
    assert!(matches!(gaps[..], [(_, false)]), "what the network swallowed is not there: {gaps:?}");
}

#[tokio::test]
async fn a_server_that_started_anew_does_not_know_the_kernel_and_that_is_what_is_said() {
    let (place, server) = (Place::new(), jupyter_server().await);
    let sandbox = new_on(&place, &server.url).await;
    let port = server.url.port().unwrap();
    let mut status = sandbox.status();
    drop(server);
    let away = status.wait_for(|status| matches!(status, KernelStatus::Reconnecting { attempt: 2.., .. }));
    drop(tokio::time::timeout(PATIENCE, away).await.unwrap().unwrap());
    let _anew = server_at(port, "jupyter_server", &[]).await;
    let gone = status.wait_for(|status| matches!(status, KernelStatus::Gone { .. }));
    let gone = tokio::time::timeout(PATIENCE, gone).await.unwrap().unwrap().clone();
    let KernelStatus::Gone { reason } = gone else { panic!("{gone:?}") };
    assert_eq!(reason, "the server does not have this kernel any more");
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(*status.borrow(), KernelStatus::Gone { reason }, "nothing is said over it");
}

#[tokio::test]
async fn giving_up_to_reconnect_ends_the_run_and_says_so() {
    let (place, server) = (Place::new(), jupyter_server().await);
    let proxy = Proxy::start(&server.url).await;
    let sandbox = new_on(&place, &proxy.url).await;
    let execution = sandbox.execute(ExecuteRequest::new("import time; time.sleep(100)")).await.unwrap();
    is_busy(&sandbox).await;
    proxy.set(Line::Cut);
    let mut status = sandbox.status();
    let reconnecting =
        status.wait_for(|status| matches!(status, KernelStatus::Reconnecting { attempt: 2.., .. }));
    drop(tokio::time::timeout(PATIENCE, reconnecting).await.unwrap().unwrap());
    sandbox.reconnect(false);
    let outcome = finish(execution, OutcomeBuilder::default()).await;
    assert!(matches!(outcome.infrastructure, Some(SandboxError::Disconnected { .. })), "{outcome:?}");
    let gone = status.wait_for(|status| matches!(status, KernelStatus::Gone { .. }));
    let gone = tokio::time::timeout(PATIENCE, gone).await.unwrap().unwrap().clone();
    assert_eq!(gone, KernelStatus::Gone { reason: "reconnecting was given up".into() });
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
async fn input_is_answered_through_a_server() {
    let (place, server) = (Place::new(), jupyter_server().await);
    let sandbox = new_on(&place, &server.url).await;
    let mut execution = sandbox.execute(ExecuteRequest::new("print(input('? '))")).await.unwrap();
    next_event(&mut execution, |kind| matches!(kind, EventKind::InputRequest { .. })).await;
    execution.input().send("typed".to_owned().into()).unwrap();
    assert_eq!(finish(execution, OutcomeBuilder::default()).await.stdout.text(), "typed\n");
}
