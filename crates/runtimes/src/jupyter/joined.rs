//! A kernel of this computer that is joined by its connection file.

use std::{path::PathBuf, time::Duration};

use sandbook_jupyter::{ConnectionInfo, KernelClient, SessionId, ZeroMq};
use sandbook_sandbox::{AttachHandle, BoxFuture, SandboxError, StopChoice, StopReport};

use super::{
    host::{Connected, HERE, Host, Presence},
    settings::Handle,
};

/// Keeps a kernel of this computer that somebody else started, or that survived an earlier owner: there is no process
/// to watch, only its sockets.
pub(super) struct JoinedHost {
    connection_file: PathBuf,
    /// Where kernels that were started here have their folders: such a one has its folder removed when it is shut down.
    run_folder: PathBuf,
}

impl JoinedHost {
    /// Joins the kernel of a connection file.
    pub(super) async fn join(
        connection_file: PathBuf,
        run_folder: PathBuf,
    ) -> Result<(Self, Connected, String), SandboxError> {
        let gone = || SandboxError::Gone { what: format!("the kernel of {}", connection_file.display()) };
        let info = ConnectionInfo::read(&connection_file).map_err(|_| gone())?;
        let name = info.kernel_name.clone();
        let connected = Connected::over(ZeroMq::new(info, SessionId::random()), "joined kernel", HERE);
        let client = connected.client.clone();
        let mut link = client.link();
        let is_up = link.wait_for(|link| *link != sandbook_jupyter::Link::Connecting);
        let is_up = tokio::time::timeout(Duration::from_secs(3), is_up).await.is_ok_and(|link| link.is_ok());
        if !is_up || *client.link().borrow() != sandbook_jupyter::Link::Connected {
            client.stop();
            return Err(gone());
        }
        Ok((Self { connection_file, run_folder }, connected, name))
    }
}

impl JoinedHost {
    fn remove_folder(&self) {
        let folder = self.connection_file.parent();
        if let Some(ours) = folder.filter(|folder| folder.parent() == Some(&self.run_folder)) {
            drop(std::fs::remove_dir_all(ours));
        }
    }
}

impl Host for JoinedHost {
    fn interrupt<'a>(&'a self, client: &'a KernelClient) -> BoxFuture<'a, Result<(), SandboxError>> {
        Box::pin(
            async move { client.interrupt().await.map_err(|error| SandboxError::Failed(error.to_string())) },
        )
    }

    fn restart<'a>(&'a self, _: &'a KernelClient) -> BoxFuture<'a, Result<Option<Connected>, SandboxError>> {
        let reason =
            "This kernel was joined by its connection file, so only whoever started it can restart it.";
        Box::pin(async { Err(SandboxError::Unsupported { reason: reason.into() }) })
    }

    fn stop<'a>(
        &'a self,
        client: &'a KernelClient,
        choice: StopChoice,
        grace: Duration,
    ) -> BoxFuture<'a, Result<StopReport, SandboxError>> {
        Box::pin(async move {
            if choice != StopChoice::ShutDown {
                return Ok(StopReport::LeftRunning);
            }
            let mut link = client.link();
            let ended = async {
                drop(client.shutdown(false).await);
                link.wait_for(|link| matches!(link, sandbook_jupyter::Link::Ended(_))).await.is_ok()
            };
            match tokio::time::timeout(grace, ended).await {
                Ok(_) => {
                    self.remove_folder();
                    Ok(StopReport::Ended)
                }
                Err(_) => Err(SandboxError::TimedOut { what: "the kernel's end".into(), limit: grace }),
            }
        })
    }

    fn presence(&self) -> BoxFuture<'_, Presence> {
        Box::pin(async { Presence::There })
    }

    fn handle(&self) -> AttachHandle {
        Handle::Local { connection_file: self.connection_file.clone() }.keep()
    }
}
