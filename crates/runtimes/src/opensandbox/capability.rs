//! What a sandbox of an OpenSandbox server can do, in words for a person.

use sandbook_sandbox::{Capabilities, Capability, Support};

use crate::capability::of_a_kernel;

pub(super) fn of_sandbox() -> Capabilities {
    let limited = |note: &str| Support::Limited(note.into());
    let no = |note: &str| Support::No(note.into());
    of_a_kernel()
        .with(
            Capability::Replay,
            limited("What was on its way through the sandbox's proxy when the connection broke may be missing."),
        )
        .with(
            Capability::Survive,
            limited("It can stay when its notebook is closed, until its time is over and where its server has a key."),
        )
        .with(Capability::Pause, limited("Everything in it stands still, and its time goes on."))
        .with(
            Capability::Isolation,
            Support::Yes("A container of its server's. It reaches the network, unless the server forbids it.".into()),
        )
        .with(Capability::Files, no("Files of OpenSandbox are not offered yet; code can read and write them."))
        .with(Capability::Terminal, no("Terminals of OpenSandbox are not offered yet; `!` runs commands."))
        .with(Capability::Snapshots, no("Snapshots of OpenSandbox are not offered yet."))
}
