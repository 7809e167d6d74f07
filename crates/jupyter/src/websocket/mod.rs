//! The transport over a Jupyter server's WebSocket.
//!
//! Lost connections are opened again without end, with the same session, so that the server replays what was missed;
//! what an earlier connection delivered is dropped. Only the server's own word ends it: 404 means the kernel is gone,
//! 401 or 403 that the token is no longer accepted. A server that merely answers slowly stays `Reconnecting`. Where a
//! token lives shorter than its kernel, [`WebSocket::renewal`] gives a connection that waits for the next one instead.
//!
//! A server's small frames wait for the acknowledgement of the one before (Nagle), which the system delays by 40 ms.
//! An unsolicited Pong after what arrived carries that acknowledgement at once and costs two bytes.

mod backoff;
mod dial;
mod doubt;
mod replay;
mod watched;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use futures::{SinkExt, StreamExt, future::BoxFuture};
use tokio::sync::{Notify, mpsc, watch};
use tokio_tungstenite::tungstenite::{Message as Frame, Utf8Bytes};
use tokio_util::sync::CancellationToken;

pub use self::dial::{Credential, Target};
use self::{dial::Line, doubt::Doubt, replay::Delivered};
use crate::{
    error::{Error, Result},
    framing::{self, Payload},
    message::{Message, SessionId},
    transport::{Deliver, End, Incoming, Link, Transport},
};

/// The transport over a server's WebSocket.
pub struct WebSocket {
    target: Target,
    session: SessionId,
    line: Line,
    retry: Arc<Notify>,
    renewed: Option<watch::Receiver<Target>>,
}

/// Tells a connection where its kernel is now, and with which credential.
#[derive(Debug)]
pub struct Renewal(watch::Sender<Target>);

impl Renewal {
    /// A connection that is open stays; the next one goes there, at once where the last one was refused.
    pub fn set(&self, target: Target) {
        self.0.send_replace(target);
    }
}

impl WebSocket {
    /// Opens the WebSocket once; an error here is the answer, nothing is tried again.
    pub async fn connect(target: Target, session: SessionId) -> Result<Self> {
        let line = target.dial(&session, true).await?;
        Ok(Self { target, session, line, retry: Arc::default(), renewed: None })
    }

    /// From now on a refusal does not end it, as long as this is kept.
    pub fn renewal(&mut self) -> Renewal {
        let (sender, renewed) = watch::channel(self.target.clone());
        self.renewed = Some(renewed);
        Renewal(sender)
    }

    /// Notify it to make the next attempt to reconnect at once.
    pub fn retry(&self) -> Arc<Notify> {
        self.retry.clone()
    }

    /// Whether the v1 framing was agreed on.
    pub const fn is_v1(&self) -> bool {
        self.line.v1
    }
}

impl Transport for WebSocket {
    fn session(&self) -> &SessionId {
        &self.session
    }

    fn run(
        self: Box<Self>,
        mut outgoing: mpsc::Receiver<Message>,
        mut deliver: Deliver,
        stop: CancellationToken,
    ) -> BoxFuture<'static, End> {
        let Self { mut target, session, mut line, retry, mut renewed } = *self;
        Box::pin(async move {
            let mut delivered = Delivered::default();
            loop {
                let v1 = line.v1;
                deliver(Incoming::Link(Link::Connected));
                let wire = Wire { target: &target, retry: &retry, stop: &stop };
                let lost = wire.carry(line, &mut outgoing, &mut deliver, &mut delivered).await;
                let (reason, silent) = match lost {
                    Lost::Stopped => return End::Stopped,
                    Lost::Because(reason) => (reason, false),
                    Lost::Silent => (doubt::REASON.to_owned(), true),
                };
                delivered.connection_ended();
                let (target, renewed) = (&mut target, renewed.as_mut());
                let mut redial =
                    Redial { target, renewed, session: &session, v1, reason, silent, retry: &retry };
                line = match redial.run(&mut deliver, &stop).await {
                    Ok(line) => line,
                    Err(end) => return end,
                };
            }
        })
    }
}

enum Lost {
    Stopped,
    Silent,
    Because(String),
}

/// Reconnecting.
struct Redial<'a> {
    target: &'a mut Target,
    renewed: Option<&'a mut watch::Receiver<Target>>,
    session: &'a SessionId,
    v1: bool,
    reason: String,
    silent: bool,
    retry: &'a Notify,
}

