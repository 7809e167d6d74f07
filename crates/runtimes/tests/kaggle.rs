//! Kernels of interactive Kaggle sessions: a stand-in of the session's proxy in front of a real Jupyter server.

#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests are not seen as tests

mod support;

use std::sync::Arc;

use sandbook_runtimes::kaggle::{KaggleRuntime, KaggleSettings};
use sandbook_sandbox::{
    CreateRequest, CredentialStatus, ExecuteRequest, KernelStatus, OutcomeBuilder, Progress, Readiness,
    Runtime, Sandbox, SandboxError, SandboxSettings, StopChoice, StopReport,
};
use sandbook_test_support::{PATIENCE, Server, StandIn, jupyter_server, rest};
use support::{finish, is_busy, run, until_line};
use tokio_util::sync::CancellationToken;

/// As Kaggle's: an encrypted JSON web token, with an empty part in it.
const SECRET: &str = "eyJhbGciOiJkaXIifQ..s3cr3t-that-nobody-should-see-4713.x";
const FRESH: &str = "eyJhbGciOiJkaXIifQ..fr3sh-s3cr3t.y";
const API_TOKEN: &str = "KGAT_t0k3n-4714";

/// A session: a kernel on a real server, behind the proxy.
struct Session {
    server: Server,
    proxy: StandIn,
    kernel: String,
}

impl Session {
    async fn open(options: &[&str]) -> Self {
        let server = jupyter_server().await;
        let kernel = rest("POST", &server.url, "api/kernels").await["id"].as_str().unwrap().to_owned();
        let arguments: Vec<&str> = ["12345678", SECRET].into_iter().chain(options.iter().copied()).collect();
        let proxy = StandIn::start("kaggle_proxy", &server, &arguments);
        Self { server, proxy, kernel }
    }

    fn link(&self, secret: &str) -> String {
        let address = self.proxy.url.as_str().replace("http://", "ws://");
        format!(
            "{address}k/12345678/{secret}/proxy/api/kernels/{}/channels?session_id=of-the-page",
            self.kernel
        )
    }

