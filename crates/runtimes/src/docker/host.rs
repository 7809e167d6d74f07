//! Who keeps a kernel in a container: the way to its server, and its end together with the container.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use sandbook_jupyter::KernelClient;
use sandbook_sandbox::{AttachHandle, BoxFuture, DeathCause, Progress, SandboxError, StopChoice, StopReport};
use secrecy::SecretString;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use url::Url;

use super::{
    container::{PORT, SOCKET},
    engine::{Engine, cause},
    proxy::Proxy,
    relay::Relay,
    settings::Handle,
    watch::Watched,
};
use crate::jupyter::{Connected, Host, OnServer, Presence, Server, ServerHost, ServerSettings, WhenRefused};

const START_PATIENCE: Duration = Duration::from_mins(1);
const POLL: Duration = Duration::from_millis(20);

/// What goes in and out of a container that has no network.
pub(super) struct Ways {
    /// The folder with the server's socket.
    pub(super) socket_folder: Option<PathBuf>,
    /// To the hosts on its list, as long as somebody is here to answer.
    pub(super) proxy: Option<Proxy>,
}

/// The way to the server in a container.
pub(super) struct Reach {
    engine: Engine,
    container: String,
    token: SecretString,
    /// The folder with the server's socket, where the container has no network.
    socket_folder: Option<PathBuf>,
    _proxy: Option<Proxy>,
    relay: Mutex<Option<Relay>>,
    kernelspec: Option<String>,
}

impl Reach {
    pub(super) fn new(
        engine: Engine,
        container: String,
        token: SecretString,
        Ways { socket_folder, proxy }: Ways,
        kernelspec: Option<String>,
    ) -> Self {
        Self { engine, container, token, socket_folder, _proxy: proxy, relay: Mutex::new(None), kernelspec }
    }

    /// The server, once it answers. A container that ends before that is told with its last words.
    async fn server(&self) -> Result<(Server, ServerSettings), SandboxError> {
        let port = match &self.socket_folder {
            Some(folder) => {
                let relay = Relay::start(&folder.join(SOCKET)).await?;
                let port = relay.port;
                *self.relay.lock().unwrap_or_else(PoisonError::into_inner) = Some(relay);
                port
            }
            None => self.published_port().await?,
        };
        let answers = async {
            while !answers(port).await {
                tokio::time::sleep(POLL).await;
            }
        };
        tokio::select! {
            () = answers => {}
            ended = self.ended() => {
                ended?;
                return Err(self.not_started("it does not answer").await);
            }
            () = tokio::time::sleep(START_PATIENCE) => {
                let what = "the start of the Jupyter server in the container".to_owned();
                return Err(SandboxError::TimedOut { what, limit: START_PATIENCE });
            }
        }
        let failed = |error: url::ParseError| SandboxError::Failed(error.to_string());
        let url = Url::parse(&format!("http://127.0.0.1:{port}/")).map_err(failed)?;
        let settings = ServerSettings { kernel: self.kernelspec.clone(), ..ServerSettings::new(url) };
        Ok((Server::new(&settings, Some(self.token.clone()))?, settings))
    }

    /// The port of this computer that leads to the server.
    async fn published_port(&self) -> Result<u16, SandboxError> {
        let container = self.engine.inspect(&self.container).await?;
        let gone = || SandboxError::Gone { what: format!("the container {}", self.container) };
        let container = container.ok_or_else(gone)?;
        let ports = container.network_settings.and_then(|settings| settings.ports).unwrap_or_default();
        let bound = ports.get(PORT).and_then(Option::as_ref).into_iter().flatten();
        match bound.filter_map(|binding| binding.host_port.as_ref()).find_map(|port| port.parse().ok()) {
            Some(port) => Ok(port),
            None => Err(self.not_started("the engine published no port").await),
        }
    }

    /// Why there is no server: the container ended, or else what is known.
    async fn not_started(&self, otherwise: &str) -> SandboxError {
        let what = "the Jupyter server in the container".to_owned();
        let found = self.engine.inspect(&self.container).await.ok().flatten();
        let state = found.and_then(|container| container.state);
        let detail = match state.filter(|state| state.running != Some(true)) {
            None => otherwise.to_owned(),
            Some(state) => {
                let said = self.engine.last_words(&self.container).await;
                let said = if said.is_empty() { "nothing" } else { &said };
                format!("it ended at once ({}). It said: {said}", cause(&state))
            }
        };
        SandboxError::StartFailed { what, detail }
    }

    /// Comes back once the container does not run any more.
    async fn ended(&self) -> Result<(), SandboxError> {
        loop {
            let state = self.engine.inspect(&self.container).await?.and_then(|container| container.state);
            if state.and_then(|state| state.running) != Some(true) {
                return Ok(());
            }
            tokio::time::sleep(POLL * 10).await;
        }
    }
}

/// Whether a server of HTTP answers at a port. An engine takes connections before there is anybody behind them.
async fn answers(port: u16) -> bool {
    let ask = async {
        let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", port)).await?;
        stream.write_all(b"GET /api HTTP/1.0\r\n\r\n").await?;
        let mut start = [0; 5];
        stream.read_exact(&mut start).await?;
        Ok::<_, std::io::Error>(start == *b"HTTP/")
    };
    matches!(tokio::time::timeout(Duration::from_secs(2), ask).await, Ok(Ok(true)))
}

/// Keeps a kernel in a container.
pub(super) struct ContainerHost {
    reach: Reach,
    /// Another one after the container was started again.
    kernel: Mutex<Arc<ServerHost>>,
    watched: Mutex<Arc<Watched>>,
    /// Whether the container was ended, or left running on purpose.
    is_let_go: AtomicBool,
}

