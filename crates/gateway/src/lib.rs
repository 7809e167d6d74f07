//! The doors of the owner process.
//!
//! [`Gateway::serve`] answers clients on the local socket. On a client's request it opens the web door: the same
//! conversation for a browser on this computer, over HTTP and a WebSocket, with a port of its own for whatever a
//! notebook produced. The two differ in how messages are carried and in how a client proves that it may speak; what is
//! said is one thing, in `conversation`.
//!
//! Why a browser is let in, in short: the address that is printed carries a token that works once. The page changes it
//! for a session token, keeps that for its tab, and sends it as the first message of the WebSocket. No cookie exists
//! that another page could make the browser send. Names other than this computer's and pages of any other origin are
//! refused before anything else is looked at. Outputs live on a second port, so that a page made by a notebook has
//! another origin than ours, and can be found only under addresses that cannot be guessed.
//!
//! Deliberately absent: listening on anything but loopback, and TLS. Whoever wants to come from another machine makes
//! a tunnel.

mod conversation;
mod error;
mod gateway;
mod local;
mod web;

pub use error::GatewayError;
pub use gateway::Gateway;
pub use web::PageSource;