    fn settings(&self, kernel_id: Option<&str>) -> SandboxSettings {
        let url = self.proxy.url.join("/k/12345678/***/proxy/").unwrap();
        let own = KaggleSettings { url, kernel_id: kernel_id.map(str::to_owned), kernel: None };
        SandboxSettings { runtime: own.to_value(), ..SandboxSettings::default() }
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

async fn create(settings: SandboxSettings, credential: &str) -> Result<Arc<dyn Sandbox>, SandboxError> {
    KaggleRuntime.create(request(settings, Some(credential))).await
}

#[tokio::test]
async fn a_pasted_channels_link_leads_to_the_kernel_of_the_session_and_its_secret_is_shown_nowhere() {
    let session = Session::open(&[]).await;
    let sandbox = create(SandboxSettings::default(), &session.link(SECRET)).await.unwrap();
    assert_eq!(run(&sandbox, "x = 6*7; x").await.text().as_deref(), Some("42"));
    let shown = format!("{:?} {}", sandbox.info(), serde_json::to_string(&sandbox.info().handle).unwrap());
    assert!(!shown.contains(SECRET) && shown.contains("/k/12345678/***/proxy/"), "{shown}");
    assert_eq!(sandbox.stop(StopChoice::Default, PATIENCE).await.unwrap(), StopReport::LeftRunning);
    let again = create(session.settings(Some(&session.kernel)), SECRET).await.unwrap();
    assert_eq!(run(&again, "x").await.text().as_deref(), Some("42"));
    assert_eq!(session.kernels().await, 1);
}

#[tokio::test]
async fn where_only_the_socket_is_let_through_code_runs_and_is_interrupted_all_the_same() {
    let session = Session::open(&["sockets-only"]).await;
    let sandbox = create(session.settings(Some(&session.kernel)), SECRET).await.unwrap();
    let execution = sandbox.execute(ExecuteRequest::new("import time; time.sleep(60)")).await.unwrap();
    is_busy(&sandbox).await;
    sandbox.interrupt().await.unwrap();
    assert!(finish(execution, OutcomeBuilder::default()).await.interrupted);
    assert_eq!(run(&sandbox, "1+1").await.text().as_deref(), Some("2"));
    let restarted = sandbox.restart().await;
    assert!(matches!(restarted, Err(SandboxError::WrongPeer { .. })), "{restarted:?}");
}

#[tokio::test]
async fn an_unknown_kernel_is_an_error_and_nothing_is_started_in_its_place() {
    for options in [&[][..], &["sockets-only"]] {
        let session = Session::open(options).await;
        let unknown = session.settings(Some("00000000-0000-4000-8000-000000000000"));
        let error = create(unknown, SECRET).await.err();
        assert!(matches!(error, Some(SandboxError::Gone { .. })), "{options:?}: {error:?}");
        assert_eq!(session.kernels().await, 1);
        let seen = session.proxy.seen().await;
        assert!(seen.iter().all(|request| !request.starts_with("POST")), "{seen:?}");
    }
}

#[tokio::test]
async fn with_an_api_token_and_no_kernel_one_is_started_and_removed_on_stop() {
    let session = Session::open(&[&format!("api-token={API_TOKEN}")]).await;
    let both = format!("{SECRET}\n{API_TOKEN}");
    let sandbox = create(session.settings(None), &both).await.unwrap();
    assert_eq!(run(&sandbox, "6*7").await.text().as_deref(), Some("42"));
    assert!(sandbox.info().owned);
    assert_eq!(session.kernels().await, 2);
    assert_eq!(sandbox.stop(StopChoice::Default, PATIENCE).await.unwrap(), StopReport::Ended);
    assert_eq!(session.kernels().await, 1);
    let without = create(session.settings(None), SECRET).await.err();
    assert!(matches!(without, Some(SandboxError::Refused { status: 401, .. })), "{without:?}");
}

#[tokio::test]
async fn a_secret_that_stands_in_the_settings_is_refused_and_a_wrong_one_is_told_without_it() {
    let session = Session::open(&[]).await;
    let url = session.proxy.url.join(&format!("/k/12345678/{SECRET}/proxy/")).unwrap();
    let own = KaggleSettings { url, kernel_id: None, kernel: None };
    let settings = SandboxSettings { runtime: own.to_value(), ..SandboxSettings::default() };
    let in_settings = create(settings, SECRET).await.err().unwrap();
    assert_eq!(in_settings.code(), "bad_setting");
    let wrong = create(session.settings(Some(&session.kernel)), "eyJ..wr0ng-s3cr3t").await.err().unwrap();
    assert!(matches!(wrong, SandboxError::Refused { status: 403, .. }), "{wrong:?}");
    let missing = KaggleRuntime.create(request(session.settings(None), None)).await.err().unwrap();
    assert_eq!(missing.code(), "credential_missing");
    let shown = format!("{in_settings:?} {in_settings} {wrong:?} {wrong}");
    assert!(!shown.contains(SECRET) && !shown.contains("wr0ng-s3cr3t"), "{shown}");
}

#[tokio::test]
async fn readiness_is_asked_without_starting_anything() {
    let session = Session::open(&[]).await;
    let of = |secret: &str| Some(secret.to_owned().into());
    let settings = session.settings(Some(&session.kernel));
    let ready = KaggleRuntime.readiness(&settings, of(SECRET).as_ref()).await;
    assert!(matches!(ready, Readiness::Ready(_)), "{ready:?}");
    let wrong = KaggleRuntime.readiness(&settings, of("wrong").as_ref()).await;
    assert!(matches!(wrong, Readiness::NeedsCredential(_)), "{wrong:?}");
    assert_eq!(session.kernels().await, 1);
}

#[tokio::test]
async fn a_fresh_link_goes_on_in_the_same_kernel_and_what_ran_goes_on_as_well() {
    let session = Session::open(&[]).await;
    let sandbox = create(SandboxSettings::default(), &session.link(SECRET)).await.unwrap();
    let code = "import time\nfor i in range(40):\n    print(i, flush=True)\n    time.sleep(0.1)";
    let (mut execution, mut builder) =
        (sandbox.execute(ExecuteRequest::new(code)).await.unwrap(), OutcomeBuilder::default());
    until_line(&mut execution, &mut builder, "5").await;
    session.proxy.ask(&format!("renew?secret={FRESH}")).await;
    let mut status = sandbox.status();
    let refused = status.wait_for(|status| matches!(status, KernelStatus::Refused { .. }));
    drop(tokio::time::timeout(PATIENCE, refused).await.unwrap().unwrap());
    assert_eq!(*sandbox.credential().borrow(), CredentialStatus::Refused);
    sandbox.renew(session.link(FRESH).into()).await.unwrap();
    let outcome = finish(execution, builder).await;
    assert!(outcome.success(), "{outcome:?}");
    assert_eq!(outcome.stdout.text().lines().last(), Some("39"));
    assert_eq!(*sandbox.credential().borrow(), CredentialStatus::Good { until: None });
    assert_eq!(session.kernels().await, 1);
}
