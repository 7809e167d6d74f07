//! The local socket: frames, and no token, because its folder is the person's own.

use std::{sync::Arc, time::Duration};

use sandbook_client::{ClientError, FrameReader, FrameWriter, Listener, ServerStream};
use sandbook_protocol::{ClientMessage, Frame, ServerMessage};
use tokio::io::{AsyncWrite, split};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::{
    Gateway,
    conversation::{self, Outbox, Outgoing, Rights},
};

/// How long a client may take to say hello.
const HELLO: Duration = Duration::from_secs(10);

pub(crate) async fn serve(
    gateway: &Arc<Gateway>,
    mut listener: Listener,
    leaving: &CancellationToken,
    stop: &CancellationToken,
) {
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => return,
            () = leaving.cancelled() => {
                listener.close();
                return stop.cancelled().await;
            }
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok(stream) => {
                let (gateway, stop) = (gateway.clone(), stop.clone());
                let span = tracing::info_span!("client", door = "local");
                tokio::spawn(async move {
                    tokio::select! {
                        () = stop.cancelled() => {}
                        () = converse(gateway, stream).instrument(span) => {}
                    }
                });
            }
            Err(error) => {
                // Out of file descriptors, most likely: it passes when somebody leaves.
                tracing::error!(%error, "a client could not be taken");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

async fn converse(gateway: Arc<Gateway>, stream: ServerStream) {
    let _counted = gateway.count();
    let (read, write) = split(stream);
    let (mut reader, mut writer) = (FrameReader::new(read), FrameWriter::new(write));
    let hello = match tokio::time::timeout(HELLO, reader.next()).await {
        Ok(Ok(Some(Frame::Json(json)))) => serde_json::from_slice(&json),
        _ => return,
    };
    let Ok(ClientMessage::Hello { version, client, .. }) = hello else {
        tracing::warn!("a client did not begin with a hello");
        return;
    };
    if let Some(error) = conversation::refusal(version) {
        let _ = send(&mut writer, &ServerMessage::Refused { error }).await;
        return;
    }
    let (conversation, outbox) =
        conversation::begin(gateway.workbench(), client, Rights::Local(gateway.clone()));
    if !send(&mut writer, &conversation.welcome(None)).await {
        return;
    }
    tracing::debug!(?client, "a client came");
    let writing = tokio::spawn(write_all(writer, outbox));
    loop {
        match reader.next().await {
            Ok(Some(Frame::Json(json))) => {
                if !conversation.receive_json(&json).await {
                    break;
                }
            }
            Ok(Some(Frame::Resource { .. })) => {}
            Ok(None) => break,
            // A client that leaves does not have to say good-bye.
            Err(ClientError::Connection(error)) => {
                tracing::debug!(%error, "a client has gone");
                break;
            }
            Err(error) => {
                tracing::warn!(%error, "a client's connection is given up");
                break;
            }
        }
    }
    writing.abort();
}

async fn write_all<W: AsyncWrite + Unpin>(mut writer: FrameWriter<W>, mut outbox: Outbox) {
    loop {
        let sent = match outbox.next().await {
            Outgoing::Message(message) => send(&mut writer, &message).await,
            Outgoing::Resource { request, content } => {
                let frame =
                    Frame::Resource { request, media_type: content.media_type, content: content.bytes };
                writer.send(&frame).await.is_ok()
            }
        };
        if !sent {
            return;
        }
    }
}

async fn send<W: AsyncWrite + Unpin>(writer: &mut FrameWriter<W>, message: &ServerMessage) -> bool {
    match serde_json::to_vec(message) {
        Ok(json) => writer.send(&Frame::Json(json.into())).await.is_ok(),
        Err(error) => {
            tracing::error!(%error, "a message could not be written as JSON");
            false
        }
    }
}
