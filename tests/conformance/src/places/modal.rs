//! Modal, of which a stand-in keeps sandboxes with real kernels.

use std::sync::Arc;

use sandbook_runtimes::modal::{ModalRuntime, ModalSettings, Sources};
use sandbook_sandbox::SandboxSettings;
use sandbook_test_support::Modal;

use super::Place;
use crate::{Stage, stage::Folders};

/// What tells it from a kernel of this computer: the way of its messages, and everything around it.
const WHERE_IT_DIFFERS: &[&str] =
    &["Text", "Interrupt", "Restart", "Death", "Settings", "Create and join", "Stop"];

/// The place.
pub(super) const PLACE: Place = Place {
    name: "modal",
    title: "Modal",
    about: "runtime `modal`, a sandbox that is paid for, by a stand-in of Modal with real kernels",
    only: Some((WHERE_IT_DIFFERS, "jupyter_local")),
    prepare: || {
        Box::pin(async {
            let modal = Modal::start(&[]);
            let own = ModalSettings { server_url: Some(modal.url.to_string()), ..ModalSettings::default() };
            let folders = Folders::new();
            let settings = SandboxSettings {
                working_directory: Some(folders.work()),
                runtime: own.to_value(),
                ..SandboxSettings::default()
            };
            let runtime = Arc::new(ModalRuntime::looking_in(Sources::default()));
            let credential = Some(modal.pair.clone().into());
            let stage = Stage::new(runtime, settings, folders);
            Stage { credential, started: Some(Box::new(modal)), ..stage }
        })
    },
};
