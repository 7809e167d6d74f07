//! The local socket, as clients of the same user find it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends where its ground is missing"
)]

mod support;

use sandbook_client::{FrameReader, FrameWriter, Owner, Wire};
use sandbook_protocol::{
    ClientKind, ClientMessage, Command, ErrorCode, Frame, OutputBody, ProtocolError, Push, Reply,
    ServerMessage, SourceEdit, VERSION,
};
use support::Doors;

async fn say(wire: &mut Wire, message: &ClientMessage) {
    let json = serde_json::to_vec(message).unwrap();
    wire.writer.send(&Frame::Json(json.into())).await.unwrap();
}

async fn heard(wire: &mut Wire) -> Option<ServerMessage> {
    match wire.reader.next().await {
        Ok(Some(Frame::Json(json))) => Some(serde_json::from_slice(&json).unwrap()),
        _ => None,
    }
}

#[tokio::test]
async fn a_client_of_another_version_is_refused_and_told_which_side_is_older() {
    let doors = Doors::open().await;
    for (version, older) in [(VERSION - 1, "This program is older"), (VERSION + 1, "background is older")] {
        let mut wire = Wire::connect(&doors.place).await.unwrap();
        say(&mut wire, &ClientMessage::Hello { version, client: ClientKind::Window, token: None }).await;
        match heard(&mut wire).await {
            Some(ServerMessage::Refused { error }) => {
                assert_eq!(error.code, ErrorCode::VersionMismatch);
                assert!(error.message.contains(older), "{}", error.message);
            }
            other => panic!("{other:?}"),
        }
        assert!(heard(&mut wire).await.is_none(), "the connection is closed");
    }
}

#[tokio::test]
async fn who_does_not_begin_with_a_hello_is_not_answered() {
    let doors = Doors::open().await;
    let mut wire = Wire::connect(&doors.place).await.unwrap();
    say(&mut wire, &ClientMessage::Request { id: 1, command: Box::new(Command::ListDocuments) }).await;
    assert!(heard(&mut wire).await.is_none());
}

#[tokio::test]
async fn edits_sent_at_once_arrive_in_the_order_in_which_they_were_sent() {
    let doors = Doors::open().await;
    let (owner, mut pushes) = doors.client().await;
    let path = doors.notebook().display().to_string();
    let Reply::Document { document, .. } = owner.request(Command::OpenDocument { path }).await.unwrap()
    else {
        panic!("not a document")
    };
    owner.request(Command::Subscribe { document: document.clone() }).await.unwrap();
    let cell = loop {
        if let Push::Snapshot { snapshot } = pushes.next().await.unwrap() {
            break snapshot.cells[0].key.clone();
        }
    };
    let mut requests = Vec::new();
    for revision in 0..100 {
        let at = revision + 1;
        let edits = vec![SourceEdit { from: at, to: at, insert: (revision % 10).to_string() }];
        let edit = Command::EditSource {
            document: document.clone(),
            cell: cell.clone(),
            base_revision: revision,
            edits,
        };
        requests.push(owner.send(edit).await.unwrap());
    }
    for (revision, request) in (1..).zip(requests) {
        assert_eq!(request.answer().await.unwrap(), Reply::Edited { revision });
    }
}

#[tokio::test]
async fn a_resource_is_read_whole_and_a_missing_one_is_an_error() {
    let doors = Doors::open().await;
    let (owner, mut pushes) = doors.client().await;
    let path = doors.notebook().display().to_string();
    let Reply::Document { document, .. } = owner.request(Command::OpenDocument { path }).await.unwrap()
    else {
        panic!("not a document")
    };
    owner.request(Command::Subscribe { document }).await.unwrap();
    let outputs = loop {
        if let Push::Snapshot { snapshot } = pushes.next().await.unwrap() {
            break snapshot.cells[0].outputs.clone();
        }
    };
    let OutputBody::Rich { representations, .. } = &outputs[1].body else { panic!("{outputs:?}") };
    let resource = owner.read_resource(representations[0].resource.clone()).await.unwrap();
    assert_eq!(resource.media_type, "image/png");
    assert_eq!(resource.content.as_ref(), b"\x89PNG\r\n\x1a\n");

    let missing = owner.read_resource("none".into()).await.err().unwrap();
    assert_eq!(ProtocolError::from(missing).code, ErrorCode::NotFound);
}

#[tokio::test]
async fn garbage_on_the_socket_ends_that_connection_and_no_other() {
    let doors = Doors::open().await;
    let (owner, _pushes) = doors.client().await;
    let stream = tokio::net::UnixStream::connect(doors.place.socket()).await.unwrap();
    let (read, write) = tokio::io::split(stream);
    let mut writer = FrameWriter::new(write);
    writer.send(&Frame::Json("not json".into())).await.unwrap();
    assert!(matches!(FrameReader::new(read).next().await, Ok(None)));
    assert!(owner.request(Command::ListDocuments).await.is_ok());
    assert!(Owner::connect(&doors.place, ClientKind::Window).await.is_ok());
}
