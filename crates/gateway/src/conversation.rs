//! One client's conversation, whichever way its messages are carried.
//!
//! Requests run at the same time, but each is begun before the next is read: edits of one client reach the document in
//! the order in which they were sent. A client that sends more than [`MOST_REQUESTS`] at once, or does not read its
//! answers, waits.

use std::{
    collections::HashMap,
    panic::AssertUnwindSafe,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
};

use futures::FutureExt;
use sandbook_protocol::{
    ClientKind, ClientMessage, Command, ErrorCode, ProtocolError, Reply, Response, ServerMessage, VERSION,
};
use sandbook_workbench::{ResourceContent, Session, Workbench};
use serde::Deserialize;
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::{Gateway, web::WebDoor};

/// The most requests of one client that run at the same time.
const MOST_REQUESTS: usize = 256;

/// The most messages that wait to be written to one client.
const MOST_OUTGOING: usize = 64;

/// Something to write to a client.
pub(crate) enum Outgoing {
    /// A message.
    Message(Box<ServerMessage>),
    /// The content of a resource.
    Resource {
        /// The request it answers.
        request: u32,
        /// It.
        content: ResourceContent,
    },
}

/// What a client may do beyond the owner's commands.
pub(crate) enum Rights {
    /// On the local socket: read resources, open the web door.
    Local(Arc<Gateway>),
    /// Through the web door.
    Web,
}

/// The reading half: takes a client's messages in.
pub(crate) struct Conversation {
    shared: Arc<Shared>,
    permits: Arc<Semaphore>,
}

struct Shared {
    workbench: Workbench,
    session: Session,
    rights: Rights,
    outgoing: mpsc::Sender<Outgoing>,
    running: Mutex<HashMap<u32, CancellationToken>>,
    // A door for browsers stays open as long as the client that asked for it is there.
    doors: Mutex<Vec<Arc<WebDoor>>>,
}

/// The writing half: what has to be written to the client, answers first.
pub(crate) struct Outbox {
    shared: Arc<Shared>,
    outgoing: mpsc::Receiver<Outgoing>,
}

/// Why a hello is refused, if it is.
pub(crate) fn refusal(version: u32) -> Option<ProtocolError> {
    let message = match version.cmp(&VERSION) {
        std::cmp::Ordering::Equal => return None,
        std::cmp::Ordering::Less => format!(
            "This program is older (contract {version}) than the Sandbook that runs in the background (contract {VERSION})."
        ),
        std::cmp::Ordering::Greater => format!(
            "The Sandbook that runs in the background is older (contract {VERSION}) than this program (contract {version})."
        ),
    };
    Some(ProtocolError::new(
        ErrorCode::VersionMismatch,
        message,
        "Nothing is lost. End the one in the background with `sandbook quit`, then start again with the newer one.",
    ))
}

/// Begins a conversation with a client that was let in.
pub(crate) fn begin(workbench: &Workbench, kind: ClientKind, rights: Rights) -> (Conversation, Outbox) {
    let (outgoing, receiver) = mpsc::channel(MOST_OUTGOING);
    let shared = Arc::new(Shared {
        workbench: workbench.clone(),
        session: workbench.connect(kind),
        rights,
        outgoing,
        running: Mutex::default(),
        doors: Mutex::default(),
    });
    let outbox = Outbox { shared: shared.clone(), outgoing: receiver };
    (Conversation { shared, permits: Arc::new(Semaphore::new(MOST_REQUESTS)) }, outbox)
}

impl Conversation {
    /// The welcome of this client.
    pub(crate) fn welcome(&self, resources: Option<String>) -> ServerMessage {
        let client = self.shared.session.id().clone();
        ServerMessage::Welcome { client, version: env!("CARGO_PKG_VERSION").into(), resources }
    }

    /// Takes in a message as JSON. Answers whether the conversation can go on.
    pub(crate) async fn receive_json(&self, json: &[u8]) -> bool {
        match serde_json::from_slice(json) {
            Ok(message) => {
                self.receive(message).await;
                true
            }
            Err(error) => self.unreadable(json, &error).await,
        }
    }

    /// A request that cannot be read is answered, where at least its id can be.
    async fn unreadable(&self, json: &[u8], error: &serde_json::Error) -> bool {
        #[derive(Deserialize)]
        struct Head {
            id: u32,
        }
        // The text itself may hold a secret, so only the place and kind of the fault are told.
        let fault = format!("{:?} at column {}", error.classify(), error.column());
        tracing::warn!(fault, "a message of a client cannot be read");
        let Ok(Head { id }) = serde_json::from_slice(json) else { return false };
        let error = ProtocolError::new(
            ErrorCode::BadRequest,
            "The request cannot be read. Nothing was done.",
            "The page and the program in the background may be of different versions: load the page again.",
        );
        self.shared.answer(id, Err(error)).await;
        true
    }

