//! What every sandbox is asked in the examples: state, streaming, rich results, errors. The same calls for each runtime.

use std::{sync::Arc, time::Duration};

use futures::StreamExt as _;
use sandbook_sandbox::{
    Capability, Client, CreateRequest, EventKind, Progress, Runtime, Sandbox, SandboxError, SandboxSettings,
    StopChoice,
};
use secrecy::SecretString;
use tokio_util::sync::CancellationToken;

/// Makes a sandbox with settings of its runtime, shows what it can do, and ends it.
#[allow(dead_code, reason = "not every example needs no credential")]
pub(crate) async fn take(runtime: &dyn Runtime, settings: SandboxSettings) -> Result<(), SandboxError> {
    take_with(runtime, settings, None).await
}

/// The same, with a credential.
pub(crate) async fn take_with(
    runtime: &dyn Runtime,
    settings: SandboxSettings,
    credential: Option<SecretString>,
) -> Result<(), SandboxError> {
    println!("{}: {:?}", runtime.variant(), runtime.readiness(&settings, credential.as_ref()).await);
    let client = Client::new(create(runtime, settings, credential).await?);
    let shown = show(&client).await;
    // also where something failed: a sandbox takes room, and elsewhere money, until it is stopped
    client.sandbox().stop(StopChoice::Default, Duration::from_secs(5)).await?;
    shown
}

/// Makes a sandbox.
pub(crate) async fn create(
    runtime: &dyn Runtime,
    settings: SandboxSettings,
    credential: Option<SecretString>,
) -> Result<Arc<dyn Sandbox>, SandboxError> {
    let request = CreateRequest {
        settings,
        credential,
        progress: Progress::new(|message, _| println!("… {message}")),
        cancel: CancellationToken::new(),
    };
    runtime.create(request).await
}

async fn show(client: &Client) -> Result<(), SandboxError> {
    println!("state is kept between runs:");
    client.run("x = 40").await?;
    println!("  x + 2 = {}", client.run("x + 2").await?.text().unwrap_or_default());

    println!("events come while the code runs:");
    let mut events = Box::pin(client.stream("for step in range(3):\n    print('step', step)").await?);
    while let Some(event) = events.next().await {
        if let EventKind::Stream { text, .. } = event.kind {
            print!("{text}");
        }
    }

    println!("a result has forms:");
    let capabilities = client.sandbox().capabilities();
    if capabilities.has(Capability::RichOutput) {
        let code = "class Shown:\n    def _repr_html_(self):\n        return '<b>42</b>'\nShown()";
        let outcome = client.run(code).await?;
        let html = outcome.results.first().and_then(|result| result.text_of("text/html"));
        println!("  text/html: {}", html.unwrap_or_default());
    } else {
        // what a sandbox cannot do, it says, with the reason
        println!("  {}", capabilities.refusal(Capability::RichOutput));
    }

    println!("an error of the code is part of the outcome, not an error of the call:");
    let error = client.run("1 / 0").await?.code_error.unwrap_or_default();
    println!("  {}: {}", error.name, error.value);
    Ok(())
}
