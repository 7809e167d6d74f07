//! Operations, their inverses, and the journal that holds them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use bytes::Bytes;
use proptest::prelude::*;
use proptest::sample::Index;
use sandbook_notebook::{
    Applied, Blob, CellKey, CellKind, Change, Changes, Encoding, MimeBundle, MimeValue, NewCell, Notebook,
    Operation, OperationError, Output, Position, RawJson, Step, StreamText, TextEdit,
};

const BASE: &str = include_str!("notebooks/every_kind.ipynb");

fn open(text: &str) -> Notebook {
    Notebook::parse(Bytes::copy_from_slice(text.as_bytes()), CellKey::sequence("c")).unwrap()
}

fn saved(notebook: &Notebook) -> String {
    let text = notebook.to_bytes(&mut |blob| Ok(Bytes::from(blob.hash.clone()))).unwrap();
    String::from_utf8(text.to_vec()).unwrap()
}

/// All that a view can see.
fn view(notebook: &Notebook) -> Vec<String> {
    let cells = notebook.cells().map(|cell| {
        let head = (cell.key(), cell.id(), cell.kind(), cell.source(), cell.revision());
        let tail = (cell.execution_count(), cell.metadata().parse::<serde_json::Value>(), cell.attachments());
        format!("{head:?} {tail:?} {:?}", cell.outputs())
    });
    let metadata = format!("{:?}", notebook.metadata().parse::<serde_json::Value>());
    cells.chain([metadata]).collect()
}

fn key(text: &str) -> CellKey {
    CellKey::from(text)
}

fn keys(notebook: &Notebook) -> Vec<String> {
    notebook.cells().map(|cell| cell.key().to_string()).collect()
}

fn sources(notebook: &Notebook) -> Vec<String> {
    notebook.cells().map(|cell| cell.source().into_owned()).collect()
}

fn typed(notebook: &Notebook, cell: &CellKey, from: usize, to: usize, insert: &str) -> Operation {
    let held = notebook.cell(cell).unwrap();
    let length = held.source().encode_utf16().count();
    let changes = Changes::new(length, &[TextEdit { from, to, insert: insert.into() }]).unwrap();
    Operation::EditSource {
        cell: cell.clone(),
        base: held.revision(),
        author: "me".into(),
        changes: vec![changes],
    }
}

fn stream(text: &str) -> Output {
    Output::Stream { name: "stdout".into(), text: StreamText::Inline(text.into()) }
}

fn display(text: &str, id: Option<&str>) -> Output {
    Output::Display { data: plain(text), metadata: object(), display_id: id.map(str::to_owned) }
}

fn plain(text: &str) -> MimeBundle {
    MimeBundle(vec![("text/plain".into(), MimeValue::Inline(RawJson::string(text)))])
}

fn object() -> RawJson {
    RawJson::from_value(&serde_json::json!({}))
}

#[test]
fn a_deleted_cell_comes_back_with_the_outputs_that_came_meanwhile() {
    let mut notebook = open(BASE);
    notebook.apply(Operation::ClearOutput { cell: key("c2"), wait: false }).unwrap();
    notebook.apply(Operation::DeleteCells { cells: vec![key("c2")] }).unwrap();
    let applied =
        notebook.apply(Operation::AppendOutput { cell: key("c2"), output: stream("late") }).unwrap();
    assert_eq!(applied.changes, [], "no view shows the cell");
    notebook.undo().unwrap().unwrap();
    assert_eq!(keys(&notebook), ["c1", "c2", "c3"]);
    assert_eq!(notebook.cell(&key("c2")).unwrap().outputs(), [stream("late")]);
}

#[test]
fn a_split_leaves_outputs_with_the_lower_cell_and_a_merge_joins_the_texts_again() {
    let mut notebook = open(BASE);
    let split = Operation::SplitCell { cell: key("c2"), base: 0, at: 13, new_cell: key("n") };
    notebook.apply(split).unwrap();
    assert_eq!(keys(&notebook), ["c1", "n", "c2", "c3"]);
    assert_eq!(sources(&notebook)[1..3], ["print('one')", "print('two')"]);
    assert_eq!(notebook.cell(&key("n")).unwrap().output_count(), 0);
    assert_eq!(notebook.cell(&key("c2")).unwrap().output_count(), 5);
    // Typing in both halves stays when the split is taken back.
    let operation = typed(&notebook, &key("n"), 0, 0, "1;");
    notebook.apply(operation).unwrap();
    let operation = typed(&notebook, &key("c2"), 12, 12, ";2");
    notebook.apply(operation).unwrap();
    notebook.undo().unwrap().unwrap();
    assert_eq!(sources(&notebook)[1], "1;print('one')\nprint('two');2");
    notebook.redo().unwrap().unwrap();
    assert_eq!(sources(&notebook)[1..3], ["1;print('one')", "print('two');2"]);
}

