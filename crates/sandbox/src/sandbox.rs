//! One live sandbox: what is known of it, what it can be asked, and what it answers.

use std::time::{Duration, SystemTime};

use secrecy::SecretString;
use tokio::sync::watch;

use crate::{AttachHandle, BoxFuture, Capabilities, Capability, Execution, Lease, SandboxError};

/// What is known of a sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxInfo {
    /// Which runtime it is of.
    pub variant: &'static str,
    /// What it is called.
    pub title: String,
    /// A second part: the kernel on a server.
    pub subtitle: String,
    /// Where the code runs, where it is known.
    pub working_directory: Option<String>,
    /// Whether it was made here, and so is removed on stop.
    pub owned: bool,
    /// How to join it again after a restart of this program.
    pub handle: AttachHandle,
}

/// What a kernel says about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KernelInfo {
    /// Its implementation, such as `ipython`.
    pub implementation: String,
    /// Its language.
    pub language: String,
    /// The language's version.
    pub language_version: String,
    /// The name of a highlighter for it, such as `ipython3`.
    pub highlighter: Option<String>,
    /// The `language_info` object for a notebook's metadata, as JSON.
    pub language_info: Option<String>,
    /// What it says when it starts.
    pub banner: String,
}

/// Why a kernel is dead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeathCause {
    /// It ended with this exit code.
    ExitCode(i32),
    /// A signal ended it.
    Signal(i32),
    /// It wanted more memory than its sandbox may have.
    OutOfMemory,
    /// Nobody said.
    NotReported,
}

impl std::fmt::Display for DeathCause {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::ExitCode(code) => write!(formatter, "exit code {code}"),
            Self::Signal(signal) => write!(formatter, "signal {signal}"),
            Self::OutOfMemory => formatter.write_str("out of memory: the sandbox's limit was met"),
            Self::NotReported => formatter.write_str("not reported"),
        }
    }
}

/// What a sandbox's kernel is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KernelStatus {
    /// It starts.
    Starting,
    /// It waits for code.
    Idle,
    /// It runs code.
    Busy,
    /// The connection is away and is being restored, without end until it is given up.
    Reconnecting {
        /// Since when.
        since: SystemTime,
        /// How many attempts were made.
        attempt: u32,
        /// When the next is made.
        next_attempt: SystemTime,
    },
    /// The connection is away, and is opened again as soon as there is a fresh credential: [`Sandbox::renew`].
    Refused {
        /// Since when.
        since: SystemTime,
    },
    /// The sandbox stands still until [`Sandbox::resume`]. What ran goes on then.
    Paused,
    /// The kernel is dead. It can be restarted.
    Dead(DeathCause),
    /// The server does not know the kernel any more, or reconnecting was given up.
    Gone {
        /// Why.
        reason: String,
    },
    /// It was stopped.
    Stopped,
}

/// Whether the credential with which a sandbox was reached is still good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CredentialStatus {
    /// It is, at the latest until this moment, where one is known.
    Good {
        /// The moment.
        until: Option<SystemTime>,
    },
    /// The server does not take it any more.
    Refused,
}

/// Some code to run.
#[derive(Debug, Clone)]
pub struct ExecuteRequest {
    /// The code.
    pub code: String,
    /// Whether it stays out of history and leaves the count as it is.
    pub silent: bool,
    /// Whether the code may ask for input. Where it may not, asking is an error in the code.
    pub allow_input: bool,
    /// Whether what is queued behind it in the kernel is dropped when it fails.
    pub stop_on_error: bool,
    /// The longest it may run; then it is interrupted.
    pub timeout: Option<Duration>,
    /// How long after the interrupt the kernel is restarted, if it did not end by then. Never, if absent.
    pub restart_after: Option<Duration>,
}

impl ExecuteRequest {
    /// Code that may ask for input and has no time limit.
    pub fn new(code: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            silent: false,
            allow_input: true,
            stop_on_error: false,
            timeout: None,
            restart_after: None,
        }
    }
}

/// One way a text may go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompletionMatch {
    /// The text.
    pub text: String,
    /// What it is, where the kernel tells.
    pub kind: Option<String>,
}

/// How a text may go on. Positions are in Unicode code points, as on the wire.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CompletionReply {
    /// Start of the range to replace.
    pub start: usize,
    /// End of the range to replace.
    pub end: usize,
    /// The ways.
    pub matches: Vec<CompletionMatch>,
}

/// What the kernel knows of a thing.
#[derive(Debug, Clone, Default)]
pub struct InspectReply {
    /// Whether it knows anything.
    pub found: bool,
    /// The forms of the answer.
    pub data: crate::MimeBundle,
}

