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
    CellKey, CellSelection, ClientKind, Command, DocumentId, DocumentSnapshot, OutputBody, OutputView, Patch,
    Push, Reply, RunState, SandboxChoice, SaveChoice, SourceEdit, TextLine,
};
use tempfile::TempDir;

/// Lines without end, and a picture of the number after each five hundredth.
const FLOOD: &str = "import time, itertools\nfor i in itertools.count():\n    print('line', i, flush=i % 50 == 0)\n    if i % 500 == 0: display({'text/html': f'<b>{i}</b>'}, raw=True)\n    if i % 200 == 0: time.sleep(0.002)";

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

/// How many lines the file holds, having seen that each is there once and that each picture stands where it was made.
fn whole_lines(file: &Path) -> u32 {
    let notebook: serde_json::Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let (mut next, mut pending) = (0_u32, String::new());
    for output in notebook["cells"][0]["outputs"].as_array().unwrap() {
        if let Some(html) = output["data"].get("text/html") {
            let number = html.as_str().map_or_else(|| html[0].as_str().unwrap().to_owned(), str::to_owned);
            assert_eq!(number, format!("<b>{}</b>", next - 1), "a picture after its line");
            continue;
        }
        // The last output says that the kernel went with its owner.
        if output["name"] != "stdout" {
            continue;
        }
        let text = &output["text"];
        let pieces = text.as_array().map_or_else(|| vec![text.clone()], Clone::clone);
        pending.extend(pieces.iter().map(|piece| piece.as_str().unwrap()));
        while let Some(end) = pending.find('\n') {
            assert_eq!(&pending[..end], format!("line {next}"));
            next += 1;
            pending.drain(..=end);
        }
    }
    next
}

/// The number that the last line of a text has.
fn last_number(lines: &[TextLine]) -> Option<u32> {
    lines.iter().rev().find_map(|line| line.text.strip_prefix("line ")?.trim().parse().ok())
}

fn last_of(output: &OutputView) -> Option<u32> {
    let OutputBody::Text { text, .. } = &output.body else { return None };
    last_number(&text.tail).or_else(|| last_number(&text.head))
}

/// Receives and acknowledges as a page does; remembers how far the lines that were shown went.
async fn watch(owner: Owner, mut pushes: Pushes, shown: Arc<AtomicU32>) {
    while let Some(push) = pushes.next().await {
        let Push::Patches { batch } = push else { continue };
        for patch in &batch.patches {
            let last = match patch {
                Patch::TextChanged { append, tail, .. } => last_number(tail).or_else(|| last_number(append)),
                Patch::OutputsReplaced { outputs, .. } | Patch::OutputsAppended { outputs, .. } => {
                    outputs.iter().rev().find_map(last_of)
                }
                _ => None,
            };
            // Line 0 is the first. Any other text counts as one line.
            let is_text = matches!(patch, Patch::TextChanged { .. } | Patch::OutputsAppended { .. });
            shown.fetch_max(last.map_or(u32::from(is_text), |last| last + 1), Ordering::SeqCst);
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
        let save = Command::Save { document: document.clone(), path: None, choice: SaveChoice::KeepMine };
        owner.request(save).await.unwrap();
        let kept = whole_lines(&home.notebook());
        assert!(kept >= shown, "point {point} after {moment:?}: {shown} lines were shown, {kept} are there");
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
