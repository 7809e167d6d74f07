//! What a new sandbox would be, told before anything is started: a connect screen is drawn from it.

use sandbook_protocol::{
    ConnectionId, DocumentId, ImageState, ImageView, ProtocolError, RuntimeKind, SettingProblem, SurveyView,
};
use sandbook_sandbox::{ImageFound, ImageSource, Problem};
use serde_json::Value;

use crate::{accounts, lease, owner::Workbench, runtimes::readiness, sandboxes::capability};

impl Workbench {
    /// Looks at a place with settings, for a document that would run there or for a new one.
    pub(crate) async fn survey(
        &self,
        kind: RuntimeKind,
        document: Option<&DocumentId>,
        own: Value,
        connection: Option<&ConnectionId>,
    ) -> Result<SurveyView, ProtocolError> {
        let working_directory = &self.0.options.working_directory;
        let folder = match document {
            Some(document) => self.document(document)?.folder(working_directory),
            None => working_directory.clone(),
        };
        let plan = if accounts::is_account(kind) {
            self.plan_with_account(kind, own, connection, false).await?
        } else {
            self.0.runtimes.plan(kind, own, &folder, false)?
        };
        let survey = plan.runtime.survey(&plan.settings, plan.credential.as_ref()).await;
        let capabilities = plan.runtime.capabilities(&plan.settings);
        Ok(SurveyView {
            readiness: readiness(survey.readiness),
            problems: survey.problems.into_iter().map(problem).collect(),
            folder: folder.display().to_string(),
            cores: survey.room.map(|room| room.cores),
            memory: survey.room.map(|room| room.memory),
            image: survey.image.map(image),
            warnings: survey.warnings,
            spending: survey.spending.map(lease::spending),
            capabilities: capabilities
                .iter()
                .flat_map(sandbook_sandbox::Capabilities::iter)
                .map(capability)
                .collect(),
        })
    }
}

fn problem(Problem { setting, reason }: Problem) -> SettingProblem {
    SettingProblem { setting, reason }
}

fn image(found: ImageFound) -> ImageView {
    let state = match found.state {
        sandbook_sandbox::ImageState::Present => ImageState::Present,
        sandbook_sandbox::ImageState::Stale => ImageState::Stale,
        sandbook_sandbox::ImageState::Missing => ImageState::Missing,
    };
    ImageView { name: found.name, state, is_built: found.source == ImageSource::Built }
}
