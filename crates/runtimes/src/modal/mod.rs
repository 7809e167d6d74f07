//! Sandboxes at Modal.
//!
//! Its control plane is asked by gRPC for what concerns a sandbox as a whole; a router in front of each sandbox starts
//! commands in it and carries their standard streams, every byte with its place, so that a lost connection is taken up
//! where it broke. One command runs the bridge's program (`sandbook-jupyter`), which keeps a real ipykernel: the kernel is
//! one of `jupyter`'s, with no open port, so it works without a network too. An image without ipykernel gets plain Python.
//!
//! Modal has two kinds of sandboxes: the newer, and the older, which alone have graphics cards. They differ in the names
//! of a few calls ([`name`]). A sandbox costs money as long as it lives. It carries our id from the call that makes it on,
//! is ended when making it fails or nobody holds it, ends by itself after its longest life, and, because a command that
//! runs keeps it alive for Modal, its own program ends it after an idle time.
//!
//! Deliberately absent: files, terminals and snapshots, which come with their own contract; tunnels and web servers in a
//! sandbox; Modal's functions and everything else that is not a sandbox.

mod capability;
mod check;
mod command;
mod control;
mod create;
mod credential;
mod gpu;
mod host;
mod image;
mod line;
mod list;
mod made;
mod name;
mod output;
mod place;
mod plain;
mod price;
mod remote;
mod router;
mod settings;
mod wire;

use std::sync::Arc;

use sandbook_sandbox::{
    AttachHandle, BoxFuture, Capabilities, CreateRequest, Listed, Problem, Readiness, Runtime, Sandbox,
    SandboxError, SandboxSettings, Survey,
};
use secrecy::SecretString;

use self::{control::Control, credential::Account, price::Prices};
pub use self::{
    credential::Sources,
    gpu::Gpu,
    settings::{Handle, LONGEST_LIFE, ModalSettings, NetworkPolicy, Volume},
};
pub use crate::memory::Memory;

const VARIANT: &str = "modal";

/// The runtime.
#[derive(Debug, Clone)]
pub struct ModalRuntime {
    sources: Arc<Sources>,
}

impl Default for ModalRuntime {
    /// One that finds token pairs where Modal's own tools would.
    fn default() -> Self {
        Self::looking_in(Sources::of_process())
    }
}

impl ModalRuntime {
    /// One that looks for token pairs elsewhere.
    pub fn looking_in(sources: Sources) -> Self {
        Self { sources: Arc::new(sources) }
    }

    async fn look(&self, settings: &SandboxSettings, credential: Option<&SecretString>) -> Survey {
        let (read, mut problems) = ModalSettings::examine(settings);
        let spending = match Prices::read(read.prices.as_deref()) {
            Ok(prices) => Some(prices.spending(&read)),
            Err(error) => {
                problems.push(problem(error));
                None
            }
        };
        let readiness = match self.account(&read, credential) {
            Ok(account) => asked(account).await,
            Err(error) => unready(error),
        };
        Survey { problems, spending, ..Survey::of(readiness) }
    }

    fn account(
        &self,
        settings: &ModalSettings,
        credential: Option<&SecretString>,
    ) -> Result<Account, SandboxError> {
        Account::find(settings, credential, &self.sources)
    }
}

/// The token pair that this process finds on this computer, as a person would paste it, and where. Half of one is none, and
/// so is one of a profile that is for another address than Modal's own or the environment's.
pub fn found() -> Option<(SecretString, String)> {
    let account = Account::find(&ModalSettings::default(), None, &Sources::of_process()).ok()?;
    account.is_at_the_usual_address.then(|| (account.pair.pasted(), account.origin))
}

/// Whether Modal takes a pair. Nothing is started.
async fn asked(account: Account) -> Readiness {
    let origin = account.origin.clone();
    let checked = async { Control::new(account)?.check().await };
    match checked.await {
        Ok(()) => Readiness::Ready(format!("Modal takes the token pair of {origin}")),
        Err(error) => unready(error),
    }
}

fn unready(error: SandboxError) -> Readiness {
    match error {
        SandboxError::CredentialMissing { .. } => {
            Readiness::NeedsCredential("Paste a token pair, as `modal token new` makes one".into())
        }
        SandboxError::Refused { .. } => {
            Readiness::NeedsCredential("Modal does not take the token pair".into())
        }
        SandboxError::Setting { ref setting, .. } if setting == "token" => {
            Readiness::NeedsCredential(error.to_string())
        }
        error @ SandboxError::Setting { .. } => Readiness::NeedsSetup(error.to_string()),
        error => Readiness::NotReachable(error.to_string()),
    }
}

fn problem(error: SandboxError) -> Problem {
    match error {
        SandboxError::Setting { setting, reason } => Problem { setting, reason },
        error => Problem::new("runtime", error.to_string()),
    }
}

impl Runtime for ModalRuntime {
    fn variant(&self) -> &'static str {
        VARIANT
    }

    fn readiness<'a>(
        &'a self,
        settings: &'a SandboxSettings,
        credential: Option<&'a SecretString>,
    ) -> BoxFuture<'a, Readiness> {
        Box::pin(async move {
            match ModalSettings::read(settings).and_then(|read| self.account(&read, credential)) {
                Ok(account) => asked(account).await,
                Err(error) => unready(error),
            }
        })
    }

    fn survey<'a>(
        &'a self,
        settings: &'a SandboxSettings,
        credential: Option<&'a SecretString>,
    ) -> BoxFuture<'a, Survey> {
        Box::pin(self.look(settings, credential))
    }

    fn capabilities(&self, settings: &SandboxSettings) -> Result<Capabilities, SandboxError> {
        let settings = ModalSettings::read(settings)?;
        Ok(if settings.plain { capability::of_plain_python(&settings) } else { capability::of(&settings) })
    }

    fn create(&self, request: CreateRequest) -> BoxFuture<'_, Result<Arc<dyn Sandbox>, SandboxError>> {
        Box::pin(self.make(request))
    }

    fn attach(
        &self,
        handle: AttachHandle,
        request: CreateRequest,
    ) -> BoxFuture<'_, Result<Arc<dyn Sandbox>, SandboxError>> {
        Box::pin(self.join(handle, request))
    }

    fn remove<'a>(
        &'a self,
        settings: &'a SandboxSettings,
        credential: Option<&'a SecretString>,
        handle: &'a AttachHandle,
    ) -> BoxFuture<'a, Result<(), SandboxError>> {
        Box::pin(async move {
            let handle = Handle::read(handle)?;
            let control = self.control(&ModalSettings::read(settings)?, credential)?;
            remote::terminate(&control, &handle.sandbox).await.map(drop)
        })
    }

    fn list<'a>(
        &'a self,
        settings: &'a SandboxSettings,
        credential: Option<&'a SecretString>,
    ) -> BoxFuture<'a, Result<Vec<Listed>, SandboxError>> {
        Box::pin(async move {
            let settings = ModalSettings::read(settings)?;
            let control = self.control(&settings, credential)?;
            list::list(&control).await
        })
    }
}
