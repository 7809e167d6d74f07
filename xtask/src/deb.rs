//! The Debian package: both programs, the worker of Monty, the desktop entry, the notebook's file type and the icons.
//!
//! It is laid out by hand and built by Debian's own tools, so the libraries it depends on are read from the programs
//! instead of being guessed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::process::Group;
use crate::repository::Repository;
use crate::session::Session;
use crate::{launch, node, packages, process, python};

/// How long the window may take until its page asks for a notebook.
const WINDOW_START: Duration = Duration::from_mins(1);

const VERSION: &str = env!("CARGO_PKG_VERSION");
const PROGRAMS: [&str; 2] = ["sandbook", "sandbook-window"];
/// Where the worker is: not among the commands, because a person has no use for it.
const WORKER: &str = "usr/lib/sandbook/monty";

/// Builds the package, and proves it on this machine where that is asked for.
pub(crate) fn run(repository: &Repository, verify: bool) -> Result<bool> {
    node::require_node()?;
    let wanted = [packages::TO_BUILD, packages::TO_SHIP, &["dpkg-dev"]].concat();
    packages::install(&packages::missing(&wanted))?;
    node::install(&repository.page())?;
    launch::build(repository)?;
    let package = build(repository)?;
    println!("{}", package.display());
    if verify { prove(&package) } else { Ok(true) }
}

fn build(repository: &Repository) -> Result<PathBuf> {
    let folder = repository.made("deb")?;
    let tree = folder.join("tree");
    if tree.exists() {
        fs::remove_dir_all(&tree).context("cannot remove the old package tree")?;
    }
    for program in PROGRAMS {
        install(&repository.release_program(program), &tree.join("usr/bin").join(program), 0o755)?;
    }
    install(&repository.release_program(python::WORKER), &tree.join(WORKER), 0o755)?;
    let parts = repository.root().join("src-tauri");
    install(
        &parts.join("linux/sandbook.desktop"),
        &tree.join("usr/share/applications/sandbook.desktop"),
        0o644,
    )?;
    for (file, size) in [("32x32.png", "32x32"), ("128x128.png", "128x128"), ("icon.png", "512x512")] {
        let place = format!("usr/share/icons/hicolor/{size}/apps/sandbook.png");
        install(&parts.join("icons").join(file), &tree.join(place), 0o644)?;
    }
    let documents = tree.join("usr/share/doc/sandbook");
    for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
        install(&repository.root().join(licence), &documents.join(licence), 0o644)?;
    }
    write(&documents.join("copyright"), COPYRIGHT)?;
    write(&tree.join("DEBIAN/control"), &control(&dependencies(&folder, &tree)?, &architecture()?))?;

    let package = folder.join(format!("sandbook_{VERSION}_{}.deb", architecture()?));
    process::must_succeed(
        Command::new("dpkg-deb").args(["--root-owner-group", "--build"]).arg(&tree).arg(&package),
    )?;
    Ok(package)
}

/// Which packages hold the libraries that the programs are linked with.
fn dependencies(folder: &Path, tree: &Path) -> Result<String> {
    // dpkg-shlibdeps wants to be inside a source package.
    write(&folder.join("debian/control"), "Source: sandbook\n\nPackage: sandbook\nArchitecture: any\n")?;
    let mut command = Command::new("dpkg-shlibdeps");
    command.current_dir(folder).arg("-O");
    command.args(PROGRAMS.map(|program| tree.join("usr/bin").join(program))).arg(tree.join(WORKER));
    let printed = process::printed(&mut command).context("dpkg-shlibdeps could not read the programs")?;
    let found = printed.strip_prefix("shlibs:Depends=").context("dpkg-shlibdeps named no libraries")?;
    Ok(found.to_owned())
}

fn architecture() -> Result<String> {
    process::printed(Command::new("dpkg").arg("--print-architecture"))
        .context("dpkg did not name the architecture")
}

fn control(dependencies: &str, architecture: &str) -> String {
    format!(
        "Package: sandbook\nVersion: {VERSION}\nArchitecture: {architecture}\nMaintainer: The Sandbook developers\n\
         Section: science\nPriority: optional\nDepends: {dependencies}\nRecommends: python3-venv\n\
         Description: Notebook workbench for code sandboxes\n \
         Opens notebooks, runs their cells on a kernel on this computer or on a Jupyter\n \
         server, and shows their output as it arrives.\n"
    )
}

