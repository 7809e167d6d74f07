//! The supervisor as a program of its own: `sandbook-supervise -- PROGRAM ARGUMENTS…`. The command line has the same as
//! `sandbook supervise`; this one is for programs that use the runtimes as a library, and for tests.

use std::process::ExitCode;

fn main() -> ExitCode {
    sandbook_runtimes::supervise::run(std::env::args_os().skip(1))
}
