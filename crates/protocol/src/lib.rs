//! The contract of Sandbook's doors: every command, reply, patch, event and error code that passes between the
//! owner process and its clients (the window, the web page, the command line).
//!
//! Only types live here, and the framing of the local socket. No I/O, so that the page's TypeScript can be made from
//! the same source: the tests export every type into `ui/src/platform/generated`, and the gate fails when what is
//! committed there differs.
//!
//! A conversation: the client sends [`ClientMessage::Hello`], the owner answers [`ServerMessage::Welcome`] or
//! [`ServerMessage::Refused`]. Then requests and replies, matched by id and in any order, and pushes: a document that
//! was subscribed to sends one [`DocumentSnapshot`], then numbered [`PatchBatch`]es. The owner sends at most
//! [`CREDIT_WINDOW`] batches that were not acknowledged; while it waits it merges what it holds back.
//!
//! Deliberately absent: credentials. A secret goes in through the commands that paste, connect, add and replace one, and as the
//! answer to a password prompt, always as [`Secret`], which prints as `***`. What comes back of a credential is a
//! [`CredentialView`]. Only one secret ever travels back: the one-time token of [`Reply::WebDoor`], which is worth nothing once a
//! page has used it.

mod command;
mod credential;
mod document;
mod error;
mod frame;
mod frame_document;
mod identifiers;
mod lease;
mod message;
mod patch;
mod reply;
mod secret;
mod settings;
mod survey;
mod workspace;

pub use command::{
    CellSelection, Command, DeathOfKernel, NewSource, OutputSearch, SandboxChoice, SaveChoice, SourceEdit,
};
pub use credential::{
    CredentialCheck, CredentialImport, CredentialKind, CredentialPlace, CredentialView, KeyringState,
    KeyringView,
};
pub use document::{
    CellKind, CellView, DocumentSnapshot, DocumentStatus, ErrorView, InputRequest, OutputBody, OutputView,
    QueueView, Representation, RunState, RunView, StreamName, TextLine, TextView,
};
pub use error::{ErrorCode, ProtocolError};
pub use frame::{FRAME_LIMIT, Frame, FrameDecoder, FrameError};
pub use frame_document::{
    FrameDocument, HEIGHT_MESSAGE, frame_document, headers as output_headers, is_framed,
};
pub use identifiers::{
    CellKey, ClientId, ConnectionId, CredentialId, DocumentId, ExecutionId, OutputId, PastedId, ResourceId,
    SandboxId,
};
pub use lease::{AccountView, AmountView, LeaseView, OfferView, PriceView, SpendingView};
pub use message::{ClientKind, ClientMessage, Push, Response, ServerMessage};
pub use patch::{Patch, PatchBatch};
pub use reply::{
    Completion, FolderEntry, FolderListing, Inspection, OutputMatch, OutputSlice, Recognised, RecognisedFact,
    Reply, ServerKernel,
};
pub use secret::Secret;
pub use settings::{Settings, Theme};
pub use survey::{ImageState, ImageView, SettingProblem, SurveyView};
pub use workspace::{
    Capability, CapabilityState, CloudView, ConnectionView, KernelChoice, KernelState, LinkView, LogLevel,
    LogLine, PillState, Progress, Readiness, ReadinessState, RecentNotebook, RuntimeKind, RuntimeView,
    SandboxView, Toast, WorkspaceView,
};

/// The version of this contract. An owner refuses a client of another version and says which side is older.
pub const VERSION: u32 = 1;

/// How many patch batches may be on their way to a page without its acknowledgement.
pub const CREDIT_WINDOW: u32 = 4;
