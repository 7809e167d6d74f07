//! A message bus of a test's own, and a keyring on it that can be locked, taken away and brought back.
//!
//! Both are the real ones of the desktop. The bus starts no service by itself, so that a keyring is there only where the test
//! wants one.

use std::{
    io::{BufRead, BufReader, Write},
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use super::wait_until;

/// A private bus, with or without a keyring. Both end with it.
pub(crate) struct Session {
    folder: PathBuf,
    address: String,
    bus: Child,
    keyring: Option<Child>,
}

impl Session {
    /// Starts the bus; its files are in `folder`.
    pub(crate) fn start(folder: &Path) -> Self {
        for name in ["run", "data", "cache"] {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder.join(name)).unwrap();
        }
        let file = folder.join("bus.conf");
        let rules =
            "<allow send_destination=\"*\" eavesdrop=\"true\"/><allow eavesdrop=\"true\"/><allow own=\"*\"/>";
        std::fs::write(
            &file,
            format!(
                "<busconfig><type>session</type><listen>unix:dir={}</listen><auth>EXTERNAL</auth>\
                 <policy context=\"default\">{rules}</policy></busconfig>",
                folder.join("run").display()
            ),
        )
        .unwrap();
        let mut bus = Command::new("dbus-daemon")
            .arg("--config-file")
            .arg(&file)
            .args(["--nofork", "--nopidfile", "--print-address=1"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut address = String::new();
        BufReader::new(bus.stdout.take().unwrap()).read_line(&mut address).unwrap();
        assert!(!address.trim().is_empty(), "the bus did not say where it listens");
        Self { folder: folder.to_owned(), address: address.trim().to_owned(), bus, keyring: None }
    }

    /// The same with an unlocked keyring.
    pub(crate) fn with_keyring(folder: &Path) -> Self {
        let mut session = Self::start(folder);
        session.bring_keyring();
        session
    }

    /// Starts the keyring, unlocked; what was kept in it is in it again.
    pub(crate) fn bring_keyring(&mut self) {
        let mut keyring = Command::new("gnome-keyring-daemon");
        keyring.args(["--foreground", "--unlock", "--components=secrets"]);
        keyring.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        self.enter(&mut keyring);
        let mut keyring = keyring.spawn().unwrap();
        // It is thrown away with the test, so its password protects nothing.
        keyring.stdin.take().unwrap().write_all(b"throwaway").unwrap();
        self.keyring = Some(keyring);
        let is_there = || {
            self.ask(
                "org.freedesktop.DBus",
                "/org/freedesktop/DBus",
                &["org.freedesktop.DBus.NameHasOwner", "string:org.freedesktop.secrets"],
            )
        };
        assert!(wait_until(|| is_there().contains("boolean true")), "the keyring did not start");
    }

    /// Locks it. Nobody is there to answer when it asks for its password.
    pub(crate) fn lock(&self) {
        self.ask(
            "org.freedesktop.secrets",
            "/org/freedesktop/secrets",
            &[
                "org.freedesktop.Secret.Service.Lock",
                "array:objpath:/org/freedesktop/secrets/collection/login",
            ],
        );
        let locked = self.ask(
            "org.freedesktop.secrets",
            "/org/freedesktop/secrets/collection/login",
            &[
                "org.freedesktop.DBus.Properties.Get",
                "string:org.freedesktop.Secret.Collection",
                "string:Locked",
            ],
        );
        assert!(locked.contains("boolean true"), "the keyring was not locked: {locked}");
    }

    /// Ends it, as a crash would.
    pub(crate) fn take_keyring_away(&mut self) {
        end(self.keyring.take());
    }

    /// Lets a command run in this session.
    pub(crate) fn enter(&self, command: &mut Command) {
        command
            .env("DBUS_SESSION_BUS_ADDRESS", &self.address)
            .env("XDG_RUNTIME_DIR", self.folder.join("run"))
            .env("XDG_DATA_HOME", self.folder.join("data"))
            .env("XDG_CACHE_HOME", self.folder.join("cache"))
            .env_remove("DISPLAY")
            .env_remove("WAYLAND_DISPLAY");
    }

    fn ask(&self, who: &str, path: &str, words: &[&str]) -> String {
        let mut ask = Command::new("dbus-send");
        ask.args(["--session", "--print-reply", &format!("--dest={who}"), path]).args(words);
        self.enter(&mut ask);
        let output = ask.output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        end(self.keyring.take());
        let _ = self.bus.kill();
        let _ = self.bus.wait();
    }
}

fn end(child: Option<Child>) {
    if let Some(mut child) = child {
        let _ = child.kill();
        let _ = child.wait();
    }
}
