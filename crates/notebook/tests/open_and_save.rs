//! Notebooks as they are found in the wild are opened, and saved as they were.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use bytes::Bytes;
use proptest::prelude::*;
use sandbook_notebook::{
    CellKey, CellKind, Changes, NewCell, Notebook, Notice, Operation, Output, ParseError, Position,
    StreamText, TextEdit,
};

const BASE: &str = include_str!("notebooks/every_kind.ipynb");

fn open(text: &str) -> Notebook {
    Notebook::parse(Bytes::copy_from_slice(text.as_bytes()), CellKey::sequence("c")).unwrap()
}

fn refused(text: &str) -> ParseError {
    Notebook::parse(Bytes::copy_from_slice(text.as_bytes()), CellKey::sequence("c")).unwrap_err()
}

fn saved(notebook: &Notebook) -> String {
    let text = notebook.to_bytes(&mut |blob| panic!("asked for {}", blob.hash)).unwrap();
    String::from_utf8(text.to_vec()).unwrap()
}

/// A name, the text of the file, and the cells in it.
type Wild = (&'static str, String, Vec<(CellKind, &'static str)>);

/// Notebooks that some programs refuse or change, each with what should be found in it.
fn wild() -> Vec<Wild> {
    use CellKind::{Broken, Code, Markdown, Raw};
    let cells = |cells: &str| {
        format!("{{\"cells\": [{cells}], \"metadata\": {{}}, \"nbformat\": 4, \"nbformat_minor\": 4}}")
    };
    vec![
        ("no cells", cells(""), vec![]),
        ("no cells, spaced", "{\n \"cells\": [\n ],\n \"nbformat\": 4\n}".into(), vec![]),
        ("no minor version", "{\"cells\": [{\"cell_type\": \"raw\", \"source\": \"a\"}], \"nbformat\": 4}".into(), vec![(Raw, "a")]),
        ("no version at all", "{\"cells\": [{\"cell_type\": \"raw\", \"source\": \"a\"}]}".into(), vec![(Raw, "a")]),
        ("a future minor", cells("").replace(": 4}", ": 99}"), vec![]),
        ("byte order mark", format!("\u{feff}{}", cells("{\"cell_type\": \"code\", \"source\": [\"a\\n\", \"b\"]}")), vec![(Code, "a\nb")]),
        ("windows line ends", cells("\r\n  {\r\n\t\"cell_type\": \"markdown\",\r\n\t\"source\": [\"a\\r\\n\", \"b\"]\r\n  }\r\n"), vec![(Markdown, "a\nb")]),
        ("no source", cells("{\"cell_type\": \"code\"}"), vec![(Code, "")]),
        ("source is null", cells("{\"cell_type\": \"code\", \"source\": null}"), vec![(Code, "")]),
        ("an id that is too long", cells(&format!("{{\"cell_type\": \"code\", \"id\": \"{}\", \"source\": \"\"}}", "x".repeat(200))), vec![(Code, "")]),
        ("the same id twice", cells("{\"cell_type\":\"raw\",\"id\":\"a\",\"source\":\"1\"} , {\"cell_type\":\"raw\",\"id\":\"a\",\"source\":\"2\"}"), vec![(Raw, "1"), (Raw, "2")]),
        ("an id that is a number", cells("{\"cell_type\": \"code\", \"id\": 5, \"source\": \"x\"}"), vec![(Code, "x")]),
        ("cells that are no cells", cells("null, 5, [], {\"cell_type\": \"code\", \"source\": \"x\"}"), vec![(Broken, "null"), (Broken, "5"), (Broken, "[]"), (Code, "x")]),
        ("a cell without type", cells("{\"source\": \"x\"}"), vec![(Broken, "{\"source\": \"x\"}")]),
        ("a cell of an unknown type", cells("{\"cell_type\": \"sql\", \"source\": \"x\"}"), vec![(Broken, "{\"cell_type\": \"sql\", \"source\": \"x\"}")]),
        ("a source that is a number", cells("{\"cell_type\": \"raw\", \"source\": 5}"), vec![(Broken, "{\"cell_type\": \"raw\", \"source\": 5}")]),
        ("outputs that are an object", cells("{\"cell_type\": \"code\", \"outputs\": {}}"), vec![(Broken, "{\"cell_type\": \"code\", \"outputs\": {}}")]),
        ("numbers beyond any type", cells("{\"cell_type\": \"code\", \"metadata\": {\"x\": 123456789012345678901234567890.000000001e-999}, \"source\": \"x\"}"), vec![(Code, "x")]),
        ("not a number", cells("{\"cell_type\": \"code\", \"metadata\": {\"x\": [NaN, -Infinity]}, \"source\": \"x\"}"), vec![(Code, "x")]),
        ("half a surrogate pair", cells("{\"cell_type\": \"code\", \"source\": \"a\\ud83d\"}"), vec![(Code, "a\u{fffd}")]),
        ("a line break inside a string", cells("{\"cell_type\": \"code\", \"source\": \"a\nb\"}"), vec![(Code, "a\nb")]),
        ("members twice", cells("{\"cell_type\": \"raw\", \"cell_type\": \"code\", \"source\": \"x\", \"source\": \"y\"}"), vec![(Code, "y")]),
        ("deep nesting", cells(&format!("{{\"cell_type\": \"code\", \"metadata\": {{\"x\": {}{}}}, \"source\": \"x\"}}", "[".repeat(5000), "]".repeat(5000))), vec![(Code, "x")]),
        ("unknown members everywhere", "{\"x\": 1, \"cells\": [{\"x\": {}, \"cell_type\": \"code\", \"source\": \"x\", \"outputs\": [{\"x\": 1}]}], \"metadata\": {\"x\": []}, \"nbformat\": 4, \"y\": 2}\n\n".into(), vec![(Code, "x")]),
        ("a newer major format", "{\"cells\": [], \"nbformat\": 5, \"nbformat_minor\": 0}".into(), vec![]),
    ]
}

