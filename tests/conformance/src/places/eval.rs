//! A plain Python of this computer.

use std::sync::Arc;

use sandbook_runtimes::eval::{EvalRuntime, EvalSettings};
use sandbook_sandbox::SandboxSettings;
use sandbook_test_support::python;

use super::Place;
use crate::{Stage, stage::Folders};

/// The place.
pub(super) const PLACE: Place = Place {
    name: "eval",
    title: "Plain Python",
    about: "runtime `eval`, a Python of this computer with nothing installed; not isolated",
    only: None,
    prepare: || {
        Box::pin(async {
            let folders = Folders::new();
            let settings = SandboxSettings {
                working_directory: Some(folders.work()),
                runtime: EvalSettings { python: Some(python()) }.to_value(),
                ..SandboxSettings::default()
            };
            Stage::new(Arc::new(EvalRuntime::new(folders.surrounding())), settings, folders)
        })
    },
};
