//! The contract of runtimes: what every place where code runs can be asked, and what it answers.
//!
//! A [`Runtime`] is a kind of place; it makes or joins a [`Sandbox`]. A sandbox executes code: an [`Execution`] is a
//! stream of [`Event`]s that contains exactly one [`EventKind::End`]. Events after the end are kept and marked late.
//! [`Outcome`] is what an execution came to, gathered from its events; what counts as success is one truth table
//! ([`Outcome::success`]). [`Client`] runs code to an outcome, as a stream, or as a blocking iterator, with the same
//! names on every runtime.
//!
//! Rules that every implementer keeps:
//! - what it cannot do answers [`SandboxError::Unsupported`] with the reason, at once; a setting is never ignored;
//! - a timeout interrupts; the partial output stays; the outcome says timed out, never success;
//! - dropping a future never means that something remote was cancelled: that is what the cancellation token is for;
//! - `attach` and `list` never start or bill anything;
//! - nothing that came from a sandbox is ever executed on the host.
//!
//! No I/O and no runtime's name in here. Traits are object-safe with boxed futures. Deliberately absent until they
//! have a first caller: files, commands, variables, snapshots, ports.

mod capability;
mod client;
mod contact;
mod error;
mod event;
mod lease;
mod lines;
mod outcome;
mod runtime;
mod sandbox;
mod secret_url;
mod settings;
mod survey;

pub use capability::{Capabilities, Capability, Support};
pub use client::{BlockingEvents, Client, DEFAULT_TIMEOUT};
pub use contact::{Check, Checks, Finding};
pub use error::{SandboxError, sentence};
pub use event::{End, Event, EventKind, Execution, ExecutionId, MimeBundle, Payload, StreamName};
pub use lease::{Amount, Lease, Offer, Price, PriceSource, Spending};
pub use lines::{Line, Lines};
pub use outcome::{CodeError, Outcome, OutcomeBuilder, RichResult};
pub use runtime::{AttachHandle, BoxFuture, CreateRequest, Listed, Progress, Readiness, Runtime};
pub use sandbox::{
    Completeness, CompletionMatch, CompletionReply, CredentialStatus, DeathCause, ExecuteRequest,
    HistoryEntry, InspectReply, KernelInfo, KernelStatus, Sandbox, SandboxInfo, StopChoice, StopReport,
};
pub use secret_url::SecretUrl;
pub use settings::SandboxSettings;
pub use survey::{ImageFound, ImageSource, ImageState, Problem, Room, Survey};
