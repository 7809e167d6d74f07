//! The image that `docker/Dockerfile` makes, by itself: what it starts, and what it does not.

#![cfg(feature = "docker")]
#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests are not seen as tests

mod support;

use std::time::{Duration, Instant};

use sandbook_sandbox::{ExecuteRequest, StopChoice};
use sandbook_test_support::{Container, PATIENCE, TOKEN, docker, docker_image, rest};
use support::{Place, new_on, run};
use url::Url;

#[test]
fn no_container_starts_without_a_token() {
    let image = docker_image();
    for options in [vec![], vec!["-e", "TOKEN="], vec!["-e", "TOKEN=UNSET"], vec!["-e", "JUPYTER_TOKEN=x"]] {
        for command in [vec![], vec!["python3", "-m", "jupyter_server"]] {
            let words: Vec<&str> = ["run", "--rm"]
                .iter()
                .chain(&options)
                .chain([&image.as_str()])
                .chain(&command)
                .copied()
                .collect();
            let (started, said) = docker(&words);
            assert!(!started && said.starts_with("TOKEN is not set."), "{options:?}: {said}");
        }
    }
}

#[test]
fn everything_that_is_promised_is_in_it_and_works_for_any_user_with_a_read_only_root() {
    let image = docker_image();
    let code = "import numpy, pandas, sympy, scipy, matplotlib, openpyxl, xlrd, seaborn, ipykernel, jupyter_server, kernel_gateway, os; print(os.getuid(), os.getcwd()); open(os.path.expanduser('~/x'), 'w')";
    for user in ["1000:1000", "4321:4321"] {
        let options = ["run", "--rm", "--user", user, "--cap-drop", "ALL", "--read-only", "-e", "TOKEN=t"];
        let scratch = ["--tmpfs", "/tmp:mode=1777", "--tmpfs", "/home/sandbox:mode=1777"];
        let words: Vec<&str> =
            options.iter().chain(&scratch).chain(&[image.as_str(), "python3", "-c", code]).copied().collect();
        let (ran, said) = docker(&words);
        assert!(ran && said.ends_with(&format!("{} /work", &user[..4])), "{said}");
    }
    let (_, user) = docker(&["image", "inspect", &image, "--format", "{{.Config.User}}"]);
    assert_eq!(user, "1000:1000", "not root");
}

/// Starts the gateway, and waits until it answers.
async fn gateway(options: &[&str]) -> (Container, Url) {
    let (image, token) = (docker_image(), format!("TOKEN={TOKEN}"));
    let words = ["-e", &token, "-p", "127.0.0.1::8888"];
    let words: Vec<&str> = words.iter().chain(options).chain([&image.as_str()]).copied().collect();
    let container = Container::run(&words);
    let url = container.url(8888);
    let start = Instant::now();
    let answers = async || {
        let request = reqwest::Client::new().get(url.join("api/kernels").unwrap());
        request
            .header("Authorization", format!("token {TOKEN}"))
            .send()
            .await
            .is_ok_and(|answer| answer.status() == 200)
    };
    while !answers().await {
        assert!(start.elapsed() < PATIENCE, "{}", docker(&["logs", &container.0]).1);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    (container, url)
}

#[tokio::test]
async fn its_gateway_ends_an_idle_kernel_and_leaves_a_connected_and_a_busy_one() {
    let place = Place::new();
    let (_container, url) = gateway(&["-e", "CULL_IDLE_TIMEOUT=4", "-e", "CULL_INTERVAL=1"]).await;
    let kernels = async || {
        let list = rest("GET", &url, "api/kernels").await;
        list.as_array()
            .unwrap()
            .iter()
            .map(|kernel| kernel["id"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let connected = new_on(&place, &url).await;
    let busy = new_on(&place, &url).await;
    let execution = busy.execute(ExecuteRequest::new("import time; time.sleep(300)")).await.unwrap();
    support::is_busy(&busy).await;
    drop((execution, busy));
    rest("POST", &url, "api/kernels").await;
    assert_eq!(kernels().await.len(), 3);
    let start = Instant::now();
    while kernels().await.len() == 3 {
        assert!(start.elapsed() < PATIENCE, "the idle kernel is still there");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    // longer than an idle one lives
    tokio::time::sleep(Duration::from_secs(7)).await;
    assert_eq!(kernels().await.len(), 2);
    assert_eq!(run(&connected, "6 * 7").await.text().as_deref(), Some("42"));
    connected.stop(StopChoice::Default, PATIENCE).await.unwrap();
}
