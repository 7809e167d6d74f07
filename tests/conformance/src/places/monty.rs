//! Monty, with the worker of the tests' Python.

use std::sync::Arc;

use sandbook_runtimes::monty::{MontyRuntime, MontySettings};
use sandbook_sandbox::SandboxSettings;
use sandbook_test_support::python;

use super::Place;
use crate::{Stage, stage::Folders};

/// The place.
pub(super) const PLACE: Place = Place {
    name: "monty",
    title: "Monty",
    about: "runtime `monty`, a part of Python in a process without files or network, nothing installed",
    only: None,
    prepare: || {
        Box::pin(async {
            let folders = Folders::new();
            let worker = python().parent().map(|programs| programs.join("monty"));
            let settings = SandboxSettings {
                runtime: MontySettings { worker, ..MontySettings::default() }.to_value(),
                ..SandboxSettings::default()
            };
            Stage::new(Arc::new(MontyRuntime::new(folders.surrounding())), settings, folders)
        })
    },
};
