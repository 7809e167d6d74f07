//! Sandboxes of the real `opensandbox-server`, over the stand-ins of an engine and of execd.

#![cfg(feature = "opensandbox")]
#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests are not seen as tests

mod support;

use std::{
    process::Command,
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};

use sandbook_runtimes::opensandbox::{
    COMMANDS, Defaults, Handle, IMAGE, OpenSandboxRuntime, OpenSandboxSettings,
};
use sandbook_sandbox::{
    CreateRequest, EventKind, ExecuteRequest, KernelStatus, OutcomeBuilder, Progress, Readiness, Runtime,
    Sandbox, SandboxError, SandboxSettings, StopChoice, StopReport,
};
use sandbook_test_support::{Line, OpenSandboxServer, PATIENCE, Proxy, opensandbox_python};
use serde_json::json;
use support::{finish, is_busy, next_event, run, until_line};
use tokio_util::sync::CancellationToken;

const KEY: &str = "k3y-that-nobody-should-see-4715";
const ENDS_AT_ONCE: &str = "sandbook/ends-at-once:1";
const NO_SERVER: &str = "sandbook/no-server:1";
const SLOW: &str = "sandbook/slow:1";

fn runtime() -> OpenSandboxRuntime {
    OpenSandboxRuntime::with(Defaults::default())
}

fn at(domain: &str) -> OpenSandboxSettings {
    OpenSandboxSettings { domain: Some(domain.to_owned()), ..OpenSandboxSettings::default() }
}

fn request(own: &OpenSandboxSettings) -> CreateRequest {
    CreateRequest {
        settings: SandboxSettings { runtime: own.to_value(), ..SandboxSettings::default() },
        credential: Some(KEY.to_owned().into()),
        progress: Progress::none(),
        cancel: CancellationToken::new(),
    }
}

async fn create(own: &OpenSandboxSettings) -> Result<Arc<dyn Sandbox>, SandboxError> {
    runtime().create(request(own)).await
}

async fn guarded() -> OpenSandboxServer {
    OpenSandboxServer::start(Some(KEY)).await
}

fn handle(sandbox: &Arc<dyn Sandbox>) -> Handle {
    Handle::read(&sandbox.info().handle).unwrap()
}

