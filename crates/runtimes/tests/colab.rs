//! Kernels of Colab tabs: a stand-in of Google's proxy in front of a real Jupyter server.

#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests are not seen as tests

mod support;

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use sandbook_runtimes::colab::{ColabRuntime, ColabSettings};
use sandbook_sandbox::{
    Capability, CreateRequest, CredentialStatus, EventKind, ExecuteRequest, KernelStatus, OutcomeBuilder,
    Progress, Readiness, Runtime, Sandbox, SandboxError, SandboxSettings, StopChoice, StopReport,
};
use sandbook_test_support::{PATIENCE, Server, StandIn, jupyter_server, rest};
use support::{finish, run, until_line};
use tokio_util::sync::CancellationToken;

/// Nowhere else, so that a test can look for it where no secret may be.
const SECRET: &str = "proxy-t0k3n-that-nobody-should-see-4712";
const TUNNEL: &str = "/tun/m/m-s-3hq7x0k2/";

/// A tab: a kernel on a real server, behind the proxy.
struct Tab {
    server: Server,
    proxy: StandIn,
    kernel: String,
    prefix: &'static str,
}

impl Tab {
    async fn open() -> Self {
        Self::below("/").await
    }

    async fn below(prefix: &'static str) -> Self {
        let server = jupyter_server().await;
        let kernel = rest("POST", &server.url, "api/kernels").await["id"].as_str().unwrap().to_owned();
        let proxy = StandIn::start("colab_proxy", &server, &[SECRET, prefix]);
        Self { server, proxy, kernel, prefix }
    }

    fn settings(&self) -> SandboxSettings {
        let url = self.proxy.url.join(self.prefix).unwrap();
        let own = ColabSettings { url, kernel_id: self.kernel.clone() };
        SandboxSettings { runtime: own.to_value(), ..SandboxSettings::default() }
    }

    /// How many times the WebSocket has been asked for.
    async fn lines(&self) -> usize {
        self.proxy.seen().await.iter().filter(|request| request.starts_with("WS ")).count()
    }

    /// What a person copies from the browser's tools.
    fn link(&self, token: &str) -> String {
        let address = self.proxy.url.join(self.prefix).unwrap();
        let address = address.as_str().replace("http://", "ws://");
        let kernel = &self.kernel;
        format!(
            "{address}api/kernels/{kernel}/channels?session_id=of-the-tab&colab-runtime-proxy-token={token}"
        )
    }

    async fn join(&self) -> Arc<dyn Sandbox> {
        ColabRuntime.create(request(self.settings(), Some(SECRET))).await.unwrap()
    }

    async fn kernels(&self) -> usize {
        rest("GET", &self.server.url, "api/kernels").await.as_array().unwrap().len()
    }
}

fn request(settings: SandboxSettings, credential: Option<&str>) -> CreateRequest {
    drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
    CreateRequest {
        settings,
        credential: credential.map(|text| text.to_owned().into()),
        progress: Progress::none(),
        cancel: CancellationToken::new(),
    }
}

async fn until_status(sandbox: &Arc<dyn Sandbox>, wanted: impl Fn(&KernelStatus) -> bool) {
    let mut status = sandbox.status();
    drop(tokio::time::timeout(PATIENCE, status.wait_for(wanted)).await.unwrap().unwrap());
}

#[tokio::test]
async fn a_pasted_channels_link_leads_to_the_kernel_of_the_tab_which_stays_when_it_is_let_go() {
    for prefix in ["/", TUNNEL] {
        let tab = Tab::below(prefix).await;
        let link = tab.link(SECRET);
        let sandbox = ColabRuntime.create(request(SandboxSettings::default(), Some(&link))).await.unwrap();
        assert_eq!(run(&sandbox, "x = 6*7; x").await.text().as_deref(), Some("42"));
        let info = sandbox.info();
        assert!(!info.owned && info.variant == "colab", "{info:?}");
        assert_eq!(sandbox.stop(StopChoice::Default, PATIENCE).await.unwrap(), StopReport::LeftRunning);
        let again = tab.join().await;
        assert_eq!(run(&again, "x").await.text().as_deref(), Some("42"), "it is the same kernel");
        let sessions = tab.proxy.ask("seen").await.to_string();
        assert!(!sessions.contains("of-the-tab"), "the session of the tab is not used: {sessions}");
        again.stop(StopChoice::Default, PATIENCE).await.unwrap();
        assert_eq!(tab.kernels().await, 1);
    }
}

#[tokio::test]
async fn nothing_that_is_shown_holds_the_token() {
    let tab = Tab::open().await;
    let sandbox = tab.join().await;
    let wrong = ColabRuntime.create(request(tab.settings(), Some("wr0ng-s3cr3t"))).await.err().unwrap();
    let shown = format!("{:?} {wrong} {wrong:?} {:?}", sandbox.info(), sandbox.capabilities());
    assert!(!shown.contains(SECRET) && !shown.contains("wr0ng-s3cr3t"), "{shown}");
    assert!(matches!(wrong, SandboxError::Refused { status: 401, .. }), "{wrong:?}");
}

