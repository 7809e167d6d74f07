//! Sandboxes of an OpenSandbox server: by the command, with the key of the environment.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop")]

mod support;

use sandbook_test_support::OpenSandboxServer;
use support::{Home, Ran};

const KEY: &str = "k3y-of-a-command-4731";

#[tokio::test]
async fn code_runs_in_a_sandbox_that_is_ended_with_the_command_and_a_missing_server_is_told_with_its_commands()
 {
    let server = OpenSandboxServer::start(Some(KEY)).await;
    let (home, domain) = (Home::new(), server.domain());
    let ran = |arguments: &[&str], domain: &str, key: Option<&str>| {
        let mut command = home.sandbook(arguments);
        command.env("OPEN_SANDBOX_DOMAIN", domain).env("SANDBOX_CONFIG_PATH", "/nowhere/sandbox.toml");
        command.env_remove("OPEN_SANDBOX_API_KEY").env_remove("SANDBOOK_TOKEN");
        if let Some(key) = key {
            command.env("OPEN_SANDBOX_API_KEY", key);
        }
        Ran::of(command.output().unwrap())
    };
    let exec = ["exec", "--runtime", "opensandbox"];

    let of_code = ran(&[&exec[..], &["6*7"]].concat(), &domain, Some(KEY));
    assert_eq!((of_code.status, of_code.stdout.as_str()), (0, "42\n"), "{}", of_code.stderr);
    let through = ["--setting", "through_server=true", "--setting", "minutes=2", "1/0"];
    let failing = ran(&[&exec[..], &through].concat(), &domain, Some(KEY));
    assert_eq!(failing.status, 1, "{}", failing.stderr);

    let without = ran(&[&exec[..], &["1"]].concat(), &domain, None);
    assert!(without.status == 125 && without.stderr.contains("SANDBOOK_TOKEN"), "{}", without.stderr);
    let wrong = ran(&[&exec[..], &["1"]].concat(), &domain, Some("wr0ng-k3y"));
    assert!(wrong.status == 125 && !wrong.stderr.contains("wr0ng-k3y"), "{}", wrong.stderr);
    let unknown = ran(&[&exec[..], &["--setting", "network=none", "1"]].concat(), &domain, Some(KEY));
    assert!(unknown.stderr.contains("so it is not offered"), "{}", unknown.stderr);
    let elsewhere = ran(&[&exec[..], &["1"]].concat(), "192.0.2.7:8080", Some(KEY));
    assert!(elsewhere.stderr.contains("not encrypted"), "{}", elsewhere.stderr);
    assert_eq!(server.sandboxes().await.len(), 0, "nothing is left");
    drop(server);
    let away = ran(&[&exec[..], &["1"]].concat(), &domain, None);
    assert!(away.status == 125 && away.stderr.contains("uvx opensandbox-server"), "{}", away.stderr);
    assert!(!home.everything_written().contains(KEY));
}
