//! What comes from the program.

use bytes::{Buf as _, Bytes, BytesMut};
use serde::Deserialize;

use crate::{
    error::{Error, Result},
    framing::{self, Payload},
    message::Message,
};

/// Ends whatever was printed before the program began.
const MARK: &[u8] = b"\0sandbook bridge 1\n";
/// Length and kind.
const HEAD: usize = 5;
/// What is printed before the mark is no more than this.
const MOST_BEFORE: usize = 1 << 20;

/// What the program says.
#[derive(Debug)]
pub enum Said {
    /// It has begun.
    Hello(Hello),
    /// A message of the kernel.
    Message(Message),
    /// What runs the code has ended.
    Died {
        /// Its exit code.
        code: Option<i32>,
        /// The signal that ended it.
        signal: Option<i32>,
    },
    /// Nothing was asked for and nothing ran for so many seconds: it ends.
    Idle(u64),
    /// It could not begin.
    Failed(String),
    /// The folder in which the code should run is not there.
    Missing(String),
    /// The answer to a ping.
    Pong {
        /// What was in it.
        id: String,
        /// Whether code runs.
        busy: bool,
    },
    /// A frame of the driver of plain Python: JSON.
    Driver(Bytes),
    /// What code in plain Python printed, or wrote to its error stream.
    Printed {
        /// Whether it is of the error stream.
        is_error: bool,
        /// The bytes.
        text: Bytes,
    },
}

/// The program's first word.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Hello {
    /// Whether there is a kernel, or the driver of plain Python.
    pub kind: Kind,
    /// The version of Python.
    pub python: String,
    /// Where the code runs.
    pub folder: String,
}

/// What runs the code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A real ipykernel.
    Kernel,
    /// The driver of plain Python.
    Driver,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Word {
    Hello(Hello),
    Died { code: Option<i32>, signal: Option<i32> },
    Idle(u64),
    Failed(String),
    Missing(String),
    Pong { id: String, busy: bool },
}

impl From<Word> for Said {
    fn from(word: Word) -> Self {
        match word {
            Word::Hello(hello) => Self::Hello(hello),
            Word::Died { code, signal } => Self::Died { code, signal },
            Word::Idle(seconds) => Self::Idle(seconds),
            Word::Failed(reason) => Self::Failed(reason),
            Word::Missing(folder) => Self::Missing(folder),
            Word::Pong { id, busy } => Self::Pong { id, busy },
        }
    }
}

/// Makes what is said out of bytes, however they are cut.
#[derive(Debug)]
pub struct Decoder {
    rest: BytesMut,
    position: u64,
    begun: bool,
}

impl Decoder {
    /// At the beginning of the output.
    pub fn at_the_beginning() -> Self {
        Self { rest: BytesMut::new(), position: 0, begun: false }
    }

    /// Where a frame begins, so many bytes into the output.
    pub fn at(position: u64) -> Self {
        Self { rest: BytesMut::new(), position, begun: position > 0 }
    }

    /// The end of the last whole frame, in bytes from the beginning of the output.
    pub const fn position(&self) -> u64 {
        self.position
    }

    /// Everything that is whole by now. A frame that cannot be read is put on record and left out.
    pub fn decode(&mut self, bytes: Bytes) -> Result<Vec<Said>> {
        self.rest.extend_from_slice(&bytes);
        drop(bytes);
        let mut said = Vec::new();
        if !self.begun {
            let Some(start) = self.rest.windows(MARK.len()).position(|window| window == MARK) else {
                if self.rest.len() > MOST_BEFORE {
                    return Err(Error::Malformed("its program printed a lot and never began".into()));
                }
                return Ok(said);
            };
            self.skip(start + MARK.len());
            self.begun = true;
        }
        while let Some(length) = self.rest.first_chunk().copied().map(u32::from_be_bytes) {
            let end = HEAD - 1 + usize::try_from(length).unwrap_or(usize::MAX);
            if length == 0 {
                return Err(Error::Malformed("a frame without a kind".into()));
            }
            if self.rest.len() < end {
                self.rest.reserve(end - self.rest.len());
                break;
            }
            let mut frame = self.rest.split_to(end).freeze();
            self.position += end as u64;
            let kind = frame[HEAD - 1];
            frame.advance(HEAD);
            match read(kind, frame) {
                Ok(one) => said.push(one),
                Err(error) => tracing::warn!(%error, "a frame of the bridge was dropped"),
            }
        }
        Ok(said)
    }

    fn skip(&mut self, count: usize) {
        self.rest.advance(count);
        self.position += count as u64;
    }
}

fn read(kind: u8, body: Bytes) -> Result<Said> {
    Ok(match kind {
        b'M' => Said::Message(framing::decode(Payload::Binary(body), true)?),
        b'F' => Said::Driver(body),
        b'O' | b'E' => Said::Printed { is_error: kind == b'E', text: body },
        b'J' => {
            serde_json::from_slice::<Word>(&body).map_err(|error| Error::Malformed(error.to_string()))?.into()
        }
        other => return Err(Error::Malformed(format!("a frame of the kind {other}"))),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frame(kind: u8, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len() + 1).unwrap();
        [&length.to_be_bytes()[..], &[kind], body].concat()
    }

    proptest! {
        #[test]
        fn frames_are_the_same_however_their_bytes_are_cut(
            texts in proptest::collection::vec(".{0,40}", 1..5),
            size in 1_usize..9,
        ) {
            let mut output = [b"warning: printed before", MARK].concat();
            for text in &texts {
                output.extend(frame(b'O', text.as_bytes()));
            }
            let mut decoder = Decoder::at_the_beginning();
            let mut decoded = Vec::new();
            for piece in output.chunks(size) {
                for said in decoder.decode(Bytes::copy_from_slice(piece)).unwrap() {
                    let Said::Printed { is_error: false, text } = said else { panic!("{said:?}") };
                    decoded.push(String::from_utf8(text.to_vec()).unwrap());
                }
            }
            prop_assert_eq!(decoded, texts);
            prop_assert_eq!(decoder.position(), output.len() as u64);
        }

        #[test]
        fn any_output_is_survived(bytes in proptest::collection::vec(any::<u8>(), 0..200), begun: bool) {
            let mut decoder = Decoder::at(u64::from(begun));
            drop(decoder.decode(bytes.into()));
        }
    }

    #[test]
    fn a_frame_that_cannot_be_read_is_left_out_and_the_next_is_read() {
        let output = [
            frame(b'J', b"{\"unheard\":1}"),
            frame(b'?', b""),
            frame(b'J', b"{\"pong\":{\"id\":\"a\",\"busy\":true}}"),
        ];
        let said = Decoder::at(7).decode(output.concat().into()).unwrap();
        assert!(matches!(&said[..], [Said::Pong { id, busy: true }] if id == "a"), "{said:?}");
    }
}
