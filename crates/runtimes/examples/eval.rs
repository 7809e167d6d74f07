//! A plain Python of this computer. Nothing has to be installed, and nothing is isolated.
//!
//! `cargo run -p sandbook-runtimes --example eval [PYTHON]`

mod tour;

use sandbook_runtimes::{
    Surrounding,
    eval::{EvalRuntime, EvalSettings},
    python::Surroundings,
};
use sandbook_sandbox::SandboxSettings;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let runtime = EvalRuntime::new(Surrounding {
        run_folder: std::env::temp_dir().join(format!("sandbook-example-{}", std::process::id())),
        // `sandbook supervise` ends the Python should this program be killed; without one it goes on
        supervisor: None,
        data_folders: Vec::new(),
        pythons: Surroundings::of_process(None),
    });
    let own = EvalSettings { python: std::env::args().nth(1).map(Into::into) };
    let settings = SandboxSettings {
        working_directory: Some(std::env::temp_dir()),
        runtime: own.to_value(),
        ..SandboxSettings::default()
    };
    Ok(tour::take(&runtime, settings).await?)
}
