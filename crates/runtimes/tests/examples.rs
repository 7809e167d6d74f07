//! The examples, run as a stranger would run them.

#![cfg(all(
    unix,
    feature = "datalayer",
    feature = "eval",
    feature = "jupyter",
    feature = "monty",
    feature = "docker"
))]
#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests are not seen as tests

use std::{path::PathBuf, process::Command};

use sandbook_test_support::{StandIn, docker_engine, docker_image, jupyter_server, python};

/// Where cargo puts the examples that it builds with the tests.
fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.ancestors().nth(2).unwrap().join("examples").join(name)
}

fn shows_everything(command: &mut Command, html: bool) -> String {
    let output = command.output().unwrap();
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}\n{errors}");
    for line in ["  x + 2 = 42", "step 0", "step 2", "  ZeroDivisionError: division by zero"] {
        assert!(said.lines().any(|found| found == line), "{line:?} is missing in {said}");
    }
    assert_eq!(said.contains("text/html: <b>42</b>"), html, "{said}");
    said.into_owned()
}

#[test]
fn the_example_of_a_plain_python_shows_everything() {
    shows_everything(Command::new(example("eval")).arg(python()), true);
}

#[test]
fn the_example_of_a_jupyter_kernel_shows_everything() {
    shows_everything(Command::new(example("jupyter")).arg(python()).env_remove("JUPYTER_URL"), true);
}

#[test]
fn the_example_of_monty_shows_everything_it_can_and_calls_a_function() {
    let worker = python().with_file_name("monty");
    let said = shows_everything(Command::new(example("monty")).arg(worker), false);
    assert!(said.contains("text only") && said.contains("  'sunny in Oslo'"), "{said}");
}

#[test]
fn the_example_of_a_container_shows_everything() {
    let mut command = Command::new(example("docker"));
    shows_everything(command.arg(docker_image()).env("DOCKER_HOST", docker_engine()), true);
}

#[tokio::test]
async fn the_example_of_datalayer_shows_everything_and_leaves_nothing_that_costs() {
    let server = jupyter_server().await;
    let platform = StandIn::start("datalayer", &server, &["a-key"]);
    let mut command = Command::new(example("datalayer"));
    command.arg("python-cpu-env").env("DATALAYER_RUN_URL", platform.url.as_str());
    command.env("DATALAYER_API_KEY", "a-key");
    let shown = tokio::task::spawn_blocking(move || shows_everything(&mut command, true)).await.unwrap();
    assert!(shown.contains("python-cpu-env costs at most 2.04 credits"), "{shown}");
    assert_eq!(platform.ask("runtimes").await, serde_json::json!([]));
}
