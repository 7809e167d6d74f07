//! Datalayer runtimes: a stand-in of the platform, with their kernels on a real Jupyter server.

#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests are not seen as tests

mod support;

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use sandbook_runtimes::datalayer::{DatalayerRuntime, DatalayerSettings, Defaults, Handle};
use sandbook_sandbox::{
    Amount, Capability, CreateRequest, ExecuteRequest, KernelStatus, OutcomeBuilder, Progress, Readiness,
    Runtime, Sandbox, SandboxError, SandboxSettings, StopChoice, StopReport, Support,
};
use sandbook_test_support::{PATIENCE, Server, StandIn, jupyter_server};
use serde_json::{Value, json};
use support::{finish, is_busy, run, until_line};
use tokio_util::sync::CancellationToken;

/// Nowhere else, so that a test can look for it where no secret may be.
const KEY: &str = "acc0unt-k3y-that-nobody-should-see-4718";

/// The platform, and the server with its kernels.
struct Platform {
    server: Server,
    stand_in: StandIn,
    runtime: DatalayerRuntime,
}

impl Platform {
    async fn open(options: &[&str]) -> Self {
        let server = jupyter_server().await;
        let arguments: Vec<&str> = [KEY].into_iter().chain(options.iter().copied()).collect();
        let stand_in = StandIn::start("datalayer", &server, &arguments);
        let runtime = DatalayerRuntime::with(Defaults {
            run_url: Some(stand_in.url.to_string()),
            environment: Some("python-cpu-env".into()),
        });
        Self { server, stand_in, runtime }
    }

    async fn make(&self, own: Value) -> Result<Arc<dyn Sandbox>, SandboxError> {
        self.runtime.create(request(own)).await
    }

