//! The requests of a client that have one reply.

use std::sync::Arc;
use std::sync::Weak;

use serde::Serialize;
use tokio::sync::oneshot;

use super::{KernelClient, Shared, lock};
use crate::{
    content::{
        CompleteReply, CompleteRequest, Content, HistoryReply, HistoryRequest, InspectReply, InspectRequest,
        IsCompleteReply, IsCompleteRequest, KernelInfo, ShutdownRequest,
    },
    error::{Error, Result},
    message::{Channel, Message},
};

/// Waits for one reply, and forgets it when dropped.
pub(super) struct Waiting {
    shared: Weak<Shared>,
    id: String,
    reply: oneshot::Receiver<Message>,
}

impl Waiting {
    pub(super) fn new(shared: &Arc<Shared>, id: &str) -> Self {
        let reply = lock(&shared.router).request(id);
        Self { shared: Arc::downgrade(shared), id: id.to_owned(), reply }
    }

    pub(super) async fn reply(mut self) -> Option<Message> {
        (&mut self.reply).await.ok()
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.upgrade() {
            lock(&shared.router).forget(&self.id);
        }
    }
}

macro_rules! expect {
    ($reply:expr, $variant:path) => {
        match $reply.content() {
            $variant(reply) => Ok(reply),
            _ => Err(Error::Malformed(format!(
                "{} where {} was expected",
                $reply.msg_type(),
                stringify!($variant)
            ))),
        }
    };
}

impl KernelClient {
    async fn shell(&self, msg_type: &str, content: &(impl Serialize + Sync)) -> Result<Message> {
        self.request(Channel::Shell, msg_type, content).await
    }

    /// What the kernel is.
    pub async fn kernel_info(&self) -> Result<KernelInfo> {
        let reply = self.shell("kernel_info_request", &serde_json::Map::new()).await?;
        expect!(reply, Content::KernelInfoReply)
    }

    /// Completions at a place in Unicode code points.
    pub async fn complete(&self, code: &str, cursor_pos: usize) -> Result<CompleteReply> {
        let reply = self.shell("complete_request", &CompleteRequest { code, cursor_pos }).await?;
        expect!(reply, Content::CompleteReply)
    }

    /// Documentation at a place in Unicode code points; `detail_level` 1 brings the source.
    pub async fn inspect(&self, code: &str, cursor_pos: usize, detail_level: u8) -> Result<InspectReply> {
        let reply = self.shell("inspect_request", &InspectRequest { code, cursor_pos, detail_level }).await?;
        expect!(reply, Content::InspectReply)
    }

    /// Whether code can run as it stands.
    pub async fn is_complete(&self, code: &str) -> Result<IsCompleteReply> {
        let reply = self.shell("is_complete_request", &IsCompleteRequest { code }).await?;
        expect!(reply, Content::IsCompleteReply)
    }

    /// The last `n` inputs.
    pub async fn history(&self, n: usize) -> Result<HistoryReply> {
        let reply = self.shell("history_request", &HistoryRequest::tail(n)).await?;
        expect!(reply, Content::HistoryReply)
    }

    /// Interrupts by message, for kernels whose spec says `"interrupt_mode": "message"`.
    pub async fn interrupt(&self) -> Result<()> {
        self.request(Channel::Control, "interrupt_request", &serde_json::Map::new()).await.map(drop)
    }

    /// Asks the kernel to end itself; the reply may be missing because it did.
    pub async fn shutdown(&self, restart: bool) -> Result<()> {
        self.request(Channel::Control, "shutdown_request", &ShutdownRequest { restart }).await.map(drop)
    }
}
