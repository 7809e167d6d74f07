//! A Datalayer runtime, which costs credits until it is ended: this one ends with the example, or after two minutes.
//!
//! `DATALAYER_API_KEY=… cargo run -p sandbook-runtimes --example datalayer [ENVIRONMENT]`. `DATALAYER_RUN_URL` names an
//! installation of one's own.

mod tour;

use sandbook_runtimes::datalayer::{DatalayerRuntime, DatalayerSettings};
use sandbook_sandbox::{Runtime as _, SandboxSettings};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let runtime = DatalayerRuntime::of_process();
    let own = DatalayerSettings {
        environment: std::env::args().nth(1),
        minutes: Some(2.0),
        ..DatalayerSettings::default()
    };
    let settings = SandboxSettings { runtime: own.to_value(), ..SandboxSettings::default() };
    let key = std::env::var("DATALAYER_API_KEY").ok().map(Into::into);
    if let Some(spending) = runtime.survey(&settings, key.as_ref()).await.spending {
        let at_most = spending
            .at_most
            .map_or_else(|| "not reported".into(), |most| format!("{:.2} {}", most.value, most.unit));
        println!("{} costs at most {at_most}", spending.chosen.unwrap_or_default());
    }
    Ok(tour::take_with(&runtime, settings, key).await?)
}
