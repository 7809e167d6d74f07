//! The sandbox of a command: made in this process, put on record like the owner's, gone when the command ends.

use std::{io::Write, path::Path, sync::Arc, time::Duration};

use sandbook_notebook::Notebook;
use sandbook_protocol::RuntimeKind;
use sandbook_runtimes::{
    Runtimes, Surrounding,
    jupyter::{JupyterRuntime, JupyterSettings, LocalKernels, LocalSettings},
};
use sandbook_sandbox::{
    CreateRequest, Progress, Readiness, Runtime, Sandbox, SandboxError, SandboxSettings, StopChoice,
    StopReport,
};
use sandbook_store::{
    config::{SETTINGS, Settings, SettingsFile},
    folders::Folders,
    records::SandboxState,
};
use sandbook_workbench::own;
use secrecy::SecretString;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{
    arguments::Place,
    attendant::Attendant,
    error::CommandError,
    home, input,
    record::{Asked, Record},
    server,
    signals::Signals,
};

/// A sandbox that this command made.
pub(crate) struct Own {
    sandbox: Arc<dyn Sandbox>,
    record: Arc<Record>,
    grace: Duration,
    attendant: Option<Attendant>,
}

/// What is asked of the runtime.
pub(crate) struct Plan {
    pub(crate) runtime: Arc<dyn Runtime>,
    pub(crate) settings: SandboxSettings,
    pub(crate) credential: Option<SecretString>,
    pub(crate) connection: Option<String>,
    pub(crate) name: String,
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
        let plan = plan(&folders, place, folder, notebook).await?;
        Self::make(folders, plan, signals).await
    }

    /// Makes what was planned. Ctrl-C gives it up.
    pub(crate) async fn make(
        folders: Folders,
        mut plan: Plan,
        signals: &mut Signals,
    ) -> Result<Self, CommandError> {
        let grace = Settings::of(&SettingsFile::open(&folders.settings_file(), &SETTINGS)?).stop_grace;
        let asked = Asked {
            runtime: plan.runtime.variant(),
            connection: plan.connection.clone(),
            name: plan.name.clone(),
        };
        let record = Record::create(folders, asked).await?;
        plan.settings.id = Some(record.id().to_owned());
        let mut attendant = Attendant::beside(&plan)?;
        match create(&plan, attendant.as_mut(), signals).await {
            Ok(sandbox) => {
                record.running(&sandbox).await;
                say_what_it_costs(&*sandbox);
                Ok(Self { sandbox, record, grace, attendant })
            }
            Err(error) if error.code == "left_running" => {
                // The attendant tries again when this process has gone.
                record.set(SandboxState::Lost).await;
                Err(error)
            }
            Err(error) => {
                record.set(SandboxState::Ended).await;
                dismiss(attendant).await;
                Err(error)
            }
        }
    }

    pub(crate) fn sandbox(&self) -> &Arc<dyn Sandbox> {
        &self.sandbox
    }

    /// Ends it, and puts on record how.
    pub(crate) async fn stop(self) {
        if let Err(error) = self.end().await {
            // nobody may be there any more to read it
            let _ = writeln!(std::io::stderr(), "warning: the sandbox could not be ended: {error}");
        }
    }

    /// The same, and says how.
    pub(crate) async fn end(self) -> Result<StopReport, SandboxError> {
        let stopped = self.sandbox.stop(StopChoice::Default, self.grace).await;
        match &stopped {
            // A kernel that was joined lives on, but nothing of it is ours.
            Ok(report) => {
                tracing::info!(?report, "the sandbox ended");
                self.record.set(SandboxState::Ended).await;
                dismiss(self.attendant).await;
            }
            // The attendant tries again when this process has gone.
            Err(_) => self.record.set(SandboxState::Lost).await,
        }
        stopped
    }
}

/// Says on standard error what a sandbox can come to, where it costs something.
fn say_what_it_costs(sandbox: &dyn Sandbox) {
    if let Some(most) = sandbox.lease().and_then(|lease| lease.at_most) {
        let title = sandbox.info().title;
        eprintln!(
            "note: {title} costs at most {:.2} {}; it is ended with this command.",
            most.value, most.unit
        );
    }
}