/// Waits until the server has so many sandboxes.
async fn until_there_are(server: &OpenSandboxServer, count: usize) {
    let wait = async {
        while server.sandboxes().await.len() != count {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(PATIENCE, wait)
        .await
        .unwrap_or_else(|_| panic!("never were there {count} sandboxes"));
}

#[tokio::test]
async fn code_runs_by_the_sandbox_s_own_address_and_nothing_is_left() {
    everything_works(false).await;
}

#[tokio::test]
async fn code_runs_through_the_server_and_nothing_is_left() {
    everything_works(true).await;
}

async fn everything_works(through_server: bool) {
    let server = guarded().await;
    let own = OpenSandboxSettings { through_server, ..at(&server.domain()) };
    let sandbox = create(&own).await.unwrap();
    assert_eq!(run(&sandbox, "x = 40").await.text(), None);
    assert_eq!(run(&sandbox, "x + 2").await.text().as_deref(), Some("42"));
    // what execd's own way to run code drops
    let shown = run(&sandbox, "from IPython.display import HTML, display\ndisplay(HTML('<b>1</b>'))").await;
    assert!(shown.results.iter().any(|shown| shown.text_of("text/html").is_some()), "{shown:?}");
    let mut execution = sandbox.execute(ExecuteRequest::new("input('name? ')")).await.unwrap();
    next_event(&mut execution, |kind| matches!(kind, EventKind::InputRequest { .. })).await;
    execution.input().send("me".to_owned().into()).unwrap();
    assert_eq!(finish(execution, OutcomeBuilder::default()).await.text().as_deref(), Some("'me'"));
    let execution = sandbox.execute(ExecuteRequest::new("import time; time.sleep(600)")).await.unwrap();
    is_busy(&sandbox).await;
    sandbox.interrupt().await.unwrap();
    assert!(finish(execution, OutcomeBuilder::default()).await.interrupted);
    sandbox.restart().await.unwrap();
    let forgotten = run(&sandbox, "x").await;
    assert_eq!(forgotten.code_error.unwrap().name, "NameError");
    assert!(sandbox.info().owned);
    assert_eq!(sandbox.stop(StopChoice::Default, PATIENCE).await.unwrap(), StopReport::Ended);
    assert_eq!(server.sandboxes().await, Vec::<serde_json::Value>::new());
    assert_eq!(sandbox.stop(StopChoice::Default, PATIENCE).await.unwrap(), StopReport::WasGone);
}

#[tokio::test]
async fn each_sandbox_has_two_tokens_of_its_own_and_nobody_gets_in_without_them() {
    let server = guarded().await;
    let sandbox = create(&at(&server.domain())).await.unwrap();
    let id = handle(&sandbox).sandbox;
    let told = server.ask("GET", &format!("v1/sandboxes/{id}/endpoints/44772"), None).await;
    let execd = format!("http://{}", told["endpoint"].as_str().unwrap());
    let metadata = server.ask("GET", &format!("v1/sandboxes/{id}"), None).await["metadata"].clone();
    let [execd_token, jupyter_token] =
        ["sandbook-execd", "sandbook-jupyter"].map(|name| metadata[name].as_str().unwrap().to_owned());
    let status = async |path: &str, token: Option<&str>| {
        let mut request = reqwest::Client::new().get(format!("{execd}{path}"));
        if let Some(token) = token {
            request = request.header("X-EXECD-ACCESS-TOKEN", token);
        }
        request.send().await.unwrap().status().as_u16()
    };
    assert_eq!(status("/ping", None).await, 401);
    assert_eq!(status("/ping", Some(&execd_token)).await, 200);
    let kernels = "/proxy/44771/api/kernels";
    assert_eq!(status(kernels, Some(&execd_token)).await, 403, "the Jupyter server has a token as well");
    let known = format!("{kernels}?token=opensandboxcodeinterpreterjupyter");
    assert_eq!(status(&known, Some(&execd_token)).await, 403, "and it is not the one that everybody knows");
    assert_eq!(status(&format!("{kernels}?token={jupyter_token}"), Some(&execd_token)).await, 200);
    let shown = format!("{:?} {}", sandbox.info(), serde_json::to_string(&sandbox.info().handle).unwrap());
    for secret in [KEY, &execd_token, &jupyter_token] {
        assert!(!shown.contains(secret), "{shown}");
    }
    let outcome = run(&sandbox, "import os; [v for v in os.environ.values() if 'k3y-that' in v]").await;
    assert_eq!(outcome.text().as_deref(), Some("[]"), "the server's key is nowhere in the sandbox");
    sandbox.stop(StopChoice::Default, PATIENCE).await.unwrap();
}

#[tokio::test]
async fn settings_are_kept_or_refused_and_a_failed_making_says_why_and_leaves_nothing() {
    let server = guarded().await;
    let own = OpenSandboxSettings { minutes: Some(7), ..at(&server.domain()) };
    let mut asked = request(&own);
    asked.settings.environment.insert("MINE".into(), "ä b".into());
    asked.settings.name = Some("Team".into());
    let sandbox = runtime().create(asked).await.unwrap();
    assert_eq!(run(&sandbox, "import os; os.environ['MINE']").await.text().as_deref(), Some("'ä b'"));
    assert_eq!((sandbox.info().title.as_str(), sandbox.info().subtitle.as_str()), ("Team", IMAGE));
    let left = sandbox.lease().unwrap().ends.unwrap().duration_since(SystemTime::now()).unwrap();
    assert!(left > Duration::from_mins(6) && left <= Duration::from_mins(7), "{left:?}");
    sandbox.stop(StopChoice::Default, PATIENCE).await.unwrap();

    let mut asked = request(&own);
    asked.settings.working_directory = Some("/workspace".into());
    let refused = runtime().create(asked).await.err().unwrap();
    assert!(matches!(&refused, SandboxError::Setting { setting, .. } if setting == "working_directory"));
    for (change, words) in [
        (OpenSandboxSettings { image: Some("nobody/has:this".into()), ..own.clone() }, "nobody/has:this"),
        (
            OpenSandboxSettings { image: Some(ENDS_AT_ONCE.into()), ..own.clone() },
            "no kernel could be installed",
        ),
        (OpenSandboxSettings { kernel: Some("cobol".into()), ..own.clone() }, "it has python3"),
    ] {
        let error = create(&change).await.err().unwrap();
        assert!(matches!(error, SandboxError::StartFailed { .. }), "{error:?}");
        assert!(error.to_string().contains(words), "{words:?} is missing in {error}");
        until_there_are(&server, 0).await;
    }
}

#[tokio::test]
async fn a_making_that_is_given_up_by_its_token_leaves_nothing_at_any_stage() {
    give_up(true).await;
}

#[tokio::test]
async fn a_making_that_is_dropped_leaves_nothing_at_any_stage() {
    give_up(false).await;
}

async fn give_up(by_token: bool) {
    let server = guarded().await;
    for (image, at_stage) in [
        (SLOW, "Asking the OpenSandbox server"),
        (SLOW, "Asking for a sandbox"),
        (NO_SERVER, "Waiting for its Jupyter server"),
    ] {
        let own = OpenSandboxSettings { image: Some(image.into()), ..at(&server.domain()) };
        let cancel = CancellationToken::new();
        let reached = Arc::new(tokio::sync::Notify::new());
        let told = reached.clone();
        let progress = Progress::new(move |said, _| {
            if said.starts_with(at_stage) {
                told.notify_one();
            }
        });
        let asked = CreateRequest { progress, cancel: cancel.clone(), ..request(&own) };
        let runtime = runtime();
        let making = tokio::spawn(async move { runtime.create(asked).await.map(drop) });
        tokio::time::timeout(PATIENCE, reached.notified()).await.unwrap();
        if image == SLOW && at_stage.starts_with("Asking for") {
            until_there_are(&server, 1).await;
        }
        if by_token {
            cancel.cancel();
            let ended = tokio::time::timeout(PATIENCE, making).await.unwrap().unwrap();
            assert!(matches!(ended, Err(SandboxError::Cancelled)), "{at_stage}: {ended:?}");
        } else {
            making.abort();
            drop(making.await);
        }
        until_there_are(&server, 0).await;
    }
}

#[tokio::test]
async fn a_sandbox_whose_answer_was_lost_is_found_by_its_id_and_ended() {
    let server = guarded().await;
    let proxy = Proxy::start(&server.url).await;
    let domain = format!("127.0.0.1:{}", proxy.url.port().unwrap());
    let own = OpenSandboxSettings { image: Some(SLOW.into()), ..at(&domain) };
    let making = tokio::spawn(async move { create(&own).await.map(drop) });
    until_there_are(&server, 1).await;
    let before = proxy.accepted();
    proxy.set(Line::Cut);
    // when it is looked for first, the server is away as well
    let looked = async {
        while proxy.accepted() == before {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, looked).await.unwrap();
    proxy.set(Line::Open);
    let error = tokio::time::timeout(PATIENCE, making).await.unwrap().unwrap().err().unwrap();
    assert!(matches!(error, SandboxError::Unreachable { .. }), "{error:?}");
    until_there_are(&server, 0).await;
}

#[tokio::test]
async fn the_end_can_be_put_off_and_a_sandbox_whose_time_is_over_is_gone_and_says_so() {
    let server = guarded().await;
    let sandbox = create(&at(&server.domain())).await.unwrap();
    assert_eq!(run(&sandbox, "x = 1; x").await.text().as_deref(), Some("1"));
    let before = sandbox.lease().unwrap().ends.unwrap();
    sandbox.prolong(Duration::from_hours(1)).await.unwrap();
    let after = sandbox.lease().unwrap().ends.unwrap();
    assert!(after > before + Duration::from_mins(20), "{before:?} {after:?}");
    sandbox.prolong(Duration::from_secs(2)).await.unwrap();
    let mut status = sandbox.status();
    let gone = status.wait_for(|status| matches!(status, KernelStatus::Gone { .. }));
    let gone = tokio::time::timeout(PATIENCE, gone).await.unwrap().unwrap().clone();
    let KernelStatus::Gone { reason } = gone else { unreachable!() };
    assert!(reason.contains("time that was set for the sandbox is over"), "{reason}");
    assert!(sandbox.execute(ExecuteRequest::new("x")).await.is_err());
    assert_eq!(sandbox.stop(StopChoice::Default, PATIENCE).await.unwrap(), StopReport::WasGone);
}

#[tokio::test]
async fn a_paused_sandbox_stands_still_and_goes_on_with_its_variables() {
    let server = guarded().await;
    let sandbox = create(&at(&server.domain())).await.unwrap();
    run(&sandbox, "x = 42").await;
    sandbox.pause().await.unwrap();
    assert_eq!(*sandbox.status().borrow(), KernelStatus::Paused);
    let refused = sandbox.execute(ExecuteRequest::new("x")).await.err().unwrap();
    assert_eq!(refused.code(), "not_ready", "{refused:?}");
    let paused = runtime().attach(sandbox.info().handle, request(&at(&server.domain()))).await.err().unwrap();
    assert_eq!(paused.code(), "not_ready", "{paused:?}");
    sandbox.resume().await.unwrap();
    assert_eq!(run(&sandbox, "x").await.text().as_deref(), Some("42"));
    sandbox.stop(StopChoice::Default, PATIENCE).await.unwrap();
}

#[tokio::test]
async fn a_later_owner_joins_the_same_kernel_and_removes_only_what_sandbook_made() {
    let server = guarded().await;
    let own = at(&server.domain());
    let mut asked = request(&own);
    asked.settings.id = Some("0123456789abcdef".into());
    let sandbox = runtime().create(asked).await.unwrap();
    run(&sandbox, "x = 42").await;
    let handle = sandbox.info().handle;
    assert_eq!(sandbox.stop(StopChoice::Keep, PATIENCE).await.unwrap(), StopReport::LeftRunning);
    drop(sandbox);
    // settings that lead elsewhere by now do not matter: the handle names its server
    let again = runtime().attach(handle.clone(), request(&at("localhost:1"))).await.unwrap();
    assert_eq!(run(&again, "x").await.text().as_deref(), Some("42"));
    let order = json!({
        "image": {"uri": IMAGE}, "entrypoint": ["sleep", "1000"], "timeout": 600, "resourceLimits": {}
    });
    let other = server.ask("POST", "v1/sandboxes", Some(order)).await["id"].as_str().unwrap().to_owned();
    let (settings, key) = (request(&own).settings, Some(KEY.to_owned().into()));
    let listed = runtime().list(&settings, key.as_ref()).await.unwrap();
    let ids: Vec<_> = listed.iter().map(|listed| listed.id.as_deref()).collect();
    assert_eq!(ids, [Some("0123456789abcdef")], "another's sandbox is none of ours");
    let of_other = Handle { sandbox: other, ..Handle::read(&handle).unwrap() }.keep();
    let refused = runtime().remove(&settings, key.as_ref(), &of_other).await;
    assert!(matches!(refused, Err(SandboxError::Unsupported { .. })), "{refused:?}");
    runtime().remove(&settings, key.as_ref(), &listed[0].handle).await.unwrap();
    until_there_are(&server, 1).await;
    let gone = runtime().attach(handle, request(&own)).await.err().unwrap();
    assert!(matches!(gone, SandboxError::Gone { .. }), "{gone:?}");
}

#[tokio::test]
async fn a_server_without_a_key_is_used_with_a_warning_and_learns_no_token_of_its_sandboxes() {
    let server = OpenSandboxServer::start(None).await;
    let own = at(&server.domain());
    let said = Arc::new(Mutex::new(Vec::new()));
    let kept = said.clone();
    let progress = Progress::new(move |line, _| kept.lock().unwrap().push(line));
    let sandbox =
        runtime().create(CreateRequest { credential: None, progress, ..request(&own) }).await.unwrap();
    assert_eq!(run(&sandbox, "6 * 7").await.text().as_deref(), Some("42"));
    assert!(said.lock().unwrap().iter().any(|line| line.contains("has no key")), "{said:?}");
    let listed = server.sandboxes().await;
    let metadata = listed[0]["metadata"].as_object().unwrap();
    assert_eq!(metadata.keys().collect::<Vec<_>>(), ["sandbook-id"]);
    let joined = runtime().attach(sandbox.info().handle, request(&own)).await.err().unwrap();
    assert!(matches!(joined, SandboxError::Unsupported { .. }), "{joined:?}");
    let survey = runtime().survey(&request(&own).settings, None).await;
    assert!(matches!(survey.readiness, Readiness::Ready(_)), "{survey:?}");
    assert!(survey.warnings.iter().any(|warning| warning.contains("has no key")), "{survey:?}");
    sandbox.stop(StopChoice::Default, PATIENCE).await.unwrap();
}

#[tokio::test]
async fn readiness_is_asked_without_starting_anything_and_says_how_a_server_is_started() {
    let server = guarded().await;
    let settings = request(&at(&server.domain())).settings;
    let ready = runtime().readiness(&settings, Some(&KEY.to_owned().into())).await;
    assert_eq!(ready, Readiness::Ready(format!("OpenSandbox 1.1.1 at {}", server.domain())));
    let wrong = runtime().readiness(&settings, Some(&"wr0ng-key".to_owned().into())).await;
    assert!(matches!(&wrong, Readiness::NeedsCredential(said) if !said.contains("wr0ng-key")), "{wrong:?}");
    let without = runtime().readiness(&settings, None).await;
    assert!(matches!(without, Readiness::NeedsCredential(_)), "{without:?}");
    assert_eq!(server.sandboxes().await.len(), 0);
    let domain = server.domain();
    drop(server);
    let away = runtime().readiness(&settings, None).await;
    let Readiness::NotReachable(said) = &away else { panic!("{away:?}") };
    assert!(COMMANDS.iter().all(|command| said.contains(command)) && said.contains(&domain), "{said}");
    let error = create(&at(&domain)).await.err().unwrap();
    assert!(error.hint().contains(COMMANDS[1]), "{error:?}");
}

#[tokio::test]
async fn output_that_came_while_the_line_was_cut_is_replayed_but_for_what_was_on_its_way() {
    let server = guarded().await;
    let proxy = Proxy::start(&server.url).await;
    let domain = format!("127.0.0.1:{}", proxy.url.port().unwrap());
    let own = OpenSandboxSettings { through_server: true, ..at(&domain) };
    let sandbox = create(&own).await.unwrap();
    let code = "import time\nfor i in range(30):\n    print(i, flush=True)\n    time.sleep(0.1)";
    let mut execution = sandbox.execute(ExecuteRequest::new(code)).await.unwrap();
    let mut builder = OutcomeBuilder::default();
    until_line(&mut execution, &mut builder, "5").await;
    proxy.set(Line::Cut);
    let mut status = sandbox.status();
    let away = status.wait_for(|status| matches!(status, KernelStatus::Reconnecting { .. }));
    drop(tokio::time::timeout(PATIENCE, away).await.unwrap().unwrap());
    proxy.set(Line::Open);
    let outcome = finish(execution, builder).await;
    assert!(outcome.success(), "{outcome:?}");
    let lines: Vec<u32> = outcome.stdout.text().lines().map(|line| line.parse().unwrap()).collect();
    assert!(lines.is_sorted() && lines.last() == Some(&29), "{lines:?}");
    // a proxy in between had it, and nobody to give it to
    assert!(lines.len() >= 26, "{lines:?}");
    sandbox.stop(StopChoice::Default, PATIENCE).await.unwrap();
}

#[tokio::test]
async fn the_example_shows_everything_with_the_key_of_the_variable() {
    let server = guarded().await;
    let example = std::env::current_exe().unwrap().ancestors().nth(2).unwrap().join("examples/opensandbox");
    let mut command = Command::new(example);
    command.arg(server.domain()).env("OPEN_SANDBOX_API_KEY", KEY);
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{said}");
    for line in ["  x + 2 = 42", "step 2", "  text/html: <b>42</b>", "  ZeroDivisionError: division by zero"]
    {
        assert!(said.lines().any(|found| found == line), "{line:?} is missing in {said}");
    }
    assert!(!said.contains(KEY), "{said}");
    until_there_are(&server, 0).await;
}

#[tokio::test]
async fn the_official_client_passes_on_the_same_server_and_stand_ins() {
    let server = guarded().await;
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/standins/opensandbox_official.py");
    let mut command = Command::new(opensandbox_python());
    command.arg("-B").args([program, &server.domain(), KEY]);
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains("passed by its own address") && said.contains("passed through the server"),
        "{said}"
    );
    until_there_are(&server, 0).await;
}
