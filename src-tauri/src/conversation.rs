//! The page's conversation with the owner, passed on unread.

use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use sandbook_client::{FrameReader, FrameWriter};
use sandbook_protocol::Frame;
use serde_json::value::RawValue;
use tauri::ipc::Channel;
use tauri::{AppHandle, Manager, State};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;

use crate::gather::deliver_gathered;
use crate::opening::Opening;
use crate::owner::OwnerLink;

/// How many messages may wait for the owner. A person's page never has more than a few on their way.
const OUTGOING: usize = 4_096;

/// How many messages may wait for the page before the owner's socket is read no further.
const INCOMING: usize = 1_024;

/// A message of the owner, as it came.
type Message = Box<RawValue>;

/// The one conversation of the one page; a new one takes the place of the old.
#[derive(Default)]
pub(crate) struct Conversation {
    to_owner: Mutex<Option<mpsc::Sender<Bytes>>>,
}

impl Conversation {
    fn replace(&self, sender: Option<mpsc::Sender<Bytes>>) {
        *self.to_owner.lock().unwrap_or_else(PoisonError::into_inner) = sender;
    }

    fn send(&self, message: Bytes) -> Result<(), String> {
        let sender = self.to_owner.lock().unwrap_or_else(PoisonError::into_inner);
        let sent = sender.as_ref().is_some_and(|sender| sender.try_send(message).is_ok());
        if sent { Ok(()) } else { Err(CUT.to_owned()) }
    }
}

const CUT: &str =
    "The part of Sandbook that holds your notebooks does not answer. What was shown as saved is safe.";

/// Opens a conversation. What the owner says comes through the channel, several messages at a time; an empty list says
/// that the conversation has ended.
#[tauri::command]
pub(crate) async fn converse(app: AppHandle, incoming: Channel<Vec<Message>>) -> Result<(), String> {
    let wire = app.state::<OwnerLink>().wire().await;
    let wire = wire.map_err(|error| format!("{} {}", error.message, error.hint))?;
    let (to_owner, outgoing) = mpsc::channel(OUTGOING);
    let (to_page, gathered) = mpsc::channel(INCOMING);
    app.state::<Conversation>().replace(Some(to_owner));
    tauri::async_runtime::spawn(write(wire.writer, outgoing));
    tauri::async_runtime::spawn(async move {
        let opening = app.state::<Opening>();
        let delivering = deliver_gathered(gathered, |batch| incoming.send(batch).is_ok());
        tokio::join!(read(wire.reader, to_page, &opening), delivering);
        // A page that is gone cannot be told either.
        let _ = incoming.send(Vec::new());
    });
    Ok(())
}

/// Sends one message to the owner. Messages reach it in the order in which the page sent them, because a command that
/// is not asynchronous runs where the web view's requests arrive, one after the other.
#[tauri::command]
#[allow(clippy::needless_pass_by_value, reason = "the web view's arguments come by value")]
pub(crate) fn say(message: Message, conversation: State<'_, Conversation>) -> Result<(), String> {
    conversation.send(Box::<str>::from(message).into_boxed_bytes().into())
}

/// Ends the conversation. The owner keeps what runs.
#[tauri::command]
#[allow(clippy::needless_pass_by_value, reason = "the web view's arguments come by value")]
pub(crate) fn end_conversation(conversation: State<'_, Conversation>) {
    conversation.replace(None);
}

async fn write<W: AsyncWrite + Unpin>(mut writer: FrameWriter<W>, mut messages: mpsc::Receiver<Bytes>) {
    while let Some(message) = messages.recv().await {
        if writer.send(&Frame::Json(message)).await.is_err() {
            // The reader sees the same end and tells the page.
            return;
        }
    }
    let _ = writer.close().await;
}

/// Passes on what the owner says until it ends, and tells the page what to open once the owner has welcomed it.
async fn read<R: AsyncRead + Unpin>(
    mut reader: FrameReader<R>,
    to_page: mpsc::Sender<Message>,
    opening: &Opening,
) {
    let mut welcomed = false;
    loop {
        let messages = tokio::select! {
            frame = reader.next() => match frame {
                Ok(Some(Frame::Json(json))) => {
                    welcomed = true;
                    vec![raw(&json)]
                }
                // The page cannot ask for bytes here, so none come.
                Ok(Some(Frame::Resource { .. })) => continue,
                Ok(None) | Err(_) => return,
            },
            asked = opening.next(), if welcomed => asked.iter().map(serde_json::value::to_raw_value).collect(),
        };
        for message in messages {
            let Ok(message) = message else { return };
            if to_page.send(message).await.is_err() {
                return;
            }
        }
    }
}

fn raw(json: &[u8]) -> Result<Message, serde_json::Error> {
    serde_json::from_slice(json)
}
