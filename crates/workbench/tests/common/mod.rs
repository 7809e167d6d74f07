//! An owner in a temporary folder, and a page that keeps what it is sent.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop")]
#![allow(dead_code, unreachable_pub, missing_docs, reason = "each test file uses its own part")]

use std::{path::PathBuf, time::Duration};

use sandbook_protocol::{
    CellKey, CellView, ClientKind, Command, DocumentId, DocumentSnapshot, OutputBody, Patch, ProtocolError,
    Push, Reply, RunState, TextView,
};
use sandbook_store::folders::Folders;
use sandbook_workbench::{LogLines, Session, Workbench, WorkbenchOptions};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// Long enough for anything that a test waits for.
const PATIENCE: Duration = Duration::from_mins(1);

/// A folder with state and notebooks in it.
pub struct Home(pub TempDir);

impl Home {
    pub fn new() -> Self {
        let folder = TempDir::new().unwrap();
        std::fs::create_dir(folder.path().join("notebooks")).unwrap();
        Self(folder)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join("notebooks").join(name)
    }

    /// Writes a notebook with these code cells.
    pub fn notebook(&self, name: &str, sources: &[&str]) -> PathBuf {
        let cells: Vec<serde_json::Value> = sources
            .iter()
            .map(|source| {
                serde_json::json!({"cell_type": "code", "execution_count": null, "metadata": {}, "outputs": [], "source": source})
            })
            .collect();
        let notebook =
            serde_json::json!({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4});
        let path = self.path(name);
        std::fs::write(&path, serde_json::to_vec_pretty(&notebook).unwrap()).unwrap();
        path
    }

    /// Every file in it.
    pub fn files(&self) -> Vec<PathBuf> {
        let mut folders = vec![self.0.path().to_owned()];
        let mut files = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
                let kind = entry.file_type().unwrap();
                if kind.is_dir() {
                    folders.push(entry.path());
                } else if kind.is_file() {
                    files.push(entry.path());
                }
            }
        }
        files
    }

    /// Another home that holds what is on the disk at this moment, while this one's owner lives on.
    pub fn as_a_kill_would_leave_it(&self) -> Self {
        let copy = Self::new();
        for file in self.files() {
            let target = copy.0.path().join(file.strip_prefix(self.0.path()).unwrap());
            std::fs::create_dir_all(target.parent().unwrap()).unwrap();
            std::fs::copy(file, target).unwrap();
        }
        copy
    }

    pub async fn open(&self) -> Workbench {
        let options = WorkbenchOptions {
            folders: Folders::inside(&self.0.path().join("state")),
            supervisor: None,
            logs: LogLines::default(),
            working_directory: self.path(""),
        };
        Workbench::open(options).await.unwrap()
    }
}

/// A client that asks.
pub async fn ask(session: &Session, command: Command) -> Result<Reply, ProtocolError> {
    session.handle(1, command, CancellationToken::new()).await
}

pub async fn open_document(session: &Session, path: &std::path::Path) -> DocumentId {
    match ask(session, Command::OpenDocument { path: path.display().to_string() }).await.unwrap() {
        Reply::Document { document, .. } => document,
        other => panic!("{other:?}"),
    }
}

/// A page: it has what it was sent, and nothing else.
pub struct Page {
    pub session: Session,
    pub document: DocumentId,
    pub view: Option<DocumentSnapshot>,
    pub patches: usize,
}

impl Page {
    pub async fn open(workbench: &Workbench, path: &std::path::Path) -> Self {
        let session = workbench.connect(ClientKind::Browser);
        let document = open_document(&session, path).await;
        Self::join(session, document).await
    }

    pub async fn join(session: Session, document: DocumentId) -> Self {
        ask(&session, Command::Subscribe { document: document.clone() }).await.unwrap();
        let mut page = Self { session, document, view: None, patches: 0 };
        page.until(|_| true).await;
        page
    }

    pub fn view(&self) -> &DocumentSnapshot {
        self.view.as_ref().unwrap()
    }

    pub fn cell(&self, index: usize) -> &CellView {
        &self.view().cells[index]
    }

    pub fn key(&self, index: usize) -> CellKey {
        self.cell(index).key.clone()
    }

    pub async fn ask(&self, command: Command) -> Result<Reply, ProtocolError> {
        ask(&self.session, command).await
    }

    /// All text of a cell's stream outputs, as far as the page has it.
    pub fn text(&self, index: usize) -> String {
        let mut text = String::new();
        for output in &self.cell(index).outputs {
            if let OutputBody::Text { text: view, .. } = &output.body {
                for line in view.head.iter().chain(&view.tail) {
                    text.push_str(&line.text);
                    text.push('\n');
                }
            }
        }
        text
    }