#[tokio::test]
async fn a_kernel_that_the_machine_does_not_know_is_an_error_and_nothing_is_started_in_its_place() {
    let tab = Tab::open().await;
    for unknown in ["00000000-0000-4000-8000-000000000000", "no-id"] {
        let own = ColabSettings { url: tab.proxy.url.clone(), kernel_id: unknown.into() };
        let settings = SandboxSettings { runtime: own.to_value(), ..SandboxSettings::default() };
        let error = ColabRuntime.create(request(settings, Some(SECRET))).await.err();
        assert!(matches!(error, Some(SandboxError::Gone { .. })), "{error:?}");
    }
    assert_eq!(tab.kernels().await, 1);
    let seen = tab.proxy.seen().await;
    assert!(seen.iter().all(|request| !request.starts_with("POST")), "{seen:?}");
}

#[tokio::test]
async fn what_is_missing_or_wrong_in_a_link_is_told_before_anything_is_sent() {
    let tab = Tab::open().await;
    let link = tab.link(SECRET);
    let no_token = link.split('?').next().unwrap().to_owned() + "?colab-runtime-proxy-token=";
    let no_kernel = format!("{}?colab-runtime-proxy-token=T", tab.proxy.url);
    let cases = [
        (SandboxSettings::default(), None, "credential_missing"),
        (tab.settings(), None, "credential_missing"),
        (SandboxSettings::default(), Some("only-a-token".to_owned()), "bad_setting"),
        (SandboxSettings::default(), Some(no_token), "bad_setting"),
        (SandboxSettings::default(), Some(no_kernel), "bad_setting"),
        (SandboxSettings::default(), Some("http://localhost:8888/lab?token=T".to_owned()), "bad_setting"),
        (tab.settings(), Some(link.replace(&tab.kernel, "another")), "bad_setting"),
        (SandboxSettings::default(), Some(link.replace("127.0.0.1", "colab.example.org")), "bad_setting"),
        (
            SandboxSettings { environment: [("A".into(), "b".into())].into(), ..tab.settings() },
            Some(SECRET.to_owned()),
            "bad_setting",
        ),
    ];
    for (settings, credential, code) in cases {
        let error = ColabRuntime.create(request(settings, credential.as_deref())).await.err().unwrap();
        assert_eq!(error.code(), code, "{credential:?}: {error}");
    }
    assert!(tab.proxy.seen().await.is_empty());
}

#[tokio::test]
async fn readiness_is_asked_without_starting_anything_and_tells_a_token_that_has_ended() {
    let tab = Tab::open().await;
    let secret = SECRET.to_owned().into();
    let ready = ColabRuntime.readiness(&tab.settings(), Some(&secret)).await;
    assert!(matches!(ready, Readiness::Ready(_)), "{ready:?}");
    tab.proxy.ask("expire").await;
    let ended = ColabRuntime.readiness(&tab.settings(), Some(&secret)).await;
    assert!(matches!(ended, Readiness::NeedsCredential(_)), "{ended:?}");
    let nothing = ColabRuntime.readiness(&SandboxSettings::default(), None).await;
    assert!(matches!(nothing, Readiness::NeedsCredential(_)), "{nothing:?}");
}

#[tokio::test]
async fn interrupt_restart_and_the_capability_record_are_as_the_link_allows() {
    let tab = Tab::open().await;
    let sandbox = tab.join().await;
    let code = "import time\nprint('on', flush=True)\ntime.sleep(60)";
    let (mut execution, mut builder) =
        (sandbox.execute(ExecuteRequest::new(code)).await.unwrap(), OutcomeBuilder::default());
    until_line(&mut execution, &mut builder, "on").await;
    sandbox.interrupt().await.unwrap();
    assert!(finish(execution, builder).await.interrupted);
    run(&sandbox, "x = 1").await;
    sandbox.restart().await.unwrap();
    assert!(!run(&sandbox, "x").await.success());
    let capabilities = sandbox.capabilities();
    assert!(capabilities.has(Capability::Restart) && !capabilities.has(Capability::Terminal));
    assert_eq!(capabilities, ColabRuntime.capabilities(&tab.settings()).unwrap());
}

