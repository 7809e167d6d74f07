//! Sandboxes at Modal by the command, with the token pair of the environment or of Modal's own file.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop")]

mod support;

use sandbook_test_support::Modal;
use support::{Home, Ran};

const ID: &str = "ak-m0dal00command";
const SECRET: &str = "as-n0b0dysh0uldsee4732";

#[test]
fn code_and_notebooks_run_in_a_sandbox_that_is_ended_with_the_command() {
    let modal = Modal::start(&["--token-id", ID, "--token-secret", SECRET]);
    let home = Home::new();
    let ran = |arguments: &[&str], variables: &[(&str, &str)]| {
        let mut command = home.sandbook(arguments);
        for name in ["MODAL_TOKEN_ID", "MODAL_TOKEN_SECRET", "MODAL_PROFILE", "MODAL_CONFIG_PATH"] {
            command.env_remove(name);
        }
        command.env("MODAL_SERVER_URL", modal.url.as_str()).envs(variables.iter().copied());
        Ran::of(command.output().unwrap())
    };
    let pair = [("MODAL_TOKEN_ID", ID), ("MODAL_TOKEN_SECRET", SECRET)];
    let exec = ["exec", "--runtime", "modal", "--setting", "longest_life=600"];

    let of_code = ran(&[&exec[..], &["print('on'); 6*7"]].concat(), &pair);
    assert_eq!((of_code.status, of_code.stdout.as_str()), (0, "on\n42\n"), "{}", of_code.stderr);
    assert!(of_code.stderr.contains("costs at most 0.00 USD"), "{}", of_code.stderr);
    let failing = ran(&[&exec[..], &["1/0"]].concat(), &pair);
    assert_eq!(failing.status, 1, "{}", failing.stderr);

    let file = format!("[work]\ntoken_id = \"{ID}\"\ntoken_secret = \"{SECRET}\"\nactive = true\n");
    home.write(".modal.toml", &file);
    let notebook = r#"{"cells": [{"cell_type": "code", "execution_count": null, "metadata": {}, "outputs": [], "source": "x = 6\nx * 7"}], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}"#;
    home.write("paid.ipynb", notebook);
    let of_notebook = ran(&["run", "paid.ipynb", "--runtime", "modal", "-o", "out.ipynb"], &[]);
    assert_eq!(of_notebook.status, 0, "{}", of_notebook.stderr);
    assert!(std::fs::read_to_string(home.path("out.ipynb")).unwrap().contains("\"42\""));
    std::fs::remove_file(home.path(".modal.toml")).unwrap();

    let half = ran(&[&exec[..], &["1"]].concat(), &pair[..1]);
    assert!(half.status != 0 && half.stderr.contains("half of a Modal token"), "{}", half.stderr);
    let without = ran(&[&exec[..], &["1"]].concat(), &[]);
    assert!(without.status == 125 && without.stderr.contains("key of an account"), "{}", without.stderr);
    let unknown = ran(&[&exec[..], &["--setting", "gpus=1", "1"]].concat(), &pair);
    assert!(unknown.stderr.contains("gpus"), "{}", unknown.stderr);

    assert!(modal.running().is_empty(), "nothing goes on costing");
    assert_eq!(modal.creates().len(), 3);
    assert!(!home.everything_written().contains(SECRET));
}
