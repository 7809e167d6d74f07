//! Reading what the driver says: text, frames, its death. One task reads all of it, so that it is passed on in the
//! order in which it was said.

use std::time::Duration;

use futures::StreamExt as _;
use sandbook_sandbox::{DeathCause, StreamName};
use tokio::{
    io::AsyncReadExt as _,
    net::unix::{OwnedReadHalf, OwnedWriteHalf, pipe},
    sync::{mpsc, watch},
    time::Instant,
};
use tracing::Instrument as _;

use super::{
    launch::Doors,
    wire::{self, Frames},
};
use crate::driven::{Decoder, Ears, Order, Said};

/// The last frames of a dead process are waited for so long.
const LAST_FRAMES: Duration = Duration::from_millis(200);
const CHUNK: usize = 256 * 1024;
/// Text that follows text is gathered for so long, so that a loop that prints does not make an event of each line.
const GATHER: Duration = Duration::from_millis(1);

/// Carries what the driver says and what it is told, until it is dead.
pub(super) fn follow(
    doors: Doors,
    death: watch::Receiver<Option<DeathCause>>,
    ears: Ears,
    mut orders: mpsc::UnboundedReceiver<Order>,
) {
    let Doors { frames, orders: mut to_driver, stdout, stderr } = doors;
    tokio::spawn(async move { write(&mut to_driver, &mut orders).await }.in_current_span());
    let texts = [Text::new(StreamName::Stdout, stdout), Text::new(StreamName::Stderr, stderr)];
    tokio::spawn(Reader { ears, frames, texts }.read(death).in_current_span());
}

async fn write(to_driver: &mut OwnedWriteHalf, orders: &mut mpsc::UnboundedReceiver<Order>) {
    while let Some(order) = orders.recv().await {
        if let Err(error) = wire::send(to_driver, &order).await {
            tracing::debug!(%error, "the driver takes no orders any more");
            return;
        }
    }
}

/// One of the streams of the process.
struct Text {
    name: StreamName,
    pipe: Option<pipe::Receiver>,
    decoder: Decoder,
    buffer: Vec<u8>,
    last: Option<Instant>,
}

impl Text {
    fn new(name: StreamName, pipe: pipe::Receiver) -> Self {
        Self { name, pipe: Some(pipe), decoder: Decoder::default(), buffer: vec![0; CHUNK], last: None }
    }

    /// The next text. Nothing comes any more once everybody who could write has ended.
    async fn next(&mut self) -> String {
        loop {
            let Some(pipe) = &mut self.pipe else { return std::future::pending().await };
            if let Some(last) = self.last {
                tokio::time::sleep_until(last + GATHER).await;
            }
            match pipe.read(&mut self.buffer).await {
                Ok(0) | Err(_) => self.pipe = None,
                Ok(count) => {
                    self.last = Some(Instant::now());
                    return self.decoder.decode(&self.buffer[..count]);
                }
            }
        }
    }

    /// Text that is there already.
    fn left(&mut self) -> Option<String> {
        match self.pipe.as_ref()?.try_read(&mut self.buffer) {
            Ok(0) | Err(_) => None,
            Ok(count) => Some(self.decoder.decode(&self.buffer[..count])),
        }
    }
}

struct Reader {
    ears: Ears,
    frames: Frames<OwnedReadHalf>,
    texts: [Text; 2],
}

impl Reader {
    async fn read(mut self, mut death: watch::Receiver<Option<DeathCause>>) {
        loop {
            let [stdout, stderr] = &mut self.texts;
            let said = tokio::select! {
                // The driver sends a frame when all text before it has been read: what is in a pipe beside a frame was
                // written after it.
                biased;
                said = next(&mut self.frames) => said,
                text = stdout.next() => Some(Said::Text { name: StreamName::Stdout, text }),
                text = stderr.next() => Some(Said::Text { name: StreamName::Stderr, text }),
                _ = death.wait_for(Option::is_some) => None,
            };
            match said {
                Some(said) => self.ears.hear(said),
                None => break,
            }
        }
        while let Ok(Some(said)) = tokio::time::timeout(LAST_FRAMES, next(&mut self.frames)).await {
            self.ears.hear(said);
        }
        for index in 0..self.texts.len() {
            while let Some(text) = self.texts[index].left() {
                self.ears.hear(Said::Text { name: self.texts[index].name, text });
            }
        }
        let cause = death.wait_for(Option::is_some).await.ok().and_then(|cause| cause.clone());
        self.ears.close(cause);
    }
}

/// The next frame; none when the driver has gone. What cannot be read is put on record and left out.
async fn next(frames: &mut Frames<OwnedReadHalf>) -> Option<Said> {
    loop {
        let frame = frames.next().await?.ok()?;
        match serde_json::from_slice(&frame) {
            Ok(said) => return Some(said),
            Err(error) => tracing::warn!(%error, "a frame of the driver cannot be read"),
        }
    }
}
