//! A client's side of a conversation: requests and their answers, and the stream of pushes.

#[cfg(test)]
mod tests;

use std::{
    path::Path,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use sandbook_protocol::{
    ClientId, ClientKind, ClientMessage, Command, DocumentId, Frame, Push, Reply, ResourceId, ServerMessage,
    VERSION,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::{mpsc, oneshot},
    task::JoinHandle,
};

use crate::{
    ClientError, Place,
    start::start,
    waiting::{Answer, Waiting},
    wire::{FrameReader, FrameWriter, Wire, message_frame},
};

/// How many messages may wait to be sent, and how many pushes to be read, before the other side has to wait.
const QUEUE: usize = 256;

/// How often it is tried to reach an owner that keeps ending.
const MOST_ATTEMPTS: u32 = 10;

/// How long to wait for an owner to be gone.
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(50);

/// A connection to the owner. Cloning it gives another handle to the same connection, which ends with the last.
#[derive(Clone)]
pub struct Owner {
    shared: Arc<Shared>,
}

struct Shared {
    client: ClientId,
    version: String,
    outgoing: mpsc::Sender<Frame>,
    waiting: Arc<Waiting>,
    next: AtomicU32,
    reader: JoinHandle<()>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

/// The content of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// Its media type.
    pub media_type: String,
    /// Its bytes.
    pub content: Bytes,
}

impl Owner {
    /// Connects to the owner that listens at a place.
    pub async fn connect(place: &Place, kind: ClientKind) -> Result<(Self, Pushes), ClientError> {
        let wire = Wire::connect(place).await?;
        Self::greet(wire.reader, wire.writer, kind).await
    }

    /// Connects to the owner that listens at a place; where there is none, starts `program serve` there, detached from
    /// this process. Two that start at the same time end up with the same owner.
    pub async fn connect_or_start(
        place: &Place,
        kind: ClientKind,
        program: &Path,
    ) -> Result<(Self, Pushes), ClientError> {
        let mut attempts = 0;
        loop {
            match Self::connect(place, kind).await {
                Err(ClientError::NobodyListens) if attempts < MOST_ATTEMPTS => start(place, program).await?,
                // An owner that ends in this very moment takes connections until its socket is gone.
                Err(ClientError::Closed | ClientError::Connection(_)) if attempts < MOST_ATTEMPTS => {
                    tokio::time::sleep(BETWEEN_ATTEMPTS).await;
                }
                other => return other,
            }
            attempts += 1;
        }
    }

    /// Says hello on a connection and waits for the welcome.
    pub async fn greet<R, W>(
        mut reader: FrameReader<R>,
        mut writer: FrameWriter<W>,
        kind: ClientKind,
    ) -> Result<(Self, Pushes), ClientError>
    where
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let hello = ClientMessage::Hello { version: VERSION, client: kind, token: None };
        writer.send(&message_frame(&hello)?).await?;
        let (client, version) = match reader.next().await? {
            Some(Frame::Json(json)) => match serde_json::from_slice(&json)? {
                ServerMessage::Welcome { client, version, .. } => (client, version),
                ServerMessage::Refused { error } => return Err(ClientError::Refused(error)),
                _ => return Err(ClientError::Closed),
            },
            _ => return Err(ClientError::Closed),
        };
        let (outgoing, to_send) = mpsc::channel(QUEUE);
        let (push, pushes) = mpsc::channel(QUEUE);
        let waiting = Arc::new(Waiting::open());
        tokio::spawn(write(writer, to_send));
        let reader = tokio::spawn(read(reader, waiting.clone(), push));
        let shared = Shared { client, version, outgoing, waiting, next: AtomicU32::new(1), reader };
        Ok((Self { shared: Arc::new(shared) }, Pushes(pushes)))
    }

    /// This client's name.
    pub fn client(&self) -> &ClientId {
        &self.shared.client
    }

    /// The owner's version.
    pub fn version(&self) -> &str {
        &self.shared.version
    }

    /// Sends a request and waits for its answer.
    pub async fn request(&self, command: Command) -> Result<Reply, ClientError> {
        self.send(command).await?.answer().await
    }

    /// Sends a request. Requests reach the owner in the order in which this is called.
    pub async fn send(&self, command: Command) -> Result<Request, ClientError> {
        self.begin(|id| ClientMessage::Request { id, command: Box::new(command) }).await
    }

    /// Reads a resource whole.
    pub async fn read_resource(&self, resource: ResourceId) -> Result<Resource, ClientError> {
        match self.begin(|id| ClientMessage::ReadResource { id, resource }).await?.wait().await? {
            Answer::Resource(resource) => Ok(resource),
            Answer::Reply(_) => Err(ClientError::Closed),
        }
    }

    /// Says that a patch batch was taken in.
    pub async fn acknowledge(&self, document: DocumentId, sequence: u32) -> Result<(), ClientError> {
        self.say(&ClientMessage::Acknowledge { document, sequence }).await
    }

    async fn begin(&self, message: impl FnOnce(u32) -> ClientMessage) -> Result<Request, ClientError> {
        let id = self.shared.next.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        self.shared.waiting.add(id, sender)?;
        let sent = self.say(&message(id)).await;
        if sent.is_err() {
            self.shared.waiting.take(id);
        }
        sent.map(|()| Request { id, answer, owner: self.clone() })
    }

    async fn say(&self, message: &ClientMessage) -> Result<(), ClientError> {
        self.shared.outgoing.send(message_frame(message)?).await.map_err(|_| ClientError::Closed)
    }
}

