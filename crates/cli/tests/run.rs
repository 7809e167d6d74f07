//! `sandbook run` with real kernels and files.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends where its ground is missing"
)]

mod support;

use std::process::Command;

use sandbook_test_support::python;
use serde_json::{Value, json};
use support::{Home, Running, signal};

/// A notebook with these code cells, below a Markdown cell.
fn notebook(sources: &[&str]) -> String {
    let text = json!({ "cell_type": "markdown", "metadata": {}, "source": ["# A heading"] });
    let code = sources.iter().map(|source| {
        json!({
            "cell_type": "code", "execution_count": null, "metadata": {}, "outputs": [], "source": [source],
        })
    });
    let cells: Vec<Value> = std::iter::once(text).chain(code).collect();
    let kernel = json!({ "name": "python3", "display_name": "Python 3", "language": "python" });
    serde_json::to_string_pretty(&json!({
        "cells": cells, "metadata": { "kernelspec": kernel }, "nbformat": 4, "nbformat_minor": 4,
    }))
    .unwrap()
}

fn read(path: &std::path::Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// Jupyter's own word on a notebook.
fn is_valid(path: &std::path::Path) -> bool {
    let check =
        "import sys, nbformat; nbformat.validate(nbformat.read(sys.argv[1], as_version=nbformat.NO_CONVERT))";
    Command::new(python()).args(["-c", check]).arg(path).status().unwrap().success()
}

#[test]
fn what_the_page_would_say_of_the_file_is_said_before_the_first_cell() {
    let home = Home::new();
    let known = notebook(&["print('ran')"]);
    let newer = known
        .replace("\"nbformat\": 4", "\"nbformat\": 5")
        .replace("\"cells\"", "\"of_the_future\": [1,2],\n  \"cells\"");
    let older =
        json!({ "nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": [{ "cells": [] }] })
            .to_string();
    let broken = known.replace("\"markdown\"", "\"of the future\"");
    for (name, content, code, says) in [
        ("newer.ipynb", &newer, "newer_format", "format 5, which is newer"),
        ("older.ipynb", &older, "older_format", "the old notebook format 3"),
        ("broken.ipynb", &broken, "broken_cells", "One cell could not be read"),
    ] {
        home.write(name, content);
        let ran = home.run(&["run", name]);
        assert_eq!(ran.status, 0, "{name}: {}", ran.stderr);
        let first = ran.stderr.lines().next().unwrap();
        assert!(
            first.starts_with("warning: This file") || first.starts_with("warning: One cell"),
            "{}",
            ran.stderr
        );
        assert!(first.contains(says), "{}", ran.stderr);

        let lines = home.run(&["run", "--json", name]).lines();
        assert_eq!((&lines[0]["type"], &lines[0]["code"]), (&"notice".into(), &code.into()), "{name}");
        assert!(lines[0]["message"].as_str().unwrap().contains(says));
    }
    let kept = std::fs::read_to_string(home.path("newer.out.ipynb")).unwrap();
    assert!(kept.contains("\"nbformat\": 5") && kept.contains("\"of_the_future\": [1,2]"), "{kept}");
    assert!(kept.contains("ran"), "its cells were run: {kept}");

    home.write("known.ipynb", &known);
    assert!(!home.run(&["run", "known.ipynb"]).stderr.contains("warning"), "there is nothing to say");
}

#[test]
fn outputs_are_written_beside_the_notebook_which_is_untouched() {
    let home = Home::new();
    let sources = [
        "print('a'); print('b')",
        "import matplotlib\nmatplotlib.use('module://matplotlib_inline.backend_inline')\nimport matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.show()",
        "from IPython.display import display\nhandle = display('old', display_id=True)",
        "for i in range(3): print(f'\\r{i}', end='')",
        "handle.update('new')\n40 + 2",
    ];
    let before = notebook(&sources);
    let path = home.write("in.ipynb", &before);
    let ran = home.run(&["run", "in.ipynb"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), before);

    let out = home.path("in.out.ipynb");
    assert!(is_valid(&out));
    let cells = read(&out)["cells"].clone();
    assert_eq!(
        cells[1]["outputs"],
        json!([{ "name": "stdout", "output_type": "stream", "text": ["a\n", "b\n"] }])
    );
    assert_eq!(cells[1]["execution_count"], 1);
    // The first use of a plotting library may have something to say.
    let image =
        cells[2]["outputs"].as_array().unwrap().last().unwrap()["data"]["image/png"].as_str().unwrap();
    assert!(image.starts_with("iVBORw0KGgo"), "{image:.20}");
    assert!(
        cells[3]["outputs"][0]["data"]["text/plain"].to_string().contains("new"),
        "updated by a later cell"
    );
    assert_eq!(cells[4]["outputs"][0]["text"], json!(["2"]), "redraws are resolved, as on the page");
    assert_eq!(cells[5]["outputs"][0]["data"]["text/plain"], json!(["42"]));
    assert_eq!(read(&out)["metadata"]["language_info"]["name"], "python");
}

#[test]
fn a_failure_ends_the_run_and_what_ran_is_kept() {
    let home = Home::new();
    home.write("in.ipynb", &notebook(&["1", "raise ValueError('no')", "3"]));
    let ran = home.run(&["run", "in.ipynb", "-o", "out.ipynb"]);
    assert_eq!(ran.status, 1);
    assert!(ran.stderr.contains("ValueError: no"), "{}", ran.stderr);
    let cells = read(&home.path("out.ipynb"))["cells"].clone();
    assert_eq!(cells[2]["outputs"][0]["ename"], "ValueError");
    assert_eq!((&cells[3]["outputs"], &cells[3]["execution_count"]), (&json!([]), &Value::Null));

    let ran = home.run(&["run", "in.ipynb", "-o", "out.ipynb", "--allow-errors"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_eq!(read(&home.path("out.ipynb"))["cells"][3]["execution_count"], 3);
}

#[test]
fn a_kernel_that_dies_ends_the_run_and_what_ran_is_kept() {
    let home = Home::new();
    home.write("in.ipynb", &notebook(&["1", "import os; os.kill(os.getpid(), 9)", "3"]));
    let ran = home.run(&["run", "--allow-errors", "in.ipynb"]);
    assert_eq!(ran.status, 125);
    assert!(ran.stderr.contains("error: The kernel died (signal 9)."), "{}", ran.stderr);
    let cells = read(&home.path("in.out.ipynb"))["cells"].clone();
    assert_eq!(cells[1]["outputs"][0]["data"]["text/plain"], json!(["1"]));
}

#[test]
fn in_place_changes_the_notebook_and_only_its_outputs() {
    let home = Home::new();
    let path = home.write("in.ipynb", &notebook(&["2 + 2"]));
    assert_eq!(home.run(&["run", "--in-place", "in.ipynb"]).status, 0);
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(read(&path)["cells"][1]["outputs"][0]["data"]["text/plain"], json!(["4"]));
    assert!(text.contains("\"# A heading\"") && is_valid(&path));
    assert!(!home.path("in.out.ipynb").exists());
}

#[test]
fn a_notebook_that_somebody_changed_meanwhile_is_not_written_over() {
    let home = Home::new();
    let code = "import pathlib\npathlib.Path('in.ipynb').write_text('somebody else was here')\n'mine'";
    let path = home.write("in.ipynb", &notebook(&[code]));
    let ran = home.run(&["run", "--in-place", "in.ipynb"]);
    assert_ne!(ran.status, 0);
    assert!(ran.stderr.contains("was changed by someone else"), "{}", ran.stderr);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "somebody else was here");
    assert_eq!(read(&home.path("in.out.ipynb"))["cells"][1]["outputs"][0]["output_type"], "execute_result");
}

#[test]
fn the_time_limit_is_each_cells_own() {
    let home = Home::new();
    home.write(
        "in.ipynb",
        &notebook(&[
            "import time; time.sleep(0.7)",
            "time.sleep(0.7)",
            "print('x', flush=True); time.sleep(600)",
            "4",
        ]),
    );
    let ran = home.run(&["run", "--timeout", "5", "in.ipynb"]);
    assert_eq!(ran.status, 124, "{}", ran.stderr);
    let cells = read(&home.path("in.out.ipynb"))["cells"].clone();
    assert_eq!(cells[3]["outputs"][0]["text"], json!(["x\n"]));
    assert_eq!(cells[4]["outputs"], json!([]));
}

#[test]
fn ctrl_c_ends_the_run_and_writes_what_there_is() {
    let home = Home::new();
    home.write(
        "in.ipynb",
        &notebook(&["'done'", "print('here', flush=True)\nimport time; time.sleep(600)", "3"]),
    );
    let mut running = Running::start(home.sandbook(&["run", "--json", "in.ipynb"]));
    while !running.line().contains("\"here") {}
    signal(running.id(), "INT");
    let ran = running.end();
    assert_eq!(ran.status, 130, "{}", ran.stderr);
    let cells = read(&home.path("in.out.ipynb"))["cells"].clone();
    assert_eq!(cells[1]["outputs"][0]["data"]["text/plain"], json!(["'done'"]));
    assert_eq!(cells[2]["outputs"][0]["text"], json!(["here\n"]));
}

#[test]
fn json_names_the_cell_of_each_event_and_ends_with_the_outcome() {
    let home = Home::new();
    home.write("in.ipynb", &notebook(&["print('a')", "1/0"]));
    let ran = home.run(&["run", "--json", "in.ipynb"]);
    let lines = ran.lines();
    let of = |kind: &str| lines.iter().filter(|line| line["type"] == kind).collect::<Vec<_>>();
    assert_eq!(of("cell_started").len(), 2);
    assert_eq!(of("stream")[0]["cell"], 2);
    assert_eq!(of("cell_outcome")[1]["code_error"]["name"], "ZeroDivisionError");
    let outcome = lines.last().unwrap();
    assert_eq!(outcome["type"], "outcome");
    assert_eq!((&outcome["success"], &outcome["exit_status"]), (&json!(false), &json!(1)));
    assert_eq!((&outcome["cells_run"], &outcome["cells_failed"]), (&json!(2), &json!(1)));
    assert_eq!(outcome["file"], "in.out.ipynb");
}

#[test]
fn a_file_that_is_no_notebook_is_refused_and_untouched() {
    let home = Home::new();
    let path = home.write("in.ipynb", "not a notebook");
    let ran = home.run(&["run", "--in-place", "in.ipynb"]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.starts_with("error: in.ipynb is not a notebook"), "{}", ran.stderr);
    assert_eq!(std::fs::read_to_string(path).unwrap(), "not a notebook");
    assert_eq!(home.run(&["run", "missing.ipynb"]).status, 2);
}

#[test]
fn text_that_code_puts_into_the_next_cell_is_in_the_file_and_not_run() {
    let home = Home::new();
    let code = "get_ipython().set_next_input('1 + 1')";
    let replacing = "get_ipython().set_next_input('2 + 2', replace=True)";
    home.write("in.ipynb", &notebook(&[code, replacing, "3"]));
    assert_eq!(home.run(&["run", "in.ipynb"]).status, 0);
    let out = home.path("in.out.ipynb");
    assert!(is_valid(&out));
    let cells = read(&out)["cells"].clone();
    let sources: Vec<&Value> = cells.as_array().unwrap().iter().skip(1).map(|cell| &cell["source"]).collect();
    assert_eq!(sources, [&json!([code]), &json!(["1 + 1"]), &json!(["2 + 2"]), &json!(["3"])]);
    assert_eq!((&cells[2]["outputs"], &cells[2]["execution_count"]), (&json!([]), &Value::Null));
}

#[test]
fn a_death_is_among_the_outputs_of_its_cell() {
    let home = Home::new();
    // A kernel that is killed while it still sends loses that itself.
    home.write(
        "in.ipynb",
        &notebook(&[
            "print('before', flush=True)\nimport os, time; time.sleep(0.5); os.kill(os.getpid(), 9)",
            "2",
        ]),
    );
    assert_eq!(home.run(&["run", "in.ipynb"]).status, 125);
    let cell = read(&home.path("in.out.ipynb"))["cells"][1].clone();
    let text = cell["outputs"].to_string();
    assert!(
        text.contains("before") && text.contains("The kernel died") && text.contains("Restart"),
        "{text}"
    );
}

#[test]
fn a_target_that_cannot_be_written_is_refused_before_anything_runs() {
    let home = Home::new();
    home.write("in.ipynb", &notebook(&["open('ran', 'w').close()"]));
    home.write("file", "");
    std::fs::create_dir(home.path("folder.ipynb")).unwrap();
    std::fs::create_dir(home.path("adir")).unwrap();
    std::process::Command::new("mkfifo").arg(home.path("pipe")).status().unwrap();
    std::os::unix::fs::symlink("pipe", home.path("link")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(home.path("socket")).unwrap();
    for target in [
        "/no/such/dir/x.ipynb",
        "missing/x.ipynb",
        "file/x.ipynb",
        "folder.ipynb",
        "adir",
        "pipe",
        "link",
        "socket",
    ] {
        let ran = home.run(&["run", "in.ipynb", "-o", target]);
        assert_eq!(ran.status, 2, "{target}: {}", ran.stderr);
        assert!(ran.stderr.contains(&format!("{target} cannot be written")), "{}", ran.stderr);
        assert!(ran.stderr.contains("Nothing was run"), "{}", ran.stderr);
        assert!(!home.path("ran").exists(), "{target}");
    }
    for kept in ["pipe", "socket"] {
        assert!(!std::fs::symlink_metadata(home.path(kept)).unwrap().is_file(), "{kept}");
    }
    assert!(std::fs::symlink_metadata(home.path("link")).unwrap().is_symlink());
}

#[test]
fn the_look_at_a_target_leaves_no_trace() {
    let home = Home::new();
    home.write("in.ipynb", &notebook(&["import os; sorted(os.listdir())"]));
    let before = home.write("out.ipynb", "what was there");
    assert_eq!(home.run(&["run", "in.ipynb", "-o", "out.ipynb", "--kernel", "no-such-kernel"]).status, 125);
    assert_eq!(std::fs::read_to_string(before).unwrap(), "what was there");
    let names = std::fs::read_dir(home.path("")).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(names.into_iter().all(|name| !name.to_string_lossy().starts_with(".sandbook-")));
}

#[test]
fn the_code_runs_in_the_notebooks_folder() {
    let home = Home::new();
    std::fs::create_dir(home.path("deep")).unwrap();
    home.write("deep/in.ipynb", &notebook(&["import os; os.getcwd()"]));
    assert_eq!(home.run(&["run", "deep/in.ipynb"]).status, 0);
    let text =
        read(&home.path("deep/in.out.ipynb"))["cells"][1]["outputs"][0]["data"]["text/plain"].to_string();
    assert!(text.contains(&home.path("deep").display().to_string()), "{text}");
}

#[test]
fn a_disk_that_takes_only_a_part_leaves_the_file_as_it_was_and_nothing_half_written_beside_it() {
    let home = Home::new();
    let path = home.write("n.ipynb", &notebook(&["print('x' * 400_000)"]));
    let before = std::fs::read(&path).unwrap();
    let run = home.sandbook(&["run", "n.ipynb", "--in-place"]);
    // No file of this program may grow beyond 100 KB (the shell counts in pieces of 512 bytes).
    let mut limited = Command::new("sh");
    limited.args(["-c", "trap '' XFSZ; ulimit -f 200; exec \"$0\" \"$@\""]).arg(run.get_program());
    limited.args(run.get_args()).current_dir(home.path("")).stdin(std::process::Stdio::null());
    for (name, value) in run.get_envs() {
        match value {
            Some(value) => limited.env(name, value),
            None => limited.env_remove(name),
        };
    }
    let ran = support::Ran::of(limited.output().unwrap());
    assert_ne!(ran.status, 0, "{ran:?}");
    assert!(ran.stderr.contains("n.ipynb") && ran.stderr.contains("hint: "), "{}", ran.stderr);
    assert_eq!(std::fs::read(&path).unwrap(), before);
    let beside = std::fs::read_dir(home.path("")).unwrap().map(|entry| entry.unwrap().file_name());
    let notebooks: Vec<_> = beside.filter(|name| name.to_string_lossy().contains("ipynb")).collect();
    assert_eq!(notebooks, ["n.ipynb"]);
}
