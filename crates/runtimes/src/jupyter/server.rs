//! A kernel on a Jupyter server that runs already.

use std::{sync::Arc, time::Duration};

use sandbook_jupyter::{KernelClient, SessionId, WebSocket};
use sandbook_sandbox::{BoxFuture, SandboxError, StopChoice, StopReport};

use super::{
    host::{Connected, Host},
    rest::Server,
    server_kernels::KernelModel,
    settings::{Handle, ServerSettings},
};

/// How long a new kernel may take to answer.
const READY_PATIENCE: Duration = Duration::from_mins(1);

/// Keeps a kernel on a server.
pub(super) struct ServerHost {
    server: Server,
    kernel_id: String,
    owned: bool,
    session: SessionId,
}

/// A joined or started kernel, before it becomes a sandbox.
pub(super) struct OnServer {
    pub(super) host: ServerHost,
    pub(super) connected: Connected,
    pub(super) model: KernelModel,
}

impl ServerHost {
    pub(super) const fn owned(&self) -> bool {
        self.owned
    }

    /// Starts a kernel and connects. A kernel that cannot be connected to is removed again.
    pub(super) async fn start(
        server: Server,
        settings: &ServerSettings,
        folder: Option<&str>,
    ) -> Result<OnServer, SandboxError> {
        let model = server.start_kernel(settings.kernel.as_deref(), folder).await?;
        let guard = RemovedUnlessKept::new(server.clone(), model.id.clone());
        let on_server = Self::connect(server, model, true, SessionId::random()).await?;
        on_server.connected.client.ready(READY_PATIENCE).await.map_err(|error| {
            SandboxError::StartFailed { what: on_server.model.name.clone(), detail: error.to_string() }
        })?;
        guard.keep();
        Ok(on_server)
    }

    /// Joins a kernel; one that somebody uses only when `share` is set.
    pub(super) async fn join(server: Server, kernel_id: &str, share: bool) -> Result<OnServer, SandboxError> {
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
        Self::connect(server, model, false, SessionId::random()).await
    }

    /// Joins a kernel again with the session of before, so that the server replays what was missed.
    pub(super) async fn rejoin(
        server: Server,
        kernel_id: &str,
        owned: bool,
        session: Option<String>,
    ) -> Result<OnServer, SandboxError> {
        let model = server.kernel(kernel_id).await?;
        let session = session.map_or_else(SessionId::random, SessionId::from_kept);
        Self::connect(server, model, owned, session).await
    }

    async fn connect(
        server: Server,
        model: KernelModel,
        owned: bool,
        session: SessionId,
    ) -> Result<OnServer, SandboxError> {
        let target = server.target(&model.id)?;
        let socket = WebSocket::connect(target, session.clone()).await;
        let socket = socket.map_err(|error| server.explain_socket(error, &model.id))?;
        let retry = Some(socket.retry());
        let connected = Connected { retry, ..Connected::over(socket, "server", &server.host()) };
        Ok(OnServer { host: Self { server, kernel_id: model.id.clone(), owned, session }, connected, model })
    }

    async fn remove(&self) -> Result<StopReport, SandboxError> {
        match self.server.remove(&self.kernel_id).await {
            Ok(()) => Ok(StopReport::Ended),
            Err(SandboxError::Gone { .. }) => Ok(StopReport::WasGone),
            Err(error) => Err(error),
        }
    }
}

impl Host for ServerHost {
    fn interrupt<'a>(&'a self, _: &'a KernelClient) -> BoxFuture<'a, Result<(), SandboxError>> {
        Box::pin(self.server.interrupt(&self.kernel_id))
    }

    fn restart<'a>(&'a self, _: &'a KernelClient) -> BoxFuture<'a, Result<Option<Connected>, SandboxError>> {
        Box::pin(async {
            self.server.restart(&self.kernel_id).await?;
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
                || SandboxError::TimedOut { what: self.server.address().to_owned(), limit: patience };
            tokio::time::timeout(patience, self.remove()).await.unwrap_or_else(|_| Err(timed_out()))
        })
    }

    fn exists(&self) -> BoxFuture<'_, bool> {
        Box::pin(async {
            !matches!(self.server.kernel(&self.kernel_id).await, Err(SandboxError::Gone { .. }))
        })
    }

    fn handle(&self) -> Handle {
        Handle::Server {
            kernel_id: self.kernel_id.clone(),
            owned: self.owned,
            session: Some(self.session.as_str().to_owned()),
        }
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
