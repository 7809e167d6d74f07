//! The official clients of Datalayer on the stand-in, and what they and this runtime put on the wire for the same.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests are not seen as tests

use std::{path::Path, process::Stdio, time::Duration};

use sandbook_runtimes::datalayer::{DatalayerRuntime, DatalayerSettings, Defaults};
use sandbook_sandbox::{CreateRequest, Progress, Runtime, SandboxSettings, StopChoice};
use sandbook_test_support::{PATIENCE, StandIn, jupyter_server};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

const KEY: &str = "the-key-of-an-account";

#[tokio::test]
async fn the_official_clients_pass_on_the_stand_in_and_order_a_runtime_with_the_same_words() {
    let python = std::env::var_os("SANDBOOK_TEST_DATALAYER").expect(
        "set SANDBOOK_TEST_DATALAYER to a Python with the packages of tests/datalayer-requirements.txt (cargo xtask test does)",
    );
    let server = jupyter_server().await;
    let platform = StandIn::start("datalayer", &server, &[KEY]);
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/standins/datalayer_official.py");
    let mut command = tokio::process::Command::new(python);
    command.arg("-B").arg(program).args([platform.url.as_str(), KEY]);
    let ended = command.stdin(Stdio::null()).kill_on_drop(true).output();
    let output = tokio::time::timeout(PATIENCE * 4, ended).await.unwrap().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(said.lines().last(), Some("leaves none"), "{said}");

    let own = DatalayerSettings {
        environment: Some("python-cpu-env".into()),
        minutes: Some(10.0),
        ..DatalayerSettings::default()
    };
    let runtime =
        DatalayerRuntime::with(Defaults { run_url: Some(platform.url.to_string()), environment: None });
    let request = CreateRequest {
        settings: SandboxSettings {
            id: Some("7".into()),
            runtime: own.to_value(),
            ..SandboxSettings::default()
        },
        credential: Some(KEY.to_owned().into()),
        progress: Progress::none(),
        cancel: CancellationToken::new(),
    };
    let sandbox = runtime.create(request).await.unwrap();
    sandbox.stop(StopChoice::Default, Duration::from_secs(10)).await.unwrap();

    let orders: Vec<Value> = serde_json::from_value(platform.ask("orders").await).unwrap();
    let [official, _with_snapshot, ours] = orders.as_slice() else { panic!("{orders:?}") };
    let mut same = official.clone();
    same["given_name"] = json!("sandbook-7");
    assert_eq!(*ours, same, "but for the name, the order is the same");
    let seen = platform.seen().await;
    let creates = seen.iter().filter(|request| *request == "POST /api/runtimes/v1/runtimes").count();
    assert_eq!(creates, 3, "{seen:?}");
}