#[test]
fn a_merge_taken_back_cuts_the_text_where_it_was_joined_even_after_typing() {
    let mut notebook = open(BASE);
    let cells = vec![key("c1"), key("c2"), key("c3")];
    notebook.apply(Operation::MergeCells { cells, into: key("c2"), separator: "\n\n".into() }).unwrap();
    let one = "# Eins\n\n![dot](attachment:dot.png) Grüße 😀";
    let two = "print('one')\nprint('two')";
    assert_eq!(sources(&notebook), [format!("{one}\n\n{two}\n\n")]);
    assert!(notebook.cell(&key("c2")).unwrap().attachments().is_some(), "images come along");
    let length = one.encode_utf16().count();
    let operation = typed(&notebook, &key("c2"), length, length, "!");
    notebook.apply(operation).unwrap();
    let operation = typed(&notebook, &key("c2"), length + 3, length + 3, "# ");
    notebook.apply(operation).unwrap();
    notebook.undo().unwrap().unwrap();
    assert_eq!(keys(&notebook), ["c1", "c2", "c3"]);
    assert_eq!(sources(&notebook), [format!("{one}!"), format!("# {two}"), String::new()]);
}

#[test]
fn an_edit_from_an_older_revision_is_rebased() {
    let mut notebook = open(BASE);
    let mut late = typed(&notebook, &key("c2"), 13, 18, "PRINT");
    if let Operation::EditSource { author, .. } = &mut late {
        *author = "another".into();
    }
    let operation = typed(&notebook, &key("c2"), 0, 12, "x");
    notebook.apply(operation).unwrap();
    let applied = notebook.apply(late).unwrap();
    assert_eq!(sources(&notebook)[1], "x\nPRINT('two')");
    let Change::Source { revision, changes, .. } = &applied.changes[0] else { panic!("{applied:?}") };
    assert_eq!((*revision, changes.edits()[0].from), (2, 2));
    let future = Operation::EditSource { cell: key("c2"), base: 9, author: String::new(), changes: vec![] };
    assert!(matches!(notebook.apply(future), Err(OperationError::Edit { .. })));
}

#[test]
fn a_display_id_is_updated_wherever_it_stands() {
    let mut notebook = open(BASE);
    for cell in ["c1", "c2", "c3"] {
        notebook
            .apply(Operation::AppendOutput { cell: key(cell), output: display("old", Some("d")) })
            .unwrap();
    }
    notebook.apply(Operation::AppendOutput { cell: key("c2"), output: display("other", Some("e")) }).unwrap();
    notebook.apply(Operation::DeleteCells { cells: vec![key("c3")] }).unwrap();
    let update = Operation::UpdateDisplay { display_id: "d".into(), data: plain("new"), metadata: object() };
    let applied = notebook.apply(update).unwrap();
    let changed = |cell: &str, index| Change::OutputChanged { cell: key(cell), index };
    assert_eq!(applied.changes, [changed("c1", 0), changed("c2", 5)]);
    notebook.undo().unwrap().unwrap();
    assert_eq!(notebook.cell(&key("c3")).unwrap().outputs(), [display("new", Some("d"))]);
    assert_eq!(
        notebook.cell(&key("c2")).unwrap().outputs()[5..],
        [display("new", Some("d")), display("other", Some("e"))]
    );
    let unknown = Operation::UpdateDisplay { display_id: "z".into(), data: plain("new"), metadata: object() };
    assert_eq!(notebook.apply(unknown).unwrap().changes, []);
}

#[test]
fn a_clear_that_waits_happens_with_the_next_output() {
    let mut notebook = open(BASE);
    let cell = || key("c2");
    let wait = notebook.apply(Operation::ClearOutput { cell: cell(), wait: true }).unwrap();
    assert_eq!(wait.changes, []);
    assert_eq!(notebook.cell(&cell()).unwrap().output_count(), 5);
    let stream_text = Operation::AppendStream { cell: cell(), name: "stdout".into(), text: "new".into() };
    let applied = notebook.apply(stream_text.clone()).unwrap();
    assert_eq!(applied.changes, [Change::OutputsReplaced { cell: cell() }]);
    notebook.apply(stream_text).unwrap();
    assert_eq!(notebook.cell(&cell()).unwrap().outputs(), [stream("newnew")]);
}

