//! The developer commands of Sandbook.
//!
//! Everything a person, a CI run or a package build does to this repository goes through `cargo xtask`, so there is
//! one place that knows which system packages, which Python and which page a step needs. The program finds or
//! installs what is missing, does one thing, and leaves nothing running. It depends on very little because every
//! other command waits for it to compile.

mod bench;
mod check;
mod deb;
mod engine;
mod gate;
mod image;
mod junit;
mod launch;
mod node;
mod packages;
mod process;
mod python;
mod registry;
mod report;
mod repository;
mod session;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", about = "The developer commands of Sandbook")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Install what is missing, build Sandbook and open it.
    Run {
        /// The notebook to open.
        notebook: Option<PathBuf>,
        /// Install without asking.
        #[arg(long)]
        yes: bool,
        /// Serve the page to a browser, also where there is a display.
        #[arg(long)]
        web: bool,
    },
    /// The gate: every test, against the real things.
    Test {
        /// Also large files, hundreds of kill points and cuts, and the seeded fuzz loops.
        #[arg(long)]
        long: bool,
        /// Run only these parts (may be given more than once).
        #[arg(long, value_enum)]
        only: Vec<gate::Part>,
    },
    /// Measure Sandbook beside its peers.
    Bench {
        /// Measure only these (may be given more than once): see tests/bench/README.md for their names.
        #[arg(long)]
        only: Vec<String>,
        /// Few rounds, to see that everything runs. The documentation's table stays as it is.
        #[arg(long)]
        quick: bool,
    },
    /// Start the tests' Docker engine, make their image, say how to reach both, and stay until Ctrl-C.
    Engine,
    /// Format the Rust sources and the page's.
    Fmt,
    /// Formatting, lints and types, without running any test.
    Check {
        /// Run only one half.
        #[arg(long, value_enum)]
        only: Option<check::Half>,
    },
    /// Build the Debian package with both programs.
    Deb {
        /// Install the package, start the installed programs once and remove it again.
        #[arg(long)]
        verify: bool,
    },
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Returns whether everything the command looked at was in order.
fn run(command: Command) -> Result<bool> {
    let repository = repository::Repository::find()?;
    process::watch_for_signals()?;
    match command {
        Command::Run { notebook, yes, web } => launch::run(&repository, notebook.as_deref(), yes, web),
        Command::Test { long, only } => Ok(gate::run(&repository, long, &only)),
        Command::Bench { only, quick } => bench::run(&repository, &only, quick),
        Command::Engine => engine::serve(&repository),
        Command::Fmt => check::format(&repository),
        Command::Check { only } => check::run(&repository, only),
        Command::Deb { verify } => deb::run(&repository, verify),
    }
}
