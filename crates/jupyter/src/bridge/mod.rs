//! The transport through the standard streams of a program: a kernel in a place that has no open port.
//!
//! [`PROGRAM`] is run by whatever can run a command there, with `python -u -c`. It owns a real ipykernel and relays its
//! messages. To it go lines: orders as JSON, messages as base64 of the v1 framing, so that a line that was torn by an
//! owner's death does no harm. From it come frames, after a mark that ends whatever was printed before: four bytes of
//! length, one that says what it is, then the kernel's own bytes, which are parsed by nobody on their way. Where no
//! ipykernel is installed it runs the driver of plain Python that comes with the first line, if one does.
//!
//! Who runs the command knows how to read on after a lost connection: what comes from there is [`Piece`]s, with the
//! state of the way among them.

mod frames;
mod orders;

use std::collections::VecDeque;

use bytes::Bytes;
use futures::{StreamExt as _, future::BoxFuture, stream::BoxStream};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

pub use self::{
    frames::{Decoder, Hello, Kind, Said},
    orders::Order,
};
use crate::{
    framing::{self, Payload},
    message::{Message, SessionId},
    transport::{Deliver, End, Incoming, Link, Transport},
};

/// The program, for `python -u -c`.
pub const PROGRAM: &str = include_str!("bridge.py");

/// What comes from where the program runs.
#[derive(Debug)]
pub enum Piece {
    /// Bytes of its standard output, in order and without a hole.
    Bytes(Bytes),
    /// The way there changed.
    Link(Link),
    /// Nothing comes any more.
    End(End),
}

/// What was read.
#[derive(Debug)]
pub enum Heard {
    /// The program said something.
    Said(Said),
    /// The way there changed.
    Link(Link),
    /// Nothing comes any more.
    End(End),
}

/// Reads what the program says.
pub struct Reader {
    pieces: BoxStream<'static, Piece>,
    decoder: Decoder,
    ready: VecDeque<Heard>,
}

impl Reader {
    /// Of a stream of pieces, and a decoder that knows where in the output they begin.
    pub fn new(pieces: BoxStream<'static, Piece>, decoder: Decoder) -> Self {
        Self { pieces, decoder, ready: VecDeque::new() }
    }

    /// The next thing.
    pub async fn next(&mut self) -> Heard {
        loop {
            if let Some(heard) = self.ready.pop_front() {
                return heard;
            }
            match self.pieces.next().await {
                Some(Piece::Bytes(bytes)) => match self.decoder.decode(bytes) {
                    Ok(said) => self.ready.extend(said.into_iter().map(Heard::Said)),
                    Err(error) => return Heard::End(End::Broken(error.to_string())),
                },
                Some(Piece::Link(link)) => return Heard::Link(link),
                Some(Piece::End(end)) => return Heard::End(end),
                None => return Heard::End(End::KernelClosed),
            }
        }
    }

    /// How many bytes of the output were read up to the end of the last whole frame.
    pub fn position(&self) -> u64 {
        self.decoder.position()
    }
}

/// Takes what the program says of itself, and never waits.
pub type Listener = Box<dyn FnMut(&Said, u64) + Send>;

/// The transport.
pub struct Bridge {
    session: SessionId,
    reader: Reader,
    lines: mpsc::UnboundedSender<Bytes>,
    listener: Listener,
}

impl Bridge {
    /// To a kernel whose program has said hello. `lines` takes what goes to the program; `listener` hears what it says,
    /// with the place in its output.
    pub fn new(
        session: SessionId,
        reader: Reader,
        lines: mpsc::UnboundedSender<Bytes>,
        listener: Listener,
    ) -> Self {
        Self { session, reader, lines, listener }
    }
}

impl Transport for Bridge {
    fn session(&self) -> &SessionId {
        &self.session
    }

    fn run(
        self: Box<Self>,
        mut outgoing: mpsc::Receiver<Message>,
        mut deliver: Deliver,
        stop: CancellationToken,
    ) -> BoxFuture<'static, End> {
        let Self { mut reader, lines, mut listener, .. } = *self;
        Box::pin(async move {
            deliver(Incoming::Link(Link::Connected));
            let read = async {
                loop {
                    match reader.next().await {
                        Heard::Said(said) => {
                            listener(&said, reader.position());
                            match said {
                                Said::Message(message) => deliver(Incoming::Message(message)),
                                Said::Died { .. } => return End::KernelClosed,
                                _ => {}
                            }
                        }
                        Heard::Link(link) => deliver(Incoming::Link(link)),
                        Heard::End(end) => return end,
                    }
                }
            };
            let write = async {
                while let Some(message) = outgoing.recv().await {
                    if lines.send(line(&message)).is_err() {
                        // the reader sees why
                        std::future::pending::<()>().await;
                    }
                }
                End::Stopped
            };
            tokio::select! {
                end = read => end,
                end = write => end,
                () = stop.cancelled() => End::Stopped,
            }
        })
    }
}

/// A message as a line for the program.
fn line(message: &Message) -> Bytes {
    match framing::encode_v1(message) {
        Payload::Binary(frame) | Payload::Text(frame) => orders::encoded(&frame),
    }
}
