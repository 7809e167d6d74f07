//! Commands that start nothing.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends where its ground is missing"
)]

mod support;

use serde_json::{Value, json};
use support::Home;

#[test]
fn a_pasted_address_is_told_apart_from_its_secrets() {
    let home = Home::new();
    let jwt = format!("eyJhbGciOi{}", "Zx9".repeat(30));
    for (text, expected) in [
        (
            "http://localhost:8888/lab?token=s3cret".to_owned(),
            json!({
                "kind": "server", "runtime": "jupyter", "server_url": "http://localhost:8888/", "kernel_id": null,
                "has_secret": true, "display_url": "http://localhost:8888/lab?token=***",
            }),
        ),
        (
            "http://h:8888/?Token=s3cret&access_token=s3cret".to_owned(),
            json!({
                "kind": "server", "runtime": "jupyter", "server_url": "http://h:8888/", "kernel_id": null,
                "has_secret": true, "display_url": "http://h:8888/?Token=***&access_token=***",
            }),
        ),
        (
            "https://h/k/17/s3cret/proxy/".to_owned(),
            json!({
                "kind": "server", "runtime": "kaggle", "server_url": "https://h/k/17/***/proxy/", "kernel_id": null,
                "has_secret": true, "display_url": "https://h/k/17/***/proxy/",
            }),
        ),
        (
            "https://hub.example.org/user/me/lab/tree/a.ipynb".to_owned(),
            json!({
                "kind": "server", "runtime": "jupyter", "server_url": "https://hub.example.org/user/me/", "kernel_id": null,
                "has_secret": false, "display_url": "https://hub.example.org/user/me/lab/tree/a.ipynb",
            }),
        ),
        (
            format!("wss://kkb.jupyter-proxy.kaggle.net/k/1/{jwt}/proxy/api/kernels/abc/channels"),
            json!({
                "kind": "server", "runtime": "kaggle", "server_url": "https://kkb.jupyter-proxy.kaggle.net/k/1/***/proxy/",
                "kernel_id": "abc", "has_secret": true,
                "display_url": "wss://kkb.jupyter-proxy.kaggle.net/k/1/***/proxy/api/kernels/abc/channels",
            }),
        ),
        (
            "modal token set --token-id ak-1 --token-secret as-s3cret".to_owned(),
            json!({
                "kind": "token", "runtime": "modal", "has_secret": true, "display": "a Modal token of ak-1: ***",
            }),
        ),
        (
            "docker run -e TOKEN=s3cret python:3.12".to_owned(),
            json!({ "kind": "image", "runtime": "docker", "has_secret": false, "display": "python:3.12" }),
        ),
        (
            "/home/me/x.ipynb".to_owned(),
            json!({ "kind": "notebook", "runtime": null, "has_secret": false, "display": "/home/me/x.ipynb" }),
        ),
    ] {
        let ran = home.run(&["parse-url", "--json", &text]);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        assert_eq!(serde_json::from_str::<Value>(&ran.stdout).unwrap(), expected);
        let plain = home.run(&["parse-url", &text]).stdout;
        assert!(!plain.contains("s3cret") && !plain.contains(&jwt), "{plain}");
    }
}

#[test]
fn a_text_that_is_no_address_ends_with_2_and_a_code() {
    let home = Home::new();
    let ran = home.run(&["parse-url", "--json", "hello there"]);
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(ran.status, 2);
    for field in ["code", "message", "hint"] {
        assert!(answer[field].as_str().is_some_and(|text| !text.is_empty()), "{answer}");
    }
    assert_eq!(answer.as_object().unwrap().len(), 3);
    let ran = home.run(&["parse-url", "hello there"]);
    assert_eq!((ran.status, ran.stderr.starts_with("error: ")), (2, true));
}

#[test]
fn the_settings_are_shown_and_a_wrong_one_is_named_with_its_line() {
    let home = Home::new();
    let paths: Value = serde_json::from_str(&home.run(&["config", "path", "--json"]).stdout).unwrap();
    assert_eq!(paths["files"]["settings"], home.path("config/settings.toml").display().to_string());
    assert!(
        paths["environment"].as_array().unwrap().iter().any(|known| known["name"] == "SANDBOOK_STATE_DIR")
    );
    assert_eq!(home.run(&["config", "check"]).status, 0);

    std::fs::create_dir_all(home.path("config")).unwrap();
    home.write("config/settings.toml", "format = 1\n[appearance]\nfont_size = 20\n");
    let shown = home.run(&["config", "show", "--json"]).lines();
    let font = shown.iter().find(|line| line["key"] == "appearance.font_size").unwrap();
    assert_eq!((&font["value"], &font["is_set"]), (&json!(20), &json!(true)));

    home.write("config/settings.toml", "format = 1\n[appearance]\nfnt_size = 20\n");
    let ran = home.run(&["config", "check"]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("line 3") && ran.stderr.contains("font_size"), "{}", ran.stderr);
    let answer: Value = serde_json::from_str(&home.run(&["config", "check", "--json"]).stdout).unwrap();
    assert_eq!((&answer["good"], &answer["problems"][0]["line"]), (&json!(false), &json!(3)));
}

#[test]
fn newer_state_is_refused_and_not_touched() {
    let home = Home::new();
    std::fs::create_dir_all(home.path("config")).unwrap();
    let newer = "format = 999\n";
    home.write("config/settings.toml", newer);
    let ran = home.run(&["exec", "1"]);
    assert_ne!(ran.status, 0);
    assert!(ran.stderr.contains("newer Sandbook"), "{}", ran.stderr);
    assert_eq!(std::fs::read_to_string(home.path("config/settings.toml")).unwrap(), newer);
}
