//! Half a surrogate pair (`"\ud83d"`) is valid JSON that no text can hold: wherever it stands in a file, a change of
//! something else leaves it as it is.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use bytes::Bytes;
use sandbook_notebook::{
    CellKey, CellKind, Changes, Notebook, Operation, OperationError, Output, Position, RawJson, StoredOutput,
    StreamText, TextEdit, paste_cells,
};

/// A notebook with halves in every place where a string can stand: 12 of them, and one whole pair.
const FILE: &str = r#"{
 "cells": [
  {"cell_type": "code", "execution_count": 1, "id": "a", "metadata": {"note": "\ud801", "tags": []},
   "outputs": [{"name": "stdout", "output_type": "stream", "text": "out \ud802"},
    {"data": {"text/plain": ["\uDC03"]}, "metadata": {"\ud804": 1}, "output_type": "display_data"}],
   "source": "x = '\ud805 \ud83d\ude00'\ny = '\udc06'"},
  {"cell_type": "markdown", "id": "b", "metadata": {}, "attachments": {"\ud807": {"text/plain": "\ud808"}},
   "source": ["one \ud809\n", "two \ud80a three\n", "four"]},
  {"cell_type": "raw", "id": "c", "metadata": {}, "source": "plain"}
 ],
 "metadata": {"authors": ["\udc0b"], "kernelspec": {"display_name": "P", "language": "python", "name": "python3"}, "title": "\udc0c"},
 "nbformat": 4,
 "nbformat_minor": 5
}
"#;

fn open() -> Notebook {
    Notebook::parse(Bytes::from_static(FILE.as_bytes()), CellKey::sequence("c")).unwrap()
}

fn saved(notebook: &Notebook) -> String {
    let text = notebook.to_bytes(&mut |blob| panic!("asked for {}", blob.hash)).unwrap();
    String::from_utf8(text.to_vec()).unwrap()
}

fn key(index: usize) -> CellKey {
    CellKey::new(format!("c{index}"))
}

fn typed(notebook: &mut Notebook, cell: &CellKey, from: usize, to: usize, insert: &str) {
    let held = notebook.cell(cell).unwrap();
    let length = held.source().encode_utf16().count();
    let changes = vec![Changes::new(length, &[TextEdit { from, to, insert: insert.into() }]).unwrap()];
    let (cell, base) = (cell.clone(), held.revision());
    notebook.apply(Operation::EditSource { cell, base, author: "me".into(), changes }).unwrap();
}

#[test]
fn an_edit_beside_a_half_leaves_it_as_it_is() {
    let keys: Vec<CellKey> = open().cells().map(|cell| cell.key().clone()).collect();
    assert_eq!(keys[..2], [key(1), key(2)], "the names that the rest of this file uses");
    let mut notebook = open();
    typed(&mut notebook, &key(1), 0, 1, "long_name");
    typed(&mut notebook, &key(1), 13, 13, "before ");
    typed(&mut notebook, &key(2), 4, 4, "more ");
    typed(&mut notebook, &key(2), 21, 21, "!");
    let wanted = FILE
        .replace("x = '\\ud805", "long_name = 'before \\ud805")
        .replace("one \\ud809", "one more \\ud809")
        .replace("\\ud80a three", "\\ud80a thre!e");
    assert_eq!(saved(&notebook), wanted);
}

#[test]
fn a_half_that_is_deleted_is_gone_and_typing_it_back_brings_it_back() {
    let mut notebook = open();
    typed(&mut notebook, &key(1), 5, 6, "");
    assert_eq!(saved(&notebook), FILE.replace("'\\ud805 ", "' "));
    typed(&mut notebook, &key(1), 5, 5, "\u{fffd}");
    assert_eq!(saved(&notebook), FILE);
}

