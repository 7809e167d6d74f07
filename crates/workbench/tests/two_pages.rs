//! Two pages on one notebook: whatever both do, in whatever order, they end with the same.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop")]

mod common;

use std::time::Duration;

use common::{Home, Page};
use proptest::{collection::vec, prelude::*, test_runner::TestRunner};
use sandbook_protocol::{CellKind, CellView, ClientKind, Command, SourceEdit};
use sandbook_workbench::Workbench;

/// What a person does, with cells named by numbers that fit any notebook.
#[derive(Debug, Clone)]
enum Act {
    Insert { at: usize, source: String },
    Delete { cell: usize },
    Move { cell: usize, to: usize },
    Kind { cell: usize, kind: CellKind },
    Type { cell: usize, at: usize, text: String },
    Split { cell: usize, at: usize },
    Fold { cell: usize, hidden: bool },
    Clear { cell: usize },
    Undo,
    Redo,
}

fn act() -> impl Strategy<Value = Act> {
    let kind = prop_oneof![Just(CellKind::Code), Just(CellKind::Markdown), Just(CellKind::Raw)];
    let cell = 0..9_usize;
    prop_oneof![
        3 => (cell.clone(), "[a-c\n]{0,6}").prop_map(|(at, source)| Act::Insert { at, source }),
        1 => cell.clone().prop_map(|cell| Act::Delete { cell }),
        2 => (cell.clone(), cell.clone()).prop_map(|(cell, to)| Act::Move { cell, to }),
        1 => (cell.clone(), kind).prop_map(|(cell, kind)| Act::Kind { cell, kind }),
        6 => (cell.clone(), 0..9_usize, "[x-z\n]{1,3}").prop_map(|(cell, at, text)| Act::Type { cell, at, text }),
        1 => (cell.clone(), 0..9_usize).prop_map(|(cell, at)| Act::Split { cell, at }),
        1 => (cell.clone(), any::<bool>()).prop_map(|(cell, hidden)| Act::Fold { cell, hidden }),
        1 => cell.prop_map(|cell| Act::Clear { cell }),
        2 => Just(Act::Undo),
        1 => Just(Act::Redo),
    ]
}

/// The command of an act on what this page has at the moment, which the other may have changed already.
fn command(page: &Page, act: Act) -> Option<Command> {
    let (document, cells) = (page.document.clone(), &page.view().cells);
    let chosen = |number: usize| cells.get(number % cells.len().max(1));
    let within = |cell: &CellView, at: usize| u32::try_from(at % (cell.source.len() + 1)).unwrap();
    let place = |at: usize| u32::try_from(at % (cells.len() + 1)).unwrap();
    Some(match act {
        Act::Insert { at, source } => {
            Command::InsertCell { document, index: place(at), kind: CellKind::Code, source }
        }
        Act::Delete { cell } => Command::DeleteCells { document, cells: vec![chosen(cell)?.key.clone()] },
        Act::Move { cell, to } => {
            Command::MoveCells { document, cells: vec![chosen(cell)?.key.clone()], index: place(to) }
        }
        Act::Kind { cell, kind } => {
            Command::ChangeKind { document, cells: vec![chosen(cell)?.key.clone()], kind }
        }
        Act::Type { cell, at, text } => {
            let cell = chosen(cell)?;
            let at = within(cell, at);
            Command::EditSource {
                document,
                cell: cell.key.clone(),
                base_revision: cell.revision,
                edits: vec![SourceEdit { from: at, to: at, insert: text }],
            }
        }
        Act::Split { cell, at } => {
            let cell = chosen(cell)?;
            Command::SplitCell { document, cell: cell.key.clone(), position: within(cell, at) }
        }
        Act::Fold { cell, hidden } => Command::Fold {
            document,
            cells: vec![chosen(cell)?.key.clone()],
            source_hidden: None,
            outputs_hidden: Some(hidden),
        },
        Act::Clear { cell } => {
            Command::ClearOutputs { document, cells: Some(vec![chosen(cell)?.key.clone()]) }
        }
        Act::Undo => Command::Undo { document },
        Act::Redo => Command::Redo { document },
    })
}

async fn second(workbench: &Workbench, first: &Page) -> Page {
    Page::join(workbench.connect(ClientKind::Browser), first.document.clone()).await
}

/// A notebook in which every cell has an output.
fn notebook(home: &Home) -> std::path::PathBuf {
    let cells: Vec<_> = (0..5)
        .map(|number| {
            serde_json::json!({
                "cell_type": "code", "execution_count": number, "metadata": {}, "source": format!("cell {number}"),
                "outputs": [{ "output_type": "stream", "name": "stdout", "text": format!("said {number}\n") }],
            })
        })
        .collect();
    let path = home.path("both.ipynb");
    let text = serde_json::json!({ "cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4 });
    std::fs::write(&path, text.to_string()).unwrap();
    path
}

async fn both_do(acts: Vec<(bool, bool, Act)>) {
    let home = Home::new();
    let workbench = home.open().await;
    let mut pages =
        [Page::open(&workbench, &notebook(&home)).await, Page::open(&workbench, &notebook(&home)).await];
    for (who, looks_first, act) in acts {
        let page = &mut pages[usize::from(who)];
        if looks_first {
            page.settle_for(Duration::from_millis(15)).await;
        }
        // What does not fit any more, because the other page was first, is refused and changes nothing.
        if let Some(command) = command(page, act) {
            drop(page.ask(command).await);
        }
    }
    for page in &mut pages {
        page.settle().await;
    }
    let third = second(&workbench, &pages[0]).await;
    for page in &pages {
        assert_eq!(page.view().cells, third.view().cells, "one page and one that has just come");
    }
    workbench.shut_down().await;
}

#[test]
fn two_pages_that_do_anything_in_any_order_end_with_the_same_cells_sources_and_outputs() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let mut runner =
        TestRunner::new(ProptestConfig { cases: 24, max_shrink_iters: 40, ..ProptestConfig::default() });
    runner
        .run(&vec((any::<bool>(), any::<bool>(), act()), 1..40), |acts| {
            runtime.block_on(both_do(acts));
            Ok(())
        })
        .unwrap();
}
