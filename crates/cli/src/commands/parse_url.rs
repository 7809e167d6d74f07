//! `sandbook parse-url`: what a pasted text is, without its secrets.

use sandbook_runtimes::paste::{Pasted, Recognised, parse_pasted};
use serde_json::{Value, json};

use crate::{Ended, error::CommandError, output};

pub(crate) fn parse_url(text: &str, json: bool) -> Ended {
    let pasted = match parse_pasted(text) {
        Ok(pasted) => pasted,
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
    if json {
        output::line(&in_json(&pasted));
        return Ok(0);
    }
    match &pasted {
        Pasted::Server(server) => {
            println!("{} at {}", pasted.name(), server.server.masked());
            print_parts(server);
        }
        // it says what it is itself
        Pasted::Token(token) => println!("{}", token.shown),
        other => println!("{}: {other}", other.name()),
    }
    println!("secret: {}", if pasted.has_secret() { "yes, not shown" } else { "none" });
    if let Pasted::Server(server) = &pasted
        && server.is_plain_http_elsewhere()
    {
        println!(
            "warning: the way to this server is not encrypted, so others on the network can read the token"
        );
    }
    Ok(0)
}

fn print_parts(server: &Recognised) {
    if let Some(kernel) = &server.kernel_id {
        println!("kernel: {kernel}");
    }
    if let Some(notebook) = &server.notebook {
        println!("notebook: {notebook}");
    }
}

fn in_json(pasted: &Pasted) -> Value {
    let Pasted::Server(server) = pasted else {
        let kind = match pasted {
            Pasted::Image(_) => "image",
            Pasted::Notebook(_) => "notebook",
            _ => "token",
        };
        return json!({
            "kind": kind,
            "runtime": pasted.runtime(),
            "has_secret": pasted.has_secret(),
            "display": pasted.to_string(),
        });
    };
    json!({
        "kind": "server",
        "runtime": server.provider.runtime(),
        "server_url": server.server.masked(),
        "kernel_id": server.kernel_id,
        "has_secret": server.has_secret(),
        "display_url": server.display_url,
    })
}
