//! What can be said of a container before it is made.

use std::collections::HashSet;

use sandbook_sandbox::{
    ImageFound, Problem, Readiness, Room, SandboxError, SandboxSettings, Survey, sentence,
};

use super::{DockerRuntime, engine::Engine, folder, image, settings::DockerSettings};

impl DockerRuntime {
    /// Looks at the settings, the folders, the engine and the image, as far as each can be looked at.
    pub(super) async fn look(&self, settings: &SandboxSettings) -> Survey {
        let (read, mut problems) = DockerSettings::examine(settings);
        problems.extend(folder::problems(&read, settings));
        let mut named = HashSet::new();
        // one reason for each setting: the first is the one to mend first
        problems.retain(|problem| named.insert(problem.setting.clone()));
        let found = async {
            let engine = self.engine(&read).await?;
            Ok::<_, SandboxError>((engine.facts().await?, engine))
        };
        let (facts, engine) = match found.await {
            Ok(found) => found,
            Err(error) => return Survey { problems, ..Survey::of(unready(error)) },
        };
        if read.cpu.is_some_and(|cores| cores > f64::from(facts.cores)) {
            problems.push(Problem::new("cpu", format!("the engine has only {} cores", facts.cores)));
        }
        let room = Room { cores: f64::from(facts.cores), memory: facts.memory };
        let image = match image_of(&engine, &read).await {
            Ok(found) => Some(found),
            Err(error) => {
                problems.push(Problem::new("image", error.to_string()));
                None
            }
        };
        Survey { problems, room: Some(room), image, ..Survey::of(Readiness::Ready(facts.to_string())) }
    }
}

async fn image_of(engine: &Engine, settings: &DockerSettings) -> Result<ImageFound, SandboxError> {
    let name = settings.image();
    let state = image::state(engine, name).await?;
    Ok(ImageFound { name: name.to_owned(), state, source: image::source(name) })
}

/// Why no container can be made, in one line.
pub(super) fn unready(error: SandboxError) -> Readiness {
    match error {
        SandboxError::Unreachable { address, detail } => {
            Readiness::NotReachable(format!("{address}: {detail}"))
        }
        error => Readiness::NeedsSetup(format!("{} {}", sentence(&error.to_string()), error.hint())),
    }
}
