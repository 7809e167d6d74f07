//! `sandbook exec` and `sandbook run` in containers of a real engine.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop")]

mod support;

use std::{path::PathBuf, process::Command, time::Instant};

use sandbook_test_support::{docker, docker_engine, docker_image};
use support::{Home, Ran, Running, children_named, signal, wait_until};

/// A folder of a person who is not root.
fn folder(home: &Home) -> PathBuf {
    let folder = home.path("work");
    std::fs::create_dir(&folder).unwrap();
    std::os::unix::fs::chown(&folder, Some(1234), Some(1234)).unwrap();
    folder
}

fn command(home: &Home, words: &[&str]) -> Command {
    let (engine, image) = (docker_engine(), format!("image={}", docker_image()));
    let words: Vec<&str> =
        words.iter().copied().chain(["--runtime", "docker", "--setting", &image]).collect();
    let mut command = home.sandbook(&words);
    command.current_dir(home.path("work")).env("DOCKER_HOST", engine);
    command
}

fn containers(home: &Home) -> String {
    docker(&["ps", "--all", "--quiet", "--filter", &format!("volume={}", home.path("work").display())]).1
}

#[test]
fn code_runs_in_a_container_in_this_folder_which_is_gone_afterwards() {
    let home = Home::new();
    let folder = folder(&home);
    std::fs::write(folder.join("in.csv"), "a,b\n1,2\n").unwrap();
    let code = "import os, pandas\npandas.read_csv('in.csv').to_csv('out.csv')\nprint(os.getuid(), os.getcwd())\n6*7";
    let ran = Ran::of(command(&home, &["exec", code]).output().unwrap());
    assert_eq!((ran.status, ran.stdout.as_str()), (0, "1234 /work\n42\n"), "{}", ran.stderr);
    assert!(folder.join("out.csv").exists());
    assert_eq!(containers(&home), "");

    let memory = ["exec", "--setting", "memory=256 MiB", "x = bytearray(1 << 30)"];
    let ran = Ran::of(command(&home, &memory).output().unwrap());
    assert!(ran.status == 125 && ran.stderr.contains("out of memory"), "{ran:?}");
    assert_eq!(containers(&home), "");
}

#[test]
fn a_notebook_runs_in_a_container() {
    let home = Home::new();
    let folder = folder(&home);
    let notebook = r#"{"cells": [{"cell_type": "code", "execution_count": null, "metadata": {}, "outputs": [], "source": "import os; os.getcwd()"}], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}"#;
    std::fs::write(folder.join("n.ipynb"), notebook).unwrap();
    let ran = Ran::of(command(&home, &["run", "n.ipynb"]).output().unwrap());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(std::fs::read_to_string(folder.join("n.out.ipynb")).unwrap().contains("'/work'"));
}

#[test]
fn what_is_not_ready_or_not_understood_is_told_with_the_next_step() {
    let home = Home::new();
    folder(&home);
    for (setting, message, hint) in [
        ("image=sandbook/none", "is not on this computer", "docker pull sandbook/none"),
        ("engine=unix:///nowhere", "there is no socket at /nowhere", "Start the engine"),
        ("cpu=-1", "number of cores", "Change the setting"),
        ("network=allowlist", "needs at least one host", "Change the setting"),
    ] {
        let mut command = home.sandbook(&["exec", "1", "--runtime", "docker", "--setting", setting]);
        let command = command.current_dir(home.path("work")).env("DOCKER_HOST", docker_engine());
        let ran = Ran::of(command.output().unwrap());
        assert!(ran.status == 125 && ran.stderr.contains(message) && ran.stderr.contains(hint), "{ran:?}");
    }
}

#[test]
fn the_container_of_a_command_that_was_killed_is_ended_by_its_attendant_or_by_the_next_owner() {
    let home = Home::new();
    folder(&home);
    let code = "import time; print('up', flush=True); time.sleep(600)";
    let mut running = Running::start(command(&home, &["exec", code]));
    assert_eq!(running.line(), "up");
    signal(running.id(), "KILL");
    drop(running);
    assert!(wait_until(|| containers(&home).is_empty()), "its attendant ends it: {}", containers(&home));

    let mut running = Running::start(command(&home, &["exec", code]));
    assert_eq!(running.line(), "up");
    for process in children_named(running.id(), "sandbook").into_iter().chain([running.id()]) {
        signal(process, "KILL");
    }
    drop(running);
    assert_ne!(containers(&home), "", "nobody was left to end it");
    let mut owner = home.sandbook(&["serve", "--stay"]);
    owner.env("DOCKER_HOST", docker_engine());
    let _owner = Running::start(owner);
    assert!(wait_until(|| containers(&home).is_empty()), "the owner ends it: {}", containers(&home));
    home.run(&["quit", "--force"]);
}

/// So many points in the making of a container, from its first moment to a little after its last.
fn points() -> u32 {
    if std::env::var_os("SANDBOOK_TEST_LONG").is_some() { 60 } else { 8 }
}

#[test]
fn a_command_that_is_killed_at_any_step_of_making_its_container_leaves_none_that_nobody_finds() {
    let code = "import time; print('up', flush=True); time.sleep(600)";
    let whole = {
        let home = Home::new();
        folder(&home);
        let began = Instant::now();
        let mut running = Running::start(command(&home, &["exec", code]));
        assert_eq!(running.line(), "up");
        let whole = began.elapsed();
        signal(running.id(), "INT");
        assert!(wait_until(|| containers(&home).is_empty()), "a command that is stopped ends its container");
        whole
    };
    for point in 0..points() {
        let home = Home::new();
        folder(&home);
        let running = Running::start(command(&home, &["exec", code]));
        std::thread::sleep(whole.mul_f64(1.1 * f64::from(point) / f64::from(points())));
        signal(running.id(), "KILL");
        drop(running);
        let mut owner = home.sandbook(&["serve", "--stay"]);
        owner.env("DOCKER_HOST", docker_engine());
        let owner = Running::start(owner);
        let is_found =
            || containers(&home).is_empty() || home.run(&["sandboxes", "list"]).stdout.contains("docker");
        assert!(wait_until(is_found), "point {point}: {} is nobody's", containers(&home));
        home.run(&["quit", "--force"]);
        assert!(wait_until(|| containers(&home).is_empty()), "point {point}: {} is left", containers(&home));
        drop(owner);
    }
}
