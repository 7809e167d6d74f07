//! A TCP proxy whose line can be cut, stalled and mended.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::watch,
};

/// The state of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// Bytes pass.
    Open,
    /// Connections are reset, new ones too.
    Cut,
    /// Connections stay, but no byte passes.
    Stalled,
    /// Bytes pass over new connections; those that were there stay, and nothing passes over them.
    Forgotten,
}

/// A proxy in front of a server.
#[derive(Debug)]
pub struct Proxy {
    /// The server's address by way of it.
    pub url: url::Url,
    line: watch::Sender<Line>,
    accepted: Arc<AtomicUsize>,
    sessions: Sessions,
}

/// The sessions that clients named, in the order of their dials.
type Sessions = Arc<Mutex<Vec<String>>>;

/// Where a client names its session.
const SESSION: &str = "session_id=";

/// The header in which a client asks for a framing.
const SUBPROTOCOL: &[u8] = b"sec-websocket-protocol";

impl Proxy {
    /// In front of `server`.
    ///
    /// # Panics
    /// Where there is no free port.
    pub async fn start(server: &url::Url) -> Self {
        Self::start_with(server, false).await
    }

    /// In front of `server`, for whom no client asks for another framing than the oldest.
    ///
    /// # Panics
    /// Where there is no free port.
    pub async fn hiding_subprotocols(server: &url::Url) -> Self {
        Self::start_with(server, true).await
    }

    async fn start_with(server: &url::Url, hides: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut url = server.clone();
        url.set_port(Some(listener.local_addr().unwrap().port())).unwrap();
        let (line, to_watch) = watch::channel(Line::Open);
        let accepted = Arc::new(AtomicUsize::new(0));
        let (count, port) = (accepted.clone(), server.port().unwrap());
        let sessions = Sessions::default();
        let named = sessions.clone();
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(carry(near, port, hides, to_watch.clone(), named.clone()));
            }
        });
        Self { url, line, accepted, sessions }
    }

    /// Changes the line.
    pub fn set(&self, line: Line) {
        self.line.send_replace(line);
    }

    /// The session that each WebSocket named when it was dialled.
    ///
    /// # Panics
    /// Where a test has panicked while it looked.
    pub fn sessions(&self) -> Vec<String> {
        self.sessions.lock().unwrap().clone()
    }

    /// How many connections have come.
    pub fn accepted(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }
}

async fn carry(near: TcpStream, port: u16, hides: bool, mut line: watch::Receiver<Line>, sessions: Sessions) {
    near.set_nodelay(true).unwrap();
    near.set_zero_linger().ok();
    if *line.borrow() == Line::Cut {
        return;
    }
    let is_new = *line.borrow() == Line::Forgotten;
    let knows = move |line: &Line| match line {
        Line::Stalled => false,
        Line::Forgotten => is_new,
        Line::Open | Line::Cut => true,
    };
    let Ok(far) = TcpStream::connect(("127.0.0.1", port)).await else { return };
    far.set_nodelay(true).unwrap();
    far.set_zero_linger().ok();
    let (near_read, near_write) = near.into_split();
    let (far_read, far_write) = far.into_split();
    tokio::select! {
        () = pump(near_read, far_write, |bytes| look(bytes, hides, &sessions), line.clone(), knows) => {}
        () = pump(far_read, near_write, |_| {}, line.clone(), knows) => {}
        _ = line.wait_for(|line| *line == Line::Cut) => {}
    }
}

/// What is done with bytes on their way to the server.
fn look(bytes: &mut [u8], hides: bool, sessions: &Sessions) {
    let request = String::from_utf8_lossy(bytes);
    if request.starts_with("GET ")
        && let Some((_, rest)) = request.lines().next().unwrap_or_default().split_once(SESSION)
    {
        let named = rest.split(['&', ' ']).next().unwrap_or_default().to_owned();
        sessions.lock().unwrap().push(named);
    }
    let at = bytes.windows(SUBPROTOCOL.len()).position(|part| part.eq_ignore_ascii_case(SUBPROTOCOL));
    if hides && let Some(at) = at {
        bytes[at] = b'x';
    }
}

async fn pump(
    mut from: tokio::net::tcp::OwnedReadHalf,
    mut to: tokio::net::tcp::OwnedWriteHalf,
    look: impl Fn(&mut [u8]),
    mut line: watch::Receiver<Line>,
    passes: impl Fn(&Line) -> bool,
) {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let Ok(n @ 1..) = from.read(&mut buffer).await else { return };
        look(&mut buffer[..n]);
        if line.wait_for(&passes).await.is_err() || to.write_all(&buffer[..n]).await.is_err() {
            return;
        }
    }
}
