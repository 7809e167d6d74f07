//! What a sandbox over a Colab tab's link can do, in words for a person.

use sandbook_sandbox::{Capabilities, Capability, Support};

use crate::capability::of_a_kernel;

pub(super) fn of_link() -> Capabilities {
    let limited = |note: &str| Support::Limited(note.into());
    let no = |note: &str| Support::No(note.into());
    of_a_kernel()
        .with(
            Capability::Restart,
            limited("The Colab tab uses the same kernel, and loses its variables too."),
        )
        .with(Capability::Replay, limited("Output is kept for us only while no Colab tab is connected."))
        .with(Capability::Survive, Support::Yes("The kernel belongs to the Colab tab and stays.".into()))
        .with(Capability::Isolation, Support::Yes("A machine of Google's; the Colab tab shares it.".into()))
        .with(
            Capability::Files,
            no("Files of Colab machines are not offered yet; code can read and write them."),
        )
        .with(Capability::Terminal, no("Terminals of Colab machines are not offered yet; `!` runs commands."))
        .with(Capability::Snapshots, no("A Jupyter kernel has no state that could be kept and restored."))
}
