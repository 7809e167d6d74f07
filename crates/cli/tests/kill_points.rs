//! `kill -9` of the owner at random moments: during floods of output, edits and saves. Whatever was acknowledged or
//! shown is there again, the file is a whole notebook at every moment, and no kernel outlives its owner.
//!
//! A few points by default; many with `SANDBOOK_TEST_LONG=1`.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, reason = "a test may stop")]

use std::{
    path::{Path, PathBuf},
    process::{Child, Command as Process, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use rand::Rng as _;
use sandbook_client::{Owner, Place, Pushes};
use sandbook_protocol::{
    CellKey, CellSelection, ClientKind, Command, DocumentId, DocumentSnapshot, OutputBody, Patch, Push,
    Reply, RunState, SandboxChoice, SaveChoice, SourceEdit,
};
use tempfile::TempDir;

const FLOOD: &str = "import time, itertools\nfor i in itertools.count():\n    print('line', i, flush=i % 50 == 0)\n    if i % 200 == 0: time.sleep(0.002)";

/// A folder with the state of one person.
struct Home(TempDir);

impl Home {
    fn state(&self) -> PathBuf {
        self.0.path().join("s")
    }

    fn notebook(&self) -> PathBuf {
        self.0.path().join("n.ipynb")
    }

    fn write_notebook(&self, sources: &[&str]) {
        let cell = |source: &&str| serde_json::json!({"cell_type": "code", "execution_count": null, "metadata": {}, "outputs": [], "source": source});
        let cells: Vec<_> = sources.iter().map(cell).collect();
        let notebook =
            serde_json::json!({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4});
        std::fs::write(self.notebook(), serde_json::to_vec_pretty(&notebook).unwrap()).unwrap();
    }

    fn owner(&self) -> Running {
        let folder = |name: &str| self.state().join(name);
        let process = Process::new(env!("CARGO_BIN_EXE_sandbook"))
            .args(["serve", "--stay"])
            .env("SANDBOOK_CONFIG_DIR", folder("config"))
            .env("SANDBOOK_DATA_DIR", folder("data"))
            .env("SANDBOOK_STATE_DIR", folder("state"))
            .env("SANDBOOK_RUNTIME_DIR", folder("run"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Running(process)
    }

    async fn client(&self) -> (Owner, Pushes) {
        let place = Place::new(self.state().join("run"), self.state().join("log"));
        let until = Instant::now() + Duration::from_mins(1);
        loop {
            match Owner::connect(&place, ClientKind::CommandLine).await {
                Ok(connected) => return connected,
                Err(error) if Instant::now() > until => panic!("the owner does not answer: {error}"),
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    }
}

/// An owner process; killed when dropped.
struct Running(Child);

impl Running {
    fn kill(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

async fn open(owner: &Owner, path: &Path) -> DocumentId {
    match owner.request(Command::OpenDocument { path: path.display().to_string() }).await.unwrap() {
        Reply::Document { document, .. } => document,
        other => panic!("{other:?}"),
    }
}

async fn choose_python(owner: &Owner, document: &DocumentId) {
    let choice =
        SandboxChoice::KernelHere { kernel: format!("python:{}", sandbook_test_support::python().display()) };
    owner.request(Command::ChooseSandbox { document: document.clone(), choice }).await.unwrap();
}

async fn snapshot(owner: &Owner, pushes: &mut Pushes, document: &DocumentId) -> DocumentSnapshot {
    owner.request(Command::Subscribe { document: document.clone() }).await.unwrap();
    loop {
        if let Push::Snapshot { snapshot } = pushes.next().await.expect("the owner is there") {
            return snapshot;
        }
    }
}

fn lines(snapshot: &DocumentSnapshot) -> u32 {
    snapshot.cells[0]
        .outputs
        .iter()
        .map(|output| match &output.body {
            OutputBody::Text { text, .. } => text.total_lines,
            _ => 0,
        })
        .sum()
}

/// Receives and acknowledges as a page does; remembers how many lines were shown.
async fn watch(owner: Owner, mut pushes: Pushes, shown: Arc<AtomicU32>) {
    while let Some(push) = pushes.next().await {
        let Push::Patches { batch } = push else { continue };
        for patch in &batch.patches {
            if let Patch::TextChanged { total_lines, .. } = patch {
                shown.fetch_max(*total_lines, Ordering::SeqCst);
            }
        }
        if owner.acknowledge(batch.document, batch.sequence).await.is_err() {
            return;
        }
    }
}

/// Types one character after the other and saves now and then, until the owner is gone. Answers how many characters
/// were acknowledged.
async fn type_and_save(owner: &Owner, document: &DocumentId, cell: &CellKey, first: (u32, u32)) -> u32 {
    let (mut length, mut revision) = first;
    loop {
        let edit = Command::EditSource {
            document: document.clone(),
            cell: cell.clone(),
            base_revision: revision,
            edits: vec![SourceEdit { from: length, to: length, insert: "x".into() }],
        };
        match owner.request(edit).await {
            Ok(Reply::Edited { revision: after }) => (length, revision) = (length + 1, after),
            _ => return length,
        }
        if length % 40 == 0 {
            let save = Command::Save { document: document.clone(), path: None, choice: SaveChoice::KeepMine };
            if owner.request(save).await.is_err() {
                return length;
            }
        }
    }
}

/// Processes that were started with something of this folder.
fn processes_of(folder: &Path) -> Vec<String> {
    let folder = folder.display().to_string();
    let all = std::fs::read_dir("/proc").unwrap().map_while(Result::ok);
    all.filter_map(|entry| {
        let command = std::fs::read(entry.path().join("cmdline")).ok()?;
        let command = String::from_utf8_lossy(&command).replace('\0', " ");
        command.contains(&folder).then_some(command)
    })
    .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_was_acknowledged_or_shown_is_lost_by_a_kill_at_any_moment() {
    let points = if std::env::var_os("SANDBOOK_TEST_LONG").is_some() { 150 } else { 5 };
    let home = Home(TempDir::new().unwrap());
    home.write_notebook(&[FLOOD, ""]);
    let mut typed = 0;
    for point in 0..points {
        let mut running = home.owner();
        let (owner, mut pushes) = home.client().await;
        let document = open(&owner, &home.notebook()).await;
        let view = snapshot(&owner, &mut pushes, &document).await;
        choose_python(&owner, &document).await;
        let selection = CellSelection::Cells { cells: vec![view.cells[0].key.clone()] };
        owner.request(Command::Run { document: document.clone(), selection }).await.unwrap();

        let shown = Arc::new(AtomicU32::new(0));
        let (later, _unused) = home.client().await;
        let watching = tokio::spawn(watch(owner, pushes, shown.clone()));
        let started = Instant::now();
        while shown.load(Ordering::SeqCst) == 0 {
            assert!(started.elapsed() < Duration::from_mins(1), "the flood does not begin");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let moment = Duration::from_millis(rand::rng().random_range(0..700));
        let first = (u32::try_from(view.cells[1].source.len()).unwrap(), view.cells[1].revision);
        let (acknowledged, ()) =
            tokio::join!(type_and_save(&later, &document, &view.cells[1].key, first), async {
                tokio::time::sleep(moment).await;
                running.kill();
            });
        watching.await.unwrap();
        let shown = shown.load(Ordering::SeqCst);

        let file = std::fs::read(home.notebook()).unwrap();
        assert!(
            serde_json::from_slice::<serde_json::Value>(&file).is_ok(),
            "point {point}: the file is whole"
        );
        let mut again = home.owner();
        let (owner, mut pushes) = home.client().await;
        let document = open(&owner, &home.notebook()).await;
        let view = snapshot(&owner, &mut pushes, &document).await;
        let found = u32::try_from(view.cells[1].source.len()).unwrap();
        assert!(
            (acknowledged..=acknowledged + 1).contains(&found),
            "point {point} after {moment:?}: {acknowledged} characters were acknowledged, {found} are there, {:?}",
            view.status.notices
        );
        assert!(found >= typed, "point {point}: what an earlier kill left is still there");
        assert!(
            lines(&view) >= shown,
            "point {point} after {moment:?}: {shown} lines were shown, {} are there",
            lines(&view)
        );
        typed = found;
        let gone = Instant::now();
        while processes_of(&home.state()).iter().any(|command| command.contains("ipykernel")) {
            assert!(gone.elapsed() < Duration::from_secs(20), "point {point}: a kernel outlives its owner");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        again.kill();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cells_that_waited_when_the_owner_was_killed_are_named_and_not_run() {
    let home = Home(TempDir::new().unwrap());
    let ran = home.0.path().join("ran");
    let touch = format!("open({:?}, 'a').close()", ran.display().to_string());
    home.write_notebook(&[
        "import time\nprint('go', flush=True)\ntime.sleep(300)",
        &touch,
        "",
        &touch,
        &touch,
    ]);
    let mut running = home.owner();
    let (owner, mut pushes) = home.client().await;
    let document = open(&owner, &home.notebook()).await;
    snapshot(&owner, &mut pushes, &document).await;
    choose_python(&owner, &document).await;
    let run = Command::Run { document: document.clone(), selection: CellSelection::All };
    owner.request(run).await.unwrap();
    let shown = Arc::new(AtomicU32::new(0));
    let watching = tokio::spawn(watch(owner, pushes, shown.clone()));
    let started = Instant::now();
    while shown.load(Ordering::SeqCst) == 0 {
        assert!(started.elapsed() < Duration::from_mins(1), "the first cell does not begin");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // A save begins another journal; what waits is in that one too.
    let (other, _unused) = home.client().await;
    let save = Command::Save { document: document.clone(), path: None, choice: SaveChoice::KeepMine };
    other.request(save).await.unwrap();
    running.kill();
    watching.await.unwrap();

    let told = |view: &DocumentSnapshot| {
        view.status.notices.iter().any(|notice| notice.starts_with("Cells 2, 4 and 5 waited"))
    };
    for dismiss in [false, true] {
        let mut again = home.owner();
        let (owner, mut pushes) = home.client().await;
        let document = open(&owner, &home.notebook()).await;
        let view = snapshot(&owner, &mut pushes, &document).await;
        assert!(told(&view), "{:?}", view.status.notices);
        assert!(view.queue.waiting.is_empty() && view.queue.held.is_empty(), "{:?}", view.queue);
        let states: Vec<RunState> = view.cells.iter().map(|cell| cell.run.state).collect();
        assert_eq!(states[0], RunState::Stopped);
        assert_eq!(states[1..], [RunState::New; 4]);
        choose_python(&owner, &document).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(!ran.exists(), "nothing is run by itself");
        if dismiss {
            owner.request(Command::DismissNotices { document: document.clone() }).await.unwrap();
        }
        again.kill();
    }
    let _again = home.owner();
    let (owner, mut pushes) = home.client().await;
    let document = open(&owner, &home.notebook()).await;
    let view = snapshot(&owner, &mut pushes, &document).await;
    assert!(!told(&view), "it was dismissed: {:?}", view.status.notices);
}