    /// Receives until a condition holds.
    pub async fn until(&mut self, condition: impl Fn(&DocumentSnapshot) -> bool) {
        let waited = tokio::time::timeout(PATIENCE, async {
            while !self.view.as_ref().is_some_and(&condition) {
                let push = self.session.next_push().await;
                self.take(push);
            }
        });
        let ended = waited.await;
        assert!(ended.is_ok(), "waited in vain; the page has {:#?}", self.view);
    }

    pub async fn until_ended(&mut self, index: usize) {
        self.until(|view| {
            !matches!(
                view.cells[index].run.state,
                RunState::New | RunState::Queued | RunState::Running | RunState::Input | RunState::NoSignal
            )
        })
        .await;
    }

    /// Receives what there is now.
    pub async fn settle(&mut self) {
        self.settle_for(Duration::from_millis(300)).await;
    }

    /// Receives until nothing has come for so long.
    pub async fn settle_for(&mut self, quiet: Duration) {
        while let Ok(push) = tokio::time::timeout(quiet, self.session.next_push()).await {
            self.take(push);
        }
    }

    pub fn take(&mut self, push: Push) {
        match push {
            Push::Snapshot { snapshot } if snapshot.document == self.document => self.view = Some(snapshot),
            Push::Patches { batch } if batch.document == self.document => {
                let view = self.view.as_mut().expect("a snapshot comes before patches");
                assert_eq!(batch.sequence, view.sequence + 1, "no gap");
                view.sequence = batch.sequence;
                self.session.acknowledge(&batch.document, batch.sequence);
                self.patches += batch.patches.len();
                for patch in batch.patches {
                    apply(view, patch);
                }
            }
            _ => {}
        }
    }
}

fn find<'a>(view: &'a mut DocumentSnapshot, key: &CellKey) -> &'a mut CellView {
    view.cells.iter_mut().find(|cell| cell.key == *key).expect("the cell of a patch is there")
}

fn apply(view: &mut DocumentSnapshot, patch: Patch) {
    match patch {
        Patch::Status { status } => view.status = status,
        Patch::CellsInserted { index, cells } => {
            let at = index as usize;
            view.cells.splice(at..at, cells);
        }
        Patch::CellsRemoved { cells } => view.cells.retain(|cell| !cells.contains(&cell.key)),
        Patch::CellsReordered { order } => {
            view.cells.sort_by_key(|cell| order.iter().position(|key| *key == cell.key));
        }
        Patch::SourceEdited { cell, revision, edits, .. } => {
            let cell = find(view, &cell);
            let mut units: Vec<u16> = cell.source.encode_utf16().collect();
            for edit in edits.iter().rev() {
                units.splice(edit.from as usize..edit.to as usize, edit.insert.encode_utf16());
            }
            cell.source = String::from_utf16(&units).unwrap();
            cell.revision = revision;
        }
        Patch::CellChanged { cell, kind, source_hidden, outputs_hidden, execution_count } => {
            let cell = find(view, &cell);
            (cell.kind, cell.execution_count) = (kind, execution_count);
            (cell.source_hidden, cell.outputs_hidden) = (source_hidden, outputs_hidden);
        }
        Patch::Run { cell, run } => {
            if let Some(cell) = view.cells.iter_mut().find(|known| known.key == cell) {
                cell.run = run;
            }
        }
        Patch::OutputsReplaced { cell, outputs } => find(view, &cell).outputs = outputs,
        Patch::OutputsAppended { cell, outputs } => find(view, &cell).outputs.extend(outputs),
        Patch::OutputChanged { cell, output } => {
            let cell = find(view, &cell);
            let known = cell.outputs.iter_mut().find(|known| known.id == output.id).unwrap();
            *known = output;
        }
        Patch::TextChanged { cell, output, keep, append, tail, total_lines, total_bytes } => {
            let cell = find(view, &cell);
            let known = cell.outputs.iter_mut().find(|known| known.id == output).expect("the text is there");
            if let OutputBody::Text { text, .. } = &mut known.body {
                text.head.truncate(keep as usize);
                text.head.extend(append);
                *text = TextView { head: std::mem::take(&mut text.head), tail, total_lines, total_bytes };
            }
        }
        Patch::Queue { queue } => view.queue = queue,
        Patch::Input { input } => view.input = input,
        Patch::NextInput { .. } | Patch::Toast { .. } => {}
    }
}
