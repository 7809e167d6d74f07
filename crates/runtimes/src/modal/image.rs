//! The image: one that Modal has, or one that Modal builds from a registry's, layer by layer, with its log.
//!
//! Layers are told apart by what they are made from, so that the same settings find the same image and a second start
//! builds nothing.

use std::{collections::VecDeque, time::Duration};

use sandbook_sandbox::{Progress, SandboxError};

use super::{
    control::Control,
    line::{explain, is_passing},
    settings::ModalSettings,
    wire::control::{
        BaseImage, EnvironmentGetOrCreateRequest, EnvironmentGetOrCreateResponse, GenericResult, Image,
        ImageFromIdRequest, ImageFromIdResponse, ImageGetOrCreateRequest, ImageGetOrCreateResponse,
        ImageJoinStreamingRequest, ImageJoinStreamingResponse, generic_result::GenericStatus,
    },
};

/// The image where nobody names one.
const PYTHON: &str = "python:3.13-slim-bookworm";
/// What is put into it.
const KERNEL: &str = "ipykernel==7.4.0";
/// How Modal builds, where the account does not say.
const BUILDER: &str = "2025.06";
/// How long Modal may hold back an answer about a build.
const JOIN_SECONDS: f32 = 55.0;
const PAUSE: Duration = Duration::from_secs(1);
/// How often a broken log is taken up again.
const ATTEMPTS: u32 = 20;
/// How much of the log an error shows.
const LAST_LINES: usize = 12;

/// Whether a name is the id of an image that Modal has.
pub(super) fn is_id(name: &str) -> bool {
    let id = name.strip_prefix("im-").unwrap_or_default();
    !id.is_empty() && id.chars().all(|letter| letter.is_ascii_alphanumeric())
}

/// Gets the image of these settings, and reports the log of what has to be built. Its id.
pub(super) async fn obtain(
    control: &Control,
    app: &str,
    settings: &ModalSettings,
    progress: &Progress,
) -> Result<String, SandboxError> {
    let builder = Builder { control, app, version: builder_version(control).await?, progress };
    let base = match settings.image.as_deref() {
        Some(id) if is_id(id) => {
            let question = ImageFromIdRequest { image_id: id.to_owned() };
            let found: Result<ImageFromIdResponse, _> = control.ask("ImageFromId", question).await;
            found.map_err(|error| no_image(id, error))?.image_id
        }
        named => {
            let lines = vec![format!("FROM {}", named.unwrap_or(PYTHON))];
            builder.layer(Image { base_images: Vec::new(), dockerfile_commands: lines }).await?
        }
    };
    let own = settings.image.is_none().then_some(KERNEL);
    let packages: Vec<&str> = own.into_iter().chain(settings.packages.iter().map(String::as_str)).collect();
    if packages.is_empty() {
        return Ok(base);
    }
    let lines = vec!["FROM base".into(), install(&settings.python, &packages)];
    let base_images = vec![BaseImage { image_id: base, docker_tag: "base".into() }];
    builder.layer(Image { base_images, dockerfile_commands: lines }).await
}

fn no_image(id: &str, error: SandboxError) -> SandboxError {
    match error {
        SandboxError::Gone { .. } => SandboxError::Setting {
            setting: "image".into(),
            reason: format!("this account has no image {id}"),
        },
        error => error,
    }
}

/// The line that installs packages. Each is quoted: what a shell would take for its own is a part of its name.
fn install(python: &str, packages: &[&str]) -> String {
    let quoted: Vec<String> = packages.iter().map(|package| format!("'{package}'")).collect();
    format!(
        "RUN {python} -m pip install --no-cache-dir --disable-pip-version-check --root-user-action=ignore {}",
        quoted.join(" ")
    )
}

async fn builder_version(control: &Control) -> Result<String, SandboxError> {
    let question =
        EnvironmentGetOrCreateRequest { deployment_name: control.environment(), object_creation_type: 0 };
    let found: EnvironmentGetOrCreateResponse = control.ask("EnvironmentGetOrCreate", question).await?;
    let settings = found.metadata.and_then(|metadata| metadata.settings);
    let version = settings.map(|settings| settings.image_builder_version).unwrap_or_default();
    Ok(if version.is_empty() { BUILDER.into() } else { version })
}

struct Builder<'a> {
    control: &'a Control,
    app: &'a str,
    version: String,
    progress: &'a Progress,
}

impl Builder<'_> {
    async fn layer(&self, image: Image) -> Result<String, SandboxError> {
        let last = image.dockerfile_commands.last().cloned().unwrap_or_default();
        self.progress.report(format!("Getting the image: {last}"), None);
        let question = ImageGetOrCreateRequest {
            image: Some(image),
            app_id: self.app.to_owned(),
            builder_version: self.version.clone(),
        };
        let found: ImageGetOrCreateResponse = self.control.ask("ImageGetOrCreate", question).await?;
        let done = found.result.filter(is_done);
        let mut said = VecDeque::new();
        let result = match done {
            Some(result) => result,
            None => self.follow(&found.image_id, &mut said).await?,
        };
        if result.status() == GenericStatus::Success {
            return Ok(found.image_id);
        }
        said.push_back(result.exception);
        let detail: Vec<String> = said.into_iter().filter(|line| !line.trim().is_empty()).collect();
        Err(SandboxError::StartFailed { what: "the image".into(), detail: detail.join("\n") })
    }

    /// Reports the log of a build until it is done. A log that breaks off is taken up where it did.
    async fn follow(&self, image: &str, said: &mut VecDeque<String>) -> Result<GenericResult, SandboxError> {
        let (mut last, mut broken) = (String::new(), 0);
        loop {
            let question = ImageJoinStreamingRequest {
                image_id: image.to_owned(),
                timeout: JOIN_SECONDS,
                last_entry_id: last.clone(),
            };
            let step = async {
                let mut answers = self.control.follow("ImageJoinStreaming", question).await?;
                while let Some(answer) = answers.message().await? {
                    let ImageJoinStreamingResponse { result, task_logs, entry_id, .. } = answer;
                    for line in task_logs.iter().flat_map(|log| log.data.lines()) {
                        self.progress.report(line, None);
                        said.push_back(line.to_owned());
                    }
                    said.drain(..said.len().saturating_sub(LAST_LINES));
                    if !entry_id.is_empty() {
                        last = entry_id;
                    }
                    if let Some(result) = result.filter(is_done) {
                        return Ok(Some(result));
                    }
                }
                Ok::<_, tonic::Status>(None)
            };
            match step.await {
                Ok(Some(result)) => return Ok(result),
                Ok(None) => broken = 0,
                Err(status) if is_passing(&status) && broken < ATTEMPTS => {
                    broken += 1;
                    tokio::time::sleep(PAUSE).await;
                }
                Err(status) => return Err(explain(&status, self.control.address())),
            }
        }
    }
}

fn is_done(result: &GenericResult) -> bool {
    result.status() != GenericStatus::Unspecified
}
