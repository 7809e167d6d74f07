//! Who keeps a Colab kernel: the machine of a tab, for as long as its token is good.

use std::{
    sync::{Arc, Mutex, PoisonError, Weak},
    time::{Duration, SystemTime},
};

use sandbook_jupyter::{KernelClient, Message};
use sandbook_sandbox::{AttachHandle, BoxFuture, SandboxError, StopChoice, StopReport};
use secrecy::SecretString;

use super::{expiry::good_until, link::Link, requests};
use crate::jupyter::{
    host::{Connected, Host, Presence, Refusal},
    server::ServerHost,
};

/// How often Colab's own host hears that somebody is still there, as its command line does it.
const KEEP_ALIVE_EVERY: Duration = Duration::from_mins(1);

pub(super) struct ColabHost {
    kernel: Arc<ServerHost>,
    present: Mutex<Present>,
}

/// The link of now.
struct Present {
    link: Link,
    until: SystemTime,
}

impl ColabHost {
    pub(super) fn new(kernel: Arc<ServerHost>, link: Link) -> Self {
        if link.is_tunnel() {
            tokio::spawn(keep_alive(Arc::downgrade(&kernel)));
        }
        Self { kernel, present: Mutex::new(Present::from(link)) }
    }

    async fn renew_with(&self, credential: SecretString) -> Result<(), SandboxError> {
        let link = {
            let present = self.present.lock().unwrap_or_else(PoisonError::into_inner);
            present.link.renewed(credential)?
        };
        self.kernel.renew_with(link.server()?).await?;
        *self.present.lock().unwrap_or_else(PoisonError::into_inner) = Present::from(link);
        Ok(())
    }
}

impl From<Link> for Present {
    fn from(link: Link) -> Self {
        Self { until: good_until(&link.token, SystemTime::now()), link }
    }
}

/// Tells it from time to time. No answer is as good as one: it may hold its answer back.
async fn keep_alive(kernel: Weak<ServerHost>) {
    loop {
        let Some(server) = kernel.upgrade().map(|kernel| kernel.server()) else { return };
        let status = server.touch("keep-alive/", ("x-colab-tunnel", "Google")).await;
        tracing::debug!(?status, "Colab was told that somebody is still there");
        tokio::time::sleep(KEEP_ALIVE_EVERY).await;
    }
}

impl Host for ColabHost {
    fn interrupt<'a>(&'a self, client: &'a KernelClient) -> BoxFuture<'a, Result<(), SandboxError>> {
        self.kernel.interrupt(client)
    }

    fn restart<'a>(
        &'a self,
        client: &'a KernelClient,
    ) -> BoxFuture<'a, Result<Option<Connected>, SandboxError>> {
        self.kernel.restart(client)
    }

    fn stop<'a>(
        &'a self,
        client: &'a KernelClient,
        choice: StopChoice,
        grace: Duration,
    ) -> BoxFuture<'a, Result<StopReport, SandboxError>> {
        self.kernel.stop(client, choice, grace)
    }

    fn presence(&self) -> BoxFuture<'_, Presence> {
        self.kernel.presence()
    }

    fn handle(&self) -> AttachHandle {
        self.kernel.handle()
    }

    fn good_until(&self) -> Option<SystemTime> {
        Some(self.present.lock().unwrap_or_else(PoisonError::into_inner).until)
    }

    fn renew(&self, credential: SecretString) -> Option<BoxFuture<'_, Result<(), SandboxError>>> {
        Some(Box::pin(self.renew_with(credential)))
    }

    fn refuse(&self, message: &Message) -> Option<Refusal> {
        requests::refuse(message, self.kernel.session())
    }
}
