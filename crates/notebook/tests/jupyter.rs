//! What Jupyter itself makes of our files, and we of its old ones: `nbformat` of a real Python is the judge.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::io::Write as _;
use std::process::{Command, Stdio};

use bytes::Bytes;
use sandbook_notebook::{
    CellKey, CellKind, MimeBundle, MimeValue, NewCell, Notebook, Notice, Operation, Output, Position,
    RawJson, StreamText,
};

/// Runs a Python program with `input`, and gives what it prints.
fn python(program: &str, input: &str) -> String {
    let interpreter = std::env::var("SANDBOOK_TEST_PYTHON")
        .expect("SANDBOOK_TEST_PYTHON must name a Python with nbformat; `cargo xtask test` sets it");
    let mut child = Command::new(interpreter)
        .args(["-c", program])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "Python said no to:\n{input}");
    String::from_utf8(output.stdout).unwrap()
}

fn open(text: &str) -> Notebook {
    Notebook::parse(Bytes::copy_from_slice(text.as_bytes()), CellKey::sequence("c")).unwrap()
}

fn saved(notebook: &Notebook) -> String {
    let text = notebook.to_bytes(&mut |blob| panic!("asked for {}", blob.hash)).unwrap();
    String::from_utf8(text.to_vec()).unwrap()
}

/// Reads a notebook strictly and writes it the way Jupyter does.
const AS_JUPYTER: &str = "
import sys, io, nbformat
sys.stdin = io.TextIOWrapper(sys.stdin.buffer, encoding='utf-8', newline='')
sys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding='utf-8', newline='')
notebook = nbformat.reads(sys.stdin.read(), as_version=4)
nbformat.validate(notebook)
sys.stdout.write(nbformat.writes(notebook) + '\\n')
";

#[test]
fn what_was_changed_here_looks_as_if_jupyter_had_written_it() {
    let mut notebook = Notebook::empty();
    let new = |name: &str, kind, source: &str| NewCell::new(name.into(), kind, source);
    let cells = vec![
        new("a", CellKind::Markdown, "# Grüße\u{2028}\n\n\tx \u{c} \"q\" \\ \u{7f}"),
        new("b", CellKind::Code, "print('one')\r\nprint('two')\n"),
        new("c", CellKind::Raw, ""),
        new("d", CellKind::Code, ""),
    ];
    notebook.apply(Operation::InsertCells { at: Position::Index(0), cells }).unwrap();
    let text = |text: &str| MimeValue::Inline(RawJson::string(text));
    let json = |value: serde_json::Value| MimeValue::Inline(RawJson::from_value(&value));
    let data = MimeBundle(vec![
        ("text/plain".into(), text("a\nb")),
        ("image/png".into(), text("iVBORw0KGgo=\n")),
        ("application/json".into(), json(serde_json::json!({"b": [], "a": {"x": "é"}}))),
        ("image/svg+xml".into(), text("<svg>\n</svg>")),
    ]);
    let metadata = RawJson::from_value(&serde_json::json!({"image/png": {"width": 10}}));
    for output in [
        Output::Stream {
            name: "stdout".into(),
            text: StreamText::Inline("one\ntwo\n\u{1b}[31mred\u{1b}[0m".into()),
        },
        Output::Display { data: data.clone(), metadata: metadata.clone(), display_id: Some("d".into()) },
        Output::Result { data, metadata, display_id: None, execution_count: Some(3) },
        Output::Error {
            ename: "E".into(),
            evalue: String::new(),
            traceback: vec!["a\nb".into(), "c".into()],
        },
    ] {
        notebook.apply(Operation::AppendOutput { cell: "b".into(), output }).unwrap();
    }
    notebook.apply(Operation::SetExecutionCount { cell: "b".into(), count: Some(3) }).unwrap();
    for (path, value) in [
        (vec!["kernelspec", "name"], "python3"),
        (vec!["kernelspec", "display_name"], "Python 3"),
        (vec!["language_info", "name"], "python"),
    ] {
        let path = path.into_iter().map(str::to_owned).collect();
        notebook
            .apply(Operation::SetMetadata { cell: None, path, value: Some(RawJson::string(value)) })
            .unwrap();
    }
    let tags = Some(RawJson::from_value(&serde_json::json!(["slow", "long"])));
    notebook
        .apply(Operation::SetMetadata { cell: Some("d".into()), path: vec!["tags".into()], value: tags })
        .unwrap();
    notebook.apply(Operation::SetKind { cell: "c".into(), kind: CellKind::Code }).unwrap();
    notebook.apply(Operation::SplitCell { cell: "b".into(), base: 0, at: 12, new_cell: "e".into() }).unwrap();
    let ours = saved(&notebook);
    // Jupyter sorts the members of JSON payloads too; ours keep the order that the kernel sent.
    let ours_sorted = ours.replace(
        "\"b\": [],\n       \"a\": {\n        \"x\": \"é\"\n       }",
        "\"a\": {\n        \"x\": \"é\"\n       },\n       \"b\": []",
    );
    pretty_assert(&ours_sorted, &python(AS_JUPYTER, &ours));

    let copied = notebook.copy_cells(&["b".into(), "d".into()], &mut |_| unreachable!()).unwrap();
    let mut other = open(include_str!("notebooks/version_3.ipynb"));
    let cells = sandbook_notebook::paste_cells(&copied, CellKey::sequence("p"));
    assert_eq!(cells.len(), 2);
    other.apply(Operation::InsertCells { at: Position::Index(1), cells }).unwrap();
    let ours = saved(&other);
    assert!(!ours.contains("\"id\""), "this format has no cell ids");
    python(AS_JUPYTER, &ours);
}

fn pretty_assert(left: &str, right: &str) {
    for (number, (left, right)) in left.lines().zip(right.lines()).enumerate() {
        assert_eq!(left, right, "line {}", number + 1);
    }
    assert_eq!(left, right);
}

/// Converts an old notebook the way Jupyter does, without what it makes up.
const CONVERT: &str = "
import sys, json, nbformat, logging
logging.disable(logging.CRITICAL)
notebook = nbformat.reads(sys.stdin.read(), as_version=4)
for cell in notebook.cells:
    cell.pop('id', None)
for name in ('orig_nbformat', 'orig_nbformat_minor'):
    notebook.metadata.pop(name, None)
    notebook.pop(name, None)
notebook.nbformat_minor = 4
print(json.dumps(notebook, sort_keys=True))
";

#[test]
fn old_formats_stay_as_they_are_until_a_change_and_are_converted_as_jupyter_does_it() {
    for (major, text) in
        [(3, include_str!("notebooks/version_3.ipynb")), (2, include_str!("notebooks/version_2.ipynb"))]
    {
        let mut notebook = open(text);
        assert_eq!(notebook.notices(), [Notice::Upgraded { major }]);
        assert_eq!(saved(&notebook), text, "nothing was changed");
        let count = notebook.cells().next().unwrap().execution_count();
        let key = notebook.cells().next().unwrap().key().clone();
        notebook.apply(Operation::SetExecutionCount { cell: key, count }).unwrap();
        let ours = saved(&notebook);
        let theirs: serde_json::Value = serde_json::from_str(&python(CONVERT, text)).unwrap();
        let read: serde_json::Value = serde_json::from_str(&python(CONVERT, &ours)).unwrap();
        assert_eq!(read, theirs, "version {major}");
        // And the file is in Jupyter's own style.
        let jupyters = python(AS_JUPYTER, &ours);
        pretty_assert(&ours, &jupyters);
    }
}