    async fn receive(&self, message: ClientMessage) {
        match message {
            ClientMessage::Hello { .. } => {}
            ClientMessage::Acknowledge { document, sequence } => {
                self.shared.session.acknowledge(&document, sequence);
            }
            ClientMessage::Cancel { id } => self.shared.cancel(id),
            ClientMessage::Request { id, command } => self.request(id, *command).await,
            ClientMessage::ReadResource { id, resource } => {
                let shared = self.shared.clone();
                self.run(async move {
                    let content = match shared.rights {
                        Rights::Local(_) => shared.workbench.resource(&resource).await,
                        Rights::Web => Err(not_here("Resources are read through their own port.")),
                    };
                    match content {
                        Ok(content) => {
                            drop(shared.outgoing.send(Outgoing::Resource { request: id, content }).await);
                        }
                        Err(error) => shared.answer(id, Err(error)).await,
                    }
                })
                .await;
            }
        }
    }

    async fn request(&self, id: u32, command: Command) {
        let shared = self.shared.clone();
        let cancel = shared.begin(id);
        self.run(async move {
            let handled = AssertUnwindSafe(shared.handle(id, command, cancel)).catch_unwind().await;
            let answer = handled.unwrap_or_else(|_| {
                tracing::error!(id, "a request ended in a fault");
                Err(ProtocolError::internal("Sandbook failed at this request."))
            });
            shared.end(id);
            shared.answer(id, answer).await;
        })
        .await;
    }

    /// Begins some work now, and lets it go on beside the reading where it has to wait for something.
    async fn run(&self, work: impl Future<Output = ()> + Send + 'static) {
        let Ok(permit) = self.permits.clone().acquire_owned().await else { return };
        let mut work: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(async move {
            work.await;
            drop(permit);
        });
        if futures::poll!(work.as_mut()).is_pending() {
            tokio::spawn(work.in_current_span());
        }
    }
}

impl Shared {
    async fn handle(
        &self,
        id: u32,
        command: Command,
        cancel: CancellationToken,
    ) -> Result<Reply, ProtocolError> {
        let port = match command {
            Command::OpenWebDoor { port } => port,
            Command::RequestOpen { path } => return self.request_open(&path),
            command => return self.session.handle(id, command, cancel).await,
        };
        let Rights::Local(gateway) = &self.rights else {
            return Err(not_here("A page cannot open a door for other pages."));
        };
        let (door, invitation) = gateway.open_web_door(port).await?;
        self.doors.lock().unwrap_or_else(PoisonError::into_inner).push(door);
        Ok(Reply::WebDoor { address: invitation.address, token: invitation.token })
    }

    fn request_open(&self, path: &str) -> Result<Reply, ProtocolError> {
        if self.workbench.request_open(path) {
            Ok(Reply::Done)
        } else {
            Err(ProtocolError::not_found("window"))
        }
    }

    fn begin(&self, id: u32) -> CancellationToken {
        let cancel = CancellationToken::new();
        self.running.lock().unwrap_or_else(PoisonError::into_inner).insert(id, cancel.clone());
        cancel
    }

    fn end(&self, id: u32) {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
    }

    fn cancel(&self, id: u32) {
        if let Some(cancel) = self.running.lock().unwrap_or_else(PoisonError::into_inner).get(&id) {
            cancel.cancel();
        }
    }

    async fn answer(&self, id: u32, answer: Result<Reply, ProtocolError>) {
        let response = match answer {
            Ok(reply) => Response { id, reply: Some(reply), error: None },
            Err(error) => Response { id, reply: None, error: Some(error) },
        };
        self.send(ServerMessage::Response(response)).await;
    }

    async fn send(&self, message: ServerMessage) {
        // The client may be gone; its request was still carried out.
        drop(self.outgoing.send(Outgoing::Message(Box::new(message))).await);
    }
}

fn not_here(message: &str) -> ProtocolError {
    ProtocolError::new(ErrorCode::NotAllowed, message, "Use the `sandbook` command for it.")
}

impl Outbox {
    /// The next thing to write. It may be dropped and called again.
    pub(crate) async fn next(&mut self) -> Outgoing {
        tokio::select! {
            biased;
            Some(outgoing) = self.outgoing.recv() => outgoing,
            push = self.shared.session.next_push() => {
                Outgoing::Message(Box::new(ServerMessage::Push { push: Box::new(push) }))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_hello_says_which_side_is_older() {
        assert!(refusal(VERSION).is_none());
        assert!(refusal(VERSION - 1).unwrap().message.starts_with("This program is older"));
        assert!(
            refusal(VERSION + 1)
                .unwrap()
                .message
                .starts_with("The Sandbook that runs in the background is older")
        );
    }
}
