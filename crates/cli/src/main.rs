//! `sandbook`, the command line of Sandbook, and its owner process.
//!
//! `exec`, `run` and `repl` make a sandbox of their own, use it in this process, and put it on record like any other. `web`,
//! `open`, `sandboxes` and `quit` are clients of the owner; `serve` is the owner. Exit statuses and the lines that
//! `--json` prints are described in `docs/command-line.md`.

mod arguments;
mod attendant;
mod commands;
mod error;
mod events;
mod execution;
mod home;
mod images;
mod input;
mod logging;
mod output;
mod printer;
mod record;
mod sandbox;
mod server;
mod signals;

use std::process::ExitCode;

use clap::Parser;

use arguments::{Arguments, Command, Config, Credentials, Kept, Sandboxes};
use error::CommandError;

/// What a command ends with.
type Ended = Result<u8, CommandError>;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    // This mode is one small process per kernel: it has neither threads nor a log.
    if let Command::Supervise { arguments } = arguments.command {
        return commands::supervise::supervise(arguments);
    }
    // Only fails where another one is installed, which nothing here does.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let json = prints_json(&arguments.command);
    let ended = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| CommandError::infrastructure("internal", format!("Cannot start: {error}."), ""))
        .and_then(|runtime| {
            let ended = runtime.block_on(run(arguments.command));
            // A prompt that waits for a line cannot be ended; it must not keep this process.
            runtime.shutdown_background();
            ended
        });
    match ended {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            error.print(json);
            ExitCode::from(error.status)
        }
    }
}

async fn run(command: Command) -> Ended {
    match command {
        Command::Exec(exec) => commands::exec::exec(exec).await,
        Command::Run(run) => commands::run::run(run).await,
        Command::Repl(repl) => commands::repl::repl(repl).await,
        Command::Doctor(doctor) => commands::doctor::doctor(doctor).await,
        Command::Attend => commands::attend::attend().await,
        Command::Open { file } => commands::open::open(&file).await,
        Command::Web(web) => commands::web::web(web).await,
        Command::ParseUrl { text, json } => commands::parse_url::parse_url(&text, json),
        Command::Sandboxes { command: Sandboxes::List { json } } => commands::sandboxes::list(json).await,
        Command::Credentials { command } => commands::credentials::credentials(command).await,
        Command::Config { command: Config::Path { json } } => commands::config::path(json),
        Command::Config { command: Config::Show { json } } => commands::config::show(json),
        Command::Config { command: Config::Check { json } } => commands::config::check(json),
        Command::Serve(serve) => commands::serve::serve(serve).await,
        Command::Quit { force } => commands::quit::quit(force).await,
        Command::Supervise { .. } => Ok(error::USAGE),
    }
}

/// Whether errors are printed as JSON too.
fn prints_json(command: &Command) -> bool {
    match command {
        Command::Exec(exec) => exec.json,
        Command::Run(run) => run.json,
        Command::Web(web) => web.json,
        Command::Doctor(doctor) => doctor.json,
        Command::ParseUrl { json, .. }
        | Command::Sandboxes { command: Sandboxes::List { json } }
        | Command::Credentials {
            command:
                Credentials::List { json }
                | Credentials::Add { kept: Kept { json, .. }, .. }
                | Credentials::Replace { kept: Kept { json, .. }, .. }
                | Credentials::Test { json, .. }
                | Credentials::Delete { json, .. }
                | Credentials::Import { json, .. },
        }
        | Command::Config {
            command: Config::Path { json } | Config::Show { json } | Config::Check { json },
        } => *json,
        Command::Repl(_)
        | Command::Attend
        | Command::Open { .. }
        | Command::Serve(_)
        | Command::Quit { .. }
        | Command::Supervise { .. } => false,
    }
}
