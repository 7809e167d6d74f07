//! Debian's packages: which ones a task needs, which of them are missing, how they get installed.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::process;

/// What compiling the workspace needs beside Rust: the C compiler and the web view's headers.
pub(crate) const TO_BUILD: &[&str] =
    &["build-essential", "pkg-config", "libwebkit2gtk-4.1-dev", "libgtk-3-dev", "libdbus-1-dev"];

/// What running Sandbook is best with: a Python that can make the private environment it offers. Debian's alone cannot.
pub(crate) const TO_RUN: &[&str] = &["python3-venv"];

/// What fetching the worker of Monty needs: a Python with `venv`.
pub(crate) const TO_SHIP: &[&str] = &["python3", "python3-venv"];

/// What the Rust tests need: a Python with `venv`, a message bus and a keyring to unlock on it.
pub(crate) const TO_TEST: &[&str] = &["python3", "python3-venv", "dbus", "gnome-keyring"];

/// What the tests of the docker runtime need: an engine, and what makes the base of their image.
pub(crate) const TO_TEST_CONTAINERS: &[&str] = &["docker.io", "iptables", "mmdebstrap"];

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
    // A browser, a Python or an engine that is already there, from wherever, serves as well as Debian's.
    match package {
        "chromium" if browser().is_some() => return true,
        "docker.io" if process::is_on_path("dockerd") => return true,
        "iptables" if process::is_on_path("iptables") => return true,
        "python3" | "python3-venv" if crate::python::interpreter().is_some() => return true,
        _ => {}
    }
    let status = process::printed(Command::new("dpkg-query").args(["-W", "-f=${db:Status-Status}", package]));
    status.as_deref() == Some("installed")
}

/// A browser of the Chromium family: `SANDBOOK_TEST_CHROMIUM`, or the first one on the path.
pub(crate) fn browser() -> Option<std::path::PathBuf> {
    let given = std::env::var_os("SANDBOOK_TEST_CHROMIUM").map(std::path::PathBuf::from);
    let known = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
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
    refresh()?;
    let mut command = as_root(&["apt-get", "install", "-q", "-y", "--no-install-recommends"])?;
    if !process::in_foreground(command.args(packages))? {
        bail!(could_not_install(packages));
    }
    Ok(())
}

/// Puts what a package holds into a folder, without installing it.
pub(crate) fn unpack(package: &str, folder: &Path) -> Result<()> {
    println!("unpacking {package}");
    refresh()?;
    process::must_succeed(Command::new("apt-get").args(["download", "-q", package]).current_dir(folder))?;
    for entry in std::fs::read_dir(folder)?.flatten() {
        let archive = entry.path();
        if archive.extension().is_some_and(|extension| extension == "deb") {
            process::must_succeed(Command::new("dpkg").arg("--extract").arg(&archive).arg(folder))?;
            std::fs::remove_file(&archive)?;
        }
    }
    Ok(())
}

/// Asks for the present lists of packages.
fn refresh() -> Result<()> {
    if !process::in_foreground(&mut as_root(&["apt-get", "update", "-q"])?)? {
        eprintln!("warning: the package lists could not all be refreshed, going on with what is known");
    }
    Ok(())
}

fn could_not_install(packages: &[&str]) -> String {
    let said = format!("apt-get could not install {}. What it printed above says why", packages.join(" "));
    if !packages.contains(&"chromium") {
        return said;
    }
    // Ubuntu has no such package: its Chromium is a snap.
    format!(
        "{said}. On Ubuntu, `snap install chromium` brings the browser; any of its family will do, \
         if SANDBOOK_TEST_CHROMIUM says where it is"
    )
}

/// Removes a package and its configuration.
pub(crate) fn remove(package: &str) -> Result<()> {
    if !process::in_foreground(&mut as_root(&["apt-get", "purge", "-q", "-y", package])?)? {
        bail!("apt-get could not remove {package}");
    }
    Ok(())
}

/// A command with root's rights. It never waits for an answer but sudo's password.
pub(crate) fn as_root(words: &[&str]) -> Result<Command> {
    let prefix = before(nix::unistd::geteuid().is_root(), process::is_on_path("sudo"))?;
    let mut whole = prefix.iter().chain(words);
    let mut command = Command::new(whole.next().unwrap_or(&"true"));
    command.args(whole).env("DEBIAN_FRONTEND", "noninteractive");
    Ok(command)
}

/// What stands before a command that needs root's rights.
fn before(is_root: bool, has_sudo: bool) -> Result<&'static [&'static str]> {
    match (is_root, has_sudo) {
        (true, _) => Ok(&[]),
        (false, true) => Ok(&["sudo", "--preserve-env=DEBIAN_FRONTEND"]),
        (false, false) => bail!("installing packages needs root or sudo, and neither is here"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_package_is_named_once() {
        let wanted = ["a-package-nobody-makes", "a-package-nobody-makes"];
        assert_eq!(missing(&wanted), ["a-package-nobody-makes"]);
    }

    #[test]
    fn a_user_installs_by_sudo_and_root_without() {
        assert_eq!(before(true, true).expect("root may"), [""; 0]);
        assert_eq!(before(false, true).expect("sudo may").first(), Some(&"sudo"));
        assert!(before(false, false).expect_err("nobody may").to_string().contains("root or sudo"));
    }

    #[test]
    fn where_the_browser_is_no_package_it_is_said_how_to_get_one() {
        assert!(could_not_install(&["xvfb", "chromium"]).contains("snap install chromium"));
        assert!(!could_not_install(&["xvfb"]).contains("snap"));
    }
}
