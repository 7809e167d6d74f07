//! Building Sandbook and opening it: what somebody who has just cloned the repository runs.

use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::check::{build_page, cargo};
use crate::repository::Repository;
use crate::{node, packages, process};

/// Installs what is missing, builds the release programs, and opens the window or serves the page.
pub(crate) fn run(repository: &Repository, notebook: Option<&Path>, yes: bool, web: bool) -> Result<bool> {
    let notebook =
        notebook.map(|path| path.canonicalize().with_context(|| format!("cannot open {}", path.display())));
    let notebook = notebook.transpose()?;
    node::require_node()?;
    let packages = packages::missing(packages::TO_BUILD);
    let page = node::is_stale(&repository.page());
    if !agrees(&packages, page, yes)? {
        println!("Nothing was installed.");
        return Ok(false);
    }
    packages::install(&packages)?;
    node::install(&repository.page())?;
    build(repository)?;

    let program = repository.release_program("sandbook");
    let has_display = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some());
    if web || !has_display {
        if !web {
            println!("There is no display here, so the page is served to a browser instead.");
        }
        return process::in_foreground(Command::new(program).arg("web").args(notebook));
    }
    process::in_foreground(Command::new(repository.release_program("sandbook-window")).args(notebook))
}

/// Builds the page and both programs with the release profile.
pub(crate) fn build(repository: &Repository) -> Result<()> {
    println!("building the page");
    if build_page(&repository.page())?.failed > 0 {
        bail!("the page could not be built");
    }
    println!("building the programs; the first time this takes some minutes");
    let programs = ["build", "--release", "--package", "sandbook-cli", "--package", "sandbook-window"];
    process::must_succeed(cargo(repository).args(programs))
}

/// Lists what would be installed and asks, unless that was answered already or nobody can answer.
fn agrees(packages: &[&str], page: bool, yes: bool) -> Result<bool> {
    if packages.is_empty() && !page {
        return Ok(true);
    }
    println!("To be installed:");
    if !packages.is_empty() {
        println!("  system packages: {}", packages.join(" "));
    }
    if page {
        println!("  the page's npm packages, into ui/node_modules");
    }
    if yes || !std::io::stdin().is_terminal() {
        return Ok(true);
    }
    print!("Go on? [Y/n] ");
    std::io::stdout().flush().context("cannot ask")?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).context("cannot read the answer")?;
    Ok(is_yes(&answer))
}

fn is_yes(answer: &str) -> bool {
    matches!(answer.trim().to_lowercase().as_str(), "" | "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_empty_answer_or_a_yes_goes_on() {
        for answer in ["\n", "y\n", " Yes \n"] {
            assert!(is_yes(answer), "{answer:?}");
        }
        for answer in ["n\n", "no\n", "what?\n"] {
            assert!(!is_yes(answer), "{answer:?}");
        }
    }

    #[test]
    fn nothing_is_asked_when_nothing_is_missing() {
        assert!(agrees(&[], false, false).expect("no question"));
    }
}