#[test]
fn stream_text_grows_and_is_redrawn_at_its_end() {
    let mut notebook = open(BASE);
    let append = |name: &str, text: &str| Operation::AppendStream {
        cell: key("c1"),
        name: name.into(),
        text: text.into(),
    };
    notebook.apply(append("stdout", "é 1")).unwrap();
    let redraw = Operation::EditStream { cell: key("c1"), index: 0, keep: 3, text: "2\n".into() };
    let applied = notebook.apply(redraw).unwrap();
    assert_eq!(applied.changes, [Change::StreamChanged { cell: key("c1"), index: 0, keep: 3 }]);
    notebook.apply(append("stderr", "e")).unwrap();
    let outputs = notebook.cell(&key("c1")).unwrap().outputs();
    assert_eq!(outputs[0], stream("é 2\n"));
    assert_eq!(outputs.len(), 2);
    for (index, keep) in [(0, 1), (0, 99), (2, 0)] {
        let wrong = Operation::EditStream { cell: key("c1"), index, keep, text: String::new() };
        assert!(notebook.apply(wrong).is_err());
    }
}

#[test]
fn cleared_outputs_come_back_in_front_of_newer_ones() {
    let mut notebook = open(BASE);
    let before = notebook.cell(&key("c2")).unwrap().outputs();
    notebook.apply(Operation::ClearOutputs { cells: vec![key("c1"), key("c2")] }).unwrap();
    assert_eq!(notebook.cell(&key("c2")).unwrap().execution_count(), None);
    notebook.undo().unwrap().unwrap();
    assert_eq!(saved(&notebook), BASE);
    notebook.redo().unwrap().unwrap();
    notebook.apply(Operation::AppendOutput { cell: key("c2"), output: stream("newer") }).unwrap();
    notebook.undo().unwrap().unwrap();
    let mut wanted = before;
    wanted.push(stream("newer"));
    assert_eq!(notebook.cell(&key("c2")).unwrap().outputs(), wanted);
}

#[test]
fn a_cell_that_is_no_longer_code_hides_its_outputs_until_it_is_code_again() {
    let mut notebook = open(BASE);
    notebook.apply(Operation::SetKind { cell: key("c2"), kind: CellKind::Markdown }).unwrap();
    let text = saved(&notebook);
    assert!(!text.contains("output_type") && !text.contains("execution_count"));
    notebook.apply(Operation::SetKind { cell: key("c1"), kind: CellKind::Code }).unwrap();
    assert!(!saved(&notebook).contains("attachments"));
    notebook.undo().unwrap().unwrap();
    notebook.undo().unwrap().unwrap();
    assert_eq!(saved(&notebook), BASE);
}

#[test]
fn several_operations_are_one_step_and_all_or_nothing() {
    let mut notebook = open(BASE);
    let replace = |cell: &str| Operation::SetSource { cell: key(cell), source: "same".into() };
    let before = view(&notebook);
    assert!(notebook.apply(Operation::Batch(vec![replace("c1"), replace("nowhere")])).is_err());
    assert_eq!(view(&notebook), before);
    notebook.apply(Operation::Batch(vec![replace("c1"), replace("c2")])).unwrap();
    assert_eq!(sources(&notebook)[..2], ["same", "same"]);
    notebook.undo().unwrap().unwrap();
    assert_eq!(saved(&notebook), BASE);
    assert!(!notebook.can_undo());
}

#[test]
fn ids_in_the_file_are_made_from_keys_and_differ() {
    let mut notebook = open(BASE);
    let names = ["work", "a.b", "ab", "ä", &"x".repeat(80)];
    let cells = names.map(|name| NewCell::new(key(name), CellKind::Code, "")).to_vec();
    notebook.apply(Operation::InsertCells { at: Position::Index(3), cells }).unwrap();
    let ids: Vec<_> = notebook.cells().skip(3).map(|cell| cell.id().unwrap().into_owned()).collect();
    assert_eq!(ids, ["work-2", "ab", "ab-2", "cell", &"x".repeat(56)]);
}

