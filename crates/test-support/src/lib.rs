//! What tests of several crates start: real Jupyter servers, and lines to them that break.
//!
//! Only tests depend on this crate. Everything lies in temporary folders and ends when it is dropped, also when the test
//! fails. Where something cannot start it panics with what the other program said: a test has nothing better to do.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests stop where something is wrong"
)]

mod certificate;
mod docker;
mod modal;
mod opensandbox;
mod proxy;
mod server;
mod stand_in;

use std::{path::PathBuf, process::Child, time::Duration};

pub use certificate::SelfSigned;
pub use docker::{Container, docker, docker_engine, docker_image, docker_registry};
pub use modal::Modal;
pub use opensandbox::{OpenSandboxServer, opensandbox_python};
pub use proxy::{Line, Proxy};
pub use server::{SINGLE_USER, Server, TOKEN, gateway, jupyter_server, rest, server, server_at};
pub use stand_in::StandIn;

/// Long enough for anything that a test waits for.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// The Python that the tests use.
///
/// # Panics
/// Where `SANDBOOK_TEST_PYTHON` does not name it.
pub fn python() -> PathBuf {
    let path = std::env::var_os("SANDBOOK_TEST_PYTHON").expect(
        "set SANDBOOK_TEST_PYTHON to a Python with the packages of tests/python-requirements.txt and a bash kernel (cargo xtask test does)",
    );
    path.into()
}

/// A process that is killed when dropped.
#[derive(Debug)]
pub struct Killed(pub Child);

impl Drop for Killed {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}
