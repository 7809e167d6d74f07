//! The tests' container engine and image, and containers that end with the test.

use std::process::Command;

/// The address of the tests' engine.
///
/// # Panics
/// Where there is none.
pub fn docker_engine() -> String {
    variable("SANDBOOK_TEST_DOCKER")
}

/// The name of the tests' image: what `docker/Dockerfile` makes.
///
/// # Panics
/// Where there is none.
pub fn docker_image() -> String {
    variable("SANDBOOK_TEST_IMAGE")
}

/// The program of a registry for images.
///
/// # Panics
/// Where the gate did not get one.
pub fn docker_registry() -> String {
    variable("SANDBOOK_TEST_REGISTRY")
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| {
        panic!(
            "there is no container engine for the tests: {name} is not set. `cargo xtask test` starts one and says in \
             its step `engine and image` why it could not; `cargo xtask engine` starts one for runs by hand"
        )
    })
}

/// What `docker` prints on both streams, and whether it succeeded.
///
/// # Panics
/// Where there is no `docker`.
pub fn docker(words: &[&str]) -> (bool, String) {
    let output = Command::new("docker").args(words).env("DOCKER_HOST", docker_engine()).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).trim().to_owned())
}

/// A container that is removed when dropped.
#[derive(Debug)]
pub struct Container(pub String);

impl Container {
    /// Starts one in the background, with options of `docker run`, the image last.
    ///
    /// # Panics
    /// With what `docker` said, where it does not start.
    pub fn run(options: &[&str]) -> Self {
        let words: Vec<&str> = ["run", "--detach"].iter().chain(options).copied().collect();
        let (started, said) = docker(&words);
        assert!(started, "{said}");
        Self(said)
    }

    /// Where a port of it is on this computer.
    ///
    /// # Panics
    /// Where it is not published.
    pub fn url(&self, port: u16) -> url::Url {
        let (_, address) = docker(&["port", &self.0, &port.to_string()]);
        format!("http://{}/", address.lines().next().unwrap()).parse().unwrap()
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        drop(docker(&["rm", "--force", "--volumes", &self.0]));
    }
}