impl Redial<'_> {
    /// Tries without end; only the server's word or a stop ends it.
    async fn run(
        &mut self,
        deliver: &mut Deliver,
        stop: &CancellationToken,
    ) -> std::result::Result<Line, End> {
        for attempt in 0_u32.. {
            let pause = backoff::pause(attempt, rand::random());
            let (reason, silent) = (self.reason.clone(), self.silent);
            let quiet = Duration::ZERO;
            deliver(Incoming::Link(Link::Reconnecting { attempt, pause, silent, quiet, reason }));
            let mut dialled = tokio::select! {
                dialled = self.dial_after(pause) => dialled,
                () = stop.cancelled() => return Err(End::Stopped),
            };
            while let Err(Error::Refused { status }) = dialled {
                if self.renewed.is_some() {
                    deliver(Incoming::Link(Link::Refused { status }));
                }
                tokio::select! {
                    renewed = self.is_renewed() => if !renewed { return Err(End::Refused(status)) },
                    () = stop.cancelled() => return Err(End::Stopped),
                }
                dialled = self.target.dial(self.session, self.v1).await;
            }
            match dialled {
                Ok(line) => return Ok(line),
                Err(Error::KernelGone) => return Err(End::KernelGone),
                Err(error) => self.reason = error.to_string(),
            }
        }
        Err(End::Stopped)
    }

    async fn dial_after(&mut self, pause: Duration) -> Result<Line> {
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = self.retry.notified() => {}
        }
        if let Some(renewed) = &mut self.renewed {
            self.target.clone_from(&renewed.borrow_and_update());
        }
        self.target.dial(self.session, self.v1).await
    }

    /// Waits for another target; `false` where none can come.
    async fn is_renewed(&mut self) -> bool {
        let Some(renewed) = &mut self.renewed else { return false };
        let changed = renewed.changed().await.is_ok();
        self.target.clone_from(&renewed.borrow_and_update());
        changed
    }
}

/// What carrying over one connection needs besides the connection.
struct Wire<'a> {
    target: &'a Target,
    retry: &'a Notify,
    stop: &'a CancellationToken,
}

impl Wire<'_> {
    /// Carries messages over one open connection until it is lost.
    async fn carry(
        &self,
        line: Line,
        outgoing: &mut mpsc::Receiver<Message>,
        deliver: &mut Deliver,
        delivered: &mut Delivered,
    ) -> Lost {
        let Line { stream, arrived, v1 } = line;
        let (mut sink, mut source) = stream.split();
        let acknowledge = Notify::new();
        let deliver = Mutex::new(deliver);
        let doubt = Doubt::new(&arrived, &deliver, self.target, self.retry);

        let read = async {
            loop {
                let payload = match source.next().await {
                    Some(Ok(Frame::Text(text))) => Payload::Text(text.into()),
                    Some(Ok(Frame::Binary(bytes))) => Payload::Binary(bytes),
                    Some(Ok(Frame::Close(frame))) => {
                        let why = frame.map(|frame| format!("the server closed it ({})", frame.code));
                        return why.unwrap_or_else(|| "the server closed it".into());
                    }
                    Some(Ok(_)) => continue,
                    Some(Err(error)) => return error.to_string(),
                    None => return "the server closed it".into(),
                };
                acknowledge.notify_one();
                let message = framing::decode(payload, v1);
                if let Ok(message) = &message {
                    doubt.heard(message);
                }
                match message {
                    Ok(message) if delivered.is_new(message.id()) => {
                        if delivered.misses(message.id()) {
                            doubt::lock(&deliver)(Incoming::Missed);
                        }
                        doubt::lock(&deliver)(Incoming::Message(message));
                    }
                    Ok(_) => {}
                    Err(error) => tracing::warn!(%error, "a frame was dropped"),
                }
            }
        };
        let write = async {
            loop {
                let sent = tokio::select! {
                    message = outgoing.recv(), if !doubt.is_open() => match message {
                        Some(message) => {
                            doubt.sent();
                            sink.send(frame(&message, v1)).await
                        }
                        None => return None,
                    },
                    () = acknowledge.notified() => sink.send(Frame::Pong(Bytes::new())).await,
                    () = doubt.asks() => sink.send(Frame::Ping(Bytes::new())).await,
                };
                if let Err(error) = sent {
                    return Some(error.to_string());
                }
            }
        };

        let lost = tokio::select! {
            reason = read => Lost::Because(reason),
            reason = write => reason.map_or(Lost::Stopped, Lost::Because),
            () = doubt.is_settled() => Lost::Silent,
            () = self.stop.cancelled() => Lost::Stopped,
        };
        if matches!(lost, Lost::Stopped)
            && let Ok(mut stream) = source.reunite(sink)
        {
            drop(tokio::time::timeout(Duration::from_millis(200), stream.close(None)).await);
        }
        lost
    }
}

fn frame(message: &Message, v1: bool) -> Frame {
    let payload = if v1 { framing::encode_v1(message) } else { framing::encode_legacy(message) };
    match payload {
        Payload::Binary(bytes) => Frame::Binary(bytes),
        Payload::Text(bytes) => match Utf8Bytes::try_from(bytes) {
            Ok(text) => Frame::Text(text),
            Err(_) => Frame::Binary(Bytes::new()),
        },
    }
}
