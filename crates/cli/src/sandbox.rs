//! The sandbox of a command: made in this process, put on record like the owner's, gone when the command ends.

use std::{path::Path, sync::Arc, time::Duration};

use jiff::Timestamp;
use sandbook_notebook::Notebook;
use sandbook_runtimes::jupyter::{
    JupyterRuntime, JupyterSettings, LocalSettings, ServerSettings, parse_pasted,
};
use sandbook_sandbox::{
    CreateRequest, Progress, Runtime, Sandbox, SandboxError, SandboxSettings, StopChoice,
};
use sandbook_store::{
    config::{SETTINGS, Settings, SettingsFile},
    folders::Folders,
    hold::Hold,
    records::{Records, SandboxRecord, SandboxState},
    sync::Synchroniser,
};
use sandbook_workbench::own;
use secrecy::SecretString;
use tokio_util::sync::CancellationToken;

use crate::{
    arguments::{Place, RuntimeName},
    error::CommandError,
    home, input,
    signals::Signals,
};

/// The variable that holds a server's token.
const TOKEN: &str = "SANDBOOK_TOKEN";

/// A sandbox that this command made.
pub(crate) struct Own {
    sandbox: Arc<dyn Sandbox>,
    record: Arc<Record>,
    grace: Duration,
}

/// What is asked of the runtime.
struct Plan {
    settings: SandboxSettings,
    credential: Option<SecretString>,
    connection: Option<String>,
    name: String,
}

impl Own {
    /// Makes a sandbox for code in a folder, or for a notebook there. Ctrl-C gives it up.
    pub(crate) async fn start(
        folders: Folders,
        place: Place,
        folder: &Path,
        notebook: Option<&Notebook>,
        signals: &mut Signals,
    ) -> Result<Self, CommandError> {
        match place.runtime {
            RuntimeName::Jupyter => {}
        }
        let runtime = own::jupyter_runtime(&folders, Some(home::this_program()?));
        let grace = Settings::of(&SettingsFile::open(&folders.settings_file(), &SETTINGS)?).stop_grace;
        let plan = plan(&runtime, &folders, place, folder, notebook).await?;
        let record = Record::create(folders, &plan).await?;
        match create(&runtime, &plan, signals).await {
            Ok(sandbox) => {
                record.running(&sandbox).await;
                Ok(Self { sandbox, record, grace })
            }
            Err(error) => {
                record.set(SandboxState::Ended).await;
                Err(error)
            }
        }
    }

    pub(crate) fn sandbox(&self) -> &Arc<dyn Sandbox> {
        &self.sandbox
    }

    /// Ends it, and puts on record how.
    pub(crate) async fn stop(self) {
        let state = match self.sandbox.stop(StopChoice::Default, self.grace).await {
            // A kernel that was joined lives on, but nothing of it is ours.
            Ok(report) => {
                tracing::info!(?report, "the sandbox ended");
                SandboxState::Ended
            }
            Err(error) => {
                eprintln!("warning: the sandbox could not be ended: {error}");
                SandboxState::Lost
            }
        };
        self.record.set(state).await;
    }
}

async fn create(
    runtime: &JupyterRuntime,
    plan: &Plan,
    signals: &mut Signals,
) -> Result<Arc<dyn Sandbox>, CommandError> {
    let made = attempt(runtime, plan, plan.credential.clone(), signals).await;
    match made {
        // A person at a terminal can be asked, once.
        Err(Failure::Sandbox(SandboxError::CredentialMissing { address })) => {
            match input::ask_secret(&format!("Token of {address}")) {
                Some(token) => attempt(runtime, plan, Some(token), signals).await.map_err(CommandError::from),
                None => Err(no_token(&address)),
            }
        }
        made => made.map_err(CommandError::from),
    }
}

/// Why a sandbox was not made.
enum Failure {
    Sandbox(SandboxError),
    GivenUp(u8),
}

impl From<Failure> for CommandError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Sandbox(error) => error.into(),
            Failure::GivenUp(status) => {
                Self::infrastructure("cancelled", "Given up before the code was run.", "").with_status(status)
            }
        }
    }
}

async fn attempt(
    runtime: &JupyterRuntime,
    plan: &Plan,
    credential: Option<SecretString>,
    signals: &mut Signals,
) -> Result<Arc<dyn Sandbox>, Failure> {
    let cancel = CancellationToken::new();
    let request = CreateRequest {
        settings: plan.settings.clone(),
        credential,
        progress: Progress::new(|message, _| tracing::info!("{message}")),
        cancel: cancel.clone(),
    };
    let mut create = runtime.create(request);
    tokio::select! {
        made = &mut create => made.map_err(Failure::Sandbox),
        asked = signals.next() => {
            cancel.cancel();
            // What was started by then is stopped before this comes back.
            if let Ok(sandbox) = create.await {
                let _ = sandbox.stop(StopChoice::Default, Duration::ZERO).await;
            }
            Err(Failure::GivenUp(asked.status()))
        }
    }
}

fn no_token(address: &str) -> CommandError {
    CommandError::infrastructure(
        "credential_missing",
        format!("{address} asks for a token, and none was given."),
        "Set SANDBOOK_TOKEN to the server's token, or save the server as a connection in the window.",
    )
}

