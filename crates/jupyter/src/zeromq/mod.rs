//! The transport to a kernel's own ZeroMQ sockets.
//!
//! Connecting waits for the kernel to bind, so a client can be made before the kernel runs. There is no heartbeat
//! socket: the stream ends when the process ends, and a kernel that hangs is told by nothing better than a person.

mod zmtp;

use std::{path::Path, time::Duration};

use bytes::Bytes;
use futures::future::BoxFuture;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    sync::mpsc,
};
use tokio_util::sync::CancellationToken;

use self::zmtp::{FrameReader, FrameWriter, SocketType};
use crate::{
    connection::{Address, ConnectionInfo},
    error::{Error, Result},
    message::{Channel, Message, SessionId},
    signing::Signer,
    transport::{Deliver, End, Incoming, Link, Transport},
};

type Source = Box<dyn AsyncRead + Send + Unpin>;
type Sink = Box<dyn AsyncWrite + Send + Unpin>;
type Socket = (FrameReader<Source>, FrameWriter<Sink>);

const RETRY: Duration = Duration::from_millis(4);

/// The transport to a kernel's ZeroMQ sockets.
pub struct ZeroMq {
    info: ConnectionInfo,
    session: SessionId,
}

impl ZeroMq {
    /// To the kernel of a connection file.
    pub fn new(info: ConnectionInfo, session: SessionId) -> Self {
        Self { info, session }
    }

    /// Tries until the kernel has bound the channel's socket.
    async fn connect(&self, channel: Channel) -> Result<Socket> {
        let socket = if channel == Channel::Iopub { SocketType::Sub } else { SocketType::Dealer };
        loop {
            match open(&self.info.address, channel).await {
                Ok((source, sink)) => {
                    return zmtp::handshake(source, sink, socket, self.session.as_str().as_bytes()).await;
                }
                Err(error) if not_yet(&error) => tokio::time::sleep(RETRY).await,
                Err(error) => return Err(Error::Protocol(error.to_string())),
            }
        }
    }
}

fn not_yet(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::ConnectionRefused)
}

async fn open(address: &Address, channel: Channel) -> std::io::Result<(Source, Sink)> {
    match address {
        Address::Tcp { ip, ports } => {
            let stream = TcpStream::connect((ip.as_str(), ports.of(channel))).await?;
            stream.set_nodelay(true)?;
            let (source, sink) = stream.into_split();
            Ok((Box::new(source), Box::new(sink)))
        }
        Address::Ipc(path) => open_ipc(&ConnectionInfo::ipc_path(path, channel)).await,
    }
}

#[cfg(unix)]
async fn open_ipc(path: &Path) -> std::io::Result<(Source, Sink)> {
    let (source, sink) = tokio::net::UnixStream::connect(path).await?.into_split();
    Ok((Box::new(source), Box::new(sink)))
}

#[cfg(not(unix))]
async fn open_ipc(_: &Path) -> std::io::Result<(Source, Sink)> {
    Err(std::io::Error::new(std::io::ErrorKind::Unsupported, "this system has no ipc sockets"))
}

struct Sockets {
    shell: Socket,
    iopub: Socket,
    stdin: Socket,
    control: Socket,
}

struct Readers {
    shell: FrameReader<Source>,
    iopub: FrameReader<Source>,
    stdin: FrameReader<Source>,
    control: FrameReader<Source>,
}

struct Writers {
    shell: FrameWriter<Sink>,
    stdin: FrameWriter<Sink>,
    control: FrameWriter<Sink>,
    /// Never written to, but dropping it would close the kernel's side.
    _iopub: FrameWriter<Sink>,
}

impl Sockets {
    fn split(self) -> (Readers, Writers) {
        let readers = Readers {
            shell: self.shell.0,
            iopub: self.iopub.0,
            stdin: self.stdin.0,
            control: self.control.0,
        };
        (
            readers,
            Writers {
                shell: self.shell.1,
                stdin: self.stdin.1,
                control: self.control.1,
                _iopub: self.iopub.1,
            },
        )
    }
}

impl Transport for ZeroMq {
    fn session(&self) -> &SessionId {
        &self.session
    }

    fn run(
        self: Box<Self>,
        outgoing: mpsc::Receiver<Message>,
        mut deliver: Deliver,
        stop: CancellationToken,
    ) -> BoxFuture<'static, End> {
        Box::pin(async move {
            let signer = Signer::new(&self.info.key);
            let connect = async {
                let (iopub, shell, stdin, control) = tokio::try_join!(
                    self.connect(Channel::Iopub),
                    self.connect(Channel::Shell),
                    self.connect(Channel::Stdin),
                    self.connect(Channel::Control),
                )?;
                Ok::<_, Error>(Sockets { shell, iopub, stdin, control })
            };
            let sockets = tokio::select! {
                sockets = connect => sockets,
                () = stop.cancelled() => return End::Stopped,
            };
            let (mut readers, mut writers) = match sockets {
                Ok(sockets) => sockets.split(),
                Err(error) => return End::Broken(error.to_string()),
            };
            deliver(Incoming::Link(Link::Connected));
            tokio::select! {
                end = read(&mut readers, &signer, &mut deliver) => end,
                end = write(&mut writers, &signer, outgoing) => end,
                () = stop.cancelled() => End::Stopped,
            }
        })
    }
}

async fn read(readers: &mut Readers, signer: &Signer, deliver: &mut Deliver) -> End {
    loop {
        let (channel, frames) = tokio::select! {
            frames = readers.shell.message() => (Channel::Shell, frames),
            frames = readers.iopub.message() => (Channel::Iopub, frames),
            frames = readers.stdin.message() => (Channel::Stdin, frames),
            frames = readers.control.message() => (Channel::Control, frames),
        };
        match frames {
            Ok(Some(frames)) => take(channel, frames, signer, deliver),
            Ok(None) => {
                drain(readers, signer, deliver).await;
                return End::KernelClosed;
            }
            Err(error) => return End::Broken(error.to_string()),
        }
    }
}

/// Reads what a dying kernel had already written to its other sockets.
async fn drain(readers: &mut Readers, signer: &Signer, deliver: &mut Deliver) {
    const PATIENCE: Duration = Duration::from_millis(200);
    let Readers { shell, iopub, stdin, .. } = readers;
    for (channel, reader) in [(Channel::Iopub, iopub), (Channel::Shell, shell), (Channel::Stdin, stdin)] {
        while let Ok(Ok(Some(frames))) = tokio::time::timeout(PATIENCE, reader.message()).await {
            take(channel, frames, signer, deliver);
        }
    }
}

fn take(channel: Channel, frames: Vec<Bytes>, signer: &Signer, deliver: &mut Deliver) {
    match signer.message(channel, frames) {
        Ok(message) => deliver(Incoming::Message(message)),
        Err(error) => tracing::warn!(channel = channel.as_str(), %error, "a message was dropped"),
    }
}

async fn write(writers: &mut Writers, signer: &Signer, mut outgoing: mpsc::Receiver<Message>) -> End {
    while let Some(message) = outgoing.recv().await {
        let frames = signer.frames(&message);
        let sent = match message.channel {
            Channel::Shell => writers.shell.send(&frames).await,
            Channel::Control => writers.control.send(&frames).await,
            Channel::Stdin => writers.stdin.send(&frames).await,
            Channel::Iopub => Ok(()),
        };
        if let Err(error) = sent {
            tracing::debug!(%error, "the kernel does not take messages any more");
            // the reader reads what is left and sees the end
            std::future::pending::<()>().await;
        }
    }
    End::Stopped
}
