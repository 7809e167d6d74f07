//! ZMTP 3.0, the part a Jupyter client needs: connecting DEALER and SUB sockets without encryption.
//!
//! Written here rather than taken from a ZeroMQ crate, because a kernel's client wants what a general socket hides:
//! the end of the stream at once (a dead kernel is known within milliseconds), no high-water mark on our side, no
//! queue between the socket and the reader, and one connection per socket that never reconnects on its own.
//! Deliberately absent: binding, other socket types, CURVE and PLAIN, ZMTP 2 and older. Source: RFC 23/ZMTP.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::error::{Error, Result};

const MORE: u8 = 1;
const LONG: u8 = 2;
const COMMAND: u8 = 4;
const GREETING: usize = 64;
/// How much is read at once.
const CHUNK: usize = 128 * 1024;
/// With less room than this the buffer grows, so small messages share a chunk.
const SPARE: usize = 4 * 1024;
/// What comes behind a frame of more than this does not share its memory, or the next small message would hold all of it.
const LARGE: usize = 8 * CHUNK;
/// The longest frame that is accepted: 4 GiB.
const LONGEST: u64 = 1 << 32;

/// The type of our side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SocketType {
    /// For shell, stdin and control.
    Dealer,
    /// For iopub; subscribes to everything.
    Sub,
}

/// The reading half.
pub(super) struct FrameReader<R> {
    source: R,
    buffer: BytesMut,
    message: Vec<Bytes>,
}

/// The writing half.
pub(super) struct FrameWriter<W> {
    sink: W,
}

/// Does the handshake on a fresh stream. `identity` routes replies: a kernel asks for input by the identity that its
/// shell request came from, so shell and stdin must carry the same one.
pub(super) async fn handshake<R: AsyncRead + Unpin, W: AsyncWrite + Unpin>(
    mut source: R,
    mut sink: W,
    socket: SocketType,
    identity: &[u8],
) -> Result<(FrameReader<R>, FrameWriter<W>)> {
    sink.write_all(&greeting()).await.map_err(broken)?;
    let mut theirs = [0; GREETING];
    source.read_exact(&mut theirs).await.map_err(broken)?;
    check_greeting(&theirs)?;
    let mut out = BytesMut::new();
    put_frame(&mut out, COMMAND, &ready(socket, identity));
    sink.write_all(&out).await.map_err(broken)?;
    let mut reader = FrameReader { source, buffer: BytesMut::new(), message: Vec::new() };
    loop {
        let (flags, body) =
            reader.frame().await?.ok_or_else(|| Error::Protocol("closed in the handshake".into()))?;
        match body.as_ref() {
            [5, b'R', b'E', b'A', b'D', b'Y', ..] if flags & COMMAND != 0 => break,
            [5, b'E', b'R', b'R', b'O', b'R', reason @ ..] if flags & COMMAND != 0 => {
                let reason = String::from_utf8_lossy(reason.get(1..).unwrap_or_default()).into_owned();
                return Err(Error::Protocol(reason));
            }
            _ => {}
        }
    }
    if socket == SocketType::Sub {
        let mut subscribe = BytesMut::new();
        put_frame(&mut subscribe, 0, &[1]);
        sink.write_all(&subscribe).await.map_err(broken)?;
    }
    Ok((reader, FrameWriter { sink }))
}

#[allow(clippy::needless_pass_by_value)] // for map_err
fn broken(source: std::io::Error) -> Error {
    Error::Protocol(source.to_string())
}

fn greeting() -> [u8; GREETING] {
    let mut greeting = [0; GREETING];
    greeting[0] = 0xFF;
    greeting[9] = 0x7F;
    greeting[10] = 3;
    greeting[12..16].copy_from_slice(b"NULL");
    greeting
}

fn check_greeting(theirs: &[u8; GREETING]) -> Result<()> {
    if theirs[0] != 0xFF || theirs[9] & 1 == 0 || theirs[10] < 3 {
        return Err(Error::Protocol("the other side does not speak ZeroMQ 3".into()));
    }
    if &theirs[12..17] != b"NULL\0" {
        return Err(Error::Protocol("the kernel wants an encrypted ZeroMQ connection".into()));
    }
    Ok(())
}

fn ready(socket: SocketType, identity: &[u8]) -> Vec<u8> {
    let mut body = b"\x05READY".to_vec();
    let mut property = |name: &[u8], value: &[u8]| {
        body.put_u8(u8::try_from(name.len()).unwrap_or(u8::MAX));
        body.put(name);
        body.put_u32(u32::try_from(value.len()).unwrap_or(u32::MAX));
        body.put(value);
    };
    match socket {
        SocketType::Dealer => {
            property(b"Socket-Type", b"DEALER");
            property(b"Identity", identity);
        }
        SocketType::Sub => property(b"Socket-Type", b"SUB"),
    }
    body
}