/// A request that is on its way. Dropping it does not give it up: [`Request::cancel`] does.
pub struct Request {
    id: u32,
    answer: oneshot::Receiver<Result<Answer, ClientError>>,
    owner: Owner,
}

impl Request {
    /// The id under which progress is pushed.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Asks the owner to give it up. The answer still comes, in most cases as the error `cancelled`.
    pub async fn cancel(&self) -> Result<(), ClientError> {
        self.owner.say(&ClientMessage::Cancel { id: self.id }).await
    }

    /// Waits for the answer.
    pub async fn answer(self) -> Result<Reply, ClientError> {
        match self.wait().await? {
            Answer::Reply(reply) => Ok(*reply),
            Answer::Resource(_) => Err(ClientError::Closed),
        }
    }

    async fn wait(self) -> Result<Answer, ClientError> {
        self.answer.await.unwrap_or(Err(ClientError::Closed))
    }
}

/// What the owner says unasked. Whoever holds this has to read it: the owner waits once some hundred are unread.
/// Dropping it says that this client wants none of them.
pub struct Pushes(mpsc::Receiver<Push>);

impl Pushes {
    /// The next one; nothing once the connection has ended. It may be dropped and called again.
    pub async fn next(&mut self) -> Option<Push> {
        self.0.recv().await
    }
}

impl futures::Stream for Pushes {
    type Item = Push;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Push>> {
        self.0.poll_recv(context)
    }
}

async fn write<W: AsyncWrite + Unpin>(mut writer: FrameWriter<W>, mut frames: mpsc::Receiver<Frame>) {
    while let Some(frame) = frames.recv().await {
        if let Err(error) = writer.send(&frame).await {
            tracing::debug!(%error, "the way to the owner is closed");
            return;
        }
    }
    let _ = writer.close().await;
}

async fn read<R: AsyncRead + Unpin>(
    mut reader: FrameReader<R>,
    waiting: Arc<Waiting>,
    pushes: mpsc::Sender<Push>,
) {
    loop {
        let taken = match reader.next().await {
            Ok(Some(frame)) => take(frame, &waiting, &pushes).await,
            Ok(None) => break,
            Err(error) => Err(error),
        };
        if let Err(error) = taken {
            tracing::warn!(%error, "the connection to the owner is given up");
            break;
        }
    }
    waiting.close();
}

async fn take(frame: Frame, waiting: &Waiting, pushes: &mpsc::Sender<Push>) -> Result<(), ClientError> {
    let (id, answer) = match frame {
        Frame::Resource { request, media_type, content } => {
            (request, Ok(Answer::Resource(Resource { media_type, content })))
        }
        Frame::Json(json) => match serde_json::from_slice(&json)? {
            ServerMessage::Response(response) => match (response.reply, response.error) {
                (_, Some(error)) => (response.id, Err(ClientError::Answer(error))),
                (Some(reply), None) => (response.id, Ok(Answer::Reply(Box::new(reply)))),
                (None, None) => (response.id, Err(ClientError::Closed)),
            },
            ServerMessage::Push { push } => {
                // A client that wants no pushes has dropped the other end.
                let _ = pushes.send(*push).await;
                return Ok(());
            }
            ServerMessage::Welcome { .. } | ServerMessage::Refused { .. } => return Ok(()),
        },
    };
    if let Some(sender) = waiting.take(id) {
        // Whoever asked may have gone away.
        let _ = sender.send(answer);
    }
    Ok(())
}
