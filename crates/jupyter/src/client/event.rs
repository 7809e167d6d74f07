//! What a client tells about executions and about the session.

use crate::{
    content::Content,
    message::{Channel, Message},
    transport::{End, Link},
};

/// Something that happened in an execution.
#[derive(Clone, Debug)]
pub enum ExecutionEvent {
    /// A message on iopub: output, status, comm.
    Output(Message),
    /// The kernel waits for input; answer with [`KernelClient::reply_input`](super::KernelClient::reply_input).
    InputRequest(Message),
    /// The `execute_reply`.
    Reply(Message),
    /// After a reconnect: something that was said meanwhile is missing and will not come.
    Missed,
    /// Nothing more comes, except late messages in the session log. Always the last event.
    Ended(ExecutionEnd),
}

/// How an execution ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExecutionEnd {
    /// Both the reply and `idle` arrived. The reply says whether the code succeeded.
    Complete,
    /// The kernel was restarted, by us or by its server on its own.
    Restarted,
    /// The kernel died.
    Died,
    /// The connection was lost for a while and the kernel has gone on, but the end (or all) of this execution's
    /// messages did not arrive. `seen` tells whether the kernel had begun with it.
    Lost {
        /// Whether any message of it arrived.
        seen: bool,
    },
    /// The connection ended for good.
    Disconnected(End),
}

/// Where a message outside of a running execution comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// An execution of ours that has ended: its request's id.
    Late(String),
    /// A message of ours that is no execution: a comm message, a completion.
    Ours,
    /// Somebody else's execution on the same kernel.
    Foreign,
    /// Nobody's.
    Parentless,
}

/// Something for the session's log.
#[derive(Clone, Debug)]
pub enum SessionEvent {
    /// A message that belongs to no running execution.
    Message {
        /// Whose it is.
        origin: Origin,
        /// The message.
        message: Message,
    },
    /// The connection changed.
    Link(Link),
}

/// What a kernel says that it is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// It has not said anything yet.
    Unknown,
    /// It starts.
    Starting,
    /// It waits.
    Idle,
    /// It runs something, ours or somebody else's.
    Busy,
    /// Its server starts it again after it died.
    Restarting,
    /// Its server has given it up.
    Dead,
}

impl Activity {
    /// From a status message's word.
    pub fn from_state(state: &str) -> Option<Self> {
        match state {
            "starting" => Some(Self::Starting),
            "idle" => Some(Self::Idle),
            "busy" => Some(Self::Busy),
            "restarting" | "autorestarting" => Some(Self::Restarting),
            "dead" => Some(Self::Dead),
            _ => None,
        }
    }

    /// What a message says the kernel is doing, if it does.
    pub(crate) fn told_by(message: &Message) -> Option<Self> {
        if message.channel != Channel::Iopub {
            return None;
        }
        match message.msg_type() {
            "status" => match message.content() {
                Content::Status(state) => Self::from_state(&state),
                _ => None,
            },
            // a kernel tells everybody that somebody shut it down
            "shutdown_reply" => {
                let restart = message.content.to_value().get("restart").and_then(serde_json::Value::as_bool);
                Some(if restart == Some(true) { Self::Restarting } else { Self::Dead })
            }
            _ => None,
        }
    }
}