#[test]
fn what_others_refuse_is_opened_and_saved_as_it_was() {
    for (name, text, cells) in wild() {
        let notebook = open(&text);
        let found: Vec<_> = notebook.cells().map(|cell| (cell.kind(), cell.source().into_owned())).collect();
        let wanted: Vec<_> = cells.into_iter().map(|(kind, source)| (kind, source.to_owned())).collect();
        assert_eq!(found, wanted, "{name}");
        assert_eq!(saved(&notebook), text, "{name}");
        assert_eq!(
            notebook.segments(&mut |_| unreachable!()).unwrap().len(),
            1,
            "{name}: one slice of the file"
        );
    }
}

#[test]
fn a_file_that_is_no_notebook_is_refused_with_the_reason() {
    assert_eq!(refused(""), ParseError::Empty);
    assert_eq!(refused(" \n"), ParseError::Empty);
    assert_eq!(refused("[1]"), ParseError::NotANotebook { why: "it is not an object" });
    assert_eq!(refused("{}"), ParseError::NotANotebook { why: "it has neither `nbformat` nor `cells`" });
    assert_eq!(refused("{\"nbformat\": 4}"), ParseError::NotANotebook { why: "it has no `cells`" });
    assert_eq!(
        refused("{\"nbformat\": 4, \"cells\": {}}"),
        ParseError::NotANotebook { why: "its `cells` are not a list" }
    );
    assert_eq!(refused("{\"nbformat\": 1, \"cells\": []}"), ParseError::TooOld { major: 1 });
    assert_eq!(
        refused("{\n \"cells\": [\n  {\"cell_type\": \"co"),
        ParseError::NotJson { line: 3, column: 20, wanted: "the end of a string" }
    );
    assert_eq!(refused("print(1)\n"), ParseError::NotJson { line: 1, column: 1, wanted: "a value" });
    let conflict = "{\n \"cells\": [\n<<<<<<< HEAD\n {},\n=======\n>>>>>>> other\n ]}";
    assert_eq!(refused(conflict), ParseError::MergeConflict { line: 3 });
    let latin = Notebook::parse(Bytes::from_static(b"{\"cells\": \"\xe9\"}"), CellKey::sequence("c"));
    assert_eq!(latin.unwrap_err(), ParseError::NotText { at: 11 });
}

#[test]
fn broken_cells_are_told_of() {
    let notebook = open("{\"cells\": [1, 2], \"nbformat\": 4}");
    assert_eq!(notebook.notices(), [Notice::BrokenCells { count: 2 }]);
}

