//! What a Datalayer runtime can do, in words for a person.

use sandbook_sandbox::{Capabilities, Capability, Support};

use crate::capability::of_a_kernel;

pub(super) fn of_runtime() -> Capabilities {
    let limited = |note: &str| Support::Limited(note.into());
    let no = |note: &str| Support::No(note.into());
    of_a_kernel()
        .with(Capability::Replay, limited("The runtime keeps output while nobody else is connected to its kernel."))
        .with(
            Capability::Survive,
            limited("The runtime can stay when its notebook is closed. It costs until its time is over."),
        )
        .with(
            Capability::Pause,
            limited("Everything in it stands still. Whether that costs less, Datalayer does not say."),
        )
        .with(Capability::Isolation, Support::Yes("A machine of Datalayer's, or of its installation.".into()))
        .with(Capability::Files, no("Files of Datalayer runtimes are not offered yet; code can read and write them."))
        .with(Capability::Terminal, no("Terminals of Datalayer runtimes are not offered yet; `!` runs commands."))
        .with(
            Capability::Snapshots,
            no("Taking snapshots of Datalayer runtimes is not offered yet; one can be started from by its name."),
        )
}
