//! ZeroMQ's framing of a message: `[identities…] <IDS|MSG> signature header parent metadata content [buffers…]`.
//!
//! The signature (HMAC-SHA256 over the four JSON parts, buffers left out) is checked before anything is read.

use aws_lc_rs::hmac;
use bytes::Bytes;
use secrecy::{ExposeSecret, SecretString};

use crate::{
    error::{Error, Result},
    message::{Channel, Message},
    raw::RawJson,
};

const DELIMITER: &[u8] = b"<IDS|MSG>";
const HEX: &[u8; 16] = b"0123456789abcdef";

/// Signs and checks messages with the key of a connection file.
#[derive(Clone)]
pub(crate) struct Signer(Option<hmac::Key>);

impl Signer {
    /// With the key of a connection file. An empty key means unsigned, as Jupyter has it.
    pub(crate) fn new(key: &SecretString) -> Self {
        let key = key.expose_secret().as_bytes();
        Self((!key.is_empty()).then(|| hmac::Key::new(hmac::HMAC_SHA256, key)))
    }

    fn sign(&self, parts: &[Bytes]) -> Bytes {
        let Some(key) = &self.0 else { return Bytes::new() };
        let mut context = hmac::Context::with_key(key);
        for part in parts {
            context.update(part);
        }
        let tag = context.sign();
        let hex = |byte: &u8| [HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]];
        tag.as_ref().iter().flat_map(hex).collect::<Vec<u8>>().into()
    }

    fn accepts(&self, signature: &[u8], parts: &[Bytes]) -> bool {
        self.0.is_none() || constant_time_eq(&self.sign(parts), signature)
    }

    /// The frames of a message.
    pub(crate) fn frames(&self, message: &Message) -> Vec<Bytes> {
        let parts = message.json_parts();
        let mut frames = Vec::with_capacity(6 + message.buffers.len());
        frames.push(Bytes::from_static(DELIMITER));
        frames.push(self.sign(&parts));
        frames.extend(parts);
        frames.extend(message.buffers.iter().cloned());
        frames
    }

    /// The message of frames that arrived on `channel`.
    pub(crate) fn message(&self, channel: Channel, frames: Vec<Bytes>) -> Result<Message> {
        let start = frames
            .iter()
            .position(|frame| frame.as_ref() == DELIMITER)
            .ok_or_else(|| Error::Malformed("no delimiter".into()))?;
        let mut rest = frames.into_iter().skip(start + 1);
        let signature = rest.next().ok_or_else(|| Error::Malformed("no signature".into()))?;
        let parts: Vec<Bytes> = rest.by_ref().take(4).collect();
        let Ok([header, parent, metadata, content]) = <[Bytes; 4]>::try_from(parts) else {
            return Err(Error::Malformed("fewer than four parts".into()));
        };
        let parts = [header, parent, metadata, content];
        if !self.accepts(&signature, &parts) {
            return Err(Error::BadSignature);
        }
        let [header, parent, metadata, content] = parts.map(RawJson::from_bytes);
        Message::from_parts(channel, header, parent, metadata, content, rest.collect())
            .ok_or_else(|| Error::Malformed("no header".into()))
    }
}

fn constant_time_eq(a: &[u8], b: &[u8]) -> bool {
    aws_lc_rs::constant_time::verify_slices_are_equal(a, b).is_ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::message::SessionId;

    fn signer(key: &str) -> Signer {
        Signer::new(&SecretString::from(key))
    }

    fn message() -> Message {
        let mut message =
            Message::new(Channel::Shell, "comm_msg", &SessionId::random(), &serde_json::json!({"a": 1}));
        message.buffers = vec![Bytes::from_static(b"\x00\x01"), Bytes::new()];
        message
    }

    #[test]
    fn a_message_comes_back_as_it_left_with_identities_in_front() {
        let mut frames = signer("k").frames(&message());
        frames.insert(0, Bytes::from_static(b"kernel.topic"));
        let read = signer("k").message(Channel::Iopub, frames).unwrap();
        assert_eq!((read.msg_type(), read.content.as_str()), ("comm_msg", Some(r#"{"a":1}"#)));
        assert_eq!(read.buffers.len(), 2);
    }

    #[test]
    fn another_key_and_a_changed_part_are_refused() {
        let mut frames = signer("k").frames(&message());
        assert!(matches!(signer("other").message(Channel::Shell, frames.clone()), Err(Error::BadSignature)));
        frames[5] = Bytes::from_static(br#"{"a":2}"#);
        assert!(matches!(signer("k").message(Channel::Shell, frames), Err(Error::BadSignature)));
    }

    #[test]
    fn the_signature_is_the_one_of_the_specification() {
        let parts = [&b"{}"[..]; 4].map(Bytes::from_static);
        // python: hmac.new(b"k", b"{}{}{}{}", "sha256").hexdigest()
        let expected = "6f7c3dea506a2fb840fc9377d65462646f8e8df4acfafa710cf0c50bb2db8de2";
        assert_eq!(signer("k").sign(&parts), expected);
    }

    proptest! {
        #[test]
        fn any_frames_are_survived(frames in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..20), 0..9)) {
            let frames: Vec<Bytes> = std::iter::once(Bytes::from_static(DELIMITER)).chain(frames.into_iter().map(Bytes::from)).collect();
            drop(signer("").message(Channel::Shell, frames));
        }
    }
}
