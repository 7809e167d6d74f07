//! Sandboxes of an account, which cost something: by the command, with the key of the environment.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop")]

mod support;

use sandbook_test_support::{StandIn, jupyter_server};
use support::{Home, Ran};

const KEY: &str = "acc0unt-k3y-of-a-command-4721";

#[tokio::test]
async fn code_and_notebooks_run_in_a_runtime_that_is_ended_with_the_command() {
    let server = jupyter_server().await;
    let cloud = StandIn::start("datalayer", &server, &[KEY]);
    let home = Home::new();
    let ran = |arguments: &[&str], key: Option<&str>| {
        let mut command = home.sandbook(arguments);
        command.env("DATALAYER_RUN_URL", cloud.url.as_str()).env("DATALAYER_ENVIRONMENT", "python-cpu-env");
        command.env_remove("DATALAYER_API_KEY").env_remove("SANDBOOK_TOKEN");
        if let Some(key) = key {
            command.env("DATALAYER_API_KEY", key);
        }
        Ran::of(command.output().unwrap())
    };
    let exec = ["exec", "--runtime", "datalayer", "--setting", "minutes=2"];

    let of_code = ran(&[&exec[..], &["6*7"]].concat(), Some(KEY));
    assert_eq!((of_code.status, of_code.stdout.as_str()), (0, "42\n"), "{}", of_code.stderr);
    assert!(of_code.stderr.contains("costs at most 2.04 credits"), "{}", of_code.stderr);
    let failing = ran(&[&exec[..], &["1/0"]].concat(), Some(KEY));
    assert_eq!(failing.status, 1, "{}", failing.stderr);

    let without = ran(&[&exec[..], &["1"]].concat(), None);
    assert!(without.status == 125 && without.stderr.contains("key of an account"), "{}", without.stderr);
    let wrong = ran(&[&exec[..], &["1"]].concat(), Some("wr0ng-k3y"));
    assert!(wrong.status == 125 && !wrong.stderr.contains("wr0ng-k3y"), "{}", wrong.stderr);
    let unknown = ran(&[&exec[..], &["--setting", "gpu=1", "1"]].concat(), Some(KEY));
    assert!(unknown.stderr.contains("the environment decides"), "{}", unknown.stderr);

    let here = ran(&["exec", "import os; 'DATALAYER_API_KEY' in os.environ"], Some(KEY));
    assert_eq!((here.status, here.stdout.as_str()), (0, "False\n"), "{}", here.stderr);

    assert_eq!(cloud.ask("runtimes").await, serde_json::json!([]), "nothing goes on costing");
    assert_eq!(cloud.ask("orders").await.as_array().unwrap().len(), 2);
    assert!(!home.everything_written().contains(KEY));
}
