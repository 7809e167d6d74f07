//! An owner with its doors, in a folder of its own.

#![allow(dead_code, reason = "each test file uses its own part")]

use std::path::PathBuf;

use futures::{SinkExt, StreamExt};
use sandbook_client::{Listener, Owner, Place, Pushes};
use sandbook_gateway::{Gateway, PageSource};
use sandbook_protocol::{ClientKind, ClientMessage, Command, Push, Reply, Secret, ServerMessage, VERSION};
use sandbook_store::folders::Folders;
use sandbook_workbench::{LogLines, Workbench, WorkbenchOptions};
use tokio::net::TcpStream;
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream,
    tungstenite::{Message, client::IntoClientRequest},
};
use tokio_util::sync::CancellationToken;

/// An owner that ends with the test.
pub(crate) struct Doors {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) place: Place,
    stop: CancellationToken,
}

impl Drop for Doors {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Doors {
    pub(crate) async fn open() -> Self {
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let folder = tempfile::tempdir().unwrap();
        let folders = Folders::inside(folder.path());
        let place = Place::new(&folders.runtime, folders.state.join("owner.log"));
        let options = WorkbenchOptions {
            folders,
            supervisor: None,
            logs: LogLines::default(),
            working_directory: folder.path().to_owned(),
        };
        let workbench = Workbench::open(options).await.unwrap();
        let page = folder.path().join("page");
        std::fs::create_dir_all(page.join("assets")).unwrap();
        std::fs::write(page.join("index.html"), "<!doctype html><title>the page</title>").unwrap();
        std::fs::write(page.join("assets/a.js"), "export {}").unwrap();
        std::fs::write(folder.path().join("secret.txt"), "a secret").unwrap();
        let gateway = Gateway::new(workbench, PageSource::Folder(page), place.folder());
        let stop = CancellationToken::new();
        let listener = Listener::bind(&place).unwrap();
        let stopped = stop.clone();
        let never = CancellationToken::new();
        tokio::spawn(async move { gateway.serve(listener, never, stopped).await });
        Self { folder, place, stop }
    }

    pub(crate) async fn client(&self) -> (Owner, Pushes) {
        Owner::connect(&self.place, ClientKind::CommandLine).await.unwrap()
    }

    /// A notebook with an output that can run code and an image.
    pub(crate) fn notebook(&self) -> PathBuf {
        let path = self.folder.path().join("outputs.ipynb");
        let notebook = r#"{"cells":[{"cell_type":"code","execution_count":1,"metadata":{},"source":["x"],"outputs":[
            {"output_type":"display_data","metadata":{},"data":{"text/html":["<b>framed</b>"]}},
            {"output_type":"display_data","metadata":{},"data":{"image/png":"iVBORw0KGgo="}}]}],
            "metadata":{},"nbformat":4,"nbformat_minor":4}"#;
        std::fs::write(&path, notebook).unwrap();
        path
    }
}

/// An open web door, and the client that keeps it open.
pub(crate) struct Web {
    pub(crate) owner: Owner,
    pub(crate) port: u16,
    pub(crate) address: String,
    pub(crate) token: String,
}

impl Web {
    pub(crate) async fn open(doors: &Doors) -> Self {
        let (owner, _pushes) = doors.client().await;
        let command = Command::OpenWebDoor { port: None };
        let Reply::WebDoor { address, token } = owner.request(command).await.unwrap() else {
            panic!("not a door")
        };
        let port = address.trim_end_matches('/').rsplit_once(':').unwrap().1.parse().unwrap();
        Self { owner, port, address, token: token.expose().to_owned() }
    }

    pub(crate) fn origin(&self) -> String {
        self.address.trim_end_matches('/').to_owned()
    }

    pub(crate) async fn invite(&self) -> String {
        let command = Command::OpenWebDoor { port: None };
        let Reply::WebDoor { token, .. } = self.owner.request(command).await.unwrap() else {
            panic!("not a door")
        };
        token.expose().to_owned()
    }

