//! The owner is killed while a notebook has unsaved changes, and somebody else writes the file before it is opened again:
//! the same choice as when that is noticed while the notebook is open.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends where its ground is missing"
)]

mod support;

use std::path::{Path, PathBuf};

use sandbook_client::{Owner, Pushes};
use sandbook_protocol::{
    ClientKind, Command, DocumentId, DocumentSnapshot, ErrorCode, Push, Reply, SaveChoice, Settings,
    SourceEdit,
};
use support::{Home, Running, is_alive, signal, wait_until};

/// An owner with a notebook open.
struct Opened {
    owner: Owner,
    document: DocumentId,
    view: DocumentSnapshot,
    _pushes: Pushes,
    _command: Running,
}

impl Opened {
    async fn open(home: &Home, path: &Path) -> Self {
        let mut command = Running::start(home.sandbook(&["web", "--json"]));
        command.line();
        let (owner, mut pushes) = Owner::connect(&home.place(), ClientKind::CommandLine).await.unwrap();
        let open = Command::OpenDocument { path: path.display().to_string() };
        let Reply::Document { document, .. } = owner.request(open).await.unwrap() else { panic!() };
        owner.request(Command::Subscribe { document: document.clone() }).await.unwrap();
        let view = loop {
            if let Push::Snapshot { snapshot } = pushes.next().await.unwrap() {
                break snapshot;
            }
        };
        Self { owner, document, view, _pushes: pushes, _command: command }
    }

    async fn type_at_the_start(&self, cell: usize, text: &str) {
        let edit = Command::EditSource {
            document: self.document.clone(),
            cell: self.view.cells[cell].key.clone(),
            base_revision: self.view.cells[cell].revision,
            edits: vec![SourceEdit { from: 0, to: 0, insert: text.into() }],
        };
        self.owner.request(edit).await.unwrap();
    }

    async fn save(&self, choice: SaveChoice) -> Result<Reply, ErrorCode> {
        let save = Command::Save { document: self.document.clone(), path: None, choice };
        self.owner.request(save).await.map_err(|error| sandbook_protocol::ProtocolError::from(error).code)
    }

    fn sources(&self) -> Vec<&str> {
        self.view.cells.iter().map(|cell| cell.source.as_str()).collect()
    }

    fn kill(self, home: &Home) {
        let owner = home.place().owner_process().unwrap();
        // Its command would start another.
        drop(self);
        signal(owner, "KILL");
        assert!(wait_until(|| !is_alive(owner)));
    }
}

/// A notebook whose second cell has an output that no journal knows.
fn notebook(first: &str) -> String {
    let cell = |source: &str, outputs: serde_json::Value| serde_json::json!({ "cell_type": "code", "execution_count": null, "metadata": {}, "outputs": outputs, "source": source });
    let shown = serde_json::json!([{ "name": "stdout", "output_type": "stream", "text": "an old output" }]);
    let cells = [cell(first, serde_json::json!([])), cell("print('an old output')", shown)];
    serde_json::to_string_pretty(
        &serde_json::json!({ "cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4 }),
    )
    .unwrap()
}

/// A home in which an owner was killed with an unsaved change, before somebody else wrote `theirs`.
async fn killed_and_changed(theirs: &str) -> (Home, PathBuf) {
    let home = Home::new();
    let path = home.write("n.ipynb", &notebook("x"));
    let opened = Opened::open(&home, &path).await;
    let settings = Settings { autosave: false, ..Settings::default() };
    opened.owner.request(Command::ChangeSettings { settings }).await.unwrap();
    opened.type_at_the_start(0, "mine ").await;
    let journals = home.path("state").join("journals");
    assert!(wait_until(|| has_base(&journals)), "the content that the change belongs to is kept");
    opened.kill(&home);
    std::fs::write(&path, theirs).unwrap();
    (home, path)
}

fn has_base(folder: &Path) -> bool {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    files.map(|file| file.path()).any(|path| path.extension().is_some_and(|kind| kind == "base"))
}

#[tokio::test(flavor = "multi_thread")]
async fn both_versions_are_there_to_choose_from_after_a_kill_and_a_change_by_somebody_else() {
    let written = notebook("theirs");
    let (home, path) = killed_and_changed(&written).await;
    for _ in 0..2 {
        let opened = Opened::open(&home, &path).await;
        assert_eq!(opened.sources(), ["mine x", "print('an old output')"]);
        assert!(opened.view.status.changed_on_disk && opened.view.status.dirty, "{:?}", opened.view.status);
        assert_eq!(opened.save(SaveChoice::Ask).await.unwrap_err(), ErrorCode::ChangedOnDisk);
        let compare = Command::CompareWithDisk { document: opened.document.clone() };
        let Reply::Comparison { theirs, mine } = opened.owner.request(compare).await.unwrap() else {
            panic!()
        };
        assert_eq!((theirs[0].as_str(), mine[0].as_str()), ("theirs", "mine x"));
        // Whoever does not choose is asked again by the next owner.
        opened.kill(&home);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), written, "it is untouched");
    }
    let opened = Opened::open(&home, &path).await;
    opened.type_at_the_start(0, "still ").await;
    opened.save(SaveChoice::KeepMine).await.unwrap();
    let written = std::fs::read_to_string(&path).unwrap();
    assert_eq!(written, notebook("still mine x"), "outputs and all");
    assert!(!has_base(&home.path("state").join("journals")), "nothing is kept for a choice that was made");
}

#[tokio::test(flavor = "multi_thread")]
async fn theirs_can_be_taken_after_a_kill_and_stays_taken() {
    let (home, path) = killed_and_changed(&notebook("theirs")).await;
    let opened = Opened::open(&home, &path).await;
    opened.save(SaveChoice::TakeTheirs).await.unwrap();
    opened.kill(&home);
    let opened = Opened::open(&home, &path).await;
    assert_eq!(opened.sources()[0], "theirs");
    assert!(!opened.view.status.changed_on_disk && !opened.view.status.dirty, "{:?}", opened.view.status);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), notebook("theirs"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_notebook_any_more_after_a_kill_is_written_over_only_when_the_person_says_so() {
    let (home, path) = killed_and_changed("<<<<<<< theirs").await;
    let opened = Opened::open(&home, &path).await;
    assert_eq!(opened.sources()[0], "mine x");
    assert_eq!(opened.save(SaveChoice::Ask).await.unwrap_err(), ErrorCode::ChangedOnDisk);
    assert_eq!(opened.save(SaveChoice::TakeTheirs).await.unwrap_err(), ErrorCode::NotANotebook);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "<<<<<<< theirs");
    opened.save(SaveChoice::KeepMine).await.unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), notebook("mine x"));
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_asked_where_everything_was_saved_before_the_kill() {
    let home = Home::new();
    let path = home.write("n.ipynb", &notebook("x"));
    let opened = Opened::open(&home, &path).await;
    opened.type_at_the_start(0, "saved ").await;
    opened.save(SaveChoice::Ask).await.unwrap();
    opened.kill(&home);
    std::fs::write(&path, notebook("theirs")).unwrap();
    let opened = Opened::open(&home, &path).await;
    assert_eq!(opened.sources()[0], "theirs");
    let status = &opened.view.status;
    assert!(!status.changed_on_disk && !status.dirty && status.notices.is_empty(), "{status:?}");
}