#[test]
fn no_change_of_anything_else_touches_a_half() {
    let set = |cell: Option<CellKey>, name: &str| Operation::SetMetadata {
        cell,
        path: vec![name.into()],
        value: Some(RawJson::string("new")),
    };
    let text = |text: &str| Output::Stream { name: "stderr".into(), text: StreamText::Inline(text.into()) };
    let operations = [
        set(None, "kernelspec"),
        set(Some(key(1)), "tags"),
        Operation::AppendOutput { cell: key(1), output: text("more") },
        Operation::SetExecutionCount { cell: key(1), count: Some(7) },
        Operation::SetKind { cell: key(1), kind: CellKind::Markdown },
        Operation::SetKind { cell: key(2), kind: CellKind::Code },
        Operation::MoveCells { cells: vec![key(2)], to: Position::Index(0) },
        Operation::DeleteCells { cells: vec![key(3)] },
    ];
    let halves = |text: &str| {
        let mut found: Vec<String> =
            text.match_indices("\\u").map(|(at, _)| text[at..at + 6].to_owned()).collect();
        found.sort();
        found
    };
    let mut all = open();
    for operation in operations {
        let mut notebook = open();
        let name = format!("{operation:?}");
        notebook.apply(operation.clone()).unwrap_or_else(|error| panic!("{name}: {error}"));
        if !matches!(operation, Operation::SetKind { .. }) {
            assert_eq!(halves(&saved(&notebook)), halves(FILE), "{name}");
        }
        assert!(!saved(&notebook).contains('\u{fffd}'), "{name}");
        if let Some(undone) = notebook.undo() {
            undone.unwrap();
            assert_eq!(halves(&saved(&notebook)), halves(FILE), "{name}, taken back");
        }
        all.apply(operation).unwrap();
    }
    assert!(!saved(&all).contains('\u{fffd}'), "all of them");
}

#[test]
fn outputs_that_a_person_clears_are_the_only_ones_that_go() {
    let mut notebook = open();
    let operation = Operation::ReplaceOutputs {
        cell: key(1),
        outputs: Vec::<StoredOutput>::new(),
        execution_count: None,
    };
    notebook.apply(operation).unwrap();
    let text = saved(&notebook);
    for gone in ["\\ud802", "\\uDC03", "\\ud804"] {
        assert!(!text.contains(gone), "{text}");
    }
    assert!(text.contains("\\ud801") && text.contains("\\ud805") && !text.contains('\u{fffd}'), "{text}");
}

#[test]
fn a_copied_cell_has_the_halves_too() {
    let mut notebook = open();
    typed(&mut notebook, &key(1), 0, 0, "# ");
    let copied = notebook.copy_cells(&[key(1), key(2)], &mut |_| unreachable!()).unwrap();
    let cells = paste_cells(&copied, CellKey::sequence("pasted"));
    notebook.apply(Operation::InsertCells { at: Position::Index(3), cells }).unwrap();
    let text = saved(&notebook);
    for half in [
        "\\ud801", "\\ud802", "\\uDC03", "\\ud804", "\\ud805", "\\udc06", "\\ud807", "\\ud808", "\\ud809",
        "\\ud80a",
    ] {
        assert_eq!(text.matches(half).count(), 2, "{half}: {text}");
    }
    assert!(!text.contains('\u{fffd}'), "{text}");
}

#[test]
fn what_would_lose_a_half_is_refused_and_says_so() {
    let mut notebook = open();
    let split = Operation::SplitCell { cell: key(1), base: 0, at: 12, new_cell: "new".into() };
    let merge = |left, right| Operation::MergeCells {
        cells: vec![left, right],
        into: key(2),
        separator: "\n".into(),
    };
    for operation in [split, merge(key(1), key(2)), merge(key(2), key(3))] {
        let error = notebook.apply(operation).unwrap_err();
        assert!(matches!(error, OperationError::HalfCharacter(_)), "{error}");
        assert_eq!(saved(&notebook), FILE, "nothing happened");
    }
    typed(&mut notebook, &key(2), 4, 5, "");
    typed(&mut notebook, &key(2), 9, 10, "");
    notebook.apply(merge(key(2), key(3))).unwrap();
}

#[test]
fn halves_survive_a_save_a_kill_and_what_was_typed_since() {
    let mut notebook = open();
    typed(&mut notebook, &key(1), 0, 0, "first ");
    let file = saved(&notebook);
    let checkpoint = notebook.checkpoint();
    let mut resumed = Notebook::resume(file.clone().into(), &checkpoint).unwrap();
    typed(&mut resumed, &key(1), 0, 0, "second ");
    assert_eq!(saved(&resumed), file.replace("\"first x", "\"second first x"));
}
