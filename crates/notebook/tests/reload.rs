//! Taking over what somebody else wrote to the file.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use bytes::Bytes;
use proptest::prelude::*;
use sandbook_notebook::{CellKey, Change, Notebook, Operation, Output, ReloadError, StreamText};
use serde_json::{Value, json};

const BASE: &str = include_str!("notebooks/every_kind.ipynb");

fn open(text: &str) -> Notebook {
    Notebook::parse(Bytes::copy_from_slice(text.as_bytes()), CellKey::sequence("c")).unwrap()
}

fn saved(notebook: &Notebook) -> String {
    let text = notebook.to_bytes(&mut |blob| panic!("asked for {}", blob.hash)).unwrap();
    String::from_utf8(text.to_vec()).unwrap()
}

fn keys(notebook: &Notebook) -> Vec<String> {
    notebook.cells().map(|cell| cell.key().to_string()).collect()
}

#[test]
fn a_file_that_somebody_else_changed_keeps_the_cells_that_are_the_same() {
    let mut notebook = open(BASE);
    let typed = Operation::SetSource { cell: "c3".into(), source: "mine".into() };
    notebook.apply(typed).unwrap();
    let mine = saved(&notebook);
    let theirs = BASE.replace("print('two')", "print('zwei')").replace("\"slow\"", "\"fast\"");
    let applied = notebook.reload(Bytes::from(theirs.clone()), CellKey::sequence("n")).unwrap();
    assert_eq!(saved(&notebook), theirs);
    assert_eq!(keys(&notebook), ["c1", "c2", "c3"]);
    let edited = applied.changes.iter().find_map(|change| match change {
        Change::Source { cell, changes, .. } if *cell == CellKey::from("c2") => Some(changes.edits()),
        _ => None,
    });
    assert_eq!(edited.unwrap()[0].insert, "zwei", "an editor keeps its cursor");
    assert!(!applied.changes.contains(&Change::OutputsReplaced { cell: "c2".into() }));
    // It can be taken back, and done again.
    notebook.undo().unwrap().unwrap();
    assert_eq!(saved(&notebook), mine);
    notebook.redo().unwrap().unwrap();
    assert_eq!(saved(&notebook), theirs);
}

#[test]
fn outputs_go_on_flowing_to_a_cell_that_was_taken_over() {
    let mut notebook = open(BASE);
    let text = Operation::AppendStream { cell: "c2".into(), name: "stdout".into(), text: "lost".into() };
    notebook.apply(text).unwrap();
    notebook.reload(Bytes::from_static(BASE.as_bytes()), CellKey::sequence("n")).unwrap();
    assert_eq!(saved(&notebook), BASE);
    let output = Output::Stream { name: "stdout".into(), text: StreamText::Inline("next".into()) };
    notebook.apply(Operation::AppendOutput { cell: "c2".into(), output: output.clone() }).unwrap();
    assert_eq!(notebook.cell(&"c2".into()).unwrap().output(5), Some(output));
}

#[test]
fn a_file_that_is_no_notebook_any_more_leaves_the_document_alone() {
    let mut notebook = open(BASE);
    let refused = notebook.reload(Bytes::from_static(b"{"), CellKey::sequence("n"));
    assert!(matches!(refused, Err(ReloadError::Parse(_))));
    assert_eq!(saved(&notebook), BASE);
}

#[test]
fn compared_documents_say_which_cells_belong_together() {
    let ours = open(BASE);
    let mut theirs = open(BASE);
    theirs.apply(Operation::DeleteCells { cells: vec!["c1".into()] }).unwrap();
    theirs.apply(Operation::SetSource { cell: "c2".into(), source: "x".into() }).unwrap();
    let pairs: Vec<_> =
        ours.compare(&theirs).into_iter().map(|pair| (pair.ours, pair.theirs, pair.changed)).collect();
    assert_eq!(pairs, [(Some(0), None, true), (Some(1), Some(0), true), (Some(2), Some(1), false)]);
}

fn cell() -> impl Strategy<Value = Value> {
    let id = prop::option::of(prop::sample::select(vec!["a", "b", "c", "d"]));
    let kind = prop::sample::select(vec!["code", "markdown", "raw", "odd"]);
    let source = prop::sample::select(vec!["", "x", "y\nz", "w"]);
    (id, kind, source, 0..3_u8).prop_map(|(id, kind, source, number)| {
        let mut cell = json!({"cell_type": kind, "source": source, "metadata": {"n": number % 2}});
        if let Some(id) = id {
            cell["id"] = id.into();
        }
        if kind == "code" {
            cell["outputs"] =
                json!([{"output_type": "stream", "name": "stdout", "text": number.to_string()}]);
            cell["execution_count"] = number.into();
        }
        cell
    })
}

fn file() -> impl Strategy<Value = String> {
    (prop::collection::vec(cell(), 0..7), 0..2_u8).prop_map(|(cells, number)| {
        json!({"cells": cells, "metadata": {"m": number}, "nbformat": 4, "nbformat_minor": 5}).to_string()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_file_is_reached_from_any_other_and_back(first in file(), second in file()) {
        let mut notebook = open(&first);
        notebook.reload(Bytes::from(second.clone()), CellKey::sequence("n")).unwrap();
        prop_assert_eq!(saved(&notebook), second.as_str());
        let read: Vec<_> = open(&second).cells().map(|cell| (cell.kind(), cell.source().into_owned(), cell.outputs())).collect();
        let held: Vec<_> = notebook.cells().map(|cell| (cell.kind(), cell.source().into_owned(), cell.outputs())).collect();
        prop_assert_eq!(held, read);
        // The same again changes nothing.
        let again = notebook.reload(Bytes::from(second), CellKey::sequence("m")).unwrap();
        prop_assert_eq!(again.changes, []);
        while let Some(result) = notebook.undo() {
            result.unwrap();
        }
        let back: Vec<_> = notebook.cells().map(|cell| (cell.kind(), cell.source().into_owned(), cell.outputs())).collect();
        let read: Vec<_> = open(&first).cells().map(|cell| (cell.kind(), cell.source().into_owned(), cell.outputs())).collect();
        prop_assert_eq!(back, read);
    }
}
