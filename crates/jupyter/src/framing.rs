//! The two framings of Jupyter's kernel WebSocket.
//!
//! `v1.kernel.websocket.jupyter.org` passes the kernel's parts through untouched, which spares the server a JSON round
//! trip per message; the older JSON framing is what every server and proxy understands.

use bytes::{BufMut, Bytes, BytesMut};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{
    error::{Error, Result},
    message::{Channel, Message},
    raw::RawJson,
};

/// The name of the v1 framing in `Sec-WebSocket-Protocol`.
pub(crate) const V1: &str = "v1.kernel.websocket.jupyter.org";

const WORD: usize = 8;

/// A WebSocket payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Payload {
    /// A text frame; its bytes are UTF-8.
    Text(Bytes),
    /// A binary frame.
    Binary(Bytes),
}

/// A message in the v1 framing.
pub(crate) fn encode_v1(message: &Message) -> Payload {
    let channel = Bytes::from_static(message.channel.as_str().as_bytes());
    let parts: Vec<Bytes> =
        std::iter::once(channel).chain(message.json_parts()).chain(message.buffers.iter().cloned()).collect();
    let head = WORD * (parts.len() + 2);
    let mut frame = BytesMut::with_capacity(head + parts.iter().map(Bytes::len).sum::<usize>());
    frame.put_u64_le(parts.len() as u64 + 1);
    let mut offset = head;
    frame.put_u64_le(offset as u64);
    for part in &parts {
        offset += part.len();
        frame.put_u64_le(offset as u64);
    }
    for part in parts {
        frame.put(part);
    }
    Payload::Binary(frame.freeze())
}

/// A message in the older framing: JSON text, or with buffers a table of offsets in front of JSON and buffers.
pub(crate) fn encode_legacy(message: &Message) -> Payload {
    let [header, parent, metadata, content] = message.json_parts();
    let mut json =
        BytesMut::with_capacity(128 + header.len() + parent.len() + metadata.len() + content.len());
    json.put(&b"{\"channel\":\""[..]);
    json.put(message.channel.as_str().as_bytes());
    json.put(&b"\",\"buffers\":[]"[..]);
    let members = [
        (&b"header"[..], header),
        (b"parent_header", parent),
        (b"metadata", metadata),
        (b"content", content),
    ];
    for (key, value) in members {
        json.put(&b",\""[..]);
        json.put(key);
        json.put(&b"\":"[..]);
        json.put(value);
    }
    json.put_u8(b'}');
    let json = json.freeze();
    if message.buffers.is_empty() {
        return Payload::Text(json);
    }
    Payload::Binary(with_offset_table(&json, &message.buffers))
}

#[allow(clippy::cast_possible_truncation)] // the framing has 32-bit offsets: it ends at 4 GiB
fn with_offset_table(json: &Bytes, buffers: &[Bytes]) -> Bytes {
    let count = buffers.len() + 1;
    let mut offset = 4 * (count + 1);
    let mut frame = BytesMut::new();
    frame.put_u32(count as u32);
    for part in std::iter::once(json).chain(buffers) {
        frame.put_u32(offset as u32);
        offset += part.len();
    }
    for part in std::iter::once(json).chain(buffers) {
        frame.put(part.clone());
    }
    frame.freeze()
}

/// The message of a payload, in the framing that was agreed on.
pub(crate) fn decode(payload: Payload, v1: bool) -> Result<Message> {
    match payload {
        Payload::Text(json) => from_json(&json, Vec::new()),
        Payload::Binary(frame) if v1 => decode_v1(&frame),
        Payload::Binary(frame) => decode_offset_table(&frame),
    }
}

fn malformed(what: &str) -> Error {
    Error::Malformed(what.to_owned())
}

fn decode_v1(frame: &Bytes) -> Result<Message> {
    let word = |index: usize| -> Result<usize> {
        let bytes = frame.get(index * WORD..(index + 1) * WORD).and_then(|bytes| bytes.try_into().ok());
        let word = u64::from_le_bytes(bytes.ok_or_else(|| malformed("offsets cut short"))?);
        usize::try_from(word).map_err(|_| malformed("an offset beyond memory"))
    };
    let count = word(0)?;
    if count > frame.len() / WORD {
        return Err(malformed("more offsets than bytes"));
    }
    let offsets = (1..=count).map(word).collect::<Result<Vec<_>>>()?;
    let mut parts = offsets.windows(2).map(|pair| slice(frame, pair[0], pair[1]));
    let mut next = || parts.next().unwrap_or_else(|| Err(malformed("fewer than five parts")));
    let channel = next()?;
    let [header, parent, metadata, content] = [next()?, next()?, next()?, next()?].map(RawJson::from_bytes);
    let buffers = parts.collect::<Result<Vec<_>>>()?;
    let channel = std::str::from_utf8(&channel).unwrap_or_default();
    message(channel, header, parent, metadata, content, buffers)
}

