//! A sandbox at Modal, which costs money until it is ended: this one ends with the example, or after five minutes.
//!
//! `cargo run -p sandbook-runtimes --example modal [IMAGE]`, with a token pair in `MODAL_TOKEN_ID` and
//! `MODAL_TOKEN_SECRET` or in `~/.modal.toml`. `MODAL_SERVER_URL` names another Modal, such as a stand-in.

mod tour;

use sandbook_runtimes::modal::{ModalRuntime, ModalSettings};
use sandbook_sandbox::{Runtime as _, SandboxSettings};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // what encrypts the connections
    drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
    let runtime = ModalRuntime::default();
    let own =
        ModalSettings { image: std::env::args().nth(1), longest_life: 5 * 60, ..ModalSettings::default() };
    let settings = SandboxSettings { runtime: own.to_value(), ..SandboxSettings::default() };
    if let Some(most) = runtime.survey(&settings, None).await.spending.and_then(|spending| spending.at_most) {
        println!("it costs at most {:.2} {}, by a table of prices", most.value, most.unit);
    }
    Ok(tour::take(&runtime, settings).await?)
}
