//! `sandbook supervise`: a small process around each local kernel, which ends it when its owner is gone.

use std::{ffi::OsString, process::ExitCode};

pub(crate) fn supervise(arguments: Vec<OsString>) -> ExitCode {
    sandbook_runtimes::supervise::run(arguments)
}
