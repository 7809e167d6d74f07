//! `docs/parity.md` has a row for all that the field's Python package offers, and what it names here is there.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop")]

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    process::Command,
};

/// A row: what it is called there, and what does it here.
type Rows = BTreeMap<String, Vec<(String, String, String)>>;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The page's rows, by the heading above them.
fn page() -> Rows {
    let text = std::fs::read_to_string(repository().join("docs/parity.md")).unwrap();
    let mut rows = Rows::new();
    for section in text.split("\n## ").skip(1) {
        let (heading, body) = section.split_once('\n').unwrap();
        let cells = body.lines().filter(|line| line.starts_with("| `")).map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
            let [there, here, why] = cells[..] else { panic!("a row has three cells: {line}") };
            (
                there.trim_matches(['`', ' ']).to_owned(),
                here.to_owned(),
                why.trim_end_matches([' ', '|']).to_owned(),
            )
        });
        rows.insert(heading.to_owned(), cells.collect());
    }
    rows
}

/// The names that the package itself tells.
fn surface() -> BTreeMap<String, BTreeSet<String>> {
    let output = Command::new(sandbook_test_support::python())
        .arg("-B")
        .arg(repository().join("tests/parity/surface.py"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"))
}

/// The sources of the contract and the runtimes.
fn sources(folder: &Path, text: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, text);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text.push_str(&std::fs::read_to_string(path).unwrap());
        }
    }
}

#[test]
fn every_name_of_the_package_has_one_row_and_no_row_is_of_nothing() {
    let page = page();
    for (group, names) in surface() {
        let rows = page.get(&group).unwrap_or_else(|| panic!("{group} has no section"));
        let told: Vec<&String> = rows.iter().map(|(there, ..)| there).collect();
        let set: BTreeSet<String> = told.iter().map(|name| (*name).clone()).collect();
        assert_eq!(told.len(), set.len(), "{group}: a name has two rows");
        assert_eq!(set, names, "{group}");
    }
}

#[test]
fn what_a_row_names_is_there_and_what_is_not_has_a_reason() {
    let mut text = String::new();
    for crate_ in ["sandbox", "runtimes"] {
        sources(&repository().join("crates").join(crate_).join("src"), &mut text);
    }
    for (group, rows) in page() {
        for (there, here, why) in rows {
            let Some(name) = here.strip_prefix('`').and_then(|name| name.strip_suffix('`')) else {
                assert!(["no", "not yet"].contains(&here.as_str()), "{group}.{there}: {here}");
                assert!(why.split(' ').count() > 1, "{group}.{there}: {here} wants a reason");
                continue;
            };
            let (kind, member) = name.split_once("::").unwrap_or_else(|| panic!("{group}.{there}: {name}"));
            let is_there = [format!("fn {member}"), format!("pub {member}:")];
            assert!(
                text.contains(&format!("{kind} ")) && is_there.iter().any(|item| text.contains(item)),
                "{name}"
            );
        }
    }
}
