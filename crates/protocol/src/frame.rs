//! Framing on the local socket: a kind byte, a length, the bytes.
//!
//! `0` is a JSON message. `1` is the content of a resource, led by the id of the request it answers, so that an image
//! goes through without being made text. Lengths are 32 bits, big-endian.

use bytes::{Buf, BufMut, Bytes, BytesMut};

/// The longest frame taken, in bytes. It bounds what a broken peer can make the other side hold.
pub const FRAME_LIMIT: usize = 1 << 30;

const HEAD: usize = 5;
const JSON: u8 = 0;
const RESOURCE: u8 = 1;

/// One frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// A message as JSON.
    Json(Bytes),
    /// The content of a resource.
    Resource {
        /// The request that asked for it.
        request: u32,
        /// Its media type.
        media_type: String,
        /// Its bytes.
        content: Bytes,
    },
}

/// A frame that cannot be read. The connection is of no use after it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The kind byte means nothing.
    #[error("a frame of unknown kind {0}")]
    UnknownKind(u8),
    /// Longer than [`FRAME_LIMIT`].
    #[error("a frame of {0} bytes is over the limit")]
    TooLong(usize),
    /// The frame ends inside its own head.
    #[error("a frame that ends too early")]
    Short,
}

impl Frame {
    /// The frame's bytes on the wire.
    pub fn encode(&self) -> Bytes {
        match self {
            Self::Json(json) => {
                let mut buffer = BytesMut::with_capacity(HEAD + json.len());
                put_head(&mut buffer, JSON, json.len());
                buffer.put_slice(json);
                buffer.freeze()
            }
            Self::Resource { request, media_type, content } => {
                let length = 4 + 2 + media_type.len() + content.len();
                let mut buffer = BytesMut::with_capacity(HEAD + length);
                put_head(&mut buffer, RESOURCE, length);
                buffer.put_u32(*request);
                buffer.put_u16(u16::try_from(media_type.len()).unwrap_or(u16::MAX));
                buffer.put_slice(media_type.as_bytes());
                buffer.put_slice(content);
                buffer.freeze()
            }
        }
    }
}

fn put_head(buffer: &mut BytesMut, kind: u8, length: usize) {
    buffer.put_u8(kind);
    buffer.put_u32(u32::try_from(length).unwrap_or(u32::MAX));
}

/// Finds frames in bytes that arrive in any pieces.
#[derive(Debug, Default)]
pub struct FrameDecoder {
    buffer: BytesMut,
}

impl FrameDecoder {
    /// The buffer to read into.
    pub fn buffer(&mut self) -> &mut BytesMut {
        &mut self.buffer
    }

    /// The next whole frame, if there is one.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, FrameError> {
        if self.buffer.len() < HEAD {
            return Ok(None);
        }
        let kind = self.buffer[0];
        let length =
            u32::from_be_bytes([self.buffer[1], self.buffer[2], self.buffer[3], self.buffer[4]]) as usize;
        if length > FRAME_LIMIT {
            return Err(FrameError::TooLong(length));
        }
        if self.buffer.len() < HEAD + length {
            self.buffer.reserve(HEAD + length - self.buffer.len());
            return Ok(None);
        }
        self.buffer.advance(HEAD);
        let body = self.buffer.split_to(length).freeze();
        match kind {
            JSON => Ok(Some(Frame::Json(body))),
            RESOURCE => resource(body).map(Some),
            other => Err(FrameError::UnknownKind(other)),
        }
    }
}

fn resource(mut body: Bytes) -> Result<Frame, FrameError> {
    if body.len() < 6 {
        return Err(FrameError::Short);
    }
    let request = body.get_u32();
    let length = usize::from(body.get_u16());
    if body.len() < length {
        return Err(FrameError::Short);
    }
    let media_type = String::from_utf8_lossy(&body.split_to(length)).into_owned();
    Ok(Frame::Resource { request, media_type, content: body })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames() -> Vec<Frame> {
        vec![
            Frame::Json(Bytes::from_static(b"{}")),
            Frame::Resource {
                request: 7,
                media_type: "image/png".into(),
                content: Bytes::from_static(b"\x89PNG"),
            },
            Frame::Json(Bytes::new()),
        ]
    }

    #[test]
    fn frames_survive_any_cut_of_the_stream() {
        let wire: Vec<u8> = frames().iter().flat_map(|frame| frame.encode().to_vec()).collect();
        for size in 1..=wire.len() {
            let mut decoder = FrameDecoder::default();
            let mut found = Vec::new();
            for piece in wire.chunks(size) {
                decoder.buffer().extend_from_slice(piece);
                while let Some(frame) = decoder.next_frame().unwrap() {
                    found.push(frame);
                }
            }
            assert_eq!(found, frames(), "cut every {size} bytes");
        }
    }

    #[test]
    fn nonsense_is_an_error_and_not_a_panic() {
        for (bytes, expected) in [
            (vec![9, 0, 0, 0, 0], FrameError::UnknownKind(9)),
            (vec![0, 255, 255, 255, 255], FrameError::TooLong(u32::MAX as usize)),
            (vec![1, 0, 0, 0, 2, 0, 0], FrameError::Short),
            (vec![1, 0, 0, 0, 6, 0, 0, 0, 1, 255, 255], FrameError::Short),
        ] {
            let mut decoder = FrameDecoder::default();
            decoder.buffer().extend_from_slice(&bytes);
            assert_eq!(decoder.next_frame(), Err(expected));
        }
    }
}