    /// The given names of those that live, once they are so many.
    async fn has(&self, count: usize) -> Vec<String> {
        let counted = async {
            loop {
                let living: Vec<String> =
                    serde_json::from_value(self.stand_in.ask("runtimes").await).unwrap();
                if living.len() == count {
                    return living;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(PATIENCE, counted).await.unwrap_or_else(|_| panic!("there are not {count}"))
    }

    async fn orders(&self) -> Vec<Value> {
        serde_json::from_value(self.stand_in.ask("orders").await).unwrap()
    }
}

fn settings(own: Value) -> SandboxSettings {
    SandboxSettings { id: Some("0a1b2c".into()), runtime: own, ..SandboxSettings::default() }
}

fn request(own: Value) -> CreateRequest {
    CreateRequest {
        settings: settings(own),
        credential: Some(KEY.to_owned().into()),
        progress: Progress::none(),
        cancel: CancellationToken::new(),
    }
}

async fn until_status(sandbox: &Arc<dyn Sandbox>, wanted: impl Fn(&KernelStatus) -> bool) {
    let mut status = sandbox.status();
    drop(tokio::time::timeout(PATIENCE, status.wait_for(wanted)).await.unwrap().unwrap());
}

#[tokio::test]
async fn a_runtime_is_made_with_the_kernel_that_waits_in_it_and_is_ended_with_the_key() {
    let platform = Platform::open(&["warm-up=1.5"]).await;
    let told = Arc::<std::sync::Mutex<Vec<String>>>::default();
    let keep = told.clone();
    let progress = Progress::new(move |message, _| keep.lock().unwrap().push(message));
    let sandbox = platform.runtime.create(CreateRequest { progress, ..request(Value::Null) }).await.unwrap();
    assert_eq!(run(&sandbox, "x = 6*7; x").await.text().as_deref(), Some("42"));
    assert!(told.lock().unwrap().iter().any(|said| said.contains("warm up")), "{told:?}");
    assert_eq!(platform.has(1).await, ["sandbook-0a1b2c"]);
    assert_eq!(platform.server.kernels().unwrap().len(), 1, "no second kernel is started");
    let orders = platform.orders().await;
    assert_eq!(
        orders,
        [json!({
            "type": "notebook", "environment": {"name": "python-cpu-env"},
            "given_name": "sandbook-0a1b2c", "credits_limit": 10.2,
        })]
    );
    let shown = format!("{:?} {:?}", sandbox.info(), sandbox.capabilities());
    assert!(!shown.contains(KEY), "{shown}");
    assert_eq!(sandbox.stop(StopChoice::Default, PATIENCE).await.unwrap(), StopReport::Ended);
    platform.has(0).await;
    assert_eq!(sandbox.stop(StopChoice::Default, PATIENCE).await.unwrap(), StopReport::WasGone);
    assert_eq!(platform.stand_in.ask("unsigned").await, 0, "every request carried the key");
}

#[tokio::test]
async fn a_lost_answer_makes_nothing_twice_whatever_became_of_the_order() {
    for (fault, orders) in [("lost", 1), ("twice", 1), ("unmade", 2), ("full", 2)] {
        let platform = Platform::open(&[]).await;
        platform.stand_in.ask(&format!("fault?next={fault}")).await;
        let sandbox = platform.make(Value::Null).await.unwrap_or_else(|error| panic!("{fault}: {error}"));
        assert_eq!(run(&sandbox, "1+1").await.text().as_deref(), Some("2"));
        assert_eq!(platform.has(1).await, ["sandbook-0a1b2c"], "{fault}");
        assert_eq!(platform.orders().await.len(), orders, "{fault}");
        sandbox.stop(StopChoice::Default, PATIENCE).await.unwrap();
        platform.has(0).await;
    }
}

#[tokio::test]
async fn one_that_was_asked_for_before_with_the_same_id_is_taken_and_not_made_again() {
    let platform = Platform::open(&[]).await;
    let first = platform.make(Value::Null).await.unwrap();
    run(&first, "x = 41").await;
    first.stop(StopChoice::Keep, PATIENCE).await.unwrap();
    drop(first);
    let second = platform.make(Value::Null).await.unwrap();
    assert_eq!(run(&second, "x + 1").await.text().as_deref(), Some("42"));
    assert_eq!(platform.orders().await.len(), 1);
    second.stop(StopChoice::Default, PATIENCE).await.unwrap();
    platform.has(0).await;
}

#[tokio::test]
async fn a_start_that_is_given_up_ends_what_was_made_however_it_is_given_up() {
    let platform = Platform::open(&["warm-up=60"]).await;
    let cancelled = request(Value::Null);
    let cancel = cancelled.cancel.clone();
    let cancelling = async {
        platform.has(1).await;
        cancel.cancel();
    };
    let (made, ()) = tokio::join!(platform.runtime.create(cancelled), cancelling);
    assert!(matches!(made.err(), Some(SandboxError::Cancelled)));
    platform.has(0).await;

    let mut dropped = platform.runtime.create(request(Value::Null));
    tokio::select! {
        _ = &mut dropped => panic!("it warms up for a minute"),
        _ = platform.has(1) => {}
    }
    drop(dropped);
    platform.has(0).await;

    let before = request(Value::Null);
    before.cancel.cancel();
    assert!(matches!(platform.runtime.create(before).await.err(), Some(SandboxError::Cancelled)));
    assert_eq!(platform.orders().await.len(), 2, "what was given up before is not asked for");
}

#[tokio::test]
async fn a_sandbox_that_is_dropped_without_a_word_does_not_go_on_costing() {
    let platform = Platform::open(&[]).await;
    drop(platform.make(Value::Null).await.unwrap());
    platform.has(0).await;
}

#[tokio::test]
async fn what_could_not_be_ended_is_told_as_such() {
    let platform = Platform::open(&["warm-up=60"]).await;
    let asked = request(Value::Null);
    let cancel = asked.cancel.clone();
    let failing = async {
        platform.has(1).await;
        platform.stand_in.ask("key?is=another").await;
        cancel.cancel();
    };
    let (made, ()) = tokio::join!(platform.runtime.create(asked), failing);
    let error = made.err().unwrap();
    assert!(matches!(error, SandboxError::LeftRunning { .. }), "{error:?}");
    assert!(error.to_string().contains("sandbook-0a1b2c") && !error.to_string().contains(KEY), "{error}");

    // a later owner finds it by the id on record, and removes it
    let key = Some("another".to_owned().into());
    let listed = platform.runtime.list(&settings(Value::Null), key.as_ref()).await.unwrap();
    assert_eq!(listed[0].id.as_deref(), Some("0a1b2c"));
    platform.runtime.remove(&settings(Value::Null), key.as_ref(), &listed[0].handle).await.unwrap();
    platform.has(0).await;
}

#[tokio::test]
async fn a_wrong_key_too_few_credits_and_unknown_names_are_told_and_make_nothing() {
    let platform = Platform::open(&["credits=5"]).await;
    let wrong = CreateRequest { credential: Some("wr0ng-k3y".to_owned().into()), ..request(Value::Null) };
    let wrong = platform.runtime.create(wrong).await.err().unwrap();
    assert!(matches!(wrong, SandboxError::Refused { status: 401, .. }), "{wrong:?}");
    assert!(!format!("{wrong:?} {wrong}").contains("wr0ng-k3y"));
    let missing = CreateRequest { credential: None, ..request(Value::Null) };
    let missing = platform.runtime.create(missing).await.err().unwrap();
    assert!(matches!(missing, SandboxError::CredentialMissing { .. }), "{missing:?}");
    let poor = platform.make(Value::Null).await.err().unwrap();
    assert!(
        matches!(&poor, SandboxError::NotReady { .. }) && poor.to_string().contains("Not enough"),
        "{poor:?}"
    );
    assert!(poor.hint().contains("fewer minutes"), "{}", poor.hint());
    for (own, words) in [
        (json!({"environment": "no-such-env"}), "it has ai-agents-env, python-cpu-env, ai-env"),
        (json!({"snapshot": "none such", "minutes": 1}), "has no snapshot none such"),
    ] {
        let error = platform.make(own).await.err().unwrap();
        assert!(error.code() == "bad_setting" && error.to_string().contains(words), "{error}");
    }
    platform.has(0).await;
    let enough = platform.make(json!({"minutes": 1})).await.unwrap();
    enough.stop(StopChoice::Default, PATIENCE).await.unwrap();
}

#[tokio::test]
async fn what_a_runtime_would_cost_is_known_before_and_its_lease_after() {
    let platform = Platform::open(&["credits=50"]).await;
    let key = Some(KEY.to_owned().into());
    let survey = platform.runtime.survey(&settings(Value::Null), key.as_ref()).await;
    assert_eq!(survey.readiness, Readiness::Ready("50.00 credits left".into()));
    let spending = survey.spending.unwrap();
    assert_eq!(spending.chosen.as_deref(), Some("python-cpu-env"));
    assert_eq!(spending.at_most, Some(Amount::new(10.2, "credits")));
    assert_eq!(spending.available, Some(Amount::new(50.0, "credits")));
    let gpu = spending.offers.iter().find(|offer| offer.name == "ai-env").unwrap();
    assert_eq!(
        (gpu.about.as_str(), gpu.price.as_ref().unwrap().per_hour.value),
        ("4 CPU, 16Gi memory, 1 GPU", 1_800.0)
    );
    let dear = json!({"environment": "ai-env", "minutes": 60, "memory": "1 GiB"});
    let problems = platform.runtime.survey(&settings(dear), key.as_ref()).await.problems;
    let named: Vec<&str> = problems.iter().map(|problem| problem.setting.as_str()).collect();
    assert_eq!(named, ["memory", "minutes"], "{problems:?}");
    let wrong = Some("wr0ng".to_owned().into());
    let unsigned = platform.runtime.survey(&settings(Value::Null), wrong.as_ref()).await.readiness;
    assert!(matches!(unsigned, Readiness::NeedsCredential(_)), "{unsigned:?}");
    platform.has(0).await;

    let before = SystemTime::now();
    let sandbox = platform.make(json!({"minutes": 2})).await.unwrap();
    let lease = sandbox.lease().unwrap();
    let left = lease.ends.unwrap().duration_since(before).unwrap();
    assert!((118..=140).contains(&left.as_secs()), "{left:?}");
    assert!((lease.at_most.unwrap().value - 2.04).abs() < 1e-9);
    assert!(matches!(lease.renewable, Support::No(_)));
    sandbox.stop(StopChoice::Default, PATIENCE).await.unwrap();
}

#[tokio::test]
async fn a_runtime_whose_credits_are_spent_is_gone_and_says_why() {
    let platform = Platform::open(&["lives=6"]).await;
    let sandbox = platform.make(Value::Null).await.unwrap();
    assert!(run(&sandbox, "1").await.success());
    until_status(&sandbox, |status| matches!(status, KernelStatus::Gone { .. })).await;
    let status = sandbox.status().borrow().clone();
    assert!(matches!(&status, KernelStatus::Gone { reason } if reason.contains("spent")), "{status:?}");
    assert_eq!(sandbox.stop(StopChoice::Default, PATIENCE).await.unwrap(), StopReport::WasGone);
}

#[tokio::test]
async fn what_ran_before_a_pause_goes_on_after_it() {
    let platform = Platform::open(&[]).await;
    let sandbox = platform.make(Value::Null).await.unwrap();
    assert!(sandbox.capabilities().has(Capability::Pause));
    let code = "import time\nfor i in range(30):\n    print(i, flush=True)\n    time.sleep(0.1)";
    let (mut execution, mut builder) =
        (sandbox.execute(ExecuteRequest::new(code)).await.unwrap(), OutcomeBuilder::default());
    until_line(&mut execution, &mut builder, "3").await;
    sandbox.pause().await.unwrap();
    assert_eq!(*sandbox.status().borrow(), KernelStatus::Paused);
    let refused = sandbox.execute(ExecuteRequest::new("1")).await.err().unwrap();
    assert!(matches!(refused, SandboxError::NotReady { .. }), "{refused:?}");
    // its connections are cut meanwhile, and that is no news
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(*sandbox.status().borrow(), KernelStatus::Paused);
    sandbox.resume().await.unwrap();
    let outcome = finish(execution, builder).await;
    assert!(outcome.success(), "{outcome:?}");
    assert_eq!(outcome.stdout.text().lines().last(), Some("29"));
    until_status(&sandbox, |status| *status == KernelStatus::Idle).await;
    sandbox.pause().await.unwrap();
    assert_eq!(sandbox.stop(StopChoice::Default, PATIENCE).await.unwrap(), StopReport::Ended);
    platform.has(0).await;
}

#[tokio::test]
async fn a_kept_runtime_is_joined_again_with_what_it_printed_and_one_of_others_is_left_alone() {
    let platform = Platform::open(&[]).await;
    let sandbox = platform.make(Value::Null).await.unwrap();
    let execution =
        sandbox.execute(ExecuteRequest::new("import time; x = 40; time.sleep(2); x += 2")).await.unwrap();
    is_busy(&sandbox).await;
    let handle = sandbox.info().handle;
    assert_eq!(sandbox.stop(StopChoice::Keep, PATIENCE).await.unwrap(), StopReport::LeftRunning);
    drop((execution, sandbox));
    assert!(!handle.0.to_string().contains(KEY));
    let joined = platform.runtime.attach(handle, request(Value::Null)).await.unwrap();
    assert_eq!(run(&joined, "x").await.text().as_deref(), Some("42"));
    joined.stop(StopChoice::Default, PATIENCE).await.unwrap();

    let body = json!({"type": "notebook", "environment": {"name": "ai-agents-env"}, "given_name": "mine", "credits_limit": 1});
    let url = platform.stand_in.url.join("api/runtimes/v1/runtimes").unwrap();
    let made = reqwest::Client::new().post(url).bearer_auth(KEY).json(&body).send().await.unwrap();
    let made: Value = made.json().await.unwrap();
    let name = made["runtime"]["runtime_name"].as_str().unwrap().to_owned();
    let handle = Handle { runtime: name, kernel: None, session: None }.keep();
    let key = Some(KEY.to_owned().into());
    let refused = platform.runtime.remove(&settings(Value::Null), key.as_ref(), &handle).await;
    assert!(matches!(refused, Err(SandboxError::Unsupported { .. })), "{refused:?}");
    let listed = platform.runtime.list(&settings(Value::Null), key.as_ref()).await.unwrap();
    assert_eq!((listed.len(), listed[0].id.clone()), (1, None));
    platform.has(1).await;
}

#[tokio::test]
async fn a_fresh_key_ends_a_runtime_that_the_old_one_could_not() {
    let platform = Platform::open(&[]).await;
    let sandbox = platform.make(Value::Null).await.unwrap();
    platform.stand_in.ask("key?is=fresh").await;
    assert_eq!(run(&sandbox, "1+1").await.text().as_deref(), Some("2"), "the kernel needs no key");
    let refused = sandbox.stop(StopChoice::Default, PATIENCE).await;
    assert!(matches!(refused, Err(SandboxError::Refused { .. })), "{refused:?}");
    sandbox.renew("fresh".to_owned().into()).await.unwrap();
    assert_eq!(sandbox.stop(StopChoice::Default, PATIENCE).await.unwrap(), StopReport::Ended);
    platform.has(0).await;
}

#[tokio::test]
async fn a_runtime_begins_with_the_snapshot_that_is_named() {
    let platform = Platform::open(&[]).await;
    let first = platform.make(Value::Null).await.unwrap();
    run(&first, "kept = [1, 2]").await;
    let name = Handle::read(&first.info().handle).unwrap().runtime;
    let url = platform.stand_in.url.join("api/runtimes/v1/sandbox-snapshots").unwrap();
    let body = json!({"runtime_name": name, "name": "of today", "stop": true});
    let taken = reqwest::Client::new().post(url).bearer_auth(KEY).json(&body).send().await.unwrap();
    assert_eq!(taken.status(), 201);
    platform.has(0).await;
    let own = DatalayerSettings { snapshot: Some("of today".into()), ..DatalayerSettings::default() };
    let second = platform.make(own.to_value()).await.unwrap();
    assert_eq!(run(&second, "kept").await.text().as_deref(), Some("[1, 2]"));
    second.stop(StopChoice::Default, PATIENCE).await.unwrap();
}