/// Replaces `from..to` of a cell's source.
fn edit(notebook: &mut Notebook, cell: &str, from: usize, to: usize, insert: &str) {
    let key = CellKey::from(cell);
    let held = notebook.cell(&key).unwrap();
    let length = held.source().encode_utf16().count();
    let changes = Changes::new(length, &[TextEdit { from, to, insert: insert.into() }]).unwrap();
    let base = held.revision();
    notebook
        .apply(Operation::EditSource { cell: key, base, author: "me".into(), changes: vec![changes] })
        .unwrap();
}

#[test]
fn an_edited_line_changes_that_line_of_the_file() {
    for text in [BASE.to_owned(), BASE.replace('\n', "\r\n"), format!("\u{feff}{BASE}")] {
        let mut notebook = open(&text);
        let old = "\"print('two')\"";
        assert!(text.contains(old));
        edit(&mut notebook, "c2", 13, 25, "print(2)\nx = 1");
        let line = if text.contains('\r') { "\r\n    " } else { "\n    " };
        let new = format!("\"print(2)\\n\",{line}\"x = 1\"");
        assert_eq!(saved(&notebook), text.replacen(old, &new, 1));
    }
}

#[test]
fn an_edit_taken_back_by_hand_gives_the_file_as_it_was() {
    let mut notebook = open(BASE);
    edit(&mut notebook, "c2", 0, 5, "xyz");
    assert_ne!(saved(&notebook), BASE);
    edit(&mut notebook, "c2", 0, 3, "print");
    assert_eq!(saved(&notebook), BASE);
}