#[tokio::test]
async fn a_token_is_good_for_an_hour_at_most_and_a_fresh_link_goes_on_in_the_same_kernel() {
    let tab = Tab::open().await;
    let sandbox = tab.join().await;
    let mut credential = sandbox.credential();
    let CredentialStatus::Good { until: Some(until) } = *credential.borrow_and_update() else { panic!() };
    let left = until.duration_since(SystemTime::now()).unwrap();
    assert!(left > Duration::from_secs(3_500) && left <= Duration::from_hours(1), "{left:?}");

    let code = "import time\nx = 1\nfor i in range(40):\n    print(i, flush=True)\n    time.sleep(0.1)";
    let (mut execution, mut builder) =
        (sandbox.execute(ExecuteRequest::new(code)).await.unwrap(), OutcomeBuilder::default());
    until_line(&mut execution, &mut builder, "5").await;
    tab.proxy.ask("cut").await;
    until_status(&sandbox, |status| matches!(status, KernelStatus::Refused { .. })).await;
    assert_eq!(*credential.borrow_and_update(), CredentialStatus::Refused);

    let other = sandbox.renew(tab.link("fresh").replace(&tab.kernel, "another").into()).await;
    assert!(matches!(other, Err(SandboxError::Setting { .. })), "{other:?}");
    let stale = sandbox.renew(SECRET.to_owned().into()).await;
    assert!(matches!(stale, Err(SandboxError::Refused { .. })), "{stale:?}");
    tab.proxy.ask("renew?token=fresh").await;
    sandbox.renew(tab.link("fresh").into()).await.unwrap();
    assert!(matches!(*credential.borrow_and_update(), CredentialStatus::Good { until: Some(_) }));
    let outcome = finish(execution, builder).await;
    assert!(outcome.success(), "{outcome:?}");
    assert_eq!(outcome.stdout.text().lines().last(), Some("39"), "what ran went on and is shown");
    assert_eq!(run(&sandbox, "x").await.text().as_deref(), Some("1"));
    sandbox.interrupt().await.unwrap();
    assert_eq!(tab.kernels().await, 1);
}

#[tokio::test]
async fn a_token_that_ends_while_the_line_is_open_is_noticed_and_can_be_renewed_without_a_gap() {
    let tab = Tab::open().await;
    let sandbox = tab.join().await;
    let mut credential = sandbox.credential();
    tab.proxy.ask("expire").await;
    let refused = credential.wait_for(|status| *status == CredentialStatus::Refused);
    drop(tokio::time::timeout(PATIENCE, refused).await.unwrap().unwrap());
    assert_eq!(run(&sandbox, "6*7").await.text().as_deref(), Some("42"), "the line itself is open");
    tab.proxy.ask("renew?token=fresh").await;
    sandbox.renew("fresh".to_owned().into()).await.unwrap();
    sandbox.interrupt().await.unwrap();
    let lines = tab.lines().await;
    tab.proxy.ask("drop").await;
    let opened = async {
        while tab.lines().await == lines {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, opened).await.unwrap();
    assert_eq!(
        run(&sandbox, "43").await.text().as_deref(),
        Some("43"),
        "the next line is opened with the new one"
    );
}

#[tokio::test]
async fn a_tunnel_of_colab_s_own_host_hears_that_somebody_is_there() {
    let tab = Tab::below(TUNNEL).await;
    let _sandbox = tab.join().await;
    let begin = tokio::time::Instant::now();
    while tab.proxy.ask("keep-alives").await != 1 {
        assert!(begin.elapsed() < PATIENCE);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn what_only_the_tab_can_do_is_refused_at_once_and_the_code_goes_on_with_an_error() {
    let tab = Tab::open().await;
    let sandbox = tab.join().await;
    // As google.colab asks: the request on iopub, then reading stdin until the reply with its number comes.
    let code = r"
kernel = get_ipython().kernel
kernel.session.send(kernel.iopub_socket, 'colab_request', {'request': {}},
    parent=kernel.get_parent(), metadata={'colab_msg_id': 3, 'colab_request_type': 'request_auth'})
while True:
    ident, reply = kernel.session.recv(kernel.stdin_socket, 0)
    value = (reply or {}).get('content', {}).get('value')
    if isinstance(value, dict) and value.get('type') == 'colab_reply' and value['colab_msg_id'] == 3:
        break
raise RuntimeError(value['error'])
";
    let mut execution = sandbox.execute(ExecuteRequest::new(code)).await.unwrap();
    let (mut builder, mut said) = (OutcomeBuilder::default(), String::new());
    while let Some(event) = tokio::time::timeout(PATIENCE, execution.next()).await.unwrap() {
        if let EventKind::Stream { text, .. } = &event.kind {
            said += text;
        }
        if builder.push(&event) {
            break;
        }
    }
    let outcome = builder.finish();
    assert!(said.contains("Only the Colab tab can do this (signing in or mounting Drive)"), "{said}");
    assert!(outcome.code_error.unwrap().value.contains("Only the Colab tab"));
    assert_eq!(run(&sandbox, "1+1").await.text().as_deref(), Some("2"));
}

#[tokio::test]
async fn a_sandbox_is_joined_again_with_its_own_session_after_a_restart_of_this_program() {
    let tab = Tab::open().await;
    let sandbox = tab.join().await;
    run(&sandbox, "x = 5").await;
    let handle = sandbox.info().handle;
    assert!(!serde_json::to_string(&handle).unwrap().contains(SECRET));
    drop(sandbox);
    let again = ColabRuntime.attach(handle, request(tab.settings(), Some(SECRET))).await.unwrap();
    assert_eq!(run(&again, "x").await.text().as_deref(), Some("5"));
}
