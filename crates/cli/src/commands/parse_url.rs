//! `sandbook parse-url`: what a pasted text is, without its secrets.

use sandbook_runtimes::jupyter::{Provider, parse_pasted};
use serde_json::json;

use crate::{Ended, error::CommandError, output};

pub(crate) fn parse_url(text: &str, json: bool) -> Ended {
    let recognised = match parse_pasted(text) {
        Ok(recognised) => recognised,
        Err(error) => {
            let error = CommandError::usage(error.code, error.message, error.hint);
            if json {
                // The answer of this command, not an event of a run: it has no type.
                output::line(&error);
                return Ok(error.status);
            }
            return Err(error);
        }
    };
    let server = recognised.server.masked();
    if json {
        output::line(&json!({
            "runtime": recognised.provider.runtime(),
            "server_url": server,
            "kernel_id": recognised.kernel_id,
            "has_secret": recognised.has_secret(),
            "display_url": recognised.display_url,
        }));
        return Ok(0);
    }
    let name = match recognised.provider {
        Provider::Jupyter => "a Jupyter server",
        Provider::Colab => "a Google Colab runtime",
        Provider::Kaggle => "a Kaggle session",
    };
    println!("{name} at {server}");
    if let Some(kernel) = &recognised.kernel_id {
        println!("kernel: {kernel}");
    }
    if let Some(notebook) = &recognised.notebook {
        println!("notebook: {notebook}");
    }
    println!("secret: {}", if recognised.has_secret() { "yes, not shown" } else { "none" });
    if recognised.is_plain_http_elsewhere() {
        println!(
            "warning: the way to this server is not encrypted, so others on the network can read the token"
        );
    }
    Ok(0)
}