#[test]
fn line_breaks_inside_a_source_and_the_form_of_the_source_stay() {
    for (before, after) in [
        (r#"["a\r\n", "\u0062\r\n", "c"]"#, r#"["a\r\n", "b!\r\n", "c"]"#),
        (r#"["\u0061\n","b\n","c"]"#, r#"["\u0061\n","b!\n","c"]"#),
        (r#"["a\nb\n", "c"]"#, r#"["a\n", "b!\n", "c"]"#),
        (r#""a\r\nb\r\nc""#, r#""a\r\nb!\r\nc""#),
        (r#""a\nb\nc""#, r#""a\nb!\nc""#),
    ] {
        let file = |source: &str| {
            format!("{{\"cells\": [{{\"cell_type\": \"raw\", \"source\": {source}}}], \"nbformat\": 4}}")
        };
        let mut notebook = open(&file(before));
        edit(&mut notebook, "c1", 3, 3, "!");
        assert_eq!(saved(&notebook), file(after));
    }
}

#[test]
fn a_new_cell_looks_like_the_others_of_the_file() {
    let mut notebook = open(BASE);
    let cell = NewCell::new("key:1".into(), CellKind::Code, "a\nb");
    notebook.apply(Operation::InsertCells { at: Position::Index(1), cells: vec![cell] }).unwrap();
    let (head, tail) = BASE.split_at(BASE.find(",\n  {\n   \"cell_type\": \"code\"").unwrap());
    let new = concat!(
        ",\n  {\n   \"cell_type\": \"code\",\n   \"execution_count\": null,\n   \"id\": \"key1\",\n   \"metadata\": {},\n",
        "   \"outputs\": [],\n   \"source\": [\n    \"a\\n\",\n    \"b\"\n   ]\n  }"
    );
    assert_eq!(saved(&notebook), format!("{head}{new}{tail}"));

    let mut dense = open(
        "{\"cells\":[{\"source\":\"a\",\"cell_type\":\"code\",\"metadata\":{},\"outputs\":[],\"execution_count\":1}],\"nbformat\":4,\"nbformat_minor\":2}",
    );
    let cell = NewCell::new("k".into(), CellKind::Code, "a\nb");
    dense.apply(Operation::InsertCells { at: Position::Index(0), cells: vec![cell] }).unwrap();
    assert_eq!(
        saved(&dense),
        "{\"cells\":[{\"source\":\"a\\nb\",\"cell_type\":\"code\",\"metadata\":{},\"outputs\":[],\"execution_count\":null},\
         {\"source\":\"a\",\"cell_type\":\"code\",\"metadata\":{},\"outputs\":[],\"execution_count\":1}],\"nbformat\":4,\"nbformat_minor\":2}"
    );
}

#[test]
fn a_new_output_leaves_the_other_outputs_as_they_were() {
    let mut notebook = open(BASE);
    let text = StreamText::Inline("é\n".into());
    let output = Output::Stream { name: "stderr".into(), text };
    notebook.apply(Operation::AppendOutput { cell: "c2".into(), output }).unwrap();
    let anchor = "    \"x_output\": true\n    }";
    assert!(BASE.contains(anchor), "the last output of the cell");
    let new = ",\n    {\n     \"name\": \"stderr\",\n     \"output_type\": \"stream\",\n     \"text\": [\n      \"é\\n\"\n     ]\n    }";
    assert_eq!(saved(&notebook), BASE.replacen(anchor, &format!("{anchor}{new}"), 1));
}

#[test]
fn a_first_cell_in_an_empty_list_stands_where_jupyter_puts_it() {
    let mut notebook = Notebook::empty();
    let cell = NewCell::new("k".into(), CellKind::Markdown, "");
    notebook.apply(Operation::InsertCells { at: Position::Index(9), cells: vec![cell] }).unwrap();
    let text = "{\n \"cells\": [\n  {\n   \"cell_type\": \"markdown\",\n   \"id\": \"k\",\n   \"metadata\": {},\n   \"source\": []\n  }\n ],\n \"metadata\": {},\n \"nbformat\": 4,\n \"nbformat_minor\": 5\n}\n";
    assert_eq!(saved(&notebook), text);
    notebook.apply(Operation::DeleteCells { cells: vec!["k".into()] }).unwrap();
    assert_eq!(
        saved(&notebook),
        "{\n \"cells\": [],\n \"metadata\": {},\n \"nbformat\": 4,\n \"nbformat_minor\": 5\n}\n"
    );
}

#[test]
fn metadata_is_set_in_place() {
    let mut notebook = open(BASE);
    let value = sandbook_notebook::RawJson::from_value(&true.into());
    let path = vec!["jupyter".into(), "source_hidden".into()];
    notebook.apply(Operation::SetMetadata { cell: Some("c2".into()), path, value: Some(value) }).unwrap();
    let old = "\"metadata\": {\n    \"tags\": [\n     \"slow\"\n    ]\n   },";
    let new = "\"metadata\": {\n    \"jupyter\": {\n     \"source_hidden\": true\n    },\n    \"tags\": [\n     \"slow\"\n    ]\n   },";
    assert!(BASE.contains(old));
    assert_eq!(saved(&notebook), BASE.replacen(old, new, 1));

    let mut notebook = open(BASE);
    let value = sandbook_notebook::RawJson::string("r");
    let path = vec!["kernelspec".into(), "name".into()];
    notebook.apply(Operation::SetMetadata { cell: None, path, value: Some(value) }).unwrap();
    assert_eq!(notebook.kernel_name().as_deref(), Some("r"));
    assert_eq!(saved(&notebook), BASE.replacen("\"name\": \"python3\"", "\"name\": \"r\"", 1));
}

/// JSON values as a file might hold them.
fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<f64>().prop_map(Into::into),
        any::<String>().prop_map(Into::into),
    ];
    leaf.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
            prop::collection::vec((any::<String>(), inner), 0..4)
                .prop_map(|members| members.into_iter().collect()),
        ]
    })
}

fn any_cell() -> impl Strategy<Value = serde_json::Value> {
    let named = prop::collection::btree_map(
        prop::sample::select(vec![
            "cell_type",
            "id",
            "source",
            "outputs",
            "metadata",
            "execution_count",
            "attachments",
            "x",
        ])
        .prop_map(str::to_owned),
        prop_oneof![
            json(),
            Just("code".into()),
            Just("markdown".into()),
            Just(serde_json::json!([])),
            Just(serde_json::json!(["a\n", "b"]))
        ],
        0..8,
    );
    prop_oneof![named.prop_map(|members| members.into_iter().collect()), json()]
}

