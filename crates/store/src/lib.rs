//! What Sandbook keeps on disk.
//!
//! | module | keeps | promise |
//! | --- | --- | --- |
//! | [`folders`] | where everything lies | folders 0700, files 0600 |
//! | [`records`] | sandboxes, kernels, documents, runs | on disk before the call returns |
//! | [`config`] | settings, connections, policies | text files a person can read, comments kept, no secret |
//! | [`hold`] | which sandboxes another process has | gone with that process |
//! | [`log`] | what an execution said, byte for byte | written before anything is shown |
//! | [`blobs`] | large payloads by their content | counted references, collected when nothing refers to them |
//! | [`journal`] | edits that are not saved yet | an acknowledged edit survives `kill -9` |
//! | [`files`] | a person's own files | replaced whole or not at all |
//! | [`redact`] | nothing: takes secrets out of log lines | |
//!
//! Two kinds of end are told apart. When the process is killed, everything written is still there, because it is in the
//! system's cache; so writing to a file, without waiting for the disk, is what every acknowledgement waits for. When
//! the power goes, up to one second is lost, because [`sync`] brings every changed file to the disk that often.
//!
//! This crate stores bytes. It knows no cell, no message and no runtime, and it never sees a secret.

pub mod blobs;
pub mod config;
mod database;
mod error;
pub mod files;
pub mod folders;
mod frame;
pub mod hold;
pub mod journal;
pub mod log;
pub mod records;
pub mod redact;
pub mod sync;

pub use error::{ConfigProblem, Error};

/// What calls of this crate answer.
pub type Result<T, E = Error> = std::result::Result<T, E>;
