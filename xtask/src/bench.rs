//! The figures: Sandbook and its peers on the same work in one run, each as a ratio.
//!
//! This file brings together what a run needs: the peers in a Python environment outside the clone, the release
//! programs, a browser, a session with a display. What is measured and how is in `tests/bench`, in the language of the
//! browser's driver, because most of it happens in pages.

use std::process::Command;

use anyhow::{Context, Result};

use crate::check::cargo;
use crate::engine::Containers;
use crate::repository::Repository;
use crate::session::Session;
use crate::{launch, node, packages, process, python};

/// Installs the peers, builds the programs, measures, and prints the table. Returns whether every wanted ratio was
/// reached.
pub(crate) fn run(repository: &Repository, only: &[String], quick: bool) -> Result<bool> {
    let wanted =
        [packages::TO_BUILD, packages::TO_TEST, packages::TO_TEST_IN_A_BROWSER, packages::TO_TEST_THE_WINDOW];
    let mut needed = wanted.concat();
    if is_wanted(only, "container") {
        needed.extend(packages::TO_TEST_CONTAINERS);
    }
    packages::install(&packages::missing(&needed))?;
    node::require_node()?;
    node::install(&repository.page())?;
    let folder = repository.bench();
    node::install(&folder)?;
    let python = python::peers(repository)?;
    launch::build(repository)?;
    println!("building the clients of the wire");
    for (package, example) in [
        ("sandbook-jupyter", "roundtrip"),
        ("sandbook-runtimes", "kernels"),
        ("sandbook-runtimes", "first_result"),
        ("sandbook-runtimes", "parse_links"),
        ("sandbook-runtimes", "container_ready"),
    ] {
        let words = ["build", "--release", "--package", package, "--example", example];
        process::must_succeed(cargo(repository).args(words))?;
    }

    let browser = packages::browser().context("no browser of the Chromium family was found")?;
    let session = Session::start()?.with_display()?;
    let containers = is_wanted(only, "container").then(|| Containers::start(repository)).transpose()?;
    let mut command = Command::new("node");
    session.enter(&mut command);
    if let Some(containers) = &containers {
        containers.enter(&mut command);
    }
    command.current_dir(&folder).arg("src/run.js").args(only.iter().flat_map(|name| ["--only", name]));
    if quick {
        command.arg("--quick");
    }
    command.env("SANDBOOK_BENCH_PYTHON", python).env("SANDBOOK_TEST_CHROMIUM", browser);
    command.env("SANDBOOK_BENCH_PROGRAM", repository.release_program("sandbook"));
    command.env("SANDBOOK_BENCH_WINDOW", repository.release_program("sandbook-window"));
    command.env("SANDBOOK_BENCH_EXAMPLES", repository.release_program("examples"));
    command.env("SANDBOOK_BENCH_OUT", repository.made("bench")?);
    process::succeeds(&mut command)
}

/// Whether a measure is among those that were asked for; all are if none is named.
fn is_wanted(only: &[String], measure: &str) -> bool {
    only.is_empty() || only.iter().flat_map(|names| names.split(',')).any(|name| name == measure)
}
