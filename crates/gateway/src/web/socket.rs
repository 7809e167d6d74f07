//! The WebSocket of a page: messages as JSON text, the session's token in the first.

use std::{sync::Arc, time::Duration};

use axum::extract::ws::{Message, WebSocket};
use futures::{
    SinkExt, StreamExt,
    stream::{SplitSink, SplitStream},
};
use sandbook_protocol::{ClientKind, ClientMessage, ErrorCode, ProtocolError, Secret, ServerMessage};

use super::{Shared, origin::Host, tokens::outputs_secret};
use crate::conversation::{self, Outbox, Outgoing, Rights};

/// How long a page may take to say hello.
const HELLO: Duration = Duration::from_secs(10);

/// The longest hello, in bytes.
const LONGEST_HELLO: usize = 16 * 1024;

pub(super) async fn converse(shared: Arc<Shared>, host: Host, socket: WebSocket) {
    let closed = shared.closed.clone();
    tokio::select! {
        () = closed.cancelled() => {}
        () = talk(&shared, &host, socket) => {}
    }
}

async fn talk(shared: &Arc<Shared>, host: &Host, socket: WebSocket) {
    let (mut sink, mut stream) = socket.split();
    let (kind, token) = match hello(shared, &mut stream).await {
        Ok(Some(admitted)) => admitted,
        Ok(None) => return,
        Err(error) => {
            let _ = send(&mut sink, &ServerMessage::Refused { error }).await;
            let _ = sink.close().await;
            return;
        }
    };
    let outputs = outputs_secret(token.expose());
    let (conversation, outbox) = conversation::begin(&shared.workbench, kind, Rights::Web);
    let resources = format!("{}/{outputs}/", host.origin_at(shared.output_port));
    if !send(&mut sink, &conversation.welcome(Some(resources))).await {
        return;
    }
    tokio::select! {
        () = write_all(sink, outbox) => {}
        () = read_all(stream, &conversation) => {}
    }
}

/// The first message. It says who comes, or why it is not let in; nothing where the browser went away.
async fn hello(
    shared: &Shared,
    stream: &mut SplitStream<WebSocket>,
) -> Result<Option<(ClientKind, Secret)>, ProtocolError> {
    let Ok(Some(Ok(Message::Text(text)))) = tokio::time::timeout(HELLO, stream.next()).await else {
        return Ok(None);
    };
    if text.len() > LONGEST_HELLO {
        return Err(not_allowed());
    }
    let Ok(ClientMessage::Hello { version, client, token }) = serde_json::from_str(&text) else {
        return Err(not_allowed());
    };
    // Who has no session is told nothing, the version neither.
    let token = token.ok_or_else(not_allowed)?;
    if shared.tokens().session(token.expose()).is_none() {
        tracing::warn!("a WebSocket without a session was refused");
        return Err(not_allowed());
    }
    match conversation::refusal(version) {
        Some(error) => Err(error),
        None => Ok(Some((client, token))),
    }
}

fn not_allowed() -> ProtocolError {
    ProtocolError::new(
        ErrorCode::NotAllowed,
        "This page has no session with Sandbook. Notebooks that run go on.",
        "Run `sandbook web` and open the address that it prints.",
    )
}

async fn read_all(mut stream: SplitStream<WebSocket>, conversation: &conversation::Conversation) {
    while let Some(Ok(message)) = stream.next().await {
        let good = match message {
            Message::Text(text) => conversation.receive_json(text.as_bytes()).await,
            Message::Close(_) => return,
            Message::Binary(_) | Message::Ping(_) | Message::Pong(_) => true,
        };
        if !good {
            return;
        }
    }
}

async fn write_all(mut sink: SplitSink<WebSocket, Message>, mut outbox: Outbox) {
    loop {
        // Resources go through their own port.
        if let Outgoing::Message(message) = outbox.next().await
            && !send(&mut sink, &message).await
        {
            return;
        }
    }
}

async fn send(sink: &mut SplitSink<WebSocket, Message>, message: &ServerMessage) -> bool {
    match serde_json::to_string(message) {
        Ok(json) => sink.send(Message::text(json)).await.is_ok(),
        Err(error) => {
            tracing::error!(%error, "a message could not be written as JSON");
            false
        }
    }
}
