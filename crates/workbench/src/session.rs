//! One client of the owner: its requests, and what is pushed to it.
//!
//! Pushes are not queued up as they arise. The session remembers what changed and makes the message when its reader
//! asks for one: the newest workspace, the log lines since the last, the patches of a document merged to what the
//! page has not seen. A client that does not read costs a bounded amount of memory.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use sandbook_protocol::{
    ClientId, ClientKind, Command, DocumentId, LogLine, ProtocolError, Push, Reply, WorkspaceView,
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::{
    document::{Document, Take},
    owner::Workbench,
};

/// The most log lines that wait for a client.
const MOST_LINES: usize = 1_000;
/// The most other messages that wait for a client.
const MOST_MESSAGES: usize = 1_000;

/// A client's conversation with the owner. Dropping it ends its subscriptions.
#[derive(Debug)]
pub struct Session {
    owner: Workbench,
    mailbox: Arc<Mailbox>,
}

/// What waits for one client.
#[derive(Debug)]
pub(crate) struct Mailbox {
    pub(crate) id: ClientId,
    pub(crate) kind: ClientKind,
    wake: Notify,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    watches_workspace: bool,
    watches_logs: bool,
    /// The one to be told, and the one told last.
    workspace: Option<Box<WorkspaceView>>,
    told: Option<WorkspaceView>,
    logs: VecDeque<LogLine>,
    messages: VecDeque<Push>,
    documents: Vec<Arc<Document>>,
}

impl Mailbox {
    pub(crate) fn new(id: ClientId, kind: ClientKind) -> Self {
        Self { id, kind, wake: Notify::new(), waiting: Mutex::default() }
    }

    /// Something changed that the client may be told.
    pub(crate) fn wake(&self) {
        self.wake.notify_one();
    }

    /// A message for the client. Where too many wait, the oldest goes.
    pub(crate) fn push(&self, push: Push) {
        let mut waiting = self.lock();
        if waiting.messages.len() >= MOST_MESSAGES {
            waiting.messages.pop_front();
        }
        waiting.messages.push_back(push);
        drop(waiting);
        self.wake();
    }

    /// The workspace changed.
    pub(crate) fn workspace(&self, workspace: &WorkspaceView) {
        let mut waiting = self.lock();
        if !waiting.watches_workspace {
            return;
        }
        if waiting.told.as_ref() == Some(workspace) {
            waiting.workspace = None;
        } else {
            waiting.workspace = Some(Box::new(workspace.clone()));
            drop(waiting);
            self.wake();
        }
    }

    /// A log line was written.
    pub(crate) fn log(&self, line: &LogLine) {
        let mut waiting = self.lock();
        if waiting.watches_logs {
            if waiting.logs.len() >= MOST_LINES {
                waiting.logs.pop_front();
            }
            waiting.logs.push_back(line.clone());
            drop(waiting);
            self.wake();
        }
    }

    /// From now on the client hears of what differs from this.
    pub(crate) fn watch_workspace(&self, told: WorkspaceView) {
        let mut waiting = self.lock();
        waiting.watches_workspace = true;
        waiting.workspace = None;
        waiting.told = Some(told);
    }

    pub(crate) fn watches_workspace(&self) -> bool {
        self.lock().watches_workspace
    }

    pub(crate) fn watch_logs(&self) {
        self.lock().watches_logs = true;
    }

    pub(crate) fn subscribe(&self, document: &Arc<Document>) {
        let mut waiting = self.lock();
        if !waiting.documents.iter().any(|known| known.id == document.id) {
            waiting.documents.push(document.clone());
        }
        drop(waiting);
        self.wake();
    }

