//! The stand-ins of clouds' proxies under a client that is used with the real ones, and what it asks beside ours.

#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests are not seen as tests

mod support;

use std::{collections::BTreeSet, path::Path, process::Command, sync::Arc};

use sandbook_runtimes::{colab::ColabRuntime, kaggle::KaggleRuntime};
use sandbook_sandbox::{CreateRequest, Progress, Runtime, SandboxSettings, StopChoice};
use sandbook_test_support::{PATIENCE, Server, StandIn, jupyter_server, python, rest};
use serde_json::{Value, json};
use support::run;
use tokio_util::sync::CancellationToken;

const SECRET: &str = "s3cr3t-of-a-page-4718";

struct Page {
    server: Server,
    proxy: StandIn,
    kernel: String,
    link: String,
}

async fn page(cloud: &str) -> Page {
    let server = jupyter_server().await;
    let kernel = rest("POST", &server.url, "api/kernels").await["id"].as_str().unwrap().to_owned();
    let arguments: &[&str] = if cloud == "colab" { &[SECRET] } else { &["12345678", SECRET] };
    let proxy = StandIn::start(&format!("{cloud}_proxy"), &server, arguments);
    let address = proxy.url.as_str().replace("http://", "ws://");
    let link = if cloud == "colab" {
        format!("{address}api/kernels/{kernel}/channels?session_id=s&colab-runtime-proxy-token={SECRET}")
    } else {
        format!("{address}k/12345678/{SECRET}/proxy/api/kernels/{kernel}/channels?session_id=s")
    };
    Page { server, proxy, kernel, link }
}

/// What was asked, without the id of the kernel and a secret path before it.
async fn asked(page: &Page) -> BTreeSet<String> {
    let seen = page.proxy.seen().await.into_iter();
    let plain = seen.map(|request| {
        let (kind, path) = request.split_once(' ').unwrap();
        let path = path.split_once("/proxy/").map_or(path, |(_, rest)| rest);
        format!("{kind} {}", path.trim_start_matches('/').replace(&page.kernel, "ID"))
    });
    plain.collect()
}

async fn with_theirs(cloud: &str, link: &str) -> Value {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/standins/official.py");
    let mut command = Command::new(python());
    command.arg("-B").arg(program).args([cloud, link]);
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let last = said.lines().last().unwrap_or_default();
    serde_json::from_str(last)
        .unwrap_or_else(|error| panic!("{error}: {said}\n{}", String::from_utf8_lossy(&output.stderr)))
}

#[tokio::test(flavor = "multi_thread")]
async fn another_client_of_the_real_clouds_works_with_the_stand_ins_and_asks_nothing_else_than_ours() {
    let runtimes: [(&str, Arc<dyn Runtime>); 2] =
        [("colab", Arc::new(ColabRuntime)), ("kaggle", Arc::new(KaggleRuntime))];
    for (cloud, runtime) in runtimes {
        let theirs = page(cloud).await;
        let came_to = with_theirs(cloud, &theirs.link).await;
        let expected = json!({ "kept": true, "text": "42", "stdout": "said", "error": "ZeroDivisionError" });
        assert_eq!(came_to, expected, "{cloud}");
        assert_eq!(theirs.server.kernels().unwrap().len(), 1, "{cloud}: the kernel of the page stays");

        let ours = page(cloud).await;
        let request = CreateRequest {
            settings: SandboxSettings::default(),
            credential: Some(ours.link.clone().into()),
            progress: Progress::none(),
            cancel: CancellationToken::new(),
        };
        let sandbox = runtime.create(request).await.unwrap();
        assert!(run(&sandbox, "x = 40").await.success());
        assert_eq!(run(&sandbox, "print('said')\nx + 2").await.text().as_deref(), Some("42"));
        assert_eq!(run(&sandbox, "1 / 0").await.code_error.unwrap().name, "ZeroDivisionError");
        sandbox.stop(StopChoice::Default, PATIENCE).await.unwrap();

        let wire = ["GET api/kernels/ID", "WS api/kernels/ID/channels"].map(str::to_owned);
        assert_eq!(asked(&ours).await, BTreeSet::from(wire), "{cloud}");
        assert_eq!(asked(&theirs).await, asked(&ours).await, "{cloud}");
    }
}
