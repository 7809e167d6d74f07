//! A desktop session of the tests' own: a message bus, an unlocked keyring and, for the window, a display.
//!
//! The tests must not touch the keyring, the settings or the running owner of the person who starts them, so every
//! folder that the desktop's standards name is replaced as well. All of it is gone when the session is dropped.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::process::{Group, printed};

/// How long the keyring may take until it is on the bus.
const KEYRING_START: Duration = Duration::from_secs(30);

/// A running private session.
pub(crate) struct Session {
    // The order matters: the keyring goes before its bus, and the folder after everyone who writes to it.
    display: Option<(Group, String)>,
    _keyring: Group,
    bus: (Group, String),
    folder: tempfile::TempDir,
}

impl Session {
    /// Starts the bus and unlocks a new keyring on it.
    pub(crate) fn start() -> Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("sandbook-")
            .tempdir_in("/tmp")
            .context("cannot make a folder for the tests' session")?;
        for name in ["run", "data", "config", "state", "cache"] {
            make_private(&folder.path().join(name))?;
        }
        let bus = start_bus(folder.path())?;
        let keyring = start_keyring(folder.path(), &bus.1)?;
        Ok(Self { display: None, _keyring: keyring, bus, folder })
    }

    /// Adds a display without a screen, for the window.
    pub(crate) fn with_display(mut self) -> Result<Self> {
        let mut server = Group::start(
            Command::new("Xvfb")
                .args(["-displayfd", "1", "-screen", "0", "1280x900x24", "-nolisten", "tcp", "-noreset"])
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::null()),
        )?;
        let number = first_line(&mut server).context("Xvfb did not name its display")?;
        self.display = Some((server, format!(":{number}")));
        Ok(self)
    }

    /// Whether some program has written this into the state that it keeps in the session.
    pub(crate) fn remembers(&self, text: &str) -> bool {
        holds(&self.folder.path().join("state"), text.as_bytes())
    }

    /// Lets a command run inside the session.
    pub(crate) fn enter(&self, command: &mut Command) {
        enter_folder(self.folder.path(), command);
        command.env("DBUS_SESSION_BUS_ADDRESS", &self.bus.1);
        // No bridge to a screen reader: it would be started on the bus, and nobody listens.
        command.env("NO_AT_BRIDGE", "1").env("GTK_A11Y", "none").env_remove("WAYLAND_DISPLAY");
        match &self.display {
            Some((_, name)) => command.env("DISPLAY", name),
            None => command.env_remove("DISPLAY"),
        };
    }
}

fn holds(place: &Path, wanted: &[u8]) -> bool {
    std::fs::read_dir(place).into_iter().flatten().flatten().any(|entry| {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            return holds(&entry.path(), wanted);
        }
        std::fs::read(entry.path()).is_ok_and(|held| held.windows(wanted.len()).any(|part| part == wanted))
    })
}

fn enter_folder(folder: &Path, command: &mut Command) {
    let places = [
        ("XDG_RUNTIME_DIR", "run"),
        ("XDG_DATA_HOME", "data"),
        ("XDG_CONFIG_HOME", "config"),
        ("XDG_STATE_HOME", "state"),
        ("XDG_CACHE_HOME", "cache"),
    ];
    for (variable, name) in places {
        command.env(variable, folder.join(name));
    }
}

