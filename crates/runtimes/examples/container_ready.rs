//! Measures a container from the wish for it to a kernel in it that can be used, and until it is gone.
//!
//! `container_ready ENGINE IMAGE N` prints one JSON object with N times of each, in seconds.

use std::time::{Duration, Instant};

use sandbook_runtimes::{
    Surrounding,
    docker::{DockerRuntime, DockerSettings},
};
use sandbook_sandbox::{CreateRequest, Progress, Runtime as _, SandboxSettings, StopChoice};
use tokio_util::sync::CancellationToken;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [engine, image, count] = words.as_slice() else {
        return Err("usage: container_ready ENGINE IMAGE N".into());
    };
    let run_folder = std::env::temp_dir().join(format!("sandbook-ready-{}", std::process::id()));
    let runtime =
        DockerRuntime::new(Surrounding { run_folder: run_folder.clone(), ..Surrounding::default() });
    let own = DockerSettings {
        engine: Some(engine.clone()),
        image: Some(image.clone()),
        ..DockerSettings::default()
    };
    let (mut ready, mut stopped) = (Vec::new(), Vec::new());
    for _ in 0..count.parse()? {
        let request = CreateRequest {
            settings: SandboxSettings { runtime: own.to_value(), ..SandboxSettings::default() },
            credential: None,
            progress: Progress::none(),
            cancel: CancellationToken::new(),
        };
        let began = Instant::now();
        let sandbox = runtime.create(request).await?;
        ready.push(began.elapsed().as_secs_f64());
        let began = Instant::now();
        sandbox.stop(StopChoice::ShutDown, Duration::from_secs(5)).await?;
        stopped.push(began.elapsed().as_secs_f64());
    }
    drop(std::fs::remove_dir_all(run_folder));
    println!("{}", serde_json::json!({ "ready": ready, "stopped": stopped }));
    Ok(())
}