#[test]
fn refused_operations_say_why() {
    let mut notebook = open("{\"cells\": [1, {\"cell_type\": \"raw\", \"source\": \"\"}], \"nbformat\": 4}");
    let at = Position::Index(0);
    let new = |name: &str| NewCell::new(key(name), CellKind::Code, "");
    for (operation, error) in [
        (Operation::DeleteCells { cells: vec![key("x")] }, OperationError::UnknownCell(key("x"))),
        (Operation::SetSource { cell: key("c1"), source: "2".into() }, OperationError::BrokenCell(key("c1"))),
        (
            Operation::InsertCells { at: at.clone(), cells: vec![new("c1")] },
            OperationError::TakenKey(key("c1")),
        ),
        (Operation::InsertCells { at, cells: vec![new("n"), new("n")] }, OperationError::TakenKey(key("n"))),
        (
            Operation::MergeCells {
                cells: vec![key("c1"), key("c2")],
                into: key("c2"),
                separator: String::new(),
            },
            OperationError::BrokenCell(key("c1")),
        ),
        (
            Operation::MoveCells { cells: vec![key("c1")], to: Position::After(key("c1")) },
            OperationError::UnknownCell(key("c1")),
        ),
    ] {
        assert_eq!(notebook.apply(operation), Err(error));
    }
    assert_eq!(notebook.version(), 0);
}

#[test]
fn payloads_that_the_owner_holds_are_asked_for_when_saving() {
    let mut notebook = open(BASE);
    let blob = |hash: &str, media_type: &str, encoding| {
        MimeValue::Blob(Blob { hash: hash.into(), media_type: media_type.into(), size: 3, encoding })
    };
    let data = MimeBundle(vec![
        ("application/json".into(), blob("{\"a\":1}", "application/json", Encoding::Json)),
        ("image/png".into(), blob("abc", "image/png", Encoding::Base64)),
        ("text/html".into(), blob("<b>\n</b>", "text/html", Encoding::Text)),
    ]);
    let output = Output::Display { data, metadata: object(), display_id: None };
    notebook.apply(Operation::ClearOutput { cell: key("c2"), wait: false }).unwrap();
    notebook.apply(Operation::AppendOutput { cell: key("c2"), output }).unwrap();
    let again = open(&saved(&notebook));
    let Output::Display { data, .. } = &again.cell(&key("c2")).unwrap().outputs()[0] else {
        panic!("no display")
    };
    let text = |name: &str| match data.get(name).unwrap() {
        MimeValue::Inline(raw) => raw.parse::<serde_json::Value>().unwrap(),
        MimeValue::Blob(_) => panic!("a blob in a file"),
    };
    assert_eq!(text("application/json"), serde_json::json!({"a": 1}));
    assert_eq!(text("image/png"), "YWJj");
    assert_eq!(text("text/html"), "<b>\n</b>");
    let failed = notebook.to_bytes(&mut |_| Err(std::io::Error::other("gone"))).unwrap_err();
    assert!(failed.to_string().contains("abc") || failed.to_string().contains("{\"a\":1}"), "{failed}");
}

/// What a random person or kernel wants; [`wish`] makes an operation of it that fits the notebook.
#[derive(Debug, Clone)]
enum Wish {
    Insert(Index, String),
    Delete(Index, Index),
    Move(Index, Index, Index),
    Split(Index, Index),
    Merge(Index, Index, Index),
    Kind(Index, u8),
    Clear(Index, Index),
    Replace(Index, String),
    Type(Index, Index, Index, String),
    Metadata(Index, Vec<String>, bool),
    Output(Index, u8, String),
    Undo,
    Redo,
}

fn structure() -> impl Strategy<Value = Wish> {
    let any = any::<Index>;
    prop_oneof![
        (any(), "[ab\n\u{1f600}]{0,5}").prop_map(|(at, text)| Wish::Insert(at, text)),
        (any(), any()).prop_map(|(from, to)| Wish::Delete(from, to)),
        (any(), any(), any()).prop_map(|(from, to, at)| Wish::Move(from, to, at)),
        (any(), any()).prop_map(|(cell, at)| Wish::Split(cell, at)),
        (any(), any(), any()).prop_map(|(from, to, into)| Wish::Merge(from, to, into)),
        (any(), 0..3_u8).prop_map(|(cell, kind)| Wish::Kind(cell, kind)),
        (any(), any()).prop_map(|(from, to)| Wish::Clear(from, to)),
        (any(), "[ab\n\u{1f600}]{0,5}").prop_map(|(cell, text)| Wish::Replace(cell, text)),
    ]
}

