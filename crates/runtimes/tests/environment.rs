//! A private environment, made with the real venv and pip.

#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests are not seen as tests

mod support;

use std::sync::{Arc, Mutex};

use sandbook_runtimes::{
    Surrounding,
    jupyter::{JupyterRuntime, JupyterSettings, LocalSettings, environment},
    python::{Interpreter, Surroundings},
};
use sandbook_sandbox::{CreateRequest, Progress, Readiness, Runtime, SandboxError, SandboxSettings};
use tokio_util::sync::CancellationToken;

fn base() -> Interpreter {
    Interpreter::at(&sandbook_test_support::python(), None).unwrap()
}

#[tokio::test]
async fn a_computer_without_ipykernel_is_offered_an_environment_and_runs_code_in_it() {
    let folder = tempfile::Builder::new().prefix("sbe").tempdir().unwrap();
    let private = folder.path().join("python");
    let runtime = JupyterRuntime::new(Surrounding {
        run_folder: folder.path().join("run"),
        supervisor: None,
        data_folders: Vec::new(),
        pythons: Surroundings { private: Some(private.clone()), ..Surroundings::default() },
    });
    // named, so that a kernelspec of the machine's own does not count
    let settings = LocalSettings { python: Some(private.clone()), kernel: None };
    let settings = SandboxSettings {
        runtime: JupyterSettings::Local(settings).to_value(),
        ..SandboxSettings::default()
    };
    assert!(matches!(runtime.readiness(&settings, None).await, Readiness::NeedsSetup(_)));
    assert!(environment::describe(&base(), &private).contains("ipykernel"));

    let told = Arc::new(Mutex::new(Vec::new()));
    let progress = Progress::new({
        let told = told.clone();
        move |message, share| told.lock().unwrap().push((message, share))
    });
    let python = environment::make(&base(), &private, &progress, &CancellationToken::new()).await.unwrap();
    assert!(python.starts_with(&private));
    let told = told.lock().unwrap().clone();
    assert!(told.iter().any(|(message, _)| message.contains("ipykernel")), "{told:?}");
    assert!(told.windows(2).all(|pair| pair[0].1 <= pair[1].1), "progress never goes back");

    let request = CreateRequest {
        settings,
        credential: None,
        progress: Progress::none(),
        cancel: CancellationToken::new(),
    };
    let sandbox = runtime.create(request).await.unwrap();
    let outcome = support::run(&sandbox, "import sys; print(sys.prefix)").await;
    assert_eq!(outcome.stdout.text().trim(), private.display().to_string());
    support::stop(&sandbox).await;
}

#[tokio::test]
async fn an_environment_that_cannot_be_made_says_why_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("python");
    let not_a_python = Interpreter { program: "/bin/false".into(), ..base() };
    let error =
        environment::make(&not_a_python, &target, &Progress::none(), &CancellationToken::new()).await.err();
    assert!(matches!(error, Some(SandboxError::NotReady { .. })), "{error:?}");
    let debian = folder.path().join("debian-python");
    std::fs::write(
        &debian,
        "#!/bin/sh\necho 'ensurepip is not available. apt install python3.13-venv'\nexit 1\n",
    )
    .unwrap();
    std::fs::set_permissions(&debian, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let without = Interpreter { program: debian, ..base() };
    let error =
        environment::make(&without, &target, &Progress::none(), &CancellationToken::new()).await.unwrap_err();
    assert!(error.hint().contains("sudo apt install python3-venv"), "{error:?}");
    let cancel = CancellationToken::new();
    cancel.cancel();
    let error = environment::make(&base(), &target, &Progress::none(), &cancel).await.err();
    assert!(matches!(error, Some(SandboxError::Cancelled)), "{error:?}");
    assert!(!target.exists());
}
