//! Plain Python in a sandbox whose image has no ipykernel: the driver of `eval`, spoken to through the same program.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use sandbook_jupyter::bridge::{Heard, Kind, Order as BridgeOrder, Reader, Said as FromBridge};
use sandbook_sandbox::{BoxFuture, Capabilities, DeathCause, Lease, SandboxError, StopReport, StreamName};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use super::{
    command::{Command, Input},
    host::Terms,
    place::{Place, Running, cause},
};
use crate::driven::{Decoder, Ears, Engine, First, Launched, Order, Orders, Said};

/// How long the driver may take to begin.
const START_PATIENCE: Duration = Duration::from_mins(1);

/// Plain Python in a sandbox.
pub(super) struct PlainPython {
    pub(super) place: Place,
    pub(super) capabilities: Capabilities,
    pub(super) terms: Terms,
    /// The program that was begun already, until it is asked for.
    pub(super) begun: Mutex<Option<Running>>,
}

impl Engine for PlainPython {
    fn capabilities(&self) -> Capabilities {
        self.capabilities.clone()
    }

    fn launch<'a>(&'a self, cancel: &'a CancellationToken) -> BoxFuture<'a, Result<Launched, SandboxError>> {
        Box::pin(async move {
            tokio::select! {
                launched = self.start() => launched,
                () = cancel.cancelled() => Err(SandboxError::Cancelled),
            }
        })
    }

    fn lease(&self) -> Option<Lease> {
        Some(self.terms.lease())
    }

    fn finish(&self) -> BoxFuture<'_, Result<(), SandboxError>> {
        Box::pin(async { self.place.remote.terminate().await.map(drop) })
    }
}

impl PlainPython {
    async fn start(&self) -> Result<Launched, SandboxError> {
        let begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner).take();
        let running = if let Some(running) = begun {
            running
        } else {
            let (running, hello) = self.place.begin().await?;
            if hello.kind != Kind::Driver {
                // ipykernel came into it meanwhile; a new sandbox of the same image would not have it
                return Err(SandboxError::Failed("the sandbox has an ipykernel now; make a new one".into()));
            }
            running
        };
        let Running { command, input, mut reader, .. } = running;
        let first = tokio::time::timeout(START_PATIENCE, first(&mut reader)).await;
        let First::Hello(hello) = first.unwrap_or_else(|_| {
            Err(SandboxError::TimedOut {
                what: "the start of Python in the sandbox".into(),
                limit: START_PATIENCE,
            })
        })?;
        let (told, death) = watch::channel(None);
        let hand = Hand { command: command.clone(), input: input.clone() };
        Ok(Launched {
            running: Box::new(hand),
            info: hello.info(),
            death,
            carry: Box::new(move |ears, orders| {
                tokio::spawn(pass_on(orders, input).in_current_span());
                tokio::spawn(read(reader, command, ears, told).in_current_span());
            }),
        })
    }
}

/// The driver's first word.
async fn first(reader: &mut Reader) -> Result<First, SandboxError> {
    let failed = |detail: String| SandboxError::StartFailed { what: "Python in the sandbox".into(), detail };
    loop {
        match reader.next().await {
            Heard::Said(FromBridge::Driver(frame)) => {
                return serde_json::from_slice(&frame).map_err(|error| failed(error.to_string()));
            }
            Heard::Said(FromBridge::Died { code, signal }) => {
                return Err(failed(cause(code, signal).to_string()));
            }
            Heard::Said(_) | Heard::Link(_) => {}
            Heard::End(end) => return Err(failed(end.to_string())),
        }
    }
}

async fn pass_on(mut orders: mpsc::UnboundedReceiver<Order>, input: Input) {
    while let Some(order) = orders.recv().await {
        let order = serde_json::to_value(&order).unwrap_or_default();
        if input.send(BridgeOrder::Order(order).line()).is_err() {
            return;
        }
    }
}

async fn read(
    mut reader: Reader,
    command: Arc<Command>,
    mut ears: Ears,
    told: watch::Sender<Option<DeathCause>>,
) {
    let mut decoders = [Decoder::default(), Decoder::default()];
    let cause = loop {
        match reader.next().await {
            Heard::Said(FromBridge::Driver(frame)) => match serde_json::from_slice(&frame) {
                Ok(said) => ears.hear(said),
                Err(error) => tracing::warn!(%error, "a frame of the driver cannot be read"),
            },
            Heard::Said(FromBridge::Printed { is_error, text }) => {
                let name = if is_error { StreamName::Stderr } else { StreamName::Stdout };
                let text = decoders[usize::from(is_error)].decode(&text);
                ears.hear(Said::Text { name, text });
            }
            Heard::Said(FromBridge::Died { code, signal }) => break cause(code, signal),
            Heard::Said(FromBridge::Idle(seconds)) => command.end_idle_sandbox(seconds),
            Heard::Said(_) | Heard::Link(_) => {}
            Heard::End(end) => {
                tracing::info!(%end, "plain Python at Modal ended");
                break DeathCause::NotReported;
            }
        }
    };
    told.send_replace(Some(cause.clone()));
    ears.close(Some(cause));
}

/// The hand on it.
struct Hand {
    command: Arc<Command>,
    input: Input,
}

impl crate::driven::Running for Hand {
    fn interrupt(&self) {
        drop(self.input.send(BridgeOrder::Interrupt(true).line()));
    }

    fn end<'a>(&'a self, busy: bool, orders: &'a Orders, grace: Duration) -> BoxFuture<'a, StopReport> {
        Box::pin(async move {
            if busy {
                self.interrupt();
            }
            drop(orders.send(Order::Quit {}));
            if self.command.wait(grace).await {
                return StopReport::Ended;
            }
            drop(self.input.send(Bytes::new()));
            StopReport::Killed
        })
    }
}
