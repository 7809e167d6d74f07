//! What the log says of a connection, and what it does not.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests are not seen as tests

mod support;

use std::{
    io,
    sync::{Arc, Mutex},
    time::Duration,
};

use sandbook_runtimes::jupyter::{JupyterSettings, ServerSettings};
use sandbook_sandbox::{KernelStatus, StopChoice};
use sandbook_test_support::{Line, PATIENCE, Proxy, TOKEN, jupyter_server};
use serde_json::Value;
use support::{Place, run, server_settings};
use tracing::subscriber::DefaultGuard;

/// Keeps everything that is logged on this thread, to the last detail.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Lines {
    fn begin() -> (Self, DefaultGuard) {
        let lines = Self::default();
        let writer = lines.clone();
        let subscriber = tracing_subscriber::fmt()
            .json()
            .with_span_list(true)
            .with_max_level(tracing::Level::TRACE)
            .with_writer(move || writer.clone())
            .finish();
        (lines, tracing::subscriber::set_default(subscriber))
    }

    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }

    /// The spans of the lines with this message.
    fn spans(&self, message: &str) -> Vec<Value> {
        let text = self.text();
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let told = lines.filter(|line| line["fields"]["message"] == message);
        told.map(|mut line| line["spans"].take()).collect()
    }
}

#[tokio::test]
async fn the_lines_of_a_connection_say_which_it_is_and_hold_no_secret() {
    let (place, server) = (Place::new(), jupyter_server().await);
    let proxy = Proxy::start(&server.url).await;
    let host = format!("127.0.0.1:{}", proxy.url.port().unwrap());
    let (lines, _guard) = Lines::begin();
    // the token in the address is the harder case
    let settings = ServerSettings { token_in_query: true, ..server_settings(&proxy.url) };
    let sandbox = place.create(JupyterSettings::Server(settings)).await.unwrap();
    run(&sandbox, "1").await;
    proxy.set(Line::Cut);
    let mut status = sandbox.status();
    let away = status.wait_for(|status| matches!(status, KernelStatus::Reconnecting { attempt: 1.., .. }));
    drop(tokio::time::timeout(PATIENCE, away).await.unwrap().unwrap());
    proxy.set(Line::Open);
    sandbox.reconnect(true);
    let back = status.wait_for(|status| *status == KernelStatus::Idle);
    drop(tokio::time::timeout(PATIENCE, back).await.unwrap().unwrap());
    sandbox.stop(StopChoice::Default, PATIENCE).await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;

    let of_connection = |spans: &Value| {
        let span = &spans[0];
        (span["name"].clone(), span["kind"].clone(), span["host"].clone(), span["id"].clone())
    };
    let (connected, away) = (lines.spans("connected"), lines.spans("the connection is away"));
    let first = of_connection(&away[0]);
    assert_eq!(first.0, "connection");
    assert_eq!((first.1.as_str(), first.2.as_str()), (Some("server"), Some(host.as_str())));
    assert!(!first.3.as_str().unwrap().is_empty());
    assert_eq!(connected.len(), 2, "at first, and when it was back: {}", lines.text());
    assert!(connected.iter().chain(&away).all(|spans| of_connection(spans) == first));
    assert!(!lines.text().contains(TOKEN), "{}", lines.text());
}

#[tokio::test]
async fn the_lines_of_two_connections_are_told_apart() {
    let place = Place::new();
    let (lines, _guard) = Lines::begin();
    let (one, two) = (place.local().await, place.local().await);
    run(&one, "1").await;
    run(&two, "1").await;
    let connected = lines.spans("connected");
    assert_eq!(connected.len(), 2, "{}", lines.text());
    assert_ne!(connected[0][0]["id"], connected[1][0]["id"]);
    assert!(connected.iter().all(|spans| spans[0]["host"] == "this computer"));
    support::stop(&one).await;
    support::stop(&two).await;
}
