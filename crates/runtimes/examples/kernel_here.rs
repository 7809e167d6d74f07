//! Measures a kernel of this computer through the contract: launch to first reply, `1+1`, a flood of lines, stop.
//!
//! `kernel_here PYTHON [LINES]` prints one JSON line.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use sandbook_runtimes::jupyter::{JupyterRuntime, JupyterSettings, LocalSettings, Surrounding};
use sandbook_sandbox::{
    CreateRequest, EventKind, ExecuteRequest, Progress, Runtime, Sandbox, SandboxSettings, StopChoice,
};
use tokio_util::sync::CancellationToken;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

async fn run(sandbox: &dyn Sandbox, code: String) -> Outcome<usize> {
    let mut execution = sandbox.execute(ExecuteRequest::new(code)).await?;
    let mut text = 0;
    while let Some(event) = execution.next().await {
        match event.kind {
            EventKind::Stream { text: part, .. } => text += part.len(),
            EventKind::End(_) => break,
            _ => {}
        }
    }
    Ok(text)
}

#[tokio::main]
async fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let python = PathBuf::from(arguments.next().ok_or("usage: kernel_here PYTHON [LINES]")?);
    let lines: usize = arguments.next().map_or(Ok(1_000_000), |lines| lines.parse())?;
    let run_folder = std::env::temp_dir().join(format!("sbk{}", std::process::id()));
    let runtime =
        JupyterRuntime::new(Surrounding { run_folder: run_folder.clone(), ..Surrounding::default() });
    let settings = JupyterSettings::Local(LocalSettings { python: Some(python), kernel: None });
    let request = CreateRequest {
        settings: SandboxSettings { runtime: settings.to_value(), ..SandboxSettings::default() },
        credential: None,
        progress: Progress::none(),
        cancel: CancellationToken::new(),
    };
    let start = Instant::now();
    let sandbox = runtime.create(request).await?;
    let launch = start.elapsed();
    let mut times = Vec::new();
    for _ in 0..200 {
        let start = Instant::now();
        run(&*sandbox, "1+1".into()).await?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    let start = Instant::now();
    let text = run(&*sandbox, format!("for i in range({lines}): print(i)")).await?;
    let flood = start.elapsed();
    let complete = text == (0..lines).map(|i| i.to_string().len() + 1).sum::<usize>();
    let start = Instant::now();
    sandbox.stop(StopChoice::Default, Duration::from_secs(10)).await?;
    let stop = start.elapsed();
    drop(sandbox);
    std::fs::remove_dir_all(run_folder)?;
    println!(
        "{{\"launch_s\":{:.3},\"roundtrip_p50_ms\":{:.3},\"flood_s\":{:.2},\"complete\":{complete},\"stop_s\":{:.3}}}",
        launch.as_secs_f64(),
        times[times.len() / 2],
        flood.as_secs_f64(),
        stop.as_secs_f64()
    );
    Ok(())
}
