//! A Jupyter kernel: of this computer, or a new one on a server.
//!
//! `cargo run -p sandbook-runtimes --example jupyter [PYTHON]`, where the Python has ipykernel; the best one that is
//! found if absent. With `JUPYTER_URL`, and `JUPYTER_TOKEN` where it asks for one: a kernel on that server.

mod tour;

use sandbook_runtimes::{
    Surrounding,
    jupyter::{JupyterRuntime, JupyterSettings, LocalSettings, ServerSettings},
    python::Surroundings,
};
use sandbook_sandbox::SandboxSettings;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let runtime = JupyterRuntime::new(Surrounding {
        run_folder: std::env::temp_dir().join(format!("sandbook-example-{}", std::process::id())),
        // `sandbook supervise` ends the kernel should this program be killed; ipykernel then ends itself
        supervisor: None,
        data_folders: Vec::new(),
        pythons: Surroundings::of_process(None),
    });
    let own = match std::env::var("JUPYTER_URL") {
        Ok(url) => JupyterSettings::Server(ServerSettings::new(url.parse()?)),
        Err(_) => JupyterSettings::Local(LocalSettings {
            python: std::env::args().nth(1).map(Into::into),
            kernel: None,
        }),
    };
    let settings = SandboxSettings { runtime: own.to_value(), ..SandboxSettings::default() };
    Ok(tour::take(&runtime, settings).await?)
}
