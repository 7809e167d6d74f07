//! Building Sandbook and opening it: what somebody who has just cloned the repository runs.

use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;
use std::process::Command;
use std::time::SystemTime;

use anyhow::{Context, Result, bail};

use crate::check::{build_page, cargo};
use crate::repository::Repository;
use crate::{node, packages, process, python};

/// Installs what is missing, builds the release programs, and opens the window or serves the page.
pub(crate) fn run(repository: &Repository, notebook: Option<&Path>, yes: bool, web: bool) -> Result<bool> {
    let notebook =
        notebook.map(|path| path.canonicalize().with_context(|| format!("cannot open {}", path.display())));
    let notebook = notebook.transpose()?;
    node::require_node()?;
    let packages = packages::missing(&[packages::TO_BUILD, packages::TO_RUN, packages::TO_SHIP].concat());
    let page = node::is_stale(&repository.page());
    if !agrees(&listed(&packages, page, !python::has_worker(repository)), yes)? {
        println!("Nothing was installed.");
        return Ok(false);
    }
    packages::install(&packages)?;
    node::install(&repository.page())?;
    build(repository)?;

    let has_display = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some());
    if !web && !has_display {
        println!("There is no display here, so the page is served to a browser instead.");
    }
    let (program, arguments) = way(web, has_display);
    process::in_foreground(Command::new(repository.release_program(program)).args(arguments).args(notebook))
}

/// Which program shows the notebook, and how it is called.
fn way(web: bool, has_display: bool) -> (&'static str, &'static [&'static str]) {
    if web || !has_display { ("sandbook", &["web"]) } else { ("sandbook-window", &[]) }
}

/// Builds the page and both programs with the release profile, and puts the worker of Monty beside them.
pub(crate) fn build(repository: &Repository) -> Result<()> {
    // A page that is built again is embedded again, which links both programs anew: minutes for nothing.
    if is_built(&repository.page()) {
        println!("the page is as it was built");
    } else {
        println!("building the page");
        if build_page(&repository.page())?.failed > 0 {
            bail!("the page could not be built");
        }
    }
    println!("building the programs; the first time this takes five to twenty minutes");
    let programs = ["build", "--release", "--package", "sandbook-cli", "--package", "sandbook-window"];
    process::must_succeed(cargo(repository).args(programs))?;
    let (worker, beside) = (python::worker(repository)?, repository.release_program(python::WORKER));
    std::fs::copy(&worker, &beside)
        .with_context(|| format!("cannot copy {} to {}", worker.display(), beside.display()))?;
    Ok(())
}

/// Whether the built page is newer than everything that it is made from.
fn is_built(page: &Path) -> bool {
    let sources = std::fs::read_dir(page).into_iter().flatten().flatten();
    let sources = sources
        .filter(|entry| !["dist", "node_modules", "tests"].map(Into::into).contains(&entry.file_name()));
    let newest = sources.filter_map(|entry| changed(&entry.path())).max();
    let built = changed(&page.join("dist/index.html"));
    newest.is_some() && built.is_some_and(|built| Some(built) >= newest)
}

/// When a file, or the newest file of a folder, was changed.
fn changed(place: &Path) -> Option<SystemTime> {
    let metadata = std::fs::metadata(place).ok()?;
    if metadata.is_file() {
        return metadata.modified().ok();
    }
    std::fs::read_dir(place).ok()?.flatten().filter_map(|entry| changed(&entry.path())).max()
}

/// Lists what would be installed and asks, unless that was answered already or nobody can answer.
fn agrees(listed: &[String], yes: bool) -> Result<bool> {
    if listed.is_empty() {
        return Ok(true);
    }
    println!("To be installed:\n  {}", listed.join("\n  "));
    if yes || !std::io::stdin().is_terminal() {
        return Ok(true);
    }
    print!("Go on? [Y/n] ");
    std::io::stdout().flush().context("cannot ask")?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).context("cannot read the answer")?;
    Ok(is_yes(&answer))
}

/// What would be installed, for a person to read.
fn listed(packages: &[&str], page: bool, worker: bool) -> Vec<String> {
    let system = (!packages.is_empty()).then(|| format!("system packages: {}", packages.join(" ")));
    let page = page.then(|| "the page's npm packages, into ui/node_modules".to_owned());
    let worker = worker.then(|| "the worker of Monty, 12 MB, into the cache".to_owned());
    system.into_iter().chain(page).chain(worker).collect()
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
    fn all_that_is_missing_is_listed_before_anything_is_installed() {
        let text = listed(&["pkg-config", "libgtk-3-dev"], true, true).join("\n");
        assert!(text.contains("system packages: pkg-config libgtk-3-dev") && text.contains("npm packages"));
        assert!(text.contains("worker of Monty"));
        assert_eq!(listed(&["pkg-config"], false, false), ["system packages: pkg-config"]);
        assert!(listed(&[], false, false).is_empty());
    }

    #[test]
    fn a_yes_before_or_no_terminal_to_answer_at_goes_on_without_a_question() {
        assert!(agrees(&["a package".into()], true).expect("no question"));
        // A test has no terminal as its input.
        assert!(agrees(&["a package".into()], false).expect("no question"));
    }

    #[test]
    fn without_a_display_the_page_is_served_and_with_one_the_window_opens() {
        assert_eq!(way(false, true).0, "sandbook-window");
        assert_eq!(way(false, false), ("sandbook", &["web"][..]));
        assert_eq!(way(true, true), ("sandbook", &["web"][..]), "asked for");
    }

    #[test]
    fn a_page_is_built_again_only_when_something_of_it_is_newer() {
        let page = tempfile::tempdir().expect("a folder");
        let file = |name: &str, age: u64| {
            let path = page.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            let file = std::fs::File::create(path).expect("a file");
            file.set_modified(SystemTime::now() - std::time::Duration::from_secs(age)).expect("a time");
        };
        file("src/parts/Mark.svelte", 100);
        file("package-lock.json", 90);
        assert!(!is_built(page.path()), "it was never built");
        file("dist/index.html", 50);
        file("node_modules/x.js", 10);
        assert!(is_built(page.path()));
        file("src/parts/Mark.svelte", 20);
        assert!(!is_built(page.path()), "a part is newer");
    }

    #[test]
    fn nothing_is_asked_when_nothing_is_missing() {
        assert!(agrees(&[], false).expect("no question"));
    }
}
