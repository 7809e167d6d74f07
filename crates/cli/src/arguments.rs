//! What can be said on the command line.

use std::{path::PathBuf, time::Duration};

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Runs notebooks and code in sandboxes.
#[derive(Debug, Parser)]
#[command(name = "sandbook", version, about, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Runs code and prints what it prints. The exit status is the code's
    Exec(Exec),
    /// Runs all cells of a notebook and writes it with its outputs
    Run(Run),
    /// Opens a notebook in the window
    Open {
        /// The notebook
        file: PathBuf,
    },
    /// Serves the page to a browser on this computer, until Ctrl-C
    Web(Web),
    /// Says what a pasted address is. Secrets in it are never shown
    ParseUrl {
        /// The text, as copied from somewhere
        text: String,
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
    /// Sandboxes that run
    Sandboxes {
        #[command(subcommand)]
        command: Sandboxes,
    },
    /// Where the settings are, what they are, and whether they are good
    Config {
        #[command(subcommand)]
        command: Config,
    },
    /// Runs the process that holds sandboxes and notebooks. It is started on demand
    Serve(Serve),
    /// Ends that process
    Quit {
        /// Also when something would be lost
        #[arg(long)]
        force: bool,
    },
    /// Starts a local program and ends it with its owner. For Sandbook's own use
    #[command(hide = true, disable_help_flag = true)]
    Supervise {
        /// What to start
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<std::ffi::OsString>,
    },
}

/// A kind of place where code runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RuntimeName {
    /// A kernel on this computer, or on a Jupyter server
    Jupyter,
}

/// Where code runs.
#[derive(Debug, Args)]
pub(crate) struct Place {
    /// The kind of place
    #[arg(long, value_enum, default_value = "jupyter")]
    pub(crate) runtime: RuntimeName,
    /// Address of a Jupyter server, in any form in which it can be copied. Without it the kernel is started here.
    /// A token in it is seen by other users of this computer: set `SANDBOOK_TOKEN`, or wait for the prompt
    #[arg(long, value_name = "URL")]
    pub(crate) server: Option<String>,
    /// Trusts the server's certificate with this SHA-256 fingerprint, and no other that the system does not trust
    #[arg(long, value_name = "FINGERPRINT", requires = "server")]
    pub(crate) trust: Option<String>,
    /// Name of the kernel, such as python3, or a Python interpreter as python:PATH
    #[arg(long, value_name = "NAME")]
    pub(crate) kernel: Option<String>,
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("source").required(true))]
pub(crate) struct Exec {
    #[command(flatten)]
    pub(crate) place: Place,
    /// Interrupts the code after so many seconds; 0 for no limit. 60 if absent, unless the settings say otherwise
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
    /// Prints one event a line as JSON, the outcome last
    #[arg(long)]
    pub(crate) json: bool,
    /// Reads the code from a file
    #[arg(short, long, value_name = "FILE", group = "source")]
    pub(crate) file: Option<PathBuf>,
    /// The code; - reads it from standard input
    #[arg(value_name = "CODE", group = "source", allow_hyphen_values = true)]
    pub(crate) code: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// The notebook
    #[arg(value_name = "IN.ipynb")]
    pub(crate) notebook: PathBuf,
    #[command(flatten)]
    pub(crate) place: Place,
    /// Where to write it; IN.out.ipynb if neither this nor --in-place is given
    #[arg(short, long, value_name = "OUT.ipynb", conflicts_with = "in_place")]
    pub(crate) output: Option<PathBuf>,
    /// Writes over the notebook
    #[arg(long)]
    pub(crate) in_place: bool,
    /// Goes on after a cell that failed
    #[arg(long)]
    pub(crate) allow_errors: bool,
    /// Interrupts a cell after so many seconds; no limit if absent or 0
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
    /// Prints one event a line as JSON, the outcome last
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Web {
    /// A notebook to open
    pub(crate) file: Option<PathBuf>,
    /// The port; any free one if absent
    #[arg(long)]
    pub(crate) port: Option<u16>,
    /// Prints the address as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Stays when nobody is connected and nothing runs
    #[arg(long)]
    pub(crate) stay: bool,
    /// How many seconds to wait for somebody before leaving. 10 if absent, 600 while a kernel lives that nobody asked
    /// to keep
    #[arg(long, value_name = "S", value_parser = seconds, env = "SANDBOOK_LEAVE_AFTER")]
    pub(crate) leave_after: Option<Duration>,
    /// Takes the page's files from this folder instead of the program: for work on the page
    #[arg(long, value_name = "FOLDER", env = "SANDBOOK_PAGE")]
    pub(crate) page: Option<PathBuf>,
    /// Cuts the ties to the terminal, and says when it listens. For Sandbook's own use
    #[arg(long, hide = true)]
    pub(crate) detached: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Sandboxes {
    /// Lists them, whoever started them
    List {
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Config {
    /// Folders, files, and the variables that move them
    Path {
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
    /// Every setting and its value
    Show {
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
    /// Whether the files can be read and hold nothing that is not understood
    Check {
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
}

fn seconds(text: &str) -> Result<Duration, String> {
    text.parse::<f64>()
        .ok()
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| format!("`{text}` is not a number of seconds"))
}

/// A limit of zero is none.
pub(crate) fn limit(timeout: Duration) -> Option<Duration> {
    (!timeout.is_zero()).then_some(timeout)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_arguments_do_not_contradict_each_other() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn code_comes_from_exactly_one_place() {
        for good in [vec!["1+1"], vec!["-"], vec!["-f", "a.py"], vec!["--timeout", "1.5", "-1"]] {
            assert!(Arguments::try_parse_from(["sandbook", "exec"].into_iter().chain(good)).is_ok());
        }
        for bad in
            [vec![], vec!["1", "-f", "a.py"], vec!["--timeout", "-1", "1"], vec!["--timeout", "x", "1"]]
        {
            assert!(Arguments::try_parse_from(["sandbook", "exec"].into_iter().chain(bad)).is_err());
        }
    }
}
