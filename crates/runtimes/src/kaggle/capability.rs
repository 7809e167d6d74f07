//! What a sandbox in a Kaggle session can do, in words for a person.

use sandbook_sandbox::{Capabilities, Capability, Support};

use crate::capability::of_a_kernel;

pub(super) fn interactive() -> Capabilities {
    let limited = |note: &str| Support::Limited(note.into());
    let no = |note: &str| Support::No(note.into());
    of_a_kernel()
        .with(Capability::Restart, limited("Only where the session's proxy passes it on."))
        .with(Capability::Replay, limited("Output is kept for us only while no Kaggle page is connected."))
        .with(Capability::Survive, limited("The kernel stays until Kaggle ends the session."))
        .with(Capability::Isolation, Support::Yes("A machine of Kaggle's; the Kaggle page shares it.".into()))
        .with(
            Capability::Files,
            no("Files of Kaggle sessions are not offered yet; code can read and write them."),
        )
        .with(Capability::Terminal, no("A Kaggle session has no terminal for us; `!` runs commands."))
        .with(Capability::Snapshots, no("A Jupyter kernel has no state that could be kept and restored."))
}
