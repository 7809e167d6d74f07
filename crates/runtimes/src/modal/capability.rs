//! What sandboxes of this runtime can do, in words for a person.

use sandbook_sandbox::{Capabilities, Capability, Support};

use super::settings::{ModalSettings, NetworkPolicy};
use crate::capability::of_a_kernel;

/// Of a sandbox with a kernel. Whether there is one is known once it has begun.
pub(super) fn of(settings: &ModalSettings) -> Capabilities {
    let not_yet = |what: &str| Support::No(format!("{what} of Modal sandboxes are not offered yet."));
    let isolation = match settings.network {
        NetworkPolicy::None => "A sandbox on a machine of Modal's, without a network.",
        NetworkPolicy::Allowlist => {
            "A sandbox on a machine of Modal's, without a network but for the hosts that are listed."
        }
        NetworkPolicy::Inherit | NetworkPolicy::All => {
            "A sandbox on a machine of Modal's. It reaches the network."
        }
    };
    let survive = if settings.idle_timeout == 0 {
        "The sandbox can stay when its notebook is closed, and costs money until its longest life is over."
    } else {
        "The sandbox can stay when its notebook is closed, and ends when nothing runs for its idle time."
    };
    of_a_kernel()
        .with(Capability::Replay, Support::Yes("Output is read on from where the connection broke.".into()))
        .with(Capability::Survive, Support::Yes(survive.into()))
        .with(Capability::Isolation, Support::Yes(isolation.into()))
        .with(Capability::Files, not_yet("Files"))
        .with(Capability::Terminal, not_yet("Terminals"))
        .with(Capability::Snapshots, not_yet("Snapshots"))
}

/// Of a sandbox whose image has no ipykernel.
pub(super) fn of_plain_python(settings: &ModalSettings) -> Capabilities {
    of(settings)
        .with(
            Capability::Execute,
            Support::Limited("Plain Python, without IPython's magics: the image has no ipykernel.".into()),
        )
        .with(Capability::Completion, Support::Yes("Also while code runs.".into()))
        .with(Capability::Survive, Support::No("A plain Python ends with its sandbox.".into()))
}