fn written(value: &serde_json::Value, indent: &str) -> String {
    if indent == "-" {
        return value.to_string();
    }
    let mut out = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(indent.as_bytes());
    serde::Serialize::serialize(value, &mut serde_json::Serializer::with_formatter(&mut out, formatter))
        .unwrap();
    String::from_utf8(out).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_notebook_is_saved_as_it_was_opened(
        cells in prop::collection::vec(any_cell(), 0..6),
        rest in prop::collection::vec((any::<String>(), json()), 0..3),
        indent in prop::sample::select(vec!["-", "", " ", "    ", "\t"]),
        windows: bool,
    ) {
        let mut notebook = serde_json::Map::new();
        notebook.extend(rest);
        notebook.insert("cells".into(), cells.into());
        notebook.insert("nbformat".into(), 4.into());
        let mut text = written(&notebook.into(), indent);
        if windows {
            text = text.replace('\n', "\r\n");
        }
        let opened = open(&text);
        for cell in opened.cells() {
            // Reading never fails.
            let _ = (cell.source(), cell.outputs(), cell.metadata(), cell.id(), cell.execution_count());
        }
        prop_assert_eq!(saved(&opened), text);
    }

    #[test]
    fn any_bytes_are_opened_or_refused(text in any::<Vec<u8>>()) {
        let _ = Notebook::parse(text.into(), CellKey::sequence("c"));
    }

    #[test]
    fn a_damaged_notebook_is_refused_or_saved_as_it_is(
        damage in prop::collection::vec((any::<prop::sample::Index>(), 0..4_usize, "[\\[\\]{}\"\\\\,:0a \n]{0,3}"), 1..4)
    ) {
        let mut text = BASE.as_bytes().to_vec();
        for (at, width, insert) in damage {
            let at = at.index(text.len());
            text.splice(at..(at + width).min(text.len()), insert.into_bytes());
        }
        let text = Bytes::from(text);
        let Ok(mut notebook) = Notebook::parse(text.clone(), CellKey::sequence("c")) else { return Ok(()) };
        let save = |notebook: &Notebook| notebook.to_bytes(&mut |_| unreachable!()).unwrap();
        prop_assert_eq!(&save(&notebook), &text);
        for key in notebook.cells().map(|cell| cell.key().clone()).collect::<Vec<_>>() {
            let cell = notebook.cell(&key).unwrap();
            let _ = (cell.outputs(), cell.metadata(), cell.attachments(), cell.id(), cell.execution_count());
            let (source, kind) = (cell.source().into_owned(), cell.kind());
            let set = |source: String| Operation::SetSource { cell: key.clone(), source };
            if kind == CellKind::Broken {
                prop_assert!(notebook.apply(set("x".into())).is_err());
                continue;
            }
            notebook.apply(set(format!("{source}\u{e9}"))).unwrap();
            let changed = Notebook::parse(save(&notebook), CellKey::sequence("c")).unwrap();
            prop_assert_eq!(changed.cell(&key).unwrap().source(), format!("{source}\u{e9}"));
            notebook.apply(set(source)).unwrap();
            prop_assert_eq!(&save(&notebook), &text);
        }
    }

    #[test]
    fn a_cut_notebook_is_refused(cut in 0..BASE.len() - 2) {
        prop_assume!(BASE.is_char_boundary(cut));
        let opened = Notebook::parse(Bytes::copy_from_slice(&BASE.as_bytes()[..cut]), CellKey::sequence("c"));
        prop_assert!(opened.is_err());
    }
}

#[test]
fn every_minor_of_version_4_is_saved_as_it_was_and_gets_ids_only_where_they_belong() {
    for minor in 0..=5 {
        let id = if minor == 5 { "\"id\": \"one\", " } else { "" };
        let text = format!(
            "{{\"cells\": [{{\"cell_type\": \"code\", {id}\"execution_count\": 1, \"metadata\": {{}}, \"outputs\": [], \"source\": [\"1\"]}}], \"metadata\": {{}}, \"nbformat\": 4, \"nbformat_minor\": {minor}}}"
        );
        let mut notebook = open(&text);
        assert_eq!(saved(&notebook), text, "4.{minor}");
        let new = NewCell::new(CellKey::new("new"), CellKind::Code, "2");
        notebook.apply(Operation::InsertCells { at: Position::Index(1), cells: vec![new] }).unwrap();
        let json: serde_json::Value = serde_json::from_str(&saved(&notebook)).unwrap();
        assert_eq!(json["nbformat_minor"], minor, "the version stays");
        assert_eq!(json["cells"][1]["source"], serde_json::json!(["2"]));
        assert_eq!(json["cells"][1].get("id").is_some(), minor == 5, "4.{minor}: {json}");
    }
}

