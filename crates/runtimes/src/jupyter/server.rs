//! A kernel on a Jupyter server that runs already.

use std::{
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use sandbook_jupyter::{KernelClient, Renewal, SessionId, WebSocket};
use sandbook_sandbox::{AttachHandle, BoxFuture, SandboxError, StopChoice, StopReport};

use super::{
    host::{Connected, Host, Presence},
    rest::Server,
    server_kernels::KernelModel,
    settings::Handle,
};

/// How often a server is asked to shut a kernel down that it fails to.
const REMOVALS: u32 = 8;
/// The pause between.
const REMOVAL_PAUSE: Duration = Duration::from_secs(1);

/// How long a new kernel may take to answer.
const READY_PATIENCE: Duration = Duration::from_mins(1);

/// Keeps a kernel on a server.
pub(crate) struct ServerHost {
    server: RwLock<Server>,
    kernel_id: String,
    owned: bool,
    session: SessionId,
    /// Only where a credential is renewed.
    renewal: Option<Renewal>,
}

/// What becomes of a connection whose credential is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WhenRefused {
    /// It ends.
    End,
    /// It waits for another one.
    Wait,
}

/// A joined or started kernel, before it becomes a sandbox.
pub(crate) struct OnServer {
    pub(crate) host: Arc<ServerHost>,
    pub(crate) connected: Connected,
    pub(crate) model: KernelModel,
}

impl ServerHost {
    pub(crate) const fn owned(&self) -> bool {
        self.owned
    }

    pub(crate) fn kernel_id(&self) -> &str {
        &self.kernel_id
    }

    pub(crate) const fn session(&self) -> &SessionId {
        &self.session
    }

    /// Starts a kernel and connects. A kernel that cannot be connected to is removed again.
    pub(crate) async fn start(
        server: Server,
        kernel: Option<&str>,
        folder: Option<&str>,
        when_refused: WhenRefused,
    ) -> Result<OnServer, SandboxError> {
        // In a task of its own: a server that was asked makes the kernel also for somebody who gave up waiting, and only
        // its answer says which one is to be removed.
        let (asked, kernel) = (server.clone(), kernel.map(str::to_owned));
        let folder = folder.map(str::to_owned);
        let started = tokio::spawn(async move {
            let model = asked.start_kernel(kernel.as_deref(), folder.as_deref()).await?;
            Ok::<_, SandboxError>((RemovedUnlessKept::new(asked, model.id.clone()), model))
        });
        let (guard, model) = started.await.map_err(|error| SandboxError::Failed(error.to_string()))??;
        let on_server = Self::connect(server, model, true, SessionId::random(), when_refused).await?;
        on_server.connected.client.ready(READY_PATIENCE).await.map_err(|error| {
            SandboxError::StartFailed { what: on_server.model.name.clone(), detail: error.to_string() }
        })?;
        guard.keep();
        Ok(on_server)
    }

    /// Joins a kernel; one that somebody uses only when `share` is set.
    pub(crate) async fn join(server: Server, kernel_id: &str, share: bool) -> Result<OnServer, SandboxError> {
        let model = server.kernel(kernel_id).await?;
        let connections = model.connections.unwrap_or(0);
        if !share && (connections > 0 || model.state == "busy") {
            let who = match connections {
                0 => "nobody is connected".to_owned(),
                1 => "one client is connected".to_owned(),
                many => format!("{many} clients are connected"),
            };
            return Err(SandboxError::InUse {
                kernel: model.name,
                detail: format!("it is {}, {who}", model.state),
            });
        }
        Self::connect(server, model, false, SessionId::random(), WhenRefused::End).await
    }

    /// Joins a kernel that others use as well, by its WebSocket alone where the server is asked for nothing else.
    pub(crate) async fn join_shared(
        server: Server,
        kernel_id: &str,
        session: Option<String>,
        owned: bool,
    ) -> Result<OnServer, SandboxError> {
        let model = match server.kernel(kernel_id).await {
            Err(SandboxError::WrongPeer { .. }) => KernelModel::unseen(kernel_id),
            model => model?,
        };
        let session = session.map_or_else(SessionId::random, SessionId::from_kept);
        Self::connect(server, model, owned, session, WhenRefused::Wait).await
    }

    /// Joins a kernel again with the session of before, so that the server replays what was missed.
    pub(crate) async fn rejoin(
        server: Server,
        kernel_id: &str,
        owned: bool,
        session: Option<String>,
    ) -> Result<OnServer, SandboxError> {
        let model = server.kernel(kernel_id).await?;
        let session = session.map_or_else(SessionId::random, SessionId::from_kept);
        Self::connect(server, model, owned, session, WhenRefused::End).await
    }