    pub(crate) async fn exchange(&self, invitation: &str, origin: Option<&str>) -> reqwest::Response {
        let mut request = reqwest::Client::new()
            .post(format!("{}api/session", self.address))
            .json(&serde_json::json!({ "token": invitation }));
        if let Some(origin) = origin {
            request = request.header("origin", origin);
        }
        request.send().await.unwrap()
    }

    pub(crate) async fn session(&self, invitation: &str) -> String {
        let response = self.exchange(invitation, Some(&self.origin())).await;
        assert_eq!(response.status(), 200);
        let answer: serde_json::Value = response.json().await.unwrap();
        answer["token"].as_str().unwrap().to_owned()
    }

    /// The handshake of a WebSocket under some name and from some origin: its status if it is refused.
    pub(crate) async fn socket(&self, host: &str, origin: Option<&str>) -> Result<Socket, u16> {
        let mut request = format!("ws://127.0.0.1:{}/api/socket", self.port).into_client_request().unwrap();
        request.headers_mut().insert("host", host.parse().unwrap());
        if let Some(origin) = origin {
            request.headers_mut().insert("origin", origin.parse().unwrap());
        }
        match tokio_tungstenite::connect_async(request).await {
            Ok((socket, _)) => Ok(Socket(socket)),
            Err(tokio_tungstenite::tungstenite::Error::Http(response)) => Err(response.status().as_u16()),
            Err(error) => panic!("{error}"),
        }
    }

    /// A browser with a session.
    pub(crate) async fn browser(&self, session: &str) -> Browser {
        let origin = self.origin();
        let mut socket = self.socket(&format!("127.0.0.1:{}", self.port), Some(&origin)).await.unwrap();
        socket.hello(Some(session)).await;
        match socket.next().await {
            Some(ServerMessage::Welcome { resources, .. }) => {
                Browser { socket, resources: resources.unwrap(), next: 1, waiting: Vec::new() }
            }
            other => panic!("not welcome: {other:?}"),
        }
    }
}

pub(crate) struct Socket(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Socket {
    pub(crate) async fn hello(&mut self, token: Option<&str>) {
        let token = token.map(Secret::new);
        self.send(&ClientMessage::Hello { version: VERSION, client: ClientKind::Browser, token }).await;
    }

    pub(crate) async fn send(&mut self, message: &ClientMessage) {
        self.text(serde_json::to_string(message).unwrap()).await;
    }

    pub(crate) async fn text(&mut self, text: String) {
        self.0.send(Message::text(text)).await.unwrap();
    }

    /// The next message; nothing once the socket is closed.
    pub(crate) async fn next(&mut self) -> Option<ServerMessage> {
        loop {
            match self.0.next().await? {
                Ok(Message::Text(text)) => return Some(serde_json::from_str(&text).unwrap()),
                Ok(Message::Close(_)) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }
}

/// A page, as far as the door can tell.
pub(crate) struct Browser {
    pub(crate) socket: Socket,
    pub(crate) resources: String,
    next: u32,
    waiting: Vec<Push>,
}

impl Browser {
    pub(crate) async fn request(
        &mut self,
        command: Command,
    ) -> Result<Reply, sandbook_protocol::ProtocolError> {
        let id = self.next;
        self.next += 1;
        self.socket.send(&ClientMessage::Request { id, command: Box::new(command) }).await;
        loop {
            match self.socket.next().await.expect("an open socket") {
                ServerMessage::Response(response) if response.id == id => {
                    return match response.error {
                        Some(error) => Err(error),
                        None => Ok(response.reply.unwrap()),
                    };
                }
                ServerMessage::Push { push } => self.waiting.push(*push),
                _ => {}
            }
        }
    }

    /// Whether no push came with what was read so far.
    pub(crate) fn nothing_waits(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The next push that a test looks for.
    pub(crate) async fn push<T>(&mut self, mut look: impl FnMut(&Push) -> Option<T>) -> T {
        for push in std::mem::take(&mut self.waiting) {
            if let Some(found) = look(&push) {
                return found;
            }
        }
        loop {
            if let ServerMessage::Push { push } = self.socket.next().await.expect("an open socket")
                && let Some(found) = look(&push)
            {
                return found;
            }
        }
    }
}
