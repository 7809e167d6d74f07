//! Making sandboxes at Modal: what is asked for, what is refused, what goes wrong, and that nothing is left behind.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests are not seen as tests

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use sandbook_runtimes::modal::{Memory, ModalRuntime, ModalSettings, NetworkPolicy, Sources, Volume};
use sandbook_sandbox::{
    Client, CreateRequest, Progress, Readiness, Runtime, Sandbox, SandboxError, SandboxSettings, StopChoice,
};
use sandbook_test_support::{Modal, PATIENCE};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

fn runtime() -> ModalRuntime {
    drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
    ModalRuntime::looking_in(Sources::default())
}

fn general(modal: &Modal, settings: ModalSettings) -> SandboxSettings {
    let settings = ModalSettings { server_url: Some(modal.url.to_string()), ..settings };
    SandboxSettings { runtime: settings.to_value(), ..SandboxSettings::default() }
}

fn request(modal: &Modal, settings: ModalSettings) -> CreateRequest {
    CreateRequest {
        settings: general(modal, settings),
        credential: Some(modal.pair.clone().into()),
        progress: Progress::none(),
        cancel: CancellationToken::new(),
    }
}

/// The error of a sandbox that is not made.
async fn refused(modal: &Modal, request: CreateRequest) -> SandboxError {
    let error = runtime().create(request).await.err().unwrap();
    modal.until_none_runs().await;
    error
}

async fn answers(sandbox: Arc<dyn Sandbox>) {
    assert_eq!(Client::new(sandbox.clone()).run("6*7").await.unwrap().text().as_deref(), Some("42"));
    sandbox.stop(StopChoice::Default, PATIENCE).await.unwrap();
}

