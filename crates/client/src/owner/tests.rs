use super::*;
use sandbook_protocol::{ErrorCode, ProtocolError};
use tokio::io::{DuplexStream, ReadHalf, WriteHalf, duplex, split};

type Far = (FrameReader<ReadHalf<DuplexStream>>, FrameWriter<WriteHalf<DuplexStream>>);

/// A client that is about to say hello, and the other end of its connection.
fn pair() -> (Far, Far) {
    let (near, far) = duplex(64 * 1024);
    let ends = |stream| {
        let (read, write) = split(stream);
        (FrameReader::new(read), FrameWriter::new(write))
    };
    (ends(near), ends(far))
}

async fn say(writer: &mut FrameWriter<WriteHalf<DuplexStream>>, message: &ServerMessage) {
    writer.send(&Frame::Json(serde_json::to_vec(message).unwrap().into())).await.unwrap();
}

async fn connected() -> (Owner, Pushes, Far) {
    let ((reader, writer), mut far) = pair();
    let welcome = ServerMessage::Welcome { client: "c1".into(), version: "1".into(), resources: None };
    say(&mut far.1, &welcome).await;
    let (owner, pushes) = Owner::greet(reader, writer, ClientKind::CommandLine).await.unwrap();
    far.0.next().await.unwrap();
    (owner, pushes, far)
}

#[tokio::test]
async fn answers_find_their_requests_in_any_order() {
    let (owner, _pushes, mut far) = connected().await;
    let first = owner.send(Command::WatchWorkspace).await.unwrap();
    let second = owner.send(Command::NewDocument).await.unwrap();
    for id in [second.id(), first.id()] {
        let text = format!("answer to {id}");
        let response = sandbook_protocol::Response { id, reply: Some(Reply::Text { text }), error: None };
        say(&mut far.1, &ServerMessage::Response(response)).await;
    }
    let (first_id, second_id) = (first.id(), second.id());
    assert_eq!(first.answer().await.unwrap(), Reply::Text { text: format!("answer to {first_id}") });
    assert_eq!(second.answer().await.unwrap(), Reply::Text { text: format!("answer to {second_id}") });
}

#[tokio::test]
async fn a_cut_ends_every_waiting_request_and_every_later_one() {
    let (owner, mut pushes, far) = connected().await;
    let request = owner.send(Command::WatchWorkspace).await.unwrap();
    drop(far);
    assert!(matches!(request.answer().await, Err(ClientError::Closed)));
    assert!(pushes.next().await.is_none());
    assert!(matches!(owner.request(Command::NewDocument).await, Err(ClientError::Closed)));
}

#[tokio::test]
async fn a_refusal_is_the_owners_own_error() {
    let ((reader, writer), mut far) = pair();
    let error = ProtocolError::new(ErrorCode::VersionMismatch, "older", "quit");
    say(&mut far.1, &ServerMessage::Refused { error }).await;
    let refused = Owner::greet(reader, writer, ClientKind::Window).await.err().unwrap();
    assert_eq!(ProtocolError::from(refused).code, ErrorCode::VersionMismatch);
}

#[tokio::test]
async fn a_client_that_reads_no_pushes_still_gets_its_answers() {
    let (owner, pushes, mut far) = connected().await;
    drop(pushes);
    let request = owner.send(Command::WatchWorkspace).await.unwrap();
    for _ in 0..2 * QUEUE {
        let push = Box::new(Push::OpenRequested { path: "/a".into() });
        say(&mut far.1, &ServerMessage::Push { push }).await;
    }
    let response = sandbook_protocol::Response { id: request.id(), reply: Some(Reply::Done), error: None };
    say(&mut far.1, &ServerMessage::Response(response)).await;
    assert_eq!(request.answer().await.unwrap(), Reply::Done);
}
