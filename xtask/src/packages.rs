//! Debian's packages: which ones a task needs, which of them are missing, how they get installed.

use std::process::Command;

use anyhow::{Result, bail};

use crate::process;

/// What compiling the workspace needs beside Rust: the C compiler and the web view's headers.
pub(crate) const TO_BUILD: &[&str] =
    &["build-essential", "pkg-config", "libwebkit2gtk-4.1-dev", "libgtk-3-dev", "libdbus-1-dev"];

/// What the Rust tests need: a Python with `venv`, a message bus and a keyring to unlock on it.
pub(crate) const TO_TEST: &[&str] = &["python3", "python3-venv", "dbus", "gnome-keyring"];

/// What driving the real window without a screen needs.
pub(crate) const TO_TEST_THE_WINDOW: &[&str] = &["xvfb", "webkit2gtk-driver", "fonts-dejavu-core"];

/// What driving a browser needs.
pub(crate) const TO_TEST_IN_A_BROWSER: &[&str] = &["chromium", "fonts-dejavu-core"];

/// Those of the wanted packages that are not installed, each once, in the order given.
pub(crate) fn missing(wanted: &[&'static str]) -> Vec<&'static str> {
    let mut missing = Vec::new();
    for package in wanted {
        if !missing.contains(package) && !is_present(package) {
            missing.push(*package);
        }
    }
    missing
}

fn is_present(package: &str) -> bool {
    // A browser or a Python that is already there, from wherever, serves as well as Debian's.
    match package {
        "chromium" if browser().is_some() => return true,
        "python3" | "python3-venv" if crate::python::interpreter().is_some() => return true,
        _ => {}
    }
    let status = process::printed(Command::new("dpkg-query").args(["-W", "-f=${db:Status-Status}", package]));
    status.as_deref() == Some("installed")
}

/// A browser of the Chromium family: `SANDBOOK_TEST_CHROMIUM`, or the first one on the path.
pub(crate) fn browser() -> Option<std::path::PathBuf> {
    let given = std::env::var_os("SANDBOOK_TEST_CHROMIUM").map(std::path::PathBuf::from);
    let known = ["chromium", "google-chrome", "google-chrome-stable"];
    given.or_else(|| known.iter().find_map(|name| process::find_on_path(name)))
}

/// Installs packages as root or through sudo.
pub(crate) fn install(packages: &[&str]) -> Result<()> {
    if packages.is_empty() {
        return Ok(());
    }
    if !process::is_on_path("apt-get") {
        bail!(
            "these packages are missing and there is no apt-get to install them: {}. \
             Install what they are called on this system, then try again",
            packages.join(" ")
        );
    }
    println!("installing {}", packages.join(" "));
    if !process::in_foreground(&mut as_root(&["apt-get", "update", "-q"])?)? {
        eprintln!("warning: the package lists could not all be refreshed, going on with what is known");
    }
    let mut command = as_root(&["apt-get", "install", "-q", "-y", "--no-install-recommends"])?;
    if !process::in_foreground(command.args(packages))? {
        bail!("apt-get could not install {}. What it printed above says why", packages.join(" "));
    }
    Ok(())
}

/// Removes a package and its configuration.
pub(crate) fn remove(package: &str) -> Result<()> {
    if !process::in_foreground(&mut as_root(&["apt-get", "purge", "-q", "-y", package])?)? {
        bail!("apt-get could not remove {package}");
    }
    Ok(())
}

/// A command with root's rights. It never waits for an answer but sudo's password.
fn as_root(words: &[&str]) -> Result<Command> {
    let (program, arguments) = words.split_first().map_or(("true", &[][..]), |(first, rest)| (*first, rest));
    let mut command = if nix::unistd::geteuid().is_root() {
        Command::new(program)
    } else if process::is_on_path("sudo") {
        let mut sudo = Command::new("sudo");
        sudo.args(["--preserve-env=DEBIAN_FRONTEND", program]);
        sudo
    } else {
        bail!("installing packages needs root or sudo, and neither is here");
    };
    command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_package_is_named_once() {
        let wanted = ["a-package-nobody-makes", "a-package-nobody-makes"];
        assert_eq!(missing(&wanted), ["a-package-nobody-makes"]);
    }
}
