//! The owner process as its clients see it: the window, the command line, later agents.
//!
//! [`Place`] says where an owner listens. [`Owner::connect_or_start`] finds one there or starts one, and gives a
//! handle that matches answers to requests, and the stream of [`Pushes`]. A client that only passes messages on, as the
//! window does for its page, takes the [`Wire`] and reads and writes frames itself.
//!
//! What keeps two starters apart: whoever wants to start an owner takes a lock first and looks again while holding it,
//! and the owner itself holds another lock for as long as it lives ([`Listener::bind`]). So there is never a second
//! owner, and a socket file that an owner left behind is known to be dead and is replaced.
//!
//! Deliberately absent: coming back after a lost connection. The owner holds everything, so a client connects again
//! and subscribes again; when to do so is for it to say.

mod endpoint;
mod error;
mod owner;
mod place;
mod start;
mod waiting;
mod wire;

pub use endpoint::{ClientStream, Listener, ServerStream};
pub use error::ClientError;
pub use owner::{Owner, Pushes, Request, Resource};
pub use place::Place;
pub use start::READY;
pub use wire::{FrameReader, FrameWriter, Wire};