const COPYRIGHT: &str = "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\
    Upstream-Name: sandbook\n\nFiles: *\nCopyright: The Sandbook developers\nLicense: MIT or Apache-2.0\n \
    The texts are in LICENSE-MIT and LICENSE-APACHE beside this file.\n\n\
    Files: usr/lib/sandbook/monty\nCopyright: Pydantic Services Inc.\nLicense: MIT\n \
    The program of pydantic-monty-runtime, from https://github.com/pydantic/monty. The text is in LICENSE-MIT.\n";

/// Installs the package, runs code with the installed command line, opens the installed window on a display of its own,
/// and takes everything away again.
fn prove(package: &Path) -> Result<bool> {
    packages::install(&packages::missing(packages::TO_TEST))?;
    packages::install(&packages::missing(packages::TO_TEST_THE_WINDOW))?;
    if process::printed(Command::new("dpkg-query").args(["-W", "sandbook"])).is_some() {
        bail!("a sandbook package is installed here already, and it would be replaced. Remove it first");
    }
    let name = package.to_str().context("the package's path is not text")?;
    packages::install(&[name])?;
    let started = PROGRAMS.iter().map(|program| Path::new("/usr/bin").join(program)).all(|program| {
        let version = process::printed(Command::new(&program).arg("--version"));
        println!("{} --version: {}", program.display(), version.as_deref().unwrap_or("failed"));
        version.is_some_and(|version| version.contains(VERSION))
    });
    let works = started && works()?;
    packages::remove("sandbook")?;
    Ok(works)
}

/// Whether the installed programs do what they are for.
fn works() -> Result<bool> {
    let session = Session::start()?.with_display()?;
    let mut exec = Command::new("/usr/bin/sandbook");
    session.enter(exec.args(["exec", "--runtime", "eval", "print(6 * 7)"]));
    let answer = process::printed(&mut exec);
    println!("sandbook exec: {}", answer.as_deref().unwrap_or("failed"));
    // without a path there is no worker but the packaged one
    let mut exec = Command::new("/usr/bin/sandbook");
    session.enter(exec.args(["exec", "--runtime", "monty", "6 * 7"]).env("PATH", ""));
    let by_worker = process::printed(&mut exec);
    println!("sandbook exec --runtime monty: {}", by_worker.as_deref().unwrap_or("failed"));

    let folder = tempfile::tempdir().context("cannot make a folder for a notebook")?;
    let notebook = folder.path().join("opened.ipynb");
    write(&notebook, r#"{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}"#)?;
    let mut window = Command::new("/usr/bin/sandbook-window");
    session.enter(window.arg(&notebook).stdin(Stdio::null()));
    let _window = Group::start(&mut window)?;
    // The notebook is among the recent ones once the page has come so far that it asks for it.
    let name = notebook.to_str().context("the notebook's path is not text")?;
    let deadline = Instant::now() + WINDOW_START;
    let mut is_open = false;
    while !is_open && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(200));
        is_open = session.remembers(name);
    }
    println!("sandbook-window: {}", if is_open { "open" } else { "did not open" });
    let mut quit = Command::new("/usr/bin/sandbook");
    session.enter(quit.args(["quit", "--force"]));
    process::printed(&mut quit);
    let answered = [answer, by_worker].iter().all(|answer| answer.as_deref() == Some("42"));
    Ok(answered && is_open)
}

fn install(from: &Path, to: &Path, mode: u32) -> Result<()> {
    make_parent(to)?;
    fs::copy(from, to).with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    fs::set_permissions(to, fs::Permissions::from_mode(mode))
        .with_context(|| format!("cannot set the rights of {}", to.display()))
}

fn write(to: &Path, text: &str) -> Result<()> {
    make_parent(to)?;
    fs::write(to, text).with_context(|| format!("cannot write {}", to.display()))
}

fn make_parent(file: &Path) -> Result<()> {
    let parent = file.parent().with_context(|| format!("{} has no folder", file.display()))?;
    fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))
}

#[cfg(test)]
mod tests {
    use super::control;

    #[test]
    fn the_control_file_names_what_dpkg_requires() {
        let text = control("libc6", "amd64");
        for field in ["Package: sandbook\n", "Architecture: amd64\n", "Depends: libc6\n", "\nDescription: "] {
            assert!(text.contains(field), "{field:?} is missing in {text}");
        }
        assert!(text.ends_with('\n'));
        assert!(text.lines().all(|line| !line.is_empty()), "an empty line would end the paragraph");
    }
}
