//! The way to the Jupyter server in a sandbox: behind execd's proxy, with two tokens that were made for this sandbox.
//!
//! execd asks for its token in a header of its own. The server's own proxy takes `Authorization` away, so that the Jupyter
//! token goes into the query there; by itself execd lets the header through.

use std::time::{Duration, Instant};

use sandbook_sandbox::SandboxError;
use secrecy::SecretString;
use uuid::Uuid;

use super::{
    api::{Endpoint, Lifecycle},
    model::Model,
};
use crate::{
    jupyter::{Server, ServerSettings, manner::Manner},
    paste::is_loopback,
};

/// The port of the Jupyter server, on the sandbox's own loopback.
const JUPYTER: u16 = 44771;
/// The header of execd's token.
const EXECD_TOKEN: &str = "x-execd-access-token";
/// Under which metadata the tokens are, for whoever joins later with the server's key.
pub(super) const EXECD_LABEL: &str = "sandbook-execd";
pub(super) const JUPYTER_LABEL: &str = "sandbook-jupyter";
/// How long a new sandbox may take: its image may install kernels first.
pub(super) const WARM_UP: Duration = Duration::from_mins(3);
/// How long one that is known may take.
pub(super) const ANSWERS: Duration = Duration::from_secs(20);
const EVERY: Duration = Duration::from_millis(150);
/// How often the server is asked whether the sandbox is still there, meanwhile.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The tokens of one sandbox.
#[derive(Debug, Clone)]
pub(super) struct Tokens {
    pub(super) execd: SecretString,
    pub(super) jupyter: SecretString,
}

impl Tokens {
    pub(super) fn random() -> Self {
        let token = || SecretString::from(Uuid::new_v4().simple().to_string());
        Self { execd: token(), jupyter: token() }
    }

    /// Those that a sandbox carries.
    pub(super) fn of(model: &Model) -> Option<Self> {
        let token = |name: &str| model.label(name).map(|token| SecretString::from(token.to_owned()));
        Some(Self { execd: token(EXECD_LABEL)?, jupyter: token(JUPYTER_LABEL)? })
    }
}

/// The way to one sandbox.
#[derive(Debug, Clone)]
pub(super) struct Reach {
    pub(super) lifecycle: Lifecycle,
    pub(super) sandbox: String,
    pub(super) through_server: bool,
    pub(super) tokens: Tokens,
}

impl Reach {
    /// The Jupyter server, which need not answer yet.
    pub(super) async fn server(&self) -> Result<Server, SandboxError> {
        let Endpoint { mut url, mut headers } =
            self.lifecycle.execd(&self.sandbox, self.through_server).await?;
        self.can_be_reached(&url)?;
        let execd = url.path().trim_end_matches('/');
        // a sandbox's own address may be one of execd's proxy already
        let by_proxy = (!self.through_server).then(|| execd.strip_suffix("/proxy/44772")).flatten();
        url.set_path(&format!("{}/proxy/{JUPYTER}/", by_proxy.unwrap_or(execd)));
        headers.push((EXECD_TOKEN.to_owned(), self.tokens.execd.clone()));
        let manner = if self.through_server { Manner::QUERY_ALONE } else { Manner::HEADER };
        let server = Server::with(&ServerSettings::new(url), Some(self.tokens.jupyter.clone()), manner)?;
        server.with_headers(headers)
    }

    /// A server elsewhere may tell an address of its own loopback, which here is another one.
    fn can_be_reached(&self, url: &url::Url) -> Result<(), SandboxError> {
        let server = super::place::address(self.lifecycle.address())?;
        if !is_loopback(url) || is_loopback(&server) {
            return Ok(());
        }
        Err(SandboxError::NotReady {
            what: "the sandbox".into(),
            reason: format!("{} tells an address that only itself can reach", self.lifecycle.address()),
            next: "Set through_server, so that everything goes through the server.".into(),
        })
    }

    /// The Jupyter server, once it answers. A sandbox that ends before that is told with its last words.
    pub(super) async fn answering(&self, patience: Duration) -> Result<Server, SandboxError> {
        let server = self.server().await?;
        let begun = Instant::now();
        let mut looked = Instant::now();
        loop {
            let error = match server.kernels().await {
                Ok(_) => return Ok(server),
                Err(error) if is_not_up(&error) => error,
                Err(error) => return Err(error),
            };
            if looked.elapsed() > LOOK_EVERY {
                self.is_still_there().await?;
                looked = Instant::now();
            }
            if begun.elapsed() > patience {
                let detail = format!("its Jupyter server did not answer within {patience:?}: {error}");
                return Err(SandboxError::StartFailed { what: "the sandbox".into(), detail });
            }
            tokio::time::sleep(EVERY).await;
        }
    }

    async fn is_still_there(&self) -> Result<(), SandboxError> {
        let model = self.lifecycle.sandbox(&self.sandbox).await?;
        let Some(why) = model.ended() else { return Ok(()) };
        let said = self.lifecycle.last_words(&self.sandbox).await;
        let said = if said.is_empty() { String::new() } else { format!(" It said: {said}") };
        Err(SandboxError::StartFailed { what: "the sandbox".into(), detail: format!("{why}{said}") })
    }
}

/// Whether nobody answers yet, or a proxy for somebody who is not up.
fn is_not_up(error: &SandboxError) -> bool {
    match error {
        SandboxError::Unreachable { .. } | SandboxError::TimedOut { .. } => true,
        SandboxError::WrongPeer { detail, .. } => {
            ["HTTP 500", "HTTP 502", "HTTP 503", "HTTP 504"].iter().any(|status| detail.contains(status))
        }
        _ => false,
    }
}
