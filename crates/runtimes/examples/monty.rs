//! Monty: a part of Python that needs no Python, and a function of this program that its code calls.
//!
//! `cargo run -p sandbook-runtimes --example monty [WORKER]`, where the worker is the program `monty` of
//! `pydantic-monty-runtime`; looked for beside the Pythons and on the `PATH` if absent.

mod tour;

use std::time::Duration;

use sandbook_runtimes::{
    Surrounding,
    monty::{HostFunction, MontyObject, MontyRuntime, MontySettings},
    python::Surroundings,
};
use sandbook_sandbox::{Client, SandboxSettings, StopChoice};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let weather = HostFunction::new("weather", async |call| {
        let place = call.arguments.first().map(ToString::to_string).unwrap_or_default();
        Ok(MontyObject::String(format!("sunny in {place}")))
    });
    let runtime =
        MontyRuntime::new(Surrounding { pythons: Surroundings::of_process(None), ..Surrounding::default() })
            .with_function(weather.declared("def weather(place: str) -> str: ..."));
    let own = MontySettings {
        worker: std::env::args().nth(1).map(Into::into),
        seconds_per_run: Some(5.0),
        type_check: true,
        ..MontySettings::default()
    };
    let settings = SandboxSettings { runtime: own.to_value(), ..SandboxSettings::default() };
    tour::take(&runtime, settings.clone()).await?;

    println!("code calls a function of this program:");
    let client = Client::new(tour::create(&runtime, settings, None).await?);
    let outcome = client.run("said = weather('Oslo')\nsaid").await?;
    println!("  {}", outcome.text().unwrap_or_default());
    client.sandbox().stop(StopChoice::Default, Duration::from_secs(1)).await?;
    Ok(())
}