#[test]
fn a_cell_without_an_id_where_ids_belong_keeps_its_bytes_and_only_a_new_one_gets_an_id() {
    let cell =
        |source: &str| format!("{{\"cell_type\": \"raw\", \"metadata\": {{}}, \"source\": [\"{source}\"]}}");
    let text = format!(
        "{{\"cells\": [{}, {}], \"metadata\": {{}}, \"nbformat\": 4, \"nbformat_minor\": 5}}",
        cell("first"),
        cell("second")
    );
    let mut notebook = open(&text);
    edit(&mut notebook, "c2", 0, 6, "changed");
    assert_eq!(saved(&notebook), text.replace("second", "changed"));
    let new = NewCell::new(CellKey::new("new"), CellKind::Raw, "third");
    notebook.apply(Operation::InsertCells { at: Position::Index(2), cells: vec![new] }).unwrap();
    assert_eq!(saved(&notebook).matches("\"id\": \"new\"").count(), 1);
    assert_eq!(saved(&notebook).matches("\"id\"").count(), 1, "the others keep having none");
}

/// Notebooks in the dialects of those who write them: what each adds, of its own, at every level.
const DIALECTS: [(&str, &str); 4] = [
    ("Colab", include_str!("notebooks/colab.ipynb")),
    ("Kaggle", include_str!("notebooks/kaggle.ipynb")),
    ("widgets and papermill", include_str!("notebooks/widgets.ipynb")),
    ("updated displays, charts, diagrams and long tracebacks", include_str!("notebooks/shown.ipynb")),
];

#[test]
fn a_notebook_of_colab_or_kaggle_with_widgets_or_charts_keeps_every_byte_but_those_of_the_edit() {
    for (name, text) in DIALECTS {
        let mut notebook = open(text);
        assert_eq!(notebook.notices(), [], "{name}");
        assert_eq!(saved(&notebook), text, "{name}");
        let code = notebook.cells().position(|cell| cell.kind() == CellKind::Code).unwrap();
        let (key, source) = {
            let cell = notebook.cells().nth(code).unwrap();
            (cell.key().to_string(), cell.source().into_owned())
        };
        edit(&mut notebook, &key, 0, 0, "EDITED ");
        let first = serde_json::to_string(&source.split_inclusive('\n').next().unwrap()).unwrap();
        let first = first.trim_end_matches('"').trim_end_matches("\\n");
        assert_eq!(saved(&notebook), text.replacen(first, &format!("\"EDITED {}", &first[1..]), 1), "{name}");
    }
}

/// A save of everything, and the notebook that it is.
fn reopened(notebook: &Notebook) -> Notebook {
    open(&saved(notebook))
}

#[test]
fn a_name_that_is_spelled_with_escapes_is_that_name_when_it_is_read_and_when_it_is_written() {
    let text = r#"{"cells": [{"\u0063ell_type": "code", "s\u006furce": ["a"], "metadata": {}, "outp\u0075ts": []}], "nbformat": 4}"#;
    let mut notebook = open(text);
    assert_eq!(notebook.cells().next().unwrap().source(), "a");
    edit(&mut notebook, "c1", 1, 1, "b");
    assert_eq!(saved(&notebook), text.replace("[\"a\"]", "[\"ab\"]"));
}

#[test]
fn a_backslash_too_many_anywhere_never_lets_an_edit_go_astray() {
    for at in 0..BASE.len() {
        let mut text = BASE.as_bytes().to_vec();
        text.insert(at, b'\\');
        let Ok(mut notebook) = Notebook::parse(text.into(), CellKey::sequence("c")) else { continue };
        for key in notebook.cells().map(|cell| cell.key().clone()).collect::<Vec<_>>() {
            let cell = notebook.cell(&key).unwrap();
            if cell.kind() == CellKind::Broken {
                continue;
            }
            let source = cell.source().into_owned() + "é";
            notebook.apply(Operation::SetSource { cell: key.clone(), source: source.clone() }).unwrap();
            assert_eq!(reopened(&notebook).cell(&key).unwrap().source(), source, "a backslash at {at}");
        }
    }
}