    async fn connect(
        server: Server,
        model: KernelModel,
        owned: bool,
        session: SessionId,
        when_refused: WhenRefused,
    ) -> Result<OnServer, SandboxError> {
        let target = server.target(&model.id)?;
        let socket = WebSocket::connect(target, session.clone()).await;
        let mut socket = socket.map_err(|error| server.explain_socket(error, &model.id))?;
        let renewal = (when_refused == WhenRefused::Wait).then(|| socket.renewal());
        let retry = Some(socket.retry());
        let connected = Connected { retry, ..Connected::over(socket, "server", &server.host()) };
        let host = Arc::new(Self {
            server: RwLock::new(server),
            kernel_id: model.id.clone(),
            owned,
            session,
            renewal,
        });
        Ok(OnServer { host, connected, model })
    }

    /// The server, as it is reached now.
    pub(crate) fn server(&self) -> Server {
        self.server.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Goes on with the server as it is reached with another credential, once that has been found to be good for this
    /// kernel. What runs goes on.
    pub(crate) async fn renew_with(&self, server: Server) -> Result<(), SandboxError> {
        match server.kernel(&self.kernel_id).await {
            // it is asked for nothing but its WebSocket
            Ok(_) | Err(SandboxError::WrongPeer { .. }) => {}
            Err(error) => return Err(error),
        }
        if let Some(renewal) = &self.renewal {
            renewal.set(server.target(&self.kernel_id)?);
        }
        *self.server.write().unwrap_or_else(PoisonError::into_inner) = server;
        Ok(())
    }

    /// A server that is just restarting a kernel that died answers with an error, and leaves it running: it is asked again.
    async fn remove(&self) -> Result<StopReport, SandboxError> {
        let mut tries = 1;
        loop {
            match self.server().remove(&self.kernel_id).await {
                Ok(()) => return Ok(StopReport::Ended),
                Err(SandboxError::Gone { .. }) => return Ok(StopReport::WasGone),
                Err(SandboxError::Failed(_)) if tries < REMOVALS => tries += 1,
                Err(error) => return Err(error),
            }
            tokio::time::sleep(REMOVAL_PAUSE).await;
        }
    }
}

impl Host for ServerHost {
    fn interrupt<'a>(&'a self, client: &'a KernelClient) -> BoxFuture<'a, Result<(), SandboxError>> {
        Box::pin(async move {
            match self.server().interrupt(&self.kernel_id).await {
                // it is asked for nothing but its WebSocket, and kernels take this as a message too
                Err(SandboxError::WrongPeer { .. }) if self.renewal.is_some() => {
                    client.interrupt().await.map_err(|error| SandboxError::Failed(error.to_string()))
                }
                interrupted => interrupted,
            }
        })
    }

    fn restart<'a>(&'a self, _: &'a KernelClient) -> BoxFuture<'a, Result<Option<Connected>, SandboxError>> {
        Box::pin(async {
            self.server().restart(&self.kernel_id).await?;
            Ok(None)
        })
    }

    fn stop<'a>(
        &'a self,
        _: &'a KernelClient,
        choice: StopChoice,
        grace: Duration,
    ) -> BoxFuture<'a, Result<StopReport, SandboxError>> {
        let shut_down = match choice {
            StopChoice::Default => self.owned,
            StopChoice::Keep => false,
            StopChoice::ShutDown => true,
        };
        Box::pin(async move {
            if !shut_down {
                return Ok(StopReport::LeftRunning);
            }
            // the server itself asks, waits and kills; it answers when that is done
            let patience = grace.max(Duration::from_secs(10));
            let timed_out =
                || SandboxError::TimedOut { what: self.server().address().to_owned(), limit: patience };
            tokio::time::timeout(patience, self.remove()).await.unwrap_or_else(|_| Err(timed_out()))
        })
    }

    fn presence(&self) -> BoxFuture<'_, Presence> {
        Box::pin(async {
            match self.server().kernel(&self.kernel_id).await {
                Err(SandboxError::Gone { .. }) => Presence::Gone,
                Err(SandboxError::Refused { .. }) => Presence::Refused,
                _ => Presence::There,
            }
        })
    }

    fn handle(&self) -> AttachHandle {
        let handle = Handle::Server {
            kernel_id: self.kernel_id.clone(),
            owned: self.owned,
            session: Some(self.session.as_str().to_owned()),
        };
        handle.keep()
    }
}

/// Removes a kernel that was started, unless everything else went well too. Also when the future is dropped.
struct RemovedUnlessKept(Option<Arc<(Server, String)>>);

impl RemovedUnlessKept {
    fn new(server: Server, kernel_id: String) -> Self {
        Self(Some(Arc::new((server, kernel_id))))
    }

    fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for RemovedUnlessKept {
    fn drop(&mut self) {
        let Some(started) = self.0.take() else { return };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                if let Err(error) = started.0.remove(&started.1).await {
                    tracing::warn!(%error, kernel = started.1, "a kernel that was started in vain is left on the server");
                }
            });
        }
    }
}