fn contents() -> impl Strategy<Value = Wish> {
    let any = any::<Index>;
    prop_oneof![
        4 => (any(), any(), any(), "[ab\n\u{1f600}]{0,3}").prop_map(|(cell, from, to, text)| Wish::Type(cell, from, to, text)),
        1 => (any(), prop::collection::vec("[abc]", 1..3), prop::bool::ANY).prop_map(|(cell, path, set)| Wish::Metadata(cell, path, set)),
        3 => (any(), 0..9_u8, "[ab\n\u{e9}]{0,3}").prop_map(|(cell, what, text)| Wish::Output(cell, what, text)),
    ]
}

fn everything() -> impl Strategy<Value = Vec<Wish>> {
    let back = prop_oneof![3 => Just(Wish::Undo), 1 => Just(Wish::Redo)];
    prop::collection::vec(prop_oneof![4 => structure(), 4 => contents(), 2 => back], 1..25)
}

/// The cells between two picks.
fn range(notebook: &Notebook, from: Index, to: Index) -> Vec<CellKey> {
    let (from, to) = (from.index(notebook.cells().len()), to.index(notebook.cells().len()));
    notebook.cells().skip(from.min(to)).take(from.abs_diff(to) + 1).map(|cell| cell.key().clone()).collect()
}

fn wish(notebook: &Notebook, wish: Wish, number: usize) -> Option<Operation> {
    let pick = |index: Index| {
        notebook.cells().nth(index.index(notebook.cells().len())).map(|cell| cell.key().clone())
    };
    let stop = |source: &str, at: Index| {
        let stops: Vec<usize> = source
            .chars()
            .scan(0, |at, character| {
                *at += character.len_utf16();
                Some(*at)
            })
            .collect();
        let at = at.index(stops.len() + 1);
        if at == 0 { 0 } else { stops[at - 1] }
    };
    if notebook.cells().len() == 0 && !matches!(wish, Wish::Insert(..)) {
        return None;
    }
    Some(match wish {
        Wish::Insert(at, text) => Operation::InsertCells {
            at: Position::Index(at.index(notebook.cells().len() + 1)),
            cells: vec![NewCell::new(CellKey::new(format!("new{number}")), CellKind::Code, text)],
        },
        Wish::Delete(from, to) => Operation::DeleteCells { cells: range(notebook, from, to) },
        Wish::Move(from, to, at) => Operation::MoveCells {
            cells: range(notebook, from, to),
            to: Position::Index(at.index(notebook.cells().len())),
        },
        Wish::Split(cell, at) => {
            let cell = pick(cell)?;
            let held = notebook.cell(&cell)?;
            let at = stop(&held.source(), at);
            Operation::SplitCell {
                base: held.revision(),
                cell,
                at,
                new_cell: CellKey::new(format!("new{number}")),
            }
        }
        Wish::Merge(from, to, into) => {
            let cells = range(notebook, from, to);
            let into = cells[into.index(cells.len())].clone();
            Operation::MergeCells { cells, into, separator: "\n\n".into() }
        }
        Wish::Kind(cell, kind) => {
            let kind = [CellKind::Code, CellKind::Markdown, CellKind::Raw][usize::from(kind)];
            Operation::SetKind { cell: pick(cell)?, kind }
        }
        Wish::Clear(from, to) => Operation::ClearOutputs { cells: range(notebook, from, to) },
        Wish::Replace(cell, source) => Operation::SetSource { cell: pick(cell)?, source },
        Wish::Type(cell, from, to, text) => {
            let cell = pick(cell)?;
            let source = notebook.cell(&cell)?.source().into_owned();
            let (from, to) = (stop(&source, from), stop(&source, to));
            typed(notebook, &cell, from.min(to), from.max(to), &text)
        }
        Wish::Metadata(cell, path, set) => {
            let value = set.then(|| RawJson::from_value(&number.into()));
            Operation::SetMetadata {
                cell: (!number.is_multiple_of(3)).then(|| pick(cell)).flatten(),
                path,
                value,
            }
        }
        Wish::Output(cell, what, text) => {
            let cell = pick(cell)?;
            match what {
                0 => Operation::ClearOutput { cell, wait: true },
                1 => Operation::ClearOutput { cell, wait: false },
                2 | 3 => Operation::AppendStream { cell, name: "stdout".into(), text },
                4 => Operation::EditStream { cell, index: 0, keep: 0, text },
                5 => Operation::SetExecutionCount { cell, count: Some(number as u64) },
                6 => Operation::UpdateDisplay {
                    display_id: "d".into(),
                    data: plain(&text),
                    metadata: object(),
                },
                7 => Operation::ReplaceOutput { cell, index: 0, output: display(&text, None) },
                _ => Operation::AppendOutput { cell, output: display(&text, Some("d")) },
            }
        }
        Wish::Undo | Wish::Redo => return None,
    })
}

