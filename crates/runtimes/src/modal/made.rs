//! Asking Modal for a sandbox, and finding again what was asked for.
//!
//! It carries our id as its name, which Modal gives only once among those that run, and as a tag, by which it is found
//! whatever became of the answer.

use std::time::Duration;

use sandbook_sandbox::{Progress, SandboxError};
use secrecy::SecretString;
use tonic::{Code, Status};

use super::{
    check::range,
    control::Control,
    line::explain,
    list::page,
    name::{SandboxName, call},
    remote::words,
    router::{Access, access},
    settings::{ModalSettings, NetworkPolicy, Volume},
    wire::control::{
        AppGetOrCreateRequest, AppGetOrCreateResponse, GpuConfig, NetworkAccess, ObjectCreationType,
        Resources, Sandbox, SandboxCreateRequest, SandboxCreateResponse, SandboxCreateV2Request,
        SandboxCreateV2Response, SandboxGetTaskIdRequest, SandboxGetTaskIdResponse, SandboxTag,
        SchedulerPlacement, SecretGetOrCreateRequest, SecretGetOrCreateResponse, SecretSource,
        VolumeGetOrCreateRequest, VolumeGetOrCreateResponse, VolumeMount, network_access::NetworkAccessType,
        secret_source::Source,
    },
};

/// The tag that all of ours carry, and the one that holds the id.
pub(super) const OURS: &str = "sandbook";
pub(super) const ID: &str = "sandbook-id";
/// What keeps a sandbox alive whose image has nothing of its own to do.
const KEEPER: [&str; 2] = ["sleep", "172800"];
/// Modal's own limit for idle sandboxes begins when nothing of ours runs any more.
const IDLE_AFTER_US: u32 = 120;
const CREATE_PATIENCE: Duration = Duration::from_mins(5);
const POLL: Duration = Duration::from_millis(500);

/// The id of the app, which is made where it is missing.
pub(super) async fn app(control: &Control, name: &str) -> Result<String, SandboxError> {
    let question = AppGetOrCreateRequest {
        app_name: name.to_owned(),
        environment_name: control.environment(),
        object_creation_type: ObjectCreationType::CreateIfMissing.into(),
    };
    let AppGetOrCreateResponse { app_id } = control.ask("AppGetOrCreate", question).await?;
    Ok(app_id)
}

/// What is asked for.
pub(super) struct Wanted<'a> {
    pub(super) control: &'a Control,
    pub(super) app: String,
    pub(super) image: String,
    pub(super) settings: &'a ModalSettings,
    pub(super) id: &'a str,
}

/// What the account has under the names in the settings.
pub(super) struct Resolved {
    secrets: Vec<String>,
    volumes: Vec<VolumeMount>,
}

