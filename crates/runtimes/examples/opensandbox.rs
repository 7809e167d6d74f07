//! A sandbox of an OpenSandbox server.
//!
//! `cargo run -p sandbook-runtimes --example opensandbox [DOMAIN]`. Without a domain the server is meant that
//! `OPEN_SANDBOX_DOMAIN` names or `~/.sandbox.toml` describes, else the one at `localhost:8080`; the key is that of
//! `OPEN_SANDBOX_API_KEY` or of that file, for its own address alone. Where no server answers, the error says how one is
//! started.

mod tour;

use sandbook_runtimes::opensandbox::{Defaults, OpenSandboxRuntime, OpenSandboxSettings};
use sandbook_sandbox::SandboxSettings;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let domain = std::env::args().nth(1);
    let mut defaults = Defaults::of_process();
    // the variable's key is for the address that is named here, too
    defaults.domain = domain.or(defaults.domain);
    let own = OpenSandboxSettings { minutes: Some(10), ..OpenSandboxSettings::default() };
    let settings = SandboxSettings { runtime: own.to_value(), ..SandboxSettings::default() };
    Ok(tour::take(&OpenSandboxRuntime::with(defaults), settings).await?)
}
