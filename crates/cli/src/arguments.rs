//! What can be said on the command line.

use std::{path::PathBuf, time::Duration};

use clap::{
    Args, Parser, Subcommand,
    builder::{PossibleValuesParser, TypedValueParser},
};
use sandbook_protocol::{CredentialKind, RuntimeKind};
use secrecy::SecretString;
use serde_json::Value;

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
    /// Runs code that is typed, line by line, until it is left
    Repl(Repl),
    /// Looks step by step whether a place where code runs answers as it should. Starts nothing, unless told to
    Doctor(Doctor),
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
    /// Credentials: what is kept, for what, and how old. None is ever shown
    Credentials {
        #[command(subcommand)]
        command: Credentials,
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
    /// Waits beside a command, and ends what it made if it is killed. For Sandbook's own use
    #[command(hide = true)]
    Attend,
    /// Starts a local program and ends it with its owner. For Sandbook's own use
    #[command(hide = true, disable_help_flag = true)]
    Supervise {
        /// What to start
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<std::ffi::OsString>,
    },
}

/// Where code runs.
#[derive(Debug, Args)]
pub(crate) struct Place {
    /// The kind of place. A Jupyter kernel if absent, or Monty where this computer has no Python
    #[arg(long, visible_alias = "variant", value_name = "NAME", value_parser = runtime_names())]
    pub(crate) runtime: Option<RuntimeKind>,
    /// A setting that only this kind of place knows; can be given more than once
    #[arg(long = "setting", value_name = "NAME=VALUE", value_parser = setting)]
    pub(crate) settings: Vec<(String, Value)>,
    /// Address of a Jupyter server, in any form in which it can be copied. Without it the kernel is started here.
    /// A token in it is seen by other users of this computer: set `SANDBOOK_TOKEN`, use `--token-stdin`, or wait for the
    /// prompt
    #[arg(long, value_name = "URL")]
    pub(crate) server: Option<String>,
    /// Trusts the server's certificate with this SHA-256 fingerprint, and no other that the system does not trust
    #[arg(long, value_name = "FINGERPRINT", requires = "server")]
    pub(crate) trust: Option<String>,
    /// Name of the kernel, such as python3, or a Python interpreter as python:PATH
    #[arg(long, value_name = "NAME")]
    pub(crate) kernel: Option<String>,
    /// Reads the token, or a cloud's channels link, from the first line of standard input
    #[arg(long)]
    pub(crate) token_stdin: bool,
    /// A token or link that was asked for already. Never an argument
    #[arg(skip)]
    pub(crate) credential: Option<SecretString>,
}

impl Place {
    /// Where nothing was said.
    pub(crate) const fn nowhere() -> Self {
        Self {
            runtime: None,
            settings: Vec::new(),
            server: None,
            trust: None,
            kernel: None,
            token_stdin: false,
            credential: None,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Repl {
    #[command(flatten)]
    pub(crate) place: Place,
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// A saved connection by its name, or a runtime
    #[arg(value_name = "CONNECTION")]
    pub(crate) connection: String,
    #[command(flatten)]
    pub(crate) place: Place,
    /// Also makes a sandbox, runs code in it and ends it. What that costs is said first
    #[arg(long)]
    pub(crate) create: bool,
    /// Writes a report without secrets, which can be sent to others
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Prints one step a line as JSON, the outcome last
    #[arg(long)]
    pub(crate) json: bool,
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
    /// The code; - reads it from standard input. Code that begins with - comes after --
    #[arg(value_name = "CODE", group = "source")]
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
pub(crate) enum Credentials {
    /// Lists them, and says which part of the keyring is missing
    List {
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
    /// Adds one. It is typed when asked, or read from standard input
    Add {
        /// What it is
        #[arg(long, value_name = "KIND", value_parser = credential_kinds())]
        kind: CredentialKind,
        /// What you call it
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
        /// A saved connection that shall use it, by name or id; can be given more than once
        #[arg(long = "connection", value_name = "NAME")]
        connections: Vec<String>,
        #[command(flatten)]
        kept: Kept,
    },
    /// Puts another in its place. Its connections are asked whether they take it, and keep it
    Replace {
        /// Its name or id
        credential: String,
        #[command(flatten)]
        kept: Kept,
    },
    /// Asks those who take it whether they still do. Costs nothing
    Test {
        /// Its name or id
        credential: String,
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
    /// Deletes it, and says which connections lose it
    Delete {
        /// Its name or id
        credential: String,
        /// Does not ask
        #[arg(long)]
        yes: bool,
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
    /// Shows credentials of other programs on this computer, or takes one over
    Import {
        /// The source to take over, as it was shown
        source: Option<String>,
        /// Keeps it in memory until the owner process ends, not in the keyring
        #[arg(long)]
        memory: bool,
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
}

/// Where a credential is kept.
#[derive(Debug, Args)]
pub(crate) struct Kept {
    /// A variable that holds it where the owner process was started, `SANDBOOK_CREDENTIAL_…`, in place of the keyring
    #[arg(long, value_name = "VARIABLE")]
    pub(crate) variable: Option<String>,
    /// Keeps it in memory until the owner process ends, not in the keyring
    #[arg(long, conflicts_with = "variable")]
    pub(crate) memory: bool,
    /// Prints JSON
    #[arg(long)]
    pub(crate) json: bool,
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

fn runtime_names() -> impl TypedValueParser<Value = RuntimeKind> {
    let names = RuntimeKind::ALL.iter().map(|kind| kind.name());
    PossibleValuesParser::new(names).try_map(|name| RuntimeKind::named(&name).ok_or("unknown"))
}

fn credential_kinds() -> impl TypedValueParser<Value = CredentialKind> {
    let names = CredentialKind::ALL.iter().filter(|kind| !kind.is_link()).map(|kind| kind.name());
    PossibleValuesParser::new(names).try_map(|name| CredentialKind::named(&name).ok_or("unknown"))
}

/// A name and its value: JSON where it is some, else a text.
fn setting(text: &str) -> Result<(String, Value), String> {
    let (name, value) = text.split_once('=').ok_or_else(|| format!("`{text}` is not NAME=VALUE"))?;
    let value = serde_json::from_str(value).unwrap_or_else(|_| value.into());
    Ok((name.trim().to_owned(), value))
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
    fn a_setting_is_a_name_and_json_or_a_text() {
        for (text, name, value) in [
            ("python=/usr/bin/python3", "python", Value::from("/usr/bin/python3")),
            ("cpu=2.5", "cpu", Value::from(2.5)),
            ("env=A=b", "env", Value::from("A=b")),
            ("read_only=true", "read_only", Value::from(true)),
        ] {
            assert_eq!(setting(text), Ok((name.into(), value)));
        }
        assert!(setting("python").is_err());
    }

    #[test]
    fn code_comes_from_exactly_one_place() {
        for good in [vec!["1+1"], vec!["-"], vec!["-f", "a.py"], vec!["--timeout", "1.5", "--", "-1"]] {
            assert!(Arguments::try_parse_from(["sandbook", "exec"].into_iter().chain(good)).is_ok());
        }
        for bad in [
            vec![],
            vec!["1", "-f", "a.py"],
            vec!["--timeout", "-1", "1"],
            vec!["--timeout", "x", "1"],
            vec!["-1"],
        ] {
            assert!(Arguments::try_parse_from(["sandbook", "exec"].into_iter().chain(bad)).is_err());
        }
    }
}
