//! Frames over the local socket.

use sandbook_protocol::{ClientMessage, Frame, FrameDecoder};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf};

use crate::{ClientError, ClientStream, Place, endpoint};

/// How much is read at once at least, in bytes.
const READ: usize = 16 * 1024;

/// A connection to an owner on which nothing was said yet.
pub struct Wire {
    /// What the owner says.
    pub reader: FrameReader<ReadHalf<ClientStream>>,
    /// What the client says.
    pub writer: FrameWriter<WriteHalf<ClientStream>>,
}

impl Wire {
    /// Connects to the owner that listens at a place.
    pub async fn connect(place: &Place) -> Result<Self, ClientError> {
        let (read, write) = tokio::io::split(endpoint::connect(place).await?);
        Ok(Self { reader: FrameReader::new(read), writer: FrameWriter::new(write) })
    }
}

/// Reads frames.
#[derive(Debug)]
pub struct FrameReader<R> {
    stream: R,
    decoder: FrameDecoder,
}

impl<R: AsyncRead + Unpin> FrameReader<R> {
    /// Reads from a stream.
    pub fn new(stream: R) -> Self {
        Self { stream, decoder: FrameDecoder::default() }
    }

    /// The next frame; nothing once the other side has ended. It may be dropped and called again.
    pub async fn next(&mut self) -> Result<Option<Frame>, ClientError> {
        loop {
            if let Some(frame) = self.decoder.next_frame()? {
                return Ok(Some(frame));
            }
            self.decoder.buffer().reserve(READ);
            if self.stream.read_buf(self.decoder.buffer()).await? == 0 {
                return Ok(None);
            }
        }
    }
}

/// Writes frames.
#[derive(Debug)]
pub struct FrameWriter<W> {
    stream: W,
}

impl<W: AsyncWrite + Unpin> FrameWriter<W> {
    /// Writes to a stream.
    pub fn new(stream: W) -> Self {
        Self { stream }
    }

    /// Writes a frame. If it is dropped half-way the connection is of no use any more.
    pub async fn send(&mut self, frame: &Frame) -> Result<(), ClientError> {
        self.stream.write_all(&frame.encode()).await?;
        Ok(self.stream.flush().await?)
    }

    /// Says that nothing more will come.
    pub async fn close(&mut self) -> Result<(), ClientError> {
        Ok(self.stream.shutdown().await?)
    }
}

/// The frame of a client's message.
pub(crate) fn message_frame(message: &ClientMessage) -> Result<Frame, ClientError> {
    Ok(Frame::Json(serde_json::to_vec(message)?.into()))
}
