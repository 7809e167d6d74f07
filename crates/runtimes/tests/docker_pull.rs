//! Pulling an image that is not here, from a registry of the test's own.

#![cfg(all(feature = "docker", unix))]
#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests are not seen as tests

#[path = "support/containers.rs"]
mod containers;
mod support;

use std::{
    net::{TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    time::Duration,
};

use containers::{Place, on_engine};
use sandbook_runtimes::docker::{DockerSettings, ImageState};
use sandbook_sandbox::{Progress, Runtime as _, SandboxError};
use sandbook_test_support::{docker, docker_registry};

/// Debian's registry on a port of the loopback, where an engine needs no certificate.
struct Registry {
    process: Child,
    port: u16,
    _folder: tempfile::TempDir,
}

impl Registry {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
        let data = folder.path().join("data").display().to_string();
        let settings = format!(
            "version: 0.1\nstorage: {{filesystem: {{rootdirectory: {data}}}}}\nhttp: {{addr: '127.0.0.1:{port}'}}\n"
        );
        std::fs::write(folder.path().join("registry.yml"), settings).unwrap();
        let process = Command::new(docker_registry())
            .args(["serve", &folder.path().join("registry.yml").display().to_string()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let registry = Self { process, port, _folder: folder };
        for _ in 0..300 {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return registry;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("the registry does not answer");
    }

    /// An image that is there and not here: one file, and no Python.
    fn image(&self) -> String {
        let image = format!("127.0.0.1:{}/team/small:1", self.port);
        let folder = tempfile::tempdir().unwrap();
        let archive = folder.path().join("root.tar").display().to_string();
        std::fs::write(folder.path().join("noise"), vec![7; 3 << 20]).unwrap();
        let packed =
            Command::new("tar").arg("-cf").arg(&archive).arg("-C").arg(folder.path()).arg("noise").status();
        assert!(packed.unwrap().success());
        for words in [&["import", &archive, &image][..], &["push", &image], &["rmi", &image]] {
            let (done, said) = docker(words);
            assert!(done, "{words:?}: {said}");
        }
        image
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

#[tokio::test]
async fn an_image_is_pulled_only_after_a_person_agreed_and_a_wrong_name_is_told() {
    let registry = Registry::start();
    let image = registry.image();
    let place = Place::new();
    let settings = DockerSettings { image: Some(image.clone()), ..on_engine() };
    let state = async || place.runtime.image(&place.request(&settings).settings).await.unwrap();

    let refused = place.create(settings.clone()).await.err().unwrap();
    assert!(refused.code() == "not_ready" && refused.hint().contains(&image), "{refused}");
    assert_eq!(state().await, ImageState::Missing, "nothing was pulled unasked");

    let reports = Arc::new(Mutex::new(Vec::new()));
    let kept = reports.clone();
    let mut request = place.request(&DockerSettings { obtain_image: true, ..settings.clone() });
    request.progress = Progress::new(move |message, share| kept.lock().unwrap().push((message, share)));
    let error = place.runtime.create(request).await.err().unwrap();
    assert!(matches!(&error, SandboxError::StartFailed { what, .. } if what == "the container"), "{error}");
    assert_eq!(state().await, ImageState::Present, "it was pulled");
    let said = reports.lock().unwrap().clone();
    assert!(said.iter().any(|(message, _)| *message == format!("Pulling {image}")), "{said:?}");
    assert!(place.containers().is_empty(), "the container that has no Python is gone");
    docker(&["rmi", &image]);

    let wrong = format!("127.0.0.1:{}/team/smal:1", registry.port);
    let settings = DockerSettings { image: Some(wrong.clone()), obtain_image: true, ..on_engine() };
    let error = place.create(settings).await.err().unwrap();
    assert!(error.to_string().contains(&wrong), "{error}");
}