fn start_bus(folder: &Path) -> Result<(Group, String)> {
    let file = folder.join("bus.conf");
    std::fs::write(&file, bus_configuration(folder))
        .context("cannot write the message bus's configuration")?;
    let mut command = Command::new("dbus-daemon");
    command.arg("--config-file").arg(&file).args(["--nofork", "--nopidfile", "--print-address=1"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    enter_folder(folder, &mut command);
    let mut bus = Group::start(&mut command)?;
    let address = first_line(&mut bus).context("the message bus did not say where it listens")?;
    Ok((bus, address))
}

/// A session bus that starts no service by itself: whoever asks for the keyring before it is on the bus would get a
/// second, locked one, and the first could never take its name.
fn bus_configuration(folder: &Path) -> String {
    format!(
        "<busconfig>\n<type>session</type>\n<listen>unix:dir={}</listen>\n<auth>EXTERNAL</auth>\n\
         <policy context=\"default\">\n<allow send_destination=\"*\" eavesdrop=\"true\"/>\n<allow eavesdrop=\"true\"/>\n<allow own=\"*\"/>\n</policy>\n</busconfig>\n",
        folder.join("run").display()
    )
}

fn start_keyring(folder: &Path, address: &str) -> Result<Group> {
    let mut command = Command::new("gnome-keyring-daemon");
    command.args(["--foreground", "--unlock", "--components=secrets"]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    command.env("DBUS_SESSION_BUS_ADDRESS", address);
    enter_folder(folder, &mut command);
    let mut keyring = Group::start(&mut command)?;
    // The keyring is new and thrown away, so its password protects nothing.
    keyring.input()?.write_all(b"throwaway").context("cannot unlock the tests' keyring")?;
    wait_for_keyring(address)?;
    Ok(keyring)
}

/// Waits until the keyring is on the bus, so that nobody who enters the session can come before it.
fn wait_for_keyring(address: &str) -> Result<()> {
    let deadline = Instant::now() + KEYRING_START;
    loop {
        let mut ask = Command::new("dbus-send");
        ask.args(["--session", "--print-reply", "--dest=org.freedesktop.DBus", "/org/freedesktop/DBus"]);
        ask.args(["org.freedesktop.DBus.NameHasOwner", "string:org.freedesktop.secrets"]);
        ask.env("DBUS_SESSION_BUS_ADDRESS", address);
        if printed(&mut ask).is_some_and(|answer| answer.contains("boolean true")) {
            return Ok(());
        }
        anyhow::ensure!(Instant::now() < deadline, "the tests' keyring did not start");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn first_line(group: &mut Group) -> Result<String> {
    let mut line = String::new();
    BufReader::new(group.output()?).read_line(&mut line)?;
    anyhow::ensure!(!line.trim().is_empty(), "it ended before it said anything");
    Ok(line.trim().to_owned())
}

fn make_private(folder: &Path) -> Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new()
        .mode(0o700)
        .create(folder)
        .with_context(|| format!("cannot make {}", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sessions_keyring_is_there_and_unlocked_from_the_first_moment() {
        let session = Session::start().expect("a session");
        let answer = is_locked(&session).expect("the keyring answers");
        assert!(answer.contains("boolean false"), "{answer}");
    }

    #[test]
    fn the_sessions_bus_starts_no_service_of_the_machine() {
        let session = Session::start().expect("a session");
        let mut ask = Command::new("dbus-send");
        ask.args(["--session", "--print-reply", "--dest=org.freedesktop.DBus", "/org/freedesktop/DBus"]);
        ask.arg("org.freedesktop.DBus.ListActivatableNames");
        session.enter(&mut ask);
        let answer = printed(&mut ask).expect("the bus answers");
        assert!(!answer.contains("org.freedesktop.secrets"), "{answer}");
    }

    fn is_locked(session: &Session) -> Option<String> {
        let mut ask = Command::new("dbus-send");
        ask.args(["--session", "--print-reply", "--dest=org.freedesktop.secrets"]);
        ask.args(["/org/freedesktop/secrets/collection/login", "org.freedesktop.DBus.Properties.Get"]);
        ask.args(["string:org.freedesktop.Secret.Collection", "string:Locked"]);
        session.enter(&mut ask);
        printed(&mut ask)
    }

    #[test]
    fn a_sessions_folder_is_gone_with_it() {
        let session = Session::start().expect("a session");
        let folder = session.folder.path().to_path_buf();
        assert!(folder.join("run").is_dir());
        drop(session);
        assert!(!folder.exists());
    }
}
