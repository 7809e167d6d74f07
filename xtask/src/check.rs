//! Formatting, lints and types.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use clap::ValueEnum;

use crate::report::{Counts, Report};
use crate::repository::Repository;
use crate::{node, packages, process};

/// What is built with less than everything: the step, the package, its features.
const BUILDS: [(&str, &str, &str); 10] = [
    ("colab alone", "sandbook-runtimes", "colab"),
    ("datalayer alone", "sandbook-runtimes", "datalayer"),
    ("docker alone", "sandbook-runtimes", "docker"),
    ("eval alone", "sandbook-runtimes", "eval"),
    ("jupyter alone", "sandbook-runtimes", "jupyter"),
    ("kaggle alone", "sandbook-runtimes", "kaggle"),
    ("modal alone", "sandbook-runtimes", "modal"),
    ("monty alone", "sandbook-runtimes", "monty"),
    ("a program without what can be left out", "sandbook-cli", ""),
    ("a program with one of it", "sandbook-cli", "eval"),
];

/// The two halves of the check.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Half {
    /// Formatting and lints.
    Style,
    /// The page's types, and that those made from the protocol are the committed ones.
    Typing,
}

/// Formats all sources.
pub(crate) fn format(repository: &Repository) -> Result<bool> {
    node::require_node()?;
    node::install(&repository.page())?;
    let rust = process::succeeds(cargo(repository).args(["fmt", "--all"]))?;
    let page = process::succeeds(&mut node::npm(&repository.page(), &["run", "format"]))?;
    Ok(rust && page)
}

/// Runs one half of the check, or both.
pub(crate) fn run(repository: &Repository, only: Option<Half>) -> Result<bool> {
    packages::install(&packages::missing(packages::TO_BUILD))?;
    node::require_node()?;
    node::install(&repository.page())?;
    let mut report = Report::default();
    if only != Some(Half::Typing) {
        style(repository, &mut report);
        features(repository, &mut report);
        report.step("style", "eslint", || passes(&mut node::npm(&repository.page(), &["run", "lint"])));
    }
    if only != Some(Half::Style) {
        typing(repository, &mut report);
    }
    println!("\n{report}");
    Ok(report.is_clean())
}

/// Rust's formatting and lints.
pub(crate) fn style(repository: &Repository, report: &mut Report) {
    report.step("style", "rustfmt", || passes(cargo(repository).args(["fmt", "--all", "--check"])));
    let lint = ["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"];
    let page = repository.page();
    if report.step("style", "page for the window", || build_page(&page)) {
        report.step("style", "clippy", || passes(cargo(repository).args(lint)));
    } else {
        report.unreachable("style", "clippy", "the window's crate embeds the page");
    }
}

/// That each runtime builds without the others, and the programs with none that can be left out and with one of them.
fn features(repository: &Repository, report: &mut Report) {
    for (step, package, features) in BUILDS {
        let words =
            ["clippy", "--quiet", "--package", package, "--no-default-features", "--features", features];
        let mut lint = cargo(repository);
        lint.args(words).args(["--", "-D", "warnings"]);
        report.step("features", step, || passes(&mut lint));
    }
}

/// The page's types.
fn typing(repository: &Repository, report: &mut Report) {
    report.step("typing", "svelte-check", || passes(&mut node::npm(&repository.page(), &["run", "check"])));
    report.step("typing", "types of the protocol", || {
        let mut tests = cargo(repository);
        tests.args(["test", "--quiet", "--package", "sandbook-protocol", "--lib", "export_bindings"]);
        keeps_generated_types(repository, || passes(&mut tests))
    });
}

/// Runs tests that write the page's types from the protocol's, and fails when that changed the files that were there.
pub(crate) fn keeps_generated_types(
    repository: &Repository,
    tests: impl FnOnce() -> Result<Counts>,
) -> Result<Counts> {
    let folder = repository.page().join("src/platform/generated");
    let before = contents(&folder)?;
    let mut counts = tests()?;
    if contents(&folder)? != before {
        eprintln!(
            "error: {} was not what crates/protocol says. It has been written anew: commit it",
            folder.display()
        );
        counts.failed += 1;
    }
    Ok(counts)
}

fn contents(folder: &Path) -> Result<BTreeMap<PathBuf, Vec<u8>>> {
    let mut found = BTreeMap::new();
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(found) };
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(contents(&path)?);
        } else {
            let text = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            found.insert(path, text);
        }
    }
    Ok(found)
}

/// Builds the page into the folder that the window and the gateway embed.
pub(crate) fn build_page(page: &Path) -> Result<Counts> {
    passes(&mut node::npm(page, &["run", "--silent", "build"]))
}

/// Cargo, in the clone, with the toolchain that runs this program.
pub(crate) fn cargo(repository: &Repository) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(repository.root());
    command
}

/// Runs a command that is one check.
pub(crate) fn passes(command: &mut Command) -> Result<Counts> {
    process::succeeds(command).map(Counts::one)
}
