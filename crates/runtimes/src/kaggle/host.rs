//! Who keeps the kernel of a Kaggle session: the session's machine. When its secret ends, nobody tells beforehand.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use sandbook_jupyter::KernelClient;
use sandbook_sandbox::{AttachHandle, BoxFuture, SandboxError, StopChoice, StopReport};
use secrecy::SecretString;

use super::link::Link;
use crate::jupyter::{
    host::{Connected, Host, Presence},
    server::ServerHost,
};

pub(super) struct KaggleHost {
    kernel: Arc<ServerHost>,
    link: Mutex<Link>,
}

impl KaggleHost {
    pub(super) const fn new(kernel: Arc<ServerHost>, link: Link) -> Self {
        Self { kernel, link: Mutex::new(link) }
    }

    async fn renew_with(&self, credential: SecretString) -> Result<(), SandboxError> {
        let link = {
            let present = self.link.lock().unwrap_or_else(PoisonError::into_inner);
            present.renewed(&credential, self.kernel.kernel_id())?
        };
        self.kernel.renew_with(link.server()?).await?;
        *self.link.lock().unwrap_or_else(PoisonError::into_inner) = link;
        Ok(())
    }
}

impl Host for KaggleHost {
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

    fn renew(&self, credential: SecretString) -> Option<BoxFuture<'_, Result<(), SandboxError>>> {
        Some(Box::pin(self.renew_with(credential)))
    }
}
