//! Containers of the tests' engine.

use std::{os::unix::fs::chown, path::Path, sync::Arc};

use sandbook_runtimes::docker::{DockerRuntime, DockerSettings};
use sandbook_sandbox::SandboxSettings;
use sandbook_test_support::{docker, docker_engine, docker_image};

use super::Place;
use crate::{Stage, stage::Folders};

/// The person to whom the folder belongs: nobody is root in a container.
const PERSON: u32 = 1234;

/// What tells it from the kernel of any server.
const WHERE_IT_DIFFERS: &[&str] = &["Restart", "Death", "Settings", "Create and join", "Stop"];

/// The place.
pub(super) const PLACE: Place = Place {
    name: "docker",
    title: "Container",
    about: "runtime `docker`, a container of an engine on this computer, with the image of `docker/`",
    only: Some((WHERE_IT_DIFFERS, "jupyter_server")),
    prepare: || {
        Box::pin(async {
            let folders = Folders::new();
            let work = folders.work();
            chown(&work, Some(PERSON), Some(PERSON)).unwrap();
            let own = DockerSettings {
                engine: Some(docker_engine()),
                image: Some(docker_image()),
                // a scenario knows the folder by one name
                folder_at: Some(work.display().to_string()),
                ..DockerSettings::default()
            };
            let settings = SandboxSettings {
                working_directory: Some(work.clone()),
                runtime: own.to_value(),
                ..SandboxSettings::default()
            };
            let runtime = DockerRuntime::new(folders.surrounding());
            let stage = Stage::new(Arc::new(runtime), settings, folders);
            Stage { left: Some(Box::new(move || containers(&work))), ..stage }
        })
    },
};

/// The containers that see a folder.
fn containers(folder: &Path) -> Vec<String> {
    let filter = format!("volume={}", folder.display());
    let format = "container {{.Names}} ({{.Status}})";
    let (_, list) = docker(&["ps", "--all", "--filter", &filter, "--format", format]);
    list.lines().map(str::to_owned).collect()
}
