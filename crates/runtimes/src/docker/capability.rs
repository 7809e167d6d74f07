//! What sandboxes of this runtime can do, in words for a person.

use sandbook_sandbox::{Capabilities, Capability, Support};

use super::settings::{DockerSettings, NetworkPolicy};
use crate::capability::of_a_kernel;

pub(super) fn of(settings: &DockerSettings) -> Capabilities {
    let not_yet = |what: &str| Support::No(format!("{what} of containers are not offered yet."));
    let isolation = match settings.network {
        NetworkPolicy::None => {
            "A container without a network: own files, processes and limits, on this computer's kernel."
        }
        NetworkPolicy::Allowlist => {
            "A container without a network but for the hosts that are listed, by http and https: own files, processes and limits, on this computer's kernel."
        }
        _ => {
            "A container: own files, processes and limits, on this computer's kernel. It reaches the network."
        }
    };
    of_a_kernel()
        .with(Capability::Replay, Support::Yes(String::new()))
        .with(Capability::Survive, Support::Yes("The container can stay when its notebook is closed.".into()))
        .with(Capability::Isolation, Support::Yes(isolation.into()))
        .with(Capability::Files, not_yet("Files"))
        .with(Capability::Terminal, not_yet("Terminals"))
        .with(Capability::Snapshots, not_yet("Snapshots"))
}
