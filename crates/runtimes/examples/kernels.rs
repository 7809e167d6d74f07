//! Measures kernels on this computer as the owner starts them: until the first reply, and until they are gone.
//!
//! `kernels PYTHON SANDBOOK RUN_FOLDER N` prints one JSON object with N seconds of each. SANDBOOK is the program whose
//! `supervise` the kernels run under.

use std::{path::PathBuf, time::Duration, time::Instant};

use sandbook_runtimes::{
    Surrounding,
    jupyter::{JupyterRuntime, JupyterSettings, LocalSettings},
    python::Surroundings,
};
use sandbook_sandbox::{CreateRequest, Progress, Runtime, SandboxSettings, StopChoice};
use tokio_util::sync::CancellationToken;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

#[tokio::main]
async fn main() -> Outcome<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [python, supervisor, run_folder, count] = words.as_slice() else {
        return Err("usage: kernels PYTHON SANDBOOK RUN_FOLDER N".into());
    };
    let runtime = JupyterRuntime::new(Surrounding {
        run_folder: PathBuf::from(run_folder),
        supervisor: Some(vec![supervisor.into(), "supervise".into()]),
        data_folders: Vec::new(),
        pythons: Surroundings::default(),
    });
    let settings = JupyterSettings::Local(LocalSettings { python: Some(python.into()), kernel: None });
    let (mut starts, mut stops) = (Vec::new(), Vec::new());
    for _ in 0..count.parse()? {
        let request = CreateRequest {
            settings: SandboxSettings { runtime: settings.to_value(), ..SandboxSettings::default() },
            credential: None,
            progress: Progress::none(),
            cancel: CancellationToken::new(),
        };
        let began = Instant::now();
        let sandbox = runtime.create(request).await?;
        starts.push(began.elapsed().as_secs_f64());
        let began = Instant::now();
        sandbox.stop(StopChoice::Default, Duration::from_secs(5)).await?;
        stops.push(began.elapsed().as_secs_f64());
    }
    println!("{}", serde_json::json!({ "start": starts, "stop": stops }));
    Ok(())
}
