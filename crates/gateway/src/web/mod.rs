//! Web mode: the page in a browser on this computer.
//!
//! Two ports, both on loopback. The command port has the page's files, the exchange of an invitation for a session,
//! the WebSocket, and resources for a page that proves its session in a header. The output port has outputs under
//! `/SECRET/ID`, for images and frames.

mod command_port;
mod kept;
mod origin;
mod output_port;
mod page;
mod socket;
mod tokens;

use std::{
    net::Ipv4Addr,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use axum::{Router, serve::ListenerExt};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use rand::RngCore;
use sandbook_protocol::Secret;
use sandbook_workbench::Workbench;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

pub use page::PageSource;

use crate::GatewayError;
use kept::Kept;
use tokens::Tokens;

/// The open door. Dropping it closes both ports and every browser's connection.
pub(crate) struct WebDoor {
    shared: Arc<Shared>,
}

/// What opens the page once.
pub(crate) struct Invitation {
    /// `http://127.0.0.1:PORT/`
    pub(crate) address: String,
    /// What has to stand behind `#token=`.
    pub(crate) token: Secret,
}

/// What both ports and every connection share.
struct Shared {
    workbench: Workbench,
    page: PageSource,
    tokens: Mutex<Tokens>,
    command_port: u16,
    output_port: u16,
    kept: Kept,
    closed: CancellationToken,
}

impl Shared {
    fn tokens(&self) -> MutexGuard<'_, Tokens> {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the tokens, and writes them down for an owner that takes over.
    fn change_tokens<T>(&self, change: impl FnOnce(&mut Tokens) -> T) -> T {
        let mut tokens = self.tokens();
        let changed = change(&mut tokens);
        self.kept.write(self.output_port, &tokens);
        changed
    }
}

impl WebDoor {
    /// Listens on `port`, or on any for 0, and on a second port for outputs. Where an owner was killed that had this
    /// port, its browsers' sessions stay good. What has to be kept for that is in `folder`.
    pub(crate) async fn open(
        workbench: Workbench,
        page: PageSource,
        port: u16,
        folder: &Path,
    ) -> Result<Arc<Self>, GatewayError> {
        let (commands, command_port) = listen(port).await?;
        let kept = Kept::at(folder, command_port);
        let (before, tokens) = kept.read();
        // The one of before, which is in the policy of pages that are open; else the next port, where it is free: who
        // makes a tunnel can guess it.
        let next = command_port.checked_add(1).unwrap_or(0);
        let (outputs, output_port) = match listen(before.unwrap_or(next)).await {
            Ok(outputs) => outputs,
            Err(_) => listen(0).await?,
        };
        let shared = Arc::new(Shared {
            workbench,
            page,
            tokens: Mutex::new(tokens),
            command_port,
            output_port,
            kept,
            closed: CancellationToken::new(),
        });
        serve(commands, command_port::router(&shared), &shared.closed);
        serve(outputs, output_port::router(&shared), &shared.closed);
        tracing::info!(command_port, output_port, "the page is served to browsers on this computer");
        Ok(Arc::new(Self { shared }))
    }

    pub(crate) fn port(&self) -> u16 {
        self.shared.command_port
    }

    /// Lets one browser in.
    pub(crate) fn invite(&self) -> Invitation {
        let token = secret();
        self.shared.change_tokens(|tokens| tokens.invite(&token));
        let address = format!("http://127.0.0.1:{}/", self.shared.command_port);
        Invitation { address, token: Secret::new(token) }
    }
}

impl Drop for WebDoor {
    fn drop(&mut self) {
        self.shared.closed.cancel();
        self.shared.kept.remove();
        tracing::info!("the page is not served to browsers any more");
    }
}

async fn listen(port: u16) -> Result<(TcpListener, u16), GatewayError> {
    let failed = |error| GatewayError::Port { port, error };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.map_err(failed)?;
    let port = listener.local_addr().map_err(failed)?.port();
    Ok((listener, port))
}

fn serve(listener: TcpListener, router: Router, closed: &CancellationToken) {
    // A message is small and somebody waits for it: it must not wait for company.
    let listener = listener.tap_io(|stream| {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "a connection keeps its delay");
        }
    });
    let closed = closed.clone();
    tokio::spawn(async move {
        let served = axum::serve(listener, router).with_graceful_shutdown(closed.cancelled_owned()).await;
        if let Err(error) = served {
            tracing::error!(%error, "a port of the web door failed");
        }
    });
}

/// 256 random bits as text that needs no escaping in an address.
fn secret() -> String {
    let mut bytes = [0; 32];
    rand::rng().fill_bytes(&mut bytes);
    URL_SAFE_NO_PAD.encode(bytes)
}
