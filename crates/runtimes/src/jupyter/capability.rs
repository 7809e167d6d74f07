//! What sandboxes of this runtime can do, in words for a person.

use sandbook_sandbox::{Capabilities, Capability, Support};

use crate::capability::{NOT_ISOLATED, of_a_kernel};

fn without_files(capabilities: Capabilities) -> Capabilities {
    let not_yet = |what: &str| Support::No(format!("{what} of Jupyter sandboxes are not offered yet."));
    capabilities
        .with(Capability::Files, not_yet("Files"))
        .with(Capability::Terminal, not_yet("Terminals"))
        .with(
            Capability::Snapshots,
            Support::No("A Jupyter kernel has no state that could be kept and restored.".into()),
        )
}

pub(super) fn local() -> Capabilities {
    without_files(
        of_a_kernel()
            .with(
                Capability::Replay,
                Support::Yes("The connection to a kernel on this computer is not lost.".into()),
            )
            .with(
                Capability::Survive,
                Support::Yes("The kernel can stay when its notebook is closed.".into()),
            )
            .with(Capability::Isolation, Support::No(NOT_ISOLATED.into())),
    )
}

pub(super) fn server() -> Capabilities {
    let replay = "The server keeps output while nobody else is connected to the kernel.";
    without_files(
        of_a_kernel()
            .with(Capability::Replay, Support::Limited(replay.into()))
            .with(Capability::Survive, Support::Yes("The kernel can stay on the server.".into()))
            .with(Capability::Isolation, Support::No("As far as the server's machine is from yours.".into())),
    )
}

pub(super) fn managed() -> Capabilities {
    without_files(
        of_a_kernel()
            .with(Capability::Replay, Support::Yes(String::new()))
            .with(Capability::Survive, Support::No("The server ends with its sandbox.".into()))
            .with(Capability::Isolation, Support::No(NOT_ISOLATED.into())),
    )
}
