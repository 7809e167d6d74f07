//! Notebooks that are larger than anybody's: opened, edited, saved and brought back without a byte of the rest touched.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop")]

mod common;

use std::fmt::Write as _;

use common::{Home, Page};
use sandbook_protocol::{Command, SaveChoice, Settings, SourceEdit};

/// Cells with 4 MB of text each.
const CELLS: usize = 111;

/// 400 MB, written by hand so that nothing of ours has a say in its bytes.
fn write_large(path: &std::path::Path) -> String {
    let mut text = String::from("{\n \"cells\": [\n");
    for cell in 0..CELLS {
        let comma = if cell == 0 { "" } else { ",\n" };
        writeln!(
            text,
            "{comma}  {{\"cell_type\": \"code\", \"id\": \"c{cell}\", \"execution_count\": {cell}, \"metadata\": {{}}, \
             \"source\": [\"print({cell})\"], \"outputs\": [{{\"output_type\": \"stream\", \"name\": \"stdout\", \"text\": ["
        )
        .unwrap();
        for line in 0..40_000 {
            let comma = if line == 0 { "" } else { ",\n" };
            write!(text, "{comma}\"{cell} {line:06} the quick brown fox jumps over the lazy dog, and on, and on, and on, and on\\n\"")
                .unwrap();
        }
        text.push_str("]}]}");
    }
    text.push_str("\n ],\n \"metadata\": {},\n \"nbformat\": 4,\n \"nbformat_minor\": 5\n}\n");
    std::fs::write(path, &text).unwrap();
    text
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "long"]
async fn a_notebook_of_400_mb_is_edited_saved_and_brought_back_after_a_kill() {
    let home = Home::new();
    let path = home.path("large.ipynb");
    let before = write_large(&path);
    assert!(before.len() > 400_000_000, "{}", before.len());
    {
        let page = Page::open(&home.open().await, &path).await;
        assert_eq!(page.view().cells.len(), CELLS);
        let edit = Command::EditSource {
            document: page.document.clone(),
            cell: page.key(50),
            base_revision: page.cell(50).revision,
            edits: vec![SourceEdit { from: 0, to: 0, insert: "kept = ".into() }],
        };
        let settings = Settings { autosave: false, ..Settings::default() };
        page.ask(Command::ChangeSettings { settings }).await.unwrap();
        page.ask(edit).await.unwrap();
        // The owner goes without having saved.
    }
    let page = Page::open(&home.open().await, &path).await;
    assert_eq!(page.cell(50).source, "kept = print(50)");
    let save = Command::Save { document: page.document.clone(), path: None, choice: SaveChoice::Ask };
    page.ask(save).await.unwrap();
    let after = std::fs::read_to_string(&path).unwrap();
    assert!(after == before.replace("\"print(50)\"", "\"kept = print(50)\""), "no other byte changed");
}