fn carry_out(notebook: &mut Notebook, what: Wish, number: usize) -> Option<Result<Applied, OperationError>> {
    match what {
        Wish::Undo => notebook.undo(),
        Wish::Redo => notebook.redo(),
        what => wish(notebook, what, number).map(|operation| notebook.apply(operation)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn undoing_everything_gives_the_file_and_redoing_everything_what_was_made_of_it(
        wishes in prop::collection::vec(structure(), 1..15)
    ) {
        let mut notebook = open(BASE);
        for (number, what) in wishes.into_iter().enumerate() {
            if let Some(result) = carry_out(&mut notebook, what, number) {
                prop_assert!(matches!(result, Ok(_) | Err(OperationError::NotAdjacent)), "{result:?}");
            }
        }
        let made = (saved(&notebook), sources(&notebook));
        while let Some(result) = notebook.undo() {
            result.unwrap();
        }
        prop_assert_eq!(saved(&notebook), BASE);
        while let Some(result) = notebook.redo() {
            result.unwrap();
        }
        prop_assert_eq!((saved(&notebook), sources(&notebook)), made);
    }

    #[test]
    fn the_journal_over_the_file_gives_the_document(first in everything(), second in everything()) {
        let mut notebook = open(BASE);
        let mut file = BASE.to_owned();
        let mut number = 0;
        for wishes in [first, second] {
            let checkpoint = serde_json::to_string(&notebook.checkpoint()).unwrap();
            let mut journal = String::new();
            for what in wishes {
                number += 1;
                if let Some(Ok(applied)) = carry_out(&mut notebook, what, number) {
                    let line = serde_json::to_string(&applied.step).unwrap();
                    prop_assert!(!line.contains('\n'));
                    journal.push_str(&line);
                    journal.push('\n');
                }
            }
            let checkpoint = serde_json::from_str(&checkpoint).unwrap();
            let mut again = Notebook::resume(Bytes::from(file), &checkpoint).unwrap();
            for line in journal.lines() {
                let step: Step = serde_json::from_str(line).unwrap();
                again.replay(step).unwrap();
            }
            prop_assert_eq!(view(&again), view(&notebook));
            file = saved(&notebook);
            prop_assert_eq!(&saved(&again), &file);
            // What was saved opens as what was there.
            let opened = Notebook::resume(Bytes::from(file.clone()), &notebook.checkpoint()).unwrap();
            prop_assert_eq!(view(&opened), view(&notebook));
        }
    }

    #[test]
    fn a_change_of_one_cell_leaves_the_bytes_of_the_others(what in contents(), windows: bool) {
        prop_assume!(!matches!(what, Wish::Output(_, 6, _)));
        let text = if windows { BASE.replace('\n', "\r\n") } else { BASE.to_owned() };
        let mut notebook = open(&text);
        let Some(operation) = wish(&notebook, what, 1) else { return Ok(()) };
        let Ok(applied) = notebook.apply(operation) else { return Ok(()) };
        let touched = applied.changes.iter().find_map(|change| match change {
            Change::Source { cell, .. } | Change::Cell { cell } | Change::OutputsReplaced { cell }
            | Change::OutputAppended { cell, .. } | Change::OutputChanged { cell, .. }
            | Change::StreamChanged { cell, .. } => Some(cell.clone()),
            _ => None,
        });
        let after = saved(&notebook);
        let Some(touched) = touched else {
            prop_assert_eq!(after, text);
            return Ok(());
        };
        let starts: Vec<usize> = text.match_indices("  {\r\n   \"").chain(text.match_indices("  {\n   \"")).map(|(at, _)| at).collect();
        let index = notebook.index(&touched).unwrap();
        let end = starts.get(index + 1).copied().unwrap_or(text.find("\"metadata\": {\r\n  \"kernelspec").or(text.find("\"metadata\": {\n  \"kernelspec")).unwrap());
        prop_assert!(after.starts_with(&text[..starts[index]]));
        prop_assert!(after.ends_with(&text[end - 4..]), "{after}");
        prop_assert_eq!(after.contains("\r\n"), windows);
        prop_assert_eq!(after.replace("\r\n", "").contains('\n'), !windows);
    }
}