async fn plan(
    runtime: &JupyterRuntime,
    folders: &Folders,
    place: Place,
    folder: &Path,
    notebook: Option<&Notebook>,
) -> Result<Plan, CommandError> {
    if let Some(server) = &place.server {
        return on_server(folders, server, place.trust, place.kernel, notebook).await;
    }
    let local = match (place.kernel, notebook) {
        (Some(kernel), _) => own::local_settings(&kernel),
        (None, Some(notebook)) => meant_by(runtime, folder, notebook).await,
        (None, None) => LocalSettings::default(),
    };
    let name = local.kernel.clone().unwrap_or_else(|| "Python".into());
    let settings = SandboxSettings {
        working_directory: Some(folder.to_owned()),
        runtime: JupyterSettings::Local(local).to_value(),
        ..SandboxSettings::default()
    };
    Ok(Plan { settings, credential: None, connection: None, name })
}

/// The kernel that a notebook means, as the owner understands it; where there is none, the name that it gives, for the
/// error that will come of it.
async fn meant_by(runtime: &JupyterRuntime, folder: &Path, notebook: &Notebook) -> LocalSettings {
    let (runtime, folder) = (runtime.clone(), folder.to_owned());
    let found =
        tokio::task::spawn_blocking(move || runtime.local_kernels(Some(&folder))).await.unwrap_or_default();
    let name = notebook.kernel_name();
    let kernel = own::kernel_for(&found, name.as_deref(), &notebook.language()).or(name);
    kernel.map(|kernel| own::local_settings(&kernel)).unwrap_or_default()
}

async fn on_server(
    folders: &Folders,
    server: &str,
    trust: Option<String>,
    kernel: Option<String>,
    notebook: Option<&Notebook>,
) -> Result<Plan, CommandError> {
    let saved = own::saved_servers(folders)?;
    let named = saved.iter().find(|saved| saved.id == server || saved.name == server);
    let (mut settings, token, connection) = if let Some(connection) = named {
        (connection.settings.clone(), None, Some(connection))
    } else {
        let pasted = parse_pasted(server)
            .map_err(|error| CommandError::usage(error.code, error.message, error.hint))?;
        let address = pasted.server.expose();
        let connection = saved.iter().find(|saved| saved.settings.url == *address);
        let known = connection.map(|connection| connection.settings.clone());
        let mut settings = known.unwrap_or_else(|| ServerSettings::new(address.clone()));
        settings.kernel_id = pasted.kernel_id;
        (settings, pasted.token, connection)
    };
    let from_environment =
        || std::env::var(TOKEN).ok().filter(|token| !token.is_empty()).map(SecretString::from);
    let credential = match token.or_else(from_environment) {
        Some(token) => Some(token),
        None => match connection.and_then(|connection| connection.credential.as_deref()) {
            Some(name) => own::stored_credential(name).await,
            None => None,
        },
    };
    settings.trusted_certificate = trust.or(settings.trusted_certificate);
    // A kernel that runs is what it is.
    if settings.kernel_id.is_none() {
        settings.kernel = kernel.or_else(|| notebook.and_then(Notebook::kernel_name)).or(settings.kernel);
    }
    let name = sandbook_sandbox::SecretUrl::new(settings.url.clone()).masked();
    let settings = SandboxSettings {
        runtime: JupyterSettings::Server(settings).to_value(),
        ..SandboxSettings::default()
    };
    Ok(Plan { settings, credential, connection: connection.map(|connection| connection.id.clone()), name })
}

/// The record of a sandbox: on disk before it is asked for, and held as long as this process lives, so that an owner
/// that starts meanwhile leaves it alone.
struct Record {
    records: Records,
    id: String,
    _hold: Hold,
}

impl Record {
    async fn create(folders: Folders, plan: &Plan) -> Result<Arc<Self>, CommandError> {
        let id = uuid::Uuid::now_v7().simple().to_string();
        let sandbox = SandboxRecord {
            id: id.clone(),
            runtime: "jupyter".into(),
            connection: plan.connection.clone(),
            name: plan.name.clone(),
            handle: serde_json::Value::Null,
            state: SandboxState::Creating,
            created: Timestamp::now(),
            ended: None,
        };
        let put = move || {
            folders.create()?;
            let hold = Hold::take(&folders, &id)?;
            let records = Records::open(&folders.records_file(), &Synchroniser::start()?)?;
            records.put_sandbox(&sandbox)?;
            Ok::<_, sandbook_store::Error>(Arc::new(Self { records, id, _hold: hold }))
        };
        let put = tokio::task::spawn_blocking(put).await;
        let failed = |_| CommandError::infrastructure("internal", "The sandbox was not put on record.", "");
        Ok(put.map_err(failed)??)
    }

    async fn running(self: &Arc<Self>, sandbox: &Arc<dyn Sandbox>) {
        let handle = sandbox.info().handle.0;
        self.change(move |this| {
            this.records.set_sandbox_handle(&this.id, &handle)?;
            this.records.set_sandbox_state(&this.id, SandboxState::Running, Timestamp::now())
        })
        .await;
    }

    async fn set(self: &Arc<Self>, state: SandboxState) {
        self.change(move |this| this.records.set_sandbox_state(&this.id, state, Timestamp::now())).await;
    }

    async fn change(
        self: &Arc<Self>,
        change: impl FnOnce(&Self) -> sandbook_store::Result<bool> + Send + 'static,
    ) {
        let this = self.clone();
        if !matches!(tokio::task::spawn_blocking(move || change(&this)).await, Ok(Ok(_))) {
            tracing::warn!(sandbox = self.id, "a sandbox's state was not recorded");
        }
    }
}