async fn dismiss(attendant: Option<Attendant>) {
    if let Some(attendant) = attendant {
        let _ = tokio::task::spawn_blocking(move || attendant.dismiss()).await;
    }
}

async fn create(
    plan: &Plan,
    mut attendant: Option<&mut Attendant>,
    signals: &mut Signals,
) -> Result<Arc<dyn Sandbox>, CommandError> {
    if let Some(attendant) = &mut attendant {
        attendant.tell(plan, plan.credential.as_ref())?;
    }
    let made = attempt(plan, plan.credential.clone(), signals).await;
    match made {
        // A person at a terminal can be asked, once.
        Err(Failure::Sandbox(SandboxError::CredentialMissing { address })) => {
            let by_link = RuntimeKind::named(plan.runtime.variant()).is_some_and(takes_link);
            let question =
                if by_link { format!("Channels link of {address}") } else { format!("Token of {address}") };
            match input::ask_secret(&question, signals).await? {
                Some(token) => {
                    if let Some(attendant) = attendant {
                        attendant.tell(plan, Some(&token))?;
                    }
                    attempt(plan, Some(token), signals).await.map_err(CommandError::from)
                }
                None if by_link => Err(no_link(&address)),
                None => Err(no_token(&address, plan)),
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
    let mut create = plan.runtime.create(request);
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

fn no_link(address: &str) -> CommandError {
    CommandError::infrastructure(
        "credential_missing",
        format!("{address} is reached by the channels link of an open page, and none was given."),
        "Set SANDBOOK_TOKEN to the link, or pipe it in with --token-stdin. The page's network tools show it as channels, among the WebSockets.",
    )
}

fn no_token(address: &str, plan: &Plan) -> CommandError {
    let of_account = RuntimeKind::named(plan.runtime.variant()).is_some_and(own::is_account);
    let (what, hint) = if of_account {
        (
            "the key of an account or server",
            "Set SANDBOOK_TOKEN to the key of your account or server, or save it as a connection in the window.",
        )
    } else {
        (
            "a token",
            "Set SANDBOOK_TOKEN to the server's token, pipe it in with --token-stdin, or save the server as a connection in the window.",
        )
    };
    CommandError::infrastructure(
        "credential_missing",
        format!("{address} asks for {what}, and none was given."),
        hint,
    )
}

/// What the arguments ask for, with the credential that was given beside them.
pub(crate) async fn plan(
    folders: &Folders,
    mut place: Place,
    folder: &Path,
    notebook: Option<&Notebook>,
) -> Result<Plan, CommandError> {
    let given = place.credential.take();
    let given = if place.token_stdin { Some(input::secret_from_input()?) } else { given };
    let plan = without_credential(folders, place, folder, notebook).await?;
    Ok(Plan { credential: given.or(plan.credential), ..plan })
}

async fn without_credential(
    folders: &Folders,
    place: Place,
    folder: &Path,
    notebook: Option<&Notebook>,
) -> Result<Plan, CommandError> {
    let supervisor = Some(home::this_program()?);
    if let Some(kind) = place.runtime.filter(|kind| *kind != RuntimeKind::Jupyter) {
        return of_runtime(folders, &own::surrounding(folders, supervisor), kind, place, folder).await;
    }
    if let Some((name, _)) = place.settings.first() {
        return Err(misplaced(&format!("--setting {name}"), "jupyter"));
    }
    let runtime = own::jupyter_runtime(folders, supervisor.clone());
    if let Some(server) = &place.server {
        return server::plan(runtime, folders, server, place.trust, place.kernel, notebook).await;
    }
    if let Some(kernel) = &place.kernel {
        return Ok(of_jupyter(runtime, own::local_settings(kernel), folder));
    }
    let found = found(&runtime, folder).await;
    let language = notebook.map_or_else(|| "python".into(), Notebook::language);
    if place.runtime.is_none()
        && own::monty_stands_in(&found, &language)
        && let Some(plan) = ready_monty(&own::surrounding(folders, supervisor), folder).await
    {
        eprintln!("note: no Python was found here: the code runs in Monty, which knows a part of Python.");
        return Ok(plan);
    }
    let local = notebook.map(|notebook| meant_by(&found, notebook)).unwrap_or_default();
    Ok(of_jupyter(runtime, local, folder))
}

fn of_jupyter(runtime: JupyterRuntime, local: LocalSettings, folder: &Path) -> Plan {
    let name = local.kernel.clone().unwrap_or_else(|| "Python".into());
    let settings = SandboxSettings {
        working_directory: Some(folder.to_owned()),
        runtime: JupyterSettings::Local(local).to_value(),
        ..SandboxSettings::default()
    };
    Plan { runtime: Arc::new(runtime), settings, credential: None, connection: None, name }
}

/// A sandbox of a runtime that is known by its own settings only.
async fn of_runtime(
    folders: &Folders,
    surrounding: &Surrounding,
    kind: RuntimeKind,
    place: Place,
    folder: &Path,
) -> Result<Plan, CommandError> {
    let name = kind.name();
    let given = [("--server", place.server.is_some()), ("--kernel", place.kernel.is_some())];
    if let Some((option, _)) = given.iter().find(|(_, given)| *given) {
        return Err(misplaced(option, name));
    }
    let own: serde_json::Map<_, _> = place.settings.into_iter().collect();
    let own = if own.is_empty() { Value::Null } else { own.into() };
    if !own::is_account(kind) {
        return plan_of(surrounding, kind, own, folder);
    }
    let account = own::account(folders, kind, own).await?;
    if let Some(address) = &account.address {
        server::check_plain_http(address, account.plain_http_agreed, folders)?;
    }
    let plan = plan_of(surrounding, kind, Value::Null, folder)?;
    let credential = server::token_from_environment().or(account.key);
    Ok(Plan { settings: account.settings, credential, connection: account.connection, ..plan })
}

/// Monty as it is by itself, where it can be used.
async fn ready_monty(surrounding: &Surrounding, folder: &Path) -> Option<Plan> {
    let plan = plan_of(surrounding, RuntimeKind::Monty, Value::Null, folder).ok()?;
    let readiness = plan.runtime.readiness(&plan.settings, None).await;
    matches!(readiness, Readiness::Ready(_)).then_some(plan)
}

fn plan_of(
    surrounding: &Surrounding,
    kind: RuntimeKind,
    own: Value,
    folder: &Path,
) -> Result<Plan, CommandError> {
    let name = kind.name();
    let runtime = Runtimes::new(surrounding).get(name).ok_or_else(|| {
        CommandError::usage(
            "unsupported",
            format!("This Sandbook was built without the runtime {name}."),
            "Choose another one.",
        )
    })?;
    let settings = SandboxSettings {
        working_directory: kind.has_folder(&own).then(|| folder.to_owned()),
        runtime: own,
        ..SandboxSettings::default()
    };
    let credential = takes_link(kind).then(server::token_from_environment).flatten();
    Ok(Plan { runtime, settings, credential, connection: None, name: name.into() })
}

/// Whether its kernels are reached by a link, which is a secret as a whole: never an argument.
pub(crate) const fn takes_link(runtime: RuntimeKind) -> bool {
    matches!(runtime, RuntimeKind::Colab | RuntimeKind::Kaggle)
}

/// An option that a kind of place does not know.
fn misplaced(option: &str, runtime: &str) -> CommandError {
    CommandError::usage(
        "bad_setting",
        format!("{option} is not for the runtime {runtime}."),
        "Leave it out, or choose another one with --runtime.",
    )
}

async fn found(runtime: &JupyterRuntime, folder: &Path) -> LocalKernels {
    let (runtime, folder) = (runtime.clone(), folder.to_owned());
    tokio::task::spawn_blocking(move || runtime.local_kernels(Some(&folder))).await.unwrap_or_default()
}

/// The kernel that a notebook means, as the owner understands it; where there is none, the name that it gives, for the
/// error that will come of it.
fn meant_by(found: &LocalKernels, notebook: &Notebook) -> LocalSettings {
    let name = notebook.kernel_name();
    let kernel = own::kernel_for(found, name.as_deref(), &notebook.language()).or(name);
    kernel.map(|kernel| own::local_settings(&kernel)).unwrap_or_default()
}