fn put_frame(out: &mut BytesMut, flags: u8, body: &[u8]) {
    if let Ok(short) = u8::try_from(body.len()) {
        out.put_slice(&[flags, short]);
    } else {
        out.put_u8(flags | LONG);
        out.put_u64(body.len() as u64);
    }
    out.put_slice(body);
}

impl<R: AsyncRead + Unpin> FrameReader<R> {
    /// The next multipart message; `None` when the other side closed. Cancel safe.
    pub(super) async fn message(&mut self) -> Result<Option<Vec<Bytes>>> {
        loop {
            let Some((flags, body)) = self.frame().await? else { return Ok(None) };
            if flags & COMMAND != 0 {
                continue;
            }
            self.message.push(body);
            if flags & MORE == 0 {
                return Ok(Some(std::mem::take(&mut self.message)));
            }
        }
    }

    async fn frame(&mut self) -> Result<Option<(u8, Bytes)>> {
        loop {
            if let Some(frame) = take_frame(&mut self.buffer)? {
                return Ok(Some(frame));
            }
            if self.buffer.capacity() - self.buffer.len() < SPARE {
                self.buffer.reserve(CHUNK);
            }
            match self.source.read_buf(&mut self.buffer).await {
                Ok(0) => return Ok(None),
                Ok(_) => {}
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return Ok(None),
                Err(error) => return Err(broken(error)),
            }
        }
    }
}

/// Takes one whole frame off the front, sharing its bytes; `None` while it is incomplete.
fn take_frame(buffer: &mut BytesMut) -> Result<Option<(u8, Bytes)>> {
    let Some(&flags) = buffer.first() else { return Ok(None) };
    let (head, length) = if flags & LONG == 0 {
        let Some(&length) = buffer.get(1) else { return Ok(None) };
        (2, u64::from(length))
    } else {
        let Some(length) = buffer.get(1..9).and_then(|bytes| bytes.try_into().ok()) else { return Ok(None) };
        (9, u64::from_be_bytes(length))
    };
    let length = usize::try_from(length)
        .ok()
        .filter(|_| length <= LONGEST)
        .ok_or_else(|| Error::Protocol("a frame of more than 4 GiB".into()))?;
    if buffer.len() < head + length {
        // grows as bytes arrive, never by the claimed length at once
        buffer.reserve((head + length - buffer.len()).min(16 * CHUNK));
        return Ok(None);
    }
    buffer.advance(head);
    let body = buffer.split_to(length).freeze();
    if length > LARGE {
        *buffer = BytesMut::from(&buffer[..]);
    }
    Ok(Some((flags, body)))
}

impl<W: AsyncWrite + Unpin> FrameWriter<W> {
    /// Writes a multipart message.
    pub(super) async fn send(&mut self, frames: &[Bytes]) -> Result<()> {
        let mut out = BytesMut::with_capacity(frames.iter().map(|frame| frame.len() + 9).sum());
        for (index, frame) in frames.iter().enumerate() {
            put_frame(&mut out, if index + 1 < frames.len() { MORE } else { 0 }, frame);
        }
        self.sink.write_all(&out).await.map_err(broken)?;
        self.sink.flush().await.map_err(broken)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_frame_longer_than_4_gib_is_refused() {
        let mut buffer = BytesMut::from(&[LONG, 1, 0, 0, 0, 0, 0, 0, 0][..]);
        assert!(take_frame(&mut buffer).is_err());
    }

    #[test]
    fn what_comes_behind_a_large_frame_does_not_hold_its_memory() {
        let mut wire = BytesMut::new();
        put_frame(&mut wire, 0, &vec![7; LARGE + 1]);
        put_frame(&mut wire, 0, b"small");
        let (_, large) = take_frame(&mut wire).unwrap().unwrap();
        assert!(wire.capacity() < CHUNK, "{} bytes", wire.capacity());
        assert!(large.try_into_mut().is_ok(), "nobody else has it");
        assert_eq!(take_frame(&mut wire).unwrap().unwrap().1, "small");
    }

    proptest! {
        #[test]
        fn frames_come_back_however_the_bytes_are_cut(
            bodies in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..600), 1..5),
            cut in 1_usize..64,
        ) {
            let mut wire = BytesMut::new();
            for body in &bodies { put_frame(&mut wire, MORE, body); }
            let (mut buffer, mut read) = (BytesMut::new(), Vec::new());
            for chunk in wire.chunks(cut) {
                buffer.put_slice(chunk);
                while let Some((_, body)) = take_frame(&mut buffer).unwrap() {
                    read.push(body.to_vec());
                }
            }
            prop_assert_eq!(read, bodies);
        }

        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            drop(take_frame(&mut BytesMut::from(&bytes[..])));
        }
    }
}
