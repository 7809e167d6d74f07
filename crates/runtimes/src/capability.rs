//! What kernels of several runtimes can do alike, in words for a person.

use sandbook_sandbox::{Capabilities, Capability, Support};

/// What is said of code that nothing keeps away from the computer.
pub(crate) const NOT_ISOLATED: &str = "None: the code can do what you can do on this computer.";

/// What every kernel with state can do. What one does in a way of its own, it says anew.
pub(crate) fn of_a_kernel() -> Capabilities {
    let yes = || Support::Yes(String::new());
    Capabilities::default()
        .with(Capability::Execute, yes())
        .with(Capability::Language, yes())
        .with(Capability::RichOutput, yes())
        .with(Capability::Input, yes())
        .with(Capability::Interrupt, yes())
        .with(Capability::Restart, yes())
        .with(Capability::Completion, yes())
}
