//! The one message type.
//!
//! Our own rather than `jupyter-protocol`'s, because third-party kernels send nulls, lists and unknown fields where
//! the specification has none, and because large content must pass without being copied. Headers keep the bytes they
//! came with, so a relayed message leaves exactly as it arrived.

use std::{fmt, sync::Arc};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::raw::RawJson;

/// The version of the messaging protocol that we speak.
const PROTOCOL_VERSION: &str = "5.4";

/// The channel of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Channel {
    /// Requests and their replies, in order.
    Shell,
    /// What the kernel says to everybody.
    Iopub,
    /// The kernel asks the person.
    Stdin,
    /// Interrupt and shutdown, beside the queue of `shell`.
    Control,
}

impl Channel {
    /// As it stands on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Shell => "shell",
            Self::Iopub => "iopub",
            Self::Stdin => "stdin",
            Self::Control => "control",
        }
    }

    /// From the wire; unknown names give `None`.
    pub fn from_wire(name: &str) -> Option<Self> {
        match name {
            "shell" => Some(Self::Shell),
            "iopub" => Some(Self::Iopub),
            "stdin" => Some(Self::Stdin),
            "control" => Some(Self::Control),
            _ => None,
        }
    }
}

/// One attachment's identity. A server replays what was missed to a client that comes back with the same one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SessionId(String);

impl SessionId {
    /// A new one.
    pub fn random() -> Self {
        Self(Uuid::new_v4().simple().to_string())
    }

    /// One that was kept.
    pub fn from_kept(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The header of a message, with the bytes it came as.
#[derive(Clone, PartialEq, Eq)]
pub struct Header(Arc<Fields>);

#[derive(PartialEq, Eq)]
struct Fields {
    msg_id: String,
    msg_type: String,
    session: String,
    raw: RawJson,
}

#[derive(Serialize)]
struct HeaderOut<'a> {
    msg_id: &'a str,
    msg_type: &'a str,
    username: &'a str,
    session: &'a str,
    date: String,
    version: &'a str,
}

#[derive(Deserialize)]
struct HeaderIn {
    #[serde(default)]
    msg_id: Option<String>,
    #[serde(default)]
    msg_type: Option<String>,
    #[serde(default)]
    session: Option<String>,
}

impl Header {
    /// A header of our own, with a new message id and the time of now.
    pub fn new(msg_type: &str, session: &SessionId) -> Self {
        let msg_id = Uuid::new_v4().simple().to_string();
        let raw = RawJson::encode(&HeaderOut {
            msg_id: &msg_id,
            msg_type,
            username: "sandbook",
            session: session.as_str(),
            date: jiff::Timestamp::now().to_string(),
            version: PROTOCOL_VERSION,
        });
        Self(Arc::new(Fields { msg_id, msg_type: msg_type.to_owned(), session: session.0.clone(), raw }))
    }

    /// Reads a header; one without a message type is none.
    pub fn parse(raw: RawJson) -> Option<Self> {
        let read: HeaderIn = raw.view()?;
        let (msg_id, session) = (read.msg_id.unwrap_or_default(), read.session.unwrap_or_default());
        Some(Self(Arc::new(Fields { msg_id, msg_type: read.msg_type?, session, raw })))
    }

    /// The id, unique for this message.
    pub fn msg_id(&self) -> &str {
        &self.0.msg_id
    }

    /// As `execute_request`.
    pub fn msg_type(&self) -> &str {
        &self.0.msg_type
    }

    /// The session of whoever sent it.
    pub fn session(&self) -> &str {
        &self.0.session
    }

    /// The bytes, unknown fields included.
    pub fn raw(&self) -> &RawJson {
        &self.0.raw
    }
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.0.msg_type, self.0.msg_id)
    }
}

/// One Jupyter message, either way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Where it belongs.
    pub channel: Channel,
    /// Its header.
    pub header: Header,
    /// The header of the message that caused it.
    pub parent: Option<Header>,
    /// Metadata, raw.
    pub metadata: RawJson,
    /// Content, raw; [`Message::content`] gives a typed view.
    pub content: RawJson,
    /// Binary buffers, in order.
    pub buffers: Vec<Bytes>,
}

impl Message {
    /// A request or reply of our own.
    pub fn new(channel: Channel, msg_type: &str, session: &SessionId, content: &impl Serialize) -> Self {
        Self {
            channel,
            header: Header::new(msg_type, session),
            parent: None,
            metadata: RawJson::empty_object(),
            content: RawJson::encode(content),
            buffers: Vec::new(),
        }
    }

    /// Builds one from the four JSON parts of any framing. `None` when the header is no header.
    pub fn from_parts(
        channel: Channel,
        header: RawJson,
        parent: RawJson,
        metadata: RawJson,
        content: RawJson,
        buffers: Vec<Bytes>,
    ) -> Option<Self> {
        let header = Header::parse(header)?;
        let parent = Header::parse(parent);
        let or_empty = |raw: RawJson| if raw.is_null() { RawJson::empty_object() } else { raw };
        Some(Self {
            channel,
            header,
            parent,
            metadata: or_empty(metadata),
            content: or_empty(content),
            buffers,
        })
    }

    /// With `parent`'s header as its parent.
    pub fn in_reply_to(mut self, parent: &Message) -> Self {
        self.parent = Some(parent.header.clone());
        self
    }

    /// The id.
    pub fn id(&self) -> &str {
        self.header.msg_id()
    }

    /// The type, as `stream`.
    pub fn msg_type(&self) -> &str {
        self.header.msg_type()
    }

    /// The id of the message that caused it; an empty id counts as none.
    pub fn parent_id(&self) -> Option<&str> {
        self.parent.as_ref().map(Header::msg_id).filter(|id| !id.is_empty())
    }

    /// The four JSON parts in the order that is signed.
    pub(crate) fn json_parts(&self) -> [Bytes; 4] {
        let parent = self.parent.as_ref().map_or_else(RawJson::empty_object, |parent| parent.raw().clone());
        [
            self.header.raw().bytes().clone(),
            parent.bytes().clone(),
            self.metadata.bytes().clone(),
            self.content.bytes().clone(),
        ]
    }
}
