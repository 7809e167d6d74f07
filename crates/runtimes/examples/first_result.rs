//! Measures Monty as the owner starts it: from the wish for a sandbox to the end of its first run, and further runs.
//!
//! `first_result SANDBOOK N` prints one JSON object with N times of a first run and 20 N of a next one, in milliseconds.
//! SANDBOOK is the program whose `supervise` guards the worker, which is looked for beside it.

use std::time::{Duration, Instant};

use sandbook_runtimes::{Surrounding, monty::MontyRuntime};
use sandbook_sandbox::{Client, CreateRequest, Progress, Runtime as _, SandboxSettings, StopChoice};
use tokio_util::sync::CancellationToken;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

#[tokio::main]
async fn main() -> Outcome<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [supervisor, count] = words.as_slice() else {
        return Err("usage: first_result SANDBOOK N".into());
    };
    let runtime = MontyRuntime::new(Surrounding {
        supervisor: Some(vec![supervisor.into(), "supervise".into()]),
        ..Surrounding::default()
    });
    let (mut first, mut next) = (Vec::new(), Vec::new());
    for _ in 0..count.parse()? {
        let request = CreateRequest {
            settings: SandboxSettings::default(),
            credential: None,
            progress: Progress::none(),
            cancel: CancellationToken::new(),
        };
        let began = Instant::now();
        let client = Client::new(runtime.create(request).await?);
        answers(&client).await?;
        first.push(began.elapsed().as_secs_f64() * 1000.0);
        for _ in 0..20 {
            let began = Instant::now();
            answers(&client).await?;
            next.push(began.elapsed().as_secs_f64() * 1000.0);
        }
        client.sandbox().stop(StopChoice::Default, Duration::from_secs(1)).await?;
    }
    println!("{}", serde_json::json!({ "first": first, "next": next }));
    Ok(())
}

async fn answers(client: &Client) -> Outcome<()> {
    match client.run("6 * 7").await?.text().as_deref() {
        Some("42") => Ok(()),
        other => Err(format!("6 * 7 is {other:?}").into()),
    }
}
