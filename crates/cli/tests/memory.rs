//! What the owner holds of an output that was cleared and a notebook that was closed.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends where its ground is missing"
)]

mod support;

use sandbook_client::{Owner, Pushes};
use sandbook_protocol::{
    CellSelection, ClientKind, Command, DocumentId, Patch, Push, Reply, RunState, SandboxChoice, SandboxId,
};
use sandbook_test_support::python;
use support::{Home, Running, wait_until};

/// How much is printed, in megabytes.
const PRINTED: u64 = 60;
/// How many notebooks are printed in and closed, one after the other.
const NOTEBOOKS: u64 = 3;
/// How much more than before the owner may hold after all of them, in megabytes: the C library may keep what one of them
/// took, to use it again.
const KEPT: u64 = 30 + PRINTED;

/// The memory of a process that no other shares, in megabytes.
fn memory(process: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{process}/smaps_rollup")).unwrap();
    let line = text.lines().find(|line| line.starts_with("Pss_Anon:")).expect("a kernel that tells");
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}

async fn run_to_its_end(owner: &Owner, pushes: &mut Pushes, document: &DocumentId) {
    let run = Command::Run { document: document.clone(), selection: CellSelection::All };
    owner.request(run).await.unwrap();
    while let Some(push) = pushes.next().await {
        let Push::Patches { batch } = push else { continue };
        owner.acknowledge(batch.document, batch.sequence).await.unwrap();
        let done = |patch: &Patch| matches!(patch, Patch::Run { run, .. } if run.state == RunState::Done);
        if batch.patches.iter().any(done) {
            return;
        }
    }
    panic!("the owner went");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_printed_is_let_go_with_the_notebook_whether_or_not_its_kernel_lives_on() {
    for keep in [false, true] {
        let home = Home::new();
        let mut command = Running::start(home.sandbook(&["web", "--json"]));
        command.line();
        let (owner, mut pushes) = Owner::connect(&home.place(), ClientKind::CommandLine).await.unwrap();
        let process = home.place().owner_process().unwrap();
        let before = memory(process);
        let mut kernels = Vec::new();
        for number in 0..NOTEBOOKS {
            kernels.push(print_and_close(&home, &owner, &mut pushes, number, keep).await);
        }
        let gone = wait_until(|| memory(process) < before + KEPT);
        let after = memory(process);
        // What is kept would outlive the test.
        for sandbox in kernels.into_iter().filter(|_| keep) {
            owner.request(Command::KeepSandbox { sandbox, keep: false }).await.unwrap();
        }
        assert!(gone, "kernels kept: {keep}: {before} MB before, {after} MB after");
    }
}

/// Prints in a notebook of its own, clears it and closes it. Answers where it ran.
async fn print_and_close(
    home: &Home,
    owner: &Owner,
    pushes: &mut Pushes,
    number: u64,
    keep: bool,
) -> SandboxId {
    let code =
        format!("piece = ('x' * 99 + '\\n') * 1000\nfor _ in range({PRINTED} * 10): print(piece, end='')");
    let cell = serde_json::json!({ "cell_type": "code", "execution_count": null, "metadata": {}, "outputs": [], "source": code });
    let notebook = serde_json::json!({ "cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 4 });
    let path = home.write(&format!("{number}.ipynb"), &notebook.to_string()).display().to_string();
    let Reply::Document { document, .. } = owner.request(Command::OpenDocument { path }).await.unwrap()
    else {
        panic!()
    };
    owner.request(Command::Subscribe { document: document.clone() }).await.unwrap();
    let choice = SandboxChoice::KernelHere { kernel: format!("python:{}", python().display()) };
    let chosen = owner.request(Command::ChooseSandbox { document: document.clone(), choice }).await.unwrap();
    let Reply::Sandbox { sandbox } = chosen else { panic!("{chosen:?}") };
    owner.request(Command::KeepSandbox { sandbox: sandbox.id.clone(), keep }).await.unwrap();

    let process = home.place().owner_process().unwrap();
    let before = memory(process);
    run_to_its_end(owner, pushes, &document).await;
    let full = memory(process);
    assert!(
        number > 0 || full > before + PRINTED / 2,
        "it holds what was printed: {before} MB, then {full} MB"
    );
    owner.request(Command::ClearOutputs { document: document.clone(), cells: None }).await.unwrap();
    owner.request(Command::CloseDocument { document, discard: true }).await.unwrap();
    println!("kernels kept: {keep}: {before} MB before, {full} MB full, {} MB closed", memory(process));
    sandbox.id
}
