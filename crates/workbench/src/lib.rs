//! The owner of everything alive.
//!
//! One process per person holds a [`Workbench`]: open documents, their queues, live sandboxes, connections,
//! credentials, settings. Windows, browsers and the command line are clients of it; each has a [`Session`], through
//! which it sends commands and receives pushes. A client that goes, crashes or falls behind changes nothing here.
//!
//! - [`document`](mod@document): an open notebook; each change is in its journal before anyone sees it;
//! - `commands`: what clients ask, sorted by what it is about;
//! - `runtimes`, `kernels`, `servers`: what kinds of places there are, and what a choice among them means;
//! - `sandboxes`, `lifecycle`: live sandboxes, how they start and end;
//! - `accounts`, `lease`: clouds where sandboxes cost something, and what is said of that;
//! - `connections`, `credentials`, `pasted`: saved servers, and how their tokens get into the keyring; `plain_http`: what may
//!   not be sent to one;
//! - `coming_back`, `left_behind`: what outlives an owner, or a command that was killed;
//! - [`own`]: what a command that makes its own sandbox has in common with the owner;
//! - [`outputs`]: how the events of a run become outputs; the command line uses the same.
//!
//! Deliberately absent: sockets and HTTP (the gateway), and everything that a page decides for itself.

mod accounts;
mod clouds;
mod coming_back;
mod commands;
mod connections;
mod credentials;
mod disk;
mod document;
mod error;
mod kernels;
mod lease;
mod left_behind;
mod lifecycle;
mod logs;
mod notebooks;
pub mod outputs;
pub mod own;
mod owner;
mod pasted;
mod plain_http;
mod positions;
mod runtimes;
mod sandboxes;
mod servers;
mod session;
mod settings;
mod survey;
mod time;
mod workspace;

pub use error::{WorkbenchError, sandbox_error};
pub use logs::LogLines;
pub use owner::{ResourceContent, Workbench, WorkbenchOptions};
pub use session::Session;