impl ContainerHost {
    /// Starts a kernel in a container that runs.
    pub(super) async fn start(reach: Reach, progress: &Progress) -> Result<(Self, OnServer), SandboxError> {
        let (server, settings) = reach.server().await?;
        progress.report("Starting a kernel", None);
        let on_server = ServerHost::start(server, settings.kernel.as_deref(), None, WhenRefused::End).await?;
        Ok(Self::around(reach, on_server))
    }

    /// Joins a kernel in a container that runs: the one that is named, else the only one.
    pub(super) async fn join(
        reach: Reach,
        kernel: Option<String>,
        session: Option<String>,
    ) -> Result<(Self, OnServer), SandboxError> {
        let (server, _) = reach.server().await?;
        let gone = || SandboxError::Gone { what: "the kernel in the container".into() };
        let kernel = match kernel {
            Some(kernel) => kernel,
            None => server.kernels().await?.into_iter().next().ok_or_else(gone)?.id,
        };
        let on_server = ServerHost::rejoin(server, &kernel, true, session).await?;
        Ok(Self::around(reach, on_server))
    }

    fn around(reach: Reach, on_server: OnServer) -> (Self, OnServer) {
        let watched = Watched::begin(reach.engine.clone(), reach.container.clone());
        let kernel = Mutex::new(on_server.host.clone());
        (
            Self { reach, kernel, watched: Mutex::new(Arc::new(watched)), is_let_go: AtomicBool::new(false) },
            on_server,
        )
    }

    /// A connection that ends with the container.
    pub(super) fn watched(&self, connected: Connected) -> Connected {
        Connected { death: Some(self.watch().death.clone()), ..connected }
    }

    fn watch(&self) -> Arc<Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn kernel(&self) -> Arc<ServerHost> {
        self.kernel.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn container_ended(&self) -> bool {
        self.watch().death.borrow().is_some()
    }

    /// Starts the container again, and a kernel in it.
    async fn revive(&self) -> Result<Connected, SandboxError> {
        self.reach.engine.start(&self.reach.container).await?;
        let (server, settings) = self.reach.server().await?;
        let OnServer { host, connected, .. } =
            ServerHost::start(server, settings.kernel.as_deref(), None, WhenRefused::End).await?;
        *self.kernel.lock().unwrap_or_else(PoisonError::into_inner) = host;
        let watched = Watched::begin(self.reach.engine.clone(), self.reach.container.clone());
        *self.watched.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(watched);
        Ok(self.watched(connected))
    }

    async fn end(&self, grace: Duration) -> Result<StopReport, SandboxError> {
        let (engine, container) = (&self.reach.engine, &self.reach.container);
        let report = if self.container_ended() {
            StopReport::WasGone
        } else {
            match engine.stop(container, grace).await? {
                None => StopReport::WasGone,
                Some(DeathCause::Signal(9)) => StopReport::Killed,
                Some(_) => StopReport::Ended,
            }
        };
        remove(engine, container, self.reach.socket_folder.as_deref()).await?;
        Ok(report)
    }
}

/// Removes a container, whatever it does, and the folder of its sockets.
async fn remove(engine: &Engine, container: &str, socket_folder: Option<&Path>) -> Result<(), SandboxError> {
    engine.remove(container).await?;
    if let Some(folder) = socket_folder.and_then(Path::parent) {
        drop(std::fs::remove_dir_all(folder));
    }
    Ok(())
}

/// A sandbox that nobody holds any more, and that nobody wanted to keep, ends. Where this program ends, its containers stay
/// for the next one to find.
impl Drop for ContainerHost {
    fn drop(&mut self) {
        if *self.is_let_go.get_mut() {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let Reach { engine, container, socket_folder, .. } = &self.reach;
        let (engine, container, folder) = (engine.clone(), container.clone(), socket_folder.clone());
        runtime.spawn(async move {
            if let Err(error) = remove(&engine, &container, folder.as_deref()).await {
                tracing::warn!(%error, container, "a container that nobody holds is left");
            }
        });
    }
}

impl Host for ContainerHost {
    fn interrupt<'a>(&'a self, client: &'a KernelClient) -> BoxFuture<'a, Result<(), SandboxError>> {
        Box::pin(async move { self.kernel().interrupt(client).await })
    }

    fn restart<'a>(
        &'a self,
        client: &'a KernelClient,
    ) -> BoxFuture<'a, Result<Option<Connected>, SandboxError>> {
        Box::pin(async move {
            if self.container_ended() {
                return self.revive().await.map(Some);
            }
            self.kernel().restart(client).await
        })
    }

    fn stop<'a>(
        &'a self,
        _: &'a KernelClient,
        choice: StopChoice,
        grace: Duration,
    ) -> BoxFuture<'a, Result<StopReport, SandboxError>> {
        Box::pin(async move {
            if choice == StopChoice::Keep && !self.container_ended() {
                self.is_let_go.store(true, Ordering::Relaxed);
                return Ok(StopReport::LeftRunning);
            }
            let report = self.end(grace).await?;
            self.is_let_go.store(true, Ordering::Relaxed);
            Ok(report)
        })
    }

    fn presence(&self) -> BoxFuture<'_, Presence> {
        Box::pin(async { self.kernel().presence().await })
    }

    fn cause(&self) -> Option<DeathCause> {
        self.watch().cause()
    }

    fn handle(&self) -> AttachHandle {
        let kernel = self.kernel();
        let handle = Handle {
            container: self.reach.container.clone(),
            engine: self.reach.engine.address.clone(),
            kernel: Some(kernel.kernel_id().to_owned()),
            session: Some(kernel.session().as_str().to_owned()),
        };
        handle.keep()
    }
}
