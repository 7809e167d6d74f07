//! A container without a network, of the Docker or Podman engine that is found.
//!
//! `cargo run -p sandbook-runtimes --example docker [IMAGE]`. The image needs a Jupyter server; `docker/Dockerfile` makes
//! one. A missing image is not fetched unless `obtain_image` is set.

mod tour;

use sandbook_runtimes::{
    Surrounding,
    docker::{DockerRuntime, DockerSettings, Memory, NetworkPolicy},
};
use sandbook_sandbox::SandboxSettings;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let runtime = DockerRuntime::new(Surrounding {
        run_folder: std::env::temp_dir().join(format!("sandbook-example-{}", std::process::id())),
        ..Surrounding::default()
    });
    let own = DockerSettings {
        image: std::env::args().nth(1),
        memory: Some(Memory::bytes(1 << 30)),
        network: NetworkPolicy::None,
        ..DockerSettings::default()
    };
    let settings = SandboxSettings { runtime: own.to_value(), ..SandboxSettings::default() };
    Ok(tour::take(&runtime, settings).await?)
}