impl Wanted<'_> {
    /// Looks up secrets and volumes. Nothing is made.
    pub(super) async fn resolve(&self) -> Result<Resolved, SandboxError> {
        let mut resolved = Resolved { secrets: Vec::new(), volumes: Vec::new() };
        for (index, name) in self.settings.secrets.iter().enumerate() {
            let question = SecretGetOrCreateRequest {
                deployment_name: name.clone(),
                environment_name: self.control.environment(),
                object_creation_type: ObjectCreationType::Unspecified.into(),
            };
            let found: Result<SecretGetOrCreateResponse, _> =
                self.control.ask("SecretGetOrCreate", question).await;
            let found =
                found.map_err(|error| missing(error, &format!("secrets[{index}]"), "secret", name))?;
            resolved.secrets.push(found.secret_id);
        }
        for (index, Volume { name, target, read_only }) in self.settings.volumes.iter().enumerate() {
            let question = VolumeGetOrCreateRequest {
                deployment_name: name.clone(),
                environment_name: self.control.environment(),
                object_creation_type: ObjectCreationType::Unspecified.into(),
            };
            let found: Result<VolumeGetOrCreateResponse, _> =
                self.control.ask("VolumeGetOrCreate", question).await;
            let found =
                found.map_err(|error| missing(error, &format!("volumes[{index}]"), "volume", name))?;
            resolved.volumes.push(VolumeMount {
                volume_id: found.volume_id,
                mount_path: target.clone(),
                allow_background_commits: true,
                read_only: *read_only,
            });
        }
        Ok(resolved)
    }

    /// Asks for it. Where the answer is lost, what came of it is looked for.
    pub(super) async fn create(
        &self,
        resolved: Resolved,
    ) -> Result<(String, Option<(String, Access)>), Status> {
        let created = if self.settings.gpu.is_some() {
            self.create_first_kind(resolved).await.map(|sandbox| (sandbox, None))
        } else {
            self.create_second_kind(resolved).await
        };
        match created {
            // an earlier attempt of the same went well, and its answer was lost
            Err(status) if status.code() == Code::AlreadyExists => match self.found().await? {
                Some(sandbox) => Ok((sandbox, None)),
                None => Err(status),
            },
            created => created,
        }
    }

    async fn create_first_kind(&self, resolved: Resolved) -> Result<String, Status> {
        let definition = Sandbox { secret_ids: resolved.secrets.clone(), ..self.definition(resolved) };
        let question = SandboxCreateRequest {
            app_id: self.app.clone(),
            definition: Some(definition),
            tags: self.tags(),
        };
        let answer = self.control.ask_for("SandboxCreate", question, CREATE_PATIENCE).await?;
        let SandboxCreateResponse { sandbox_id } = answer;
        Ok(sandbox_id)
    }

    async fn create_second_kind(
        &self,
        resolved: Resolved,
    ) -> Result<(String, Option<(String, Access)>), Status> {
        let source = |id: &String| SecretSource { source: Some(Source::SecretId(id.clone())) };
        let secret_sources = resolved.secrets.iter().map(source).collect();
        let question = SandboxCreateV2Request {
            app_id: self.app.clone(),
            definition: Some(self.definition(resolved)),
            tags: self.tags(),
            secret_sources,
        };
        let answer: SandboxCreateV2Response =
            self.control.ask_for("SandboxCreateV2", question, CREATE_PATIENCE).await?;
        let access = answer.command_router_access;
        let access = access.map(|access| Access { url: access.url, token: SecretString::from(access.jwt) });
        let at_once = access.filter(|_| !answer.task_id.is_empty()).map(|access| (answer.task_id, access));
        Ok((answer.sandbox_id, at_once))
    }

    /// Waits until a sandbox has a machine, and says where its router is.
    pub(super) async fn scheduled(
        &self,
        sandbox: String,
        progress: &Progress,
    ) -> Result<(SandboxName, Access), SandboxError> {
        let explained = |status: &Status| explain(status, self.control.address());
        let mut told = false;
        let task = loop {
            let question = SandboxGetTaskIdRequest { sandbox_id: sandbox.clone() };
            let answer = self.control.ask(&call("SandboxGetTaskId", &sandbox), question).await?;
            let SandboxGetTaskIdResponse { task_id, task_result } = answer;
            if let Some(result) = task_result {
                let detail = words(&result);
                return Err(SandboxError::StartFailed { what: "the sandbox at Modal".into(), detail });
            }
            if let Some(task) = task_id.filter(|task| !task.is_empty()) {
                break task;
            }
            if !std::mem::replace(&mut told, true) {
                progress.report("Waiting for a machine", None);
            }
            tokio::time::sleep(POLL).await;
        };
        let name = SandboxName { sandbox, task };
        let access = access(self.control, &name).await.map_err(|status| explained(&status))?;
        Ok((name, access))
    }

    /// The sandbox that carries this id, where one runs.
    pub(super) async fn found(&self) -> Result<Option<String>, Status> {
        let found = page(self.control, &self.app, &[(ID, self.id)], 0.0).await?;
        Ok(found.into_iter().next().map(|info| info.id))
    }

    fn tags(&self) -> Vec<SandboxTag> {
        vec![tag(OURS, "1"), tag(ID, self.id)]
    }

    fn definition(&self, resolved: Resolved) -> Sandbox {
        let settings = self.settings;
        let ends_idle = settings.idle_timeout != 0;
        Sandbox {
            entrypoint_args: KEEPER.map(str::to_owned).to_vec(),
            image_id: self.image.clone(),
            secret_ids: Vec::new(),
            resources: Some(resources(settings)),
            timeout_secs: settings.longest_life,
            workdir: None,
            volume_mounts: resolved.volumes,
            scheduler_placement: settings
                .region
                .as_ref()
                .map(|region| SchedulerPlacement { regions: vec![region.clone()] }),
            network_access: Some(network(settings)),
            name: Some(format!("sandbook-{}", self.id)),
            idle_timeout_secs: ends_idle.then_some(IDLE_AFTER_US),
        }
    }
}

pub(super) fn tag(name: &str, value: &str) -> SandboxTag {
    SandboxTag { tag_name: name.into(), tag_value: value.into() }
}

fn missing(error: SandboxError, setting: &str, what: &str, name: &str) -> SandboxError {
    match error {
        SandboxError::Gone { .. } => SandboxError::Setting {
            setting: setting.into(),
            reason: format!("the account has no {what} {name}. Nothing was started"),
        },
        error => error,
    }
}

fn resources(settings: &ModalSettings) -> Resources {
    let mib = settings.memory.map(|memory| memory.in_bytes().div_ceil(1 << 20));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it was checked")]
    let milli_cpu = settings.cpu.map(|cores| (cores * 1000.0).round() as u32);
    Resources {
        memory_mb: mib.and_then(|mib| u32::try_from(mib).ok()).unwrap_or_default(),
        milli_cpu: milli_cpu.unwrap_or_default(),
        // empty where there is none, as Modal's own client has it
        gpu_config: Some(settings.gpu.as_ref().map_or_else(GpuConfig::default, |gpu| GpuConfig {
            count: gpu.count,
            gpu_type: gpu.kind.clone(),
        })),
        ..Resources::default()
    }
}

fn network(settings: &ModalSettings) -> NetworkAccess {
    let open = |kind: NetworkAccessType| NetworkAccess {
        network_access_type: kind.into(),
        ..NetworkAccess::default()
    };
    match settings.network {
        NetworkPolicy::Inherit | NetworkPolicy::All => open(NetworkAccessType::Open),
        NetworkPolicy::None => open(NetworkAccessType::Blocked),
        NetworkPolicy::Allowlist => NetworkAccess {
            allowed_cidrs: settings.allowed_hosts.iter().filter_map(|host| range(host)).collect(),
            allowed_domains: settings
                .allowed_hosts
                .iter()
                .filter(|host| range(host).is_none())
                .cloned()
                .collect(),
            ..open(NetworkAccessType::Allowlist)
        },
    }
}
