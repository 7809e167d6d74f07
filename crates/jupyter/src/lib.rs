//! The Jupyter wire: messages, the ways they travel, and a client of one kernel.
//!
//! Nothing here knows what a sandbox or a notebook is. Kernels of any language and servers of any make are taken as
//! they are: what the specification forbids but the field does is read, what is unknown is kept.
//!
//! - [`Message`] is one message either way; [`Message::content`] gives a typed view that never fails.
//! - [`Transport`] is a way to a kernel: [`ZeroMq`] for one started here, [`WebSocket`] through a server, [`bridge`]
//!   through the standard streams of a command.
//! - [`KernelClient`] runs code on any transport and tells each execution's messages apart.
//! - [`kernelspec`] finds installed kernels, [`ConnectionInfo`] writes the file that a kernel is started with.

pub mod bridge;
mod client;
pub mod connection;
pub mod content;
mod error;
mod framing;
pub mod kernelspec;
mod message;
mod raw;
mod repair;
mod signing;
mod transport;
mod websocket;
mod zeromq;

pub use bridge::Bridge;
pub use client::{
    Activity, Execution, ExecutionEnd, ExecutionEvent, KernelClient, Origin, SessionEvent, SessionLog,
};
pub use connection::ConnectionInfo;
pub use content::{Content, ExecuteRequest};
pub use error::{Error, Result};
pub use message::{Channel, Header, Message, SessionId};
pub use raw::RawJson;
pub use transport::{Deliver, End, Incoming, Link, Transport};
pub use websocket::{Credential, Renewal, Target, WebSocket};
pub use zeromq::ZeroMq;