/// Whether a text is ready to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Completeness {
    /// It is.
    Complete,
    /// More has to come, indented by this.
    Incomplete(String),
    /// It will not run.
    Invalid,
    /// The kernel cannot tell.
    Unknown,
}

/// An entry of the kernel's history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryEntry {
    /// Which session.
    pub session: i64,
    /// Which line.
    pub line: i64,
    /// The source.
    pub source: String,
}

/// What becomes of a kernel when its sandbox is let go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopChoice {
    /// A kernel made here is shut down; one that was joined is left.
    Default,
    /// It lives on.
    Keep,
    /// It is shut down, whoever made it.
    ShutDown,
}

/// What a stop came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopReport {
    /// It was left running.
    LeftRunning,
    /// It ended when asked.
    Ended,
    /// It had to be killed.
    Killed,
    /// It was gone already.
    WasGone,
}

/// One live sandbox. Cloning the pointer is how tasks share it.
pub trait Sandbox: Send + Sync {
    /// What is known of it.
    fn info(&self) -> SandboxInfo;

    /// What it can do.
    fn capabilities(&self) -> Capabilities;

    /// What its kernel says about itself; asks it once.
    fn kernel_info(&self) -> BoxFuture<'_, Result<KernelInfo, SandboxError>>;

    /// What its kernel is doing, from now on.
    fn status(&self) -> watch::Receiver<KernelStatus>;

    /// Whether its credential is still good, from now on. The sender is gone where that never changes.
    fn credential(&self) -> watch::Receiver<CredentialStatus> {
        watch::Sender::new(CredentialStatus::Good { until: None }).subscribe()
    }

    /// Takes a fresh credential and goes on with it in the same kernel; what runs goes on as well.
    fn renew(&self, _credential: SecretString) -> BoxFuture<'_, Result<(), SandboxError>> {
        let reason = "This sandbox keeps the credential that it was made with.".into();
        Box::pin(async { Err(SandboxError::Unsupported { reason }) })
    }

    /// Until when it lives and what that costs, where it ends by itself or costs something.
    fn lease(&self) -> Option<Lease> {
        None
    }

    /// Puts its end off, to so long from now.
    fn prolong(&self, _life: Duration) -> BoxFuture<'_, Result<(), SandboxError>> {
        let reason = "Nobody can put off when this sandbox ends.".into();
        Box::pin(async { Err(SandboxError::Unsupported { reason }) })
    }

    /// Lets everything in it stand still.
    fn pause(&self) -> BoxFuture<'_, Result<(), SandboxError>> {
        let refusal = self.capabilities().refusal(Capability::Pause);
        Box::pin(async { Err(refusal) })
    }

    /// Goes on after a pause.
    fn resume(&self) -> BoxFuture<'_, Result<(), SandboxError>> {
        let refusal = self.capabilities().refusal(Capability::Pause);
        Box::pin(async { Err(refusal) })
    }

    /// Runs some code. Returns as soon as the request is on its way.
    fn execute(&self, request: ExecuteRequest) -> BoxFuture<'_, Result<Execution, SandboxError>>;

    /// Interrupts what runs.
    fn interrupt(&self) -> BoxFuture<'_, Result<(), SandboxError>>;

    /// Restarts the kernel. Executions that run end with [`SandboxError::Died`].
    fn restart(&self) -> BoxFuture<'_, Result<(), SandboxError>>;

    /// How a text may go on at a position, in Unicode code points.
    fn complete<'a>(
        &'a self,
        code: &'a str,
        position: usize,
    ) -> BoxFuture<'a, Result<CompletionReply, SandboxError>>;

    /// What the kernel knows of the thing at a position, in Unicode code points. Detail is 0 or 1.
    fn inspect<'a>(
        &'a self,
        code: &'a str,
        position: usize,
        detail: u8,
    ) -> BoxFuture<'a, Result<InspectReply, SandboxError>>;

    /// Whether a text is ready to run.
    fn is_complete<'a>(&'a self, code: &'a str) -> BoxFuture<'a, Result<Completeness, SandboxError>>;

    /// The last entries of the history.
    fn history(&self, count: u32) -> BoxFuture<'_, Result<Vec<HistoryEntry>, SandboxError>>;

    /// While reconnecting: tries at once, or gives up.
    fn reconnect(&self, now: bool);

    /// Lets it go: asks, waits for the grace time, then kills, and says which happened. It may be called again.
    fn stop(&self, choice: StopChoice, grace: Duration) -> BoxFuture<'_, Result<StopReport, SandboxError>>;
}
