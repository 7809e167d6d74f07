//! A service of this computer that nobody was meant to reach.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

const ANSWER: &[u8] =
    b"HTTP/1.1 204 No Content\r\nAccess-Control-Allow-Origin: *\r\nConnection: close\r\n\r\n";

/// Notes who connects. It ends when it is dropped.
pub struct Listener {
    port: u16,
    heard: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl Listener {
    /// Listens at a free port.
    ///
    /// # Errors
    /// When there is none.
    pub async fn start() -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.context("no free port")?;
        let port = listener.local_addr()?.port();
        let heard = Arc::<Mutex<Vec<String>>>::default();
        let task = tokio::spawn(accept(listener, heard.clone()));
        Ok(Self { port, heard, task })
    }

    /// Where it listens.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The first line of what each connection said; empty where it said nothing.
    #[must_use]
    pub fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, heard: Arc<Mutex<Vec<String>>>) {
    while let Ok((stream, _)) = listener.accept().await {
        let line = first_line(stream).await.unwrap_or_default();
        heard.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }
}

async fn first_line(mut stream: TcpStream) -> Result<String> {
    let mut buffer = vec![0; 4_096];
    let read = tokio::time::timeout(std::time::Duration::from_millis(200), stream.read(&mut buffer)).await;
    let length = read.unwrap_or(Ok(0))?;
    stream.write_all(ANSWER).await?;
    Ok(String::from_utf8_lossy(&buffer[..length]).lines().next().unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_hears_who_connects() {
        let listener = Listener::start().await.expect("a listener");
        let mut stream = TcpStream::connect(("127.0.0.1", listener.port())).await.expect("a connection");
        stream.write_all(b"GET /control HTTP/1.1\r\n\r\n").await.expect("written");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.expect("an answer");
        assert_eq!(listener.heard(), ["GET /control HTTP/1.1"]);
    }
}