async fn secret_and_volume(modal: &Modal) {
    let mut words = modal.pair.split(' ');
    let code = "import modal; modal.Secret.objects.create('keys', {'K': 'v'}); modal.Volume.from_name('data', create_if_missing=True).hydrate()";
    let made = tokio::process::Command::new(sandbook_test_support::python())
        .args(["-c", code])
        .env("MODAL_SERVER_URL", modal.url.as_str())
        .env("MODAL_TOKEN_ID", words.next().unwrap())
        .env("MODAL_TOKEN_SECRET", words.next().unwrap())
        .env("MODAL_CONFIG_PATH", "/dev/null")
        .output()
        .await
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

#[tokio::test]
async fn every_setting_is_asked_for_as_it_stands() {
    let modal = Modal::start(&[]);
    secret_and_volume(&modal).await;
    let settings = ModalSettings {
        image: Some("python:3.12-slim".into()),
        packages: vec!["torch==2.4.1".into(), "pandas[excel]>=2".into()],
        cpu: Some(1.5),
        memory: Some(Memory::bytes(3 << 29)),
        longest_life: 1800,
        idle_timeout: 600,
        region: Some("us-east".into()),
        network: NetworkPolicy::Allowlist,
        allowed_hosts: vec![
            "pypi.org".into(),
            "*.example.org".into(),
            "192.0.2.0/24".into(),
            "192.0.2.7".into(),
        ],
        secrets: vec!["keys".into()],
        volumes: vec![Volume { name: "data".into(), target: "/data".into(), read_only: true }],
        ..ModalSettings::default()
    };
    let mut asked = request(&modal, settings);
    asked.settings.id = Some("0123456789abcdef".into());
    let sandbox = runtime().create(asked).await.unwrap();
    let outcome = Client::new(sandbox.clone()).run("import os; os.environ['K']").await.unwrap();
    assert_eq!(outcome.text().as_deref(), Some("'v'"));
    let create = &modal.creates()[0];
    let definition = &create["definition"];
    assert_eq!(definition["resources"], json!({"memory_mb": 1536, "milli_cpu": 1500, "gpu_config": {}}));
    assert_eq!((&definition["timeout_secs"], &definition["idle_timeout_secs"]), (&json!(1800), &json!(120)));
    assert_eq!(definition["scheduler_placement"]["regions"], json!(["us-east"]));
    let network = json!({
        "network_access_type": "ALLOWLIST",
        "allowed_cidrs": ["192.0.2.0/24", "192.0.2.7/32"],
        "allowed_domains": ["pypi.org", "*.example.org"],
    });
    assert_eq!(definition["network_access"], network);
    let volume = &definition["volume_mounts"][0];
    assert_eq!((&volume["mount_path"], &volume["read_only"]), (&json!("/data"), &json!(true)));
    assert_eq!(create["secret_sources"].as_array().unwrap().len(), 1);
    let tags = json!([{"tag_name": "sandbook", "tag_value": "1"}, {"tag_name": "sandbook-id", "tag_value": "0123456789abcdef"}]);
    assert_eq!(create["tags"], tags);
    let built: Vec<Value> =
        modal.record().into_iter().filter_map(|entry| entry.get("built").cloned()).collect();
    assert_eq!(built[0], json!(["FROM python:3.12-slim"]));
    let install = built[1][1].as_str().unwrap();
    assert!(install.ends_with(" 'torch==2.4.1' 'pandas[excel]>=2'"), "{install}");
    answers(sandbox).await;
}

/// What both clients ask for, without what is another each time, and without what Modal's client says of its own way of
/// working: what it mounts into an image, where a command starts, and lists that are empty.
fn compared(create: &Value) -> Value {
    let mut create = create.clone();
    create.as_object_mut().unwrap().remove("app_id");
    create["tags"].as_array_mut().unwrap().sort_by_key(|tag| tag["tag_name"].to_string());
    let definition = create["definition"].as_object_mut().unwrap();
    for own in ["image_id", "mount_ids", "secret_ids", "open_ports"] {
        definition.remove(own);
    }
    for volume in definition["volume_mounts"].as_array_mut().unwrap() {
        volume.as_object_mut().unwrap().remove("volume_id");
    }
    let secrets = create.as_object_mut().unwrap().remove("secret_sources");
    create["secrets"] =
        secrets.and_then(|secrets| Some(secrets.as_array()?.len())).unwrap_or_default().into();
    create
}

#[tokio::test]
async fn modal_s_own_client_asks_for_the_same_with_the_same_in_mind() {
    for gpu in [None, Some("A100-80GB:2")] {
        let modal = Modal::start(&[]);
        let mut words: Vec<&str> = modal.pair.split(' ').collect();
        words.push("sandbook-same");
        words.extend(gpu);
        let ordered = tokio::process::Command::new(sandbook_test_support::python())
            .arg("-B")
            .arg(Modal::folder().join("modal_order.py"))
            .arg(modal.url.as_str())
            .args(words)
            .output()
            .await
            .unwrap();
        assert!(ordered.status.success(), "{}", String::from_utf8_lossy(&ordered.stderr));
        let settings = ModalSettings {
            image: Some("python:3.12-slim".into()),
            gpu: gpu.map(|gpu| gpu.parse().unwrap()),
            cpu: Some(1.5),
            memory: Some(Memory::bytes(3 << 29)),
            longest_life: 1800,
            region: Some("us-east".into()),
            network: NetworkPolicy::Allowlist,
            allowed_hosts: vec!["192.0.2.0/24".into(), "pypi.org".into()],
            secrets: vec!["keys".into()],
            volumes: vec![Volume { name: "data".into(), target: "/data".into(), read_only: false }],
            ..ModalSettings::default()
        };
        let mut asked = request(&modal, settings);
        asked.settings.id = Some("same".into());
        answers(runtime().create(asked).await.unwrap()).await;
        let creates = modal.creates();
        assert_eq!(compared(&creates[1]), compared(&creates[0]));
    }
}

#[tokio::test]
async fn a_graphics_card_makes_a_sandbox_of_the_older_kind_that_waits_for_a_machine() {
    let modal = Modal::start(&["--schedule-seconds", "1.5"]);
    let said = Arc::<Mutex<Vec<String>>>::default();
    let (to, settings) = (
        said.clone(),
        ModalSettings { gpu: Some("a100-80gb:2".parse().unwrap()), ..ModalSettings::default() },
    );
    let mut asked = request(&modal, settings);
    asked.progress = Progress::new(move |message, _| to.lock().unwrap().push(message));
    let sandbox = runtime().create(asked).await.unwrap();
    assert!(said.lock().unwrap().iter().any(|message| message == "Waiting for a machine"));
    assert_eq!((modal.count("SandboxCreate"), modal.count("SandboxCreateV2")), (1, 0));
    let card = &modal.creates()[0]["definition"]["resources"]["gpu_config"];
    assert_eq!(*card, json!({"count": 2, "gpu_type": "A100-80GB"}));
    answers(sandbox).await;
    modal.until_none_runs().await;
}

#[tokio::test]
async fn an_image_is_built_with_its_log_once_and_a_build_that_fails_says_why() {
    let modal = Modal::start(&["--build-seconds", "0.2"]);
    let said = Arc::<Mutex<Vec<String>>>::default();
    let to = said.clone();
    let mut asked = request(&modal, ModalSettings::default());
    asked.progress = Progress::new(move |message, _| to.lock().unwrap().push(message));
    answers(runtime().create(asked).await.unwrap()).await;
    let lines = said.lock().unwrap().join("\n");
    assert!(
        lines.contains("Step 0: FROM python:") && lines.contains("Step 1: RUN python -m pip install"),
        "{lines}"
    );
    let built = modal.record().iter().filter(|entry| entry.get("built").is_some()).count();
    answers(runtime().create(request(&modal, ModalSettings::default())).await.unwrap()).await;
    let again = modal.record().iter().filter(|entry| entry.get("built").is_some()).count();
    assert_eq!((built, again), (2, 2), "a second start builds nothing");

    let image = Some("python:3.12-slim".to_owned());
    let wrong = ModalSettings { image, packages: vec!["no-such-package".into()], ..ModalSettings::default() };
    let error = refused(&modal, request(&modal, wrong)).await;
    let SandboxError::StartFailed { what, detail } = &error else { panic!("{error:?}") };
    assert!(what == "the image" && detail.contains("No matching distribution"), "{detail}");
    let unknown = ModalSettings { image: Some("im-0123456789".into()), ..ModalSettings::default() };
    let error = refused(&modal, request(&modal, unknown)).await;
    assert!(matches!(&error, SandboxError::Setting { setting, .. } if setting == "image"), "{error:?}");
}

#[tokio::test]
async fn what_the_account_does_not_have_is_told_before_anything_costs() {
    let modal = Modal::start(&[]);
    let secret = ModalSettings { secrets: vec!["nobody-s".into()], ..ModalSettings::default() };
    let volume = Volume { name: "nowhere".into(), target: "/data".into(), read_only: false };
    let volume = ModalSettings { volumes: vec![volume], ..ModalSettings::default() };
    for (settings, named) in [(secret, "secrets[0]"), (volume, "volumes[0]")] {
        let error = refused(&modal, request(&modal, settings)).await;
        assert!(matches!(&error, SandboxError::Setting { setting, .. } if setting == named), "{error:?}");
    }
    assert!(modal.creates().is_empty());
}

#[tokio::test]
async fn a_pair_that_is_wrong_half_or_missing_is_one_clear_error_and_is_never_shown() {
    let modal = Modal::start(&[]);
    let mut wrong = request(&modal, ModalSettings::default());
    wrong.credential = Some("ak-wrong0000000 as-wr0ngs3cr3t".to_owned().into());
    let error = refused(&modal, wrong).await;
    assert!(matches!(error, SandboxError::Refused { status: 401, .. }), "{error:?}");
    assert!(!format!("{error} {error:?}").contains("wr0ngs3cr3t"));
    let mut half = request(&modal, ModalSettings::default());
    half.credential = Some("ak-standin0000000".to_owned().into());
    let error = refused(&modal, half).await.to_string();
    assert!(error.contains("half of a Modal token"), "{error}");
    let mut none = request(&modal, ModalSettings::default());
    none.credential = None;
    let error = refused(&modal, none).await;
    assert!(matches!(error, SandboxError::CredentialMissing { .. }), "{error:?}");
}

#[tokio::test]
async fn the_survey_tells_prices_and_problems_and_whether_the_pair_is_taken_and_starts_nothing() {
    let modal = Modal::start(&[]);
    let pair = modal.pair.clone().into();
    let mut settings =
        general(&modal, ModalSettings { gpu: Some("T4".parse().unwrap()), ..ModalSettings::default() });
    settings.runtime["longest_life"] = 90_000.into();
    settings.runtime["region"] = "us east".into();
    let survey = runtime().survey(&settings, Some(&pair)).await;
    assert!(matches!(survey.readiness, Readiness::Ready(_)), "{:?}", survey.readiness);
    let wrong: Vec<&str> = survey.problems.iter().map(|problem| problem.setting.as_str()).collect();
    assert_eq!(wrong, ["longest_life", "region"]);
    let spending = survey.spending.unwrap();
    assert_eq!(spending.chosen.as_deref(), Some("T4"));
    assert!(spending.at_most.unwrap().value > 0.5);
    let other = "ak-other0000000 as-other0000000".to_owned().into();
    let survey = runtime().survey(&general(&modal, ModalSettings::default()), Some(&other)).await;
    assert!(matches!(survey.readiness, Readiness::NeedsCredential(_)), "{:?}", survey.readiness);
    let none = runtime().readiness(&general(&modal, ModalSettings::default()), None).await;
    assert!(matches!(none, Readiness::NeedsCredential(_)), "{none:?}");
    assert!(modal.creates().is_empty() && modal.count("AppGetOrCreate") == 0);
}

#[tokio::test]
async fn a_call_that_comes_too_fast_waits_as_it_is_told_and_a_lost_answer_makes_no_second_sandbox() {
    let modal = Modal::start(&["--throttle-creates", "2"]);
    answers(runtime().create(request(&modal, ModalSettings::default())).await.unwrap()).await;
    assert_eq!(modal.creates().len(), 3);
    let modal = Modal::start(&["--lose-creates", "1"]);
    let sandbox = runtime().create(request(&modal, ModalSettings::default())).await.unwrap();
    assert_eq!(
        (modal.creates().len(), modal.running().len()),
        (2, 1),
        "the second attempt found the first one's"
    );
    answers(sandbox).await;
    modal.until_none_runs().await;
}

fn asked_for(modal: &Modal, id: &str) -> CreateRequest {
    let mut asked = request(modal, ModalSettings::default());
    asked.settings.id = Some(id.into());
    asked
}

#[tokio::test]
async fn giving_it_up_at_any_moment_leaves_nothing_behind() {
    for hold in ["0", "1"] {
        let modal = Modal::start(&["--hold-creates", hold, "--build-seconds", "0.1"]);
        for call in ["AppGetOrCreate", "ImageGetOrCreate", "SandboxCreateV2", "TaskExecStart"] {
            let asked = request(&modal, ModalSettings::default());
            let (cancel, before) = (asked.cancel.clone(), seen(&modal, call));
            let making = tokio::spawn(async move { runtime().create(asked).await });
            until_seen(&modal, call, before).await;
            cancel.cancel();
            if let Ok(sandbox) = making.await.unwrap() {
                sandbox.stop(StopChoice::Default, Duration::ZERO).await.unwrap();
            }
            modal.until_none_runs().await;
        }
    }
}

#[tokio::test]
async fn dropping_the_future_or_the_sandbox_ends_what_was_made() {
    let modal = Modal::start(&["--hold-creates", "1"]);
    {
        let (making, before) = (runtime(), seen(&modal, "SandboxCreateV2"));
        let asked = request(&modal, ModalSettings::default());
        let create = making.create(asked);
        tokio::select! {
            made = create => panic!("it was made: {}", made.is_ok()),
            () = until_seen(&modal, "SandboxCreateV2", before) => {}
        }
    }
    modal.until_none_runs().await;
    let sandbox = runtime().create(request(&modal, ModalSettings::default())).await.unwrap();
    drop(sandbox);
    modal.until_none_runs().await;
}

/// How often something was called. Commands are recorded by what they run.
fn seen(modal: &Modal, call: &str) -> usize {
    let of_router = call == "TaskExecStart";
    modal
        .record()
        .iter()
        .filter(|entry| if of_router { entry.get("command").is_some() } else { entry["call"] == call })
        .count()
}

async fn until_seen(modal: &Modal, call: &str, before: usize) {
    let wait = async {
        while seen(modal, call) == before {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, wait).await.unwrap();
}

#[tokio::test]
async fn what_a_killed_owner_left_is_listed_by_its_id_and_removed() {
    let modal = Modal::start(&[]);
    let pair = modal.pair.clone().into();
    let settings = general(&modal, ModalSettings::default());
    assert!(runtime().list(&settings, Some(&pair)).await.unwrap().is_empty());
    assert_eq!(modal.count("AppGetOrCreate"), 0, "listing makes nothing");
    let sandbox = runtime().create(asked_for(&modal, "of-a-killed-owner")).await.unwrap();
    let listed = runtime().list(&settings, Some(&pair)).await.unwrap();
    assert_eq!((listed.len(), listed[0].id.as_deref()), (1, Some("of-a-killed-owner")));
    sandbox.stop(StopChoice::Keep, PATIENCE).await.unwrap();
    drop(sandbox);
    runtime().remove(&settings, Some(&pair), &listed[0].handle).await.unwrap();
    runtime().remove(&settings, Some(&pair), &listed[0].handle).await.unwrap();
    modal.until_none_runs().await;
}

#[tokio::test]
async fn a_modal_that_is_not_there_is_said_to_be_unreachable() {
    let mut modal = Modal::start(&[]);
    let asked = request(&modal, ModalSettings::default());
    modal.kill();
    let error = runtime().create(asked).await.err().unwrap();
    assert!(
        matches!(&error, SandboxError::Unreachable { address, .. } if address.starts_with("127.0.0.1:")),
        "{error:?}"
    );
    assert!(error.can_retry());
}

#[tokio::test]
async fn a_pair_of_the_environment_is_used_where_none_was_given() {
    let modal = Modal::start(&[]);
    let mut words = modal.pair.split(' ').map(str::to_owned);
    let variables = [("MODAL_TOKEN_ID", words.next()), ("MODAL_TOKEN_SECRET", words.next())];
    let variables: BTreeMap<_, _> =
        variables.into_iter().map(|(name, value)| (name.to_owned(), value.unwrap())).collect();
    let runtime = ModalRuntime::looking_in(Sources { variables, file: None });
    let mut asked = request(&modal, ModalSettings::default());
    asked.credential = None;
    answers(runtime.create(asked).await.unwrap()).await;
}
