//! A sandbox whose code runs in an engine: something that takes orders and says what comes of them, one run after the
//! other.
//!
//! What is the same for every such engine is here, in front of the contract: runs and their events, time limits, input,
//! questions, restarts, death, the end. An [`Engine`] only launches; what it launched gets the orders and an [`Ears`] to
//! speak into. It says [`Said::Started`] and [`Said::End`] around each run, and text and outputs in the order in which
//! they came.

mod contract;
mod ears;
mod execution;
#[cfg(any(all(unix, feature = "eval"), feature = "modal"))]
mod hello;
mod sandbox;
#[cfg(any(all(unix, feature = "eval"), feature = "modal"))]
mod text;
mod words;

use std::time::Duration;

use sandbook_sandbox::{BoxFuture, Capabilities, DeathCause, KernelInfo, Lease, SandboxError, StopReport};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

pub(crate) use self::{
    ears::Ears,
    sandbox::DrivenSandbox,
    words::{Ended, Order, Question, Said},
};
#[cfg(any(all(unix, feature = "eval"), feature = "modal"))]
pub(crate) use self::{
    hello::{DRIVER, First, Hello},
    text::Decoder,
};

/// What is told to what an engine launched.
pub(crate) type Orders = mpsc::UnboundedSender<Order>;

/// Something that runs code; it can be launched again and again.
pub(crate) trait Engine: Send + Sync {
    /// What its sandboxes can do.
    fn capabilities(&self) -> Capabilities;

    /// Launches it; gives up, and stops it again, when cancelled.
    fn launch<'a>(&'a self, cancel: &'a CancellationToken) -> BoxFuture<'a, Result<Launched, SandboxError>>;

    /// Until when it is kept and what that costs.
    fn lease(&self) -> Option<Lease> {
        None
    }

    /// Ends what it was launched in, after a stop.
    fn finish(&self) -> BoxFuture<'_, Result<(), SandboxError>> {
        Box::pin(async { Ok(()) })
    }
}

/// What was launched.
pub(crate) struct Launched {
    /// The hand on it. It ends when this is dropped.
    pub(crate) running: Box<dyn Running>,
    /// What it says of itself.
    pub(crate) info: KernelInfo,
    /// Becomes the cause when it ends.
    pub(crate) death: watch::Receiver<Option<DeathCause>>,
    /// Begins to carry orders to it, and what it says to the ears.
    pub(crate) carry: Box<dyn FnOnce(Ears, mpsc::UnboundedReceiver<Order>) + Send>,
}

/// The hand on what was launched.
pub(crate) trait Running: Send + Sync {
    /// Interrupts what runs.
    fn interrupt(&self);

    /// Ends it: asks, waits for the grace time, kills, and says which it was.
    fn end<'a>(&'a self, busy: bool, orders: &'a Orders, grace: Duration) -> BoxFuture<'a, StopReport>;
}