    pub(crate) fn unsubscribe(&self, document: &DocumentId) {
        self.lock().documents.retain(|known| known.id != *document);
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next message, or the moment before which there is none.
    fn take(&self, now: Instant) -> Result<Push, Option<Instant>> {
        let mut waiting = self.lock();
        if let Some(push) = waiting.messages.pop_front() {
            return Ok(push);
        }
        let documents = waiting.documents.clone();
        drop(waiting);
        let mut earliest: Option<Instant> = None;
        for document in documents {
            match document.take(&self.id, now) {
                Take::Push(push) => return Ok(*push),
                Take::At(moment) => earliest = Some(earliest.map_or(moment, |known| known.min(moment))),
                Take::Nothing => {}
            }
        }
        // Documents are paced, so they leave room for the rest; somebody may be waiting for a cell's output.
        let mut waiting = self.lock();
        if let Some(workspace) = waiting.workspace.take() {
            waiting.told = Some((*workspace).clone());
            return Ok(Push::Workspace { workspace: *workspace });
        }
        if !waiting.logs.is_empty() {
            return Ok(Push::Logs { lines: waiting.logs.drain(..).collect() });
        }
        Err(earliest)
    }
}

impl Session {
    pub(crate) fn new(owner: Workbench, mailbox: Arc<Mailbox>) -> Self {
        Self { owner, mailbox }
    }

    /// The client's name.
    pub fn id(&self) -> &ClientId {
        &self.mailbox.id
    }

    /// Does what a client asks. Calls may run at the same time. `request` names the call in progress reports.
    pub async fn handle(
        &self,
        request: u32,
        command: Command,
        cancel: CancellationToken,
    ) -> Result<Reply, ProtocolError> {
        crate::commands::handle(&self.owner, &self.mailbox, request, command, cancel).await
    }

    /// The page drew a batch of patches.
    pub fn acknowledge(&self, document: &DocumentId, sequence: u32) {
        if let Ok(document) = self.owner.document(document) {
            document.acknowledge(&self.mailbox.id, sequence);
            self.mailbox.wake();
        }
    }

    /// The next message for the client, merged and paced. Only one task may wait for it.
    pub async fn next_push(&self) -> Push {
        loop {
            match self.mailbox.take(Instant::now()) {
                Ok(push) => return push,
                Err(Some(moment)) => {
                    tokio::select! {
                        () = tokio::time::sleep_until(moment.into()) => {}
                        () = self.mailbox.wake.notified() => {}
                    }
                }
                Err(None) => self.mailbox.wake.notified().await,
            }
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.owner.disconnect(&self.mailbox);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workspace(version: &str) -> WorkspaceView {
        WorkspaceView {
            runtimes: Vec::new(),
            clouds: Vec::new(),
            accounts: Vec::new(),
            connections: Vec::new(),
            sandboxes: Vec::new(),
            recent: Vec::new(),
            settings: sandbook_protocol::Settings::default(),
            credentials: Vec::new(),
            keyring: sandbook_protocol::KeyringView {
                state: sandbook_protocol::KeyringState::Ready,
                reason: String::new(),
                hint: String::new(),
            },
            home: String::new(),
            working_directory: String::new(),
            version: version.into(),
        }
    }

    fn told(mailbox: &Mailbox) -> Option<String> {
        match mailbox.take(Instant::now()) {
            Ok(Push::Workspace { workspace }) => Some(workspace.version),
            Ok(other) => panic!("{other:?}"),
            Err(_) => None,
        }
    }

    #[test]
    fn a_client_is_told_the_workspace_only_when_it_differs_from_what_it_has() {
        let mailbox = Mailbox::new("client".into(), ClientKind::Browser);
        mailbox.workspace(&workspace("before it watches"));
        assert_eq!(told(&mailbox), None);

        mailbox.watch_workspace(workspace("a"));
        mailbox.workspace(&workspace("a"));
        assert_eq!(told(&mailbox), None);
        mailbox.workspace(&workspace("b"));
        assert_eq!(told(&mailbox).as_deref(), Some("b"));
        mailbox.workspace(&workspace("c"));
        mailbox.workspace(&workspace("b"));
        assert_eq!(told(&mailbox), None, "it was another only while the client was not looking");
    }
}
