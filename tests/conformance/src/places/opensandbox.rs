//! A sandbox of a real OpenSandbox server, over the stand-ins of an engine and of execd.

use std::sync::Arc;

use sandbook_runtimes::opensandbox::{Defaults, OpenSandboxRuntime, OpenSandboxSettings};
use sandbook_sandbox::SandboxSettings;
use sandbook_test_support::OpenSandboxServer;

use super::Place;
use crate::{Stage, stage::Folders};

const KEY: &str = "k3y-of-the-scenarios";

/// What is asked of it: its kernel is that of any server.
const WHERE_IT_DIFFERS: &[&str] = &["Restart", "Settings", "Create and join", "Stop"];

/// The place.
pub(super) const PLACE: Place = Place {
    name: "opensandbox",
    title: "OpenSandbox",
    about: "runtime `opensandbox`, a sandbox of a server that is the real one, over a stand-in of its engine",
    only: Some((WHERE_IT_DIFFERS, "jupyter_server")),
    prepare: || {
        Box::pin(async {
            let folders = Folders::new();
            let server = OpenSandboxServer::start(Some(KEY)).await;
            let own = OpenSandboxSettings { domain: Some(server.domain()), ..OpenSandboxSettings::default() };
            let settings = SandboxSettings { runtime: own.to_value(), ..SandboxSettings::default() };
            let runtime = Arc::new(OpenSandboxRuntime::with(Defaults::default()));
            let stage = Stage::new(runtime, settings, folders);
            Stage { credential: Some(KEY.to_owned().into()), started: Some(Box::new(server)), ..stage }
        })
    },
};