fn decode_offset_table(frame: &Bytes) -> Result<Message> {
    let word = |index: usize| -> Result<usize> {
        let bytes = frame.get(index * 4..(index + 1) * 4).and_then(|bytes| bytes.try_into().ok());
        let word = u32::from_be_bytes(bytes.ok_or_else(|| malformed("offsets cut short"))?);
        usize::try_from(word).map_err(|_| malformed("an offset beyond memory"))
    };
    let count = word(0)?;
    if count == 0 || count > frame.len() / 4 {
        return Err(malformed("more offsets than bytes"));
    }
    let mut offsets = (1..=count).map(word).collect::<Result<Vec<_>>>()?;
    offsets.push(frame.len());
    let mut parts = offsets.windows(2).map(|pair| slice(frame, pair[0], pair[1]));
    let json = parts.next().unwrap_or_else(|| Err(malformed("no message")))?;
    from_json(&json, parts.collect::<Result<Vec<_>>>()?)
}

fn slice(frame: &Bytes, start: usize, end: usize) -> Result<Bytes> {
    if start > end || end > frame.len() {
        return Err(malformed("an offset outside of the frame"));
    }
    Ok(frame.slice(start..end))
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(default)]
    channel: Option<String>,
    #[serde(borrow)]
    header: &'a RawValue,
    #[serde(borrow, default)]
    parent_header: Option<&'a RawValue>,
    #[serde(borrow, default)]
    metadata: Option<&'a RawValue>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
}

fn from_json(json: &Bytes, buffers: Vec<Bytes>) -> Result<Message> {
    let repaired;
    let (json, envelope) = if let Ok(envelope) = serde_json::from_slice::<Envelope<'_>>(json) {
        (json, envelope)
    } else {
        repaired = RawJson::from_bytes(json.clone()).repaired();
        let envelope =
            serde_json::from_slice(repaired.bytes()).map_err(|error| malformed(&error.to_string()))?;
        (repaired.bytes(), envelope)
    };
    let part =
        |raw: Option<&RawValue>| raw.map_or_else(RawJson::empty_object, |raw| RawJson::share(json, raw));
    let (parent, metadata) = (part(envelope.parent_header), part(envelope.metadata));
    let channel = envelope.channel.unwrap_or_default();
    message(&channel, part(Some(envelope.header)), parent, metadata, part(envelope.content), buffers)
}

/// Some proxies leave the channel out; what has no name came from the kernel to everybody.
fn message(
    channel: &str,
    header: RawJson,
    parent: RawJson,
    metadata: RawJson,
    content: RawJson,
    buffers: Vec<Bytes>,
) -> Result<Message> {
    let channel = Channel::from_wire(channel).unwrap_or(Channel::Iopub);
    Message::from_parts(channel, header, parent, metadata, content, buffers)
        .ok_or_else(|| malformed("no header"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::message::SessionId;

    fn sample(text: &str, buffers: Vec<Vec<u8>>) -> Message {
        let content = serde_json::json!({ "text": text });
        let mut message = Message::new(Channel::Stdin, "stream", &SessionId::random(), &content);
        message.buffers = buffers.into_iter().map(Bytes::from).collect();
        message
    }

    #[test]
    fn python_s_nan_in_a_json_frame_is_read() {
        let text = r#"{"channel":"iopub","header":{"msg_type":"display_data","x":1},"parent_header":null,"content":{"data":{"application/json":NaN}}}"#;
        let message = decode(Payload::Text(text.into()), false).unwrap();
        assert_eq!(message.content.as_str(), Some(r#"{"data":{"application/json":null}}"#));
        assert_eq!(message.header.raw().as_str(), Some(r#"{"msg_type":"display_data","x":1}"#));
    }

    proptest! {
        #[test]
        fn both_framings_bring_a_message_back(
            text in ".*",
            buffers in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..30), 0..4),
        ) {
            let message = sample(&text, buffers);
            prop_assert_eq!(&decode(encode_v1(&message), true).unwrap(), &message);
            prop_assert_eq!(&decode(encode_legacy(&message), false).unwrap(), &message);
        }

        #[test]
        fn any_frame_is_survived(frame in proptest::collection::vec(any::<u8>(), 0..120), v1: bool) {
            drop(decode(Payload::Binary(frame.clone().into()), v1));
            drop(decode(Payload::Text(frame.into()), v1));
        }

        #[test]
        fn a_frame_cut_short_is_survived(cut in 0_usize..400) {
            let Payload::Binary(frame) = encode_v1(&sample("x", vec![vec![1; 9]])) else { unreachable!() };
            drop(decode(Payload::Binary(frame.slice(..cut.min(frame.len()))), true));
        }
    }
}
