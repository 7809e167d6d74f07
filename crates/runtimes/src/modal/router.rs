//! The router of commands in front of a sandbox: a host of its own, with a token of its own that lives for minutes.

use std::{sync::Arc, time::Duration};

use sandbook_sandbox::SandboxError;
use secrecy::{ExposeSecret as _, SecretString};
use tonic::{
    Code, Status, Streaming,
    metadata::{AsciiMetadataValue, MetadataMap},
};
use url::Url;

use super::{
    control::Control,
    line::{Line, explain, is_passing},
    name::SandboxName,
    wire::control::{
        SandboxGetCommandRouterAccessRequest, SandboxGetCommandRouterAccessResponse,
        TaskGetCommandRouterAccessRequest, TaskGetCommandRouterAccessResponse,
        sandbox_get_command_router_access_request::Target,
    },
};
use crate::paste::is_loopback;

const SERVICE: &str = "modal.task_command_router.TaskCommandRouter";
const PATIENCE: Duration = Duration::from_secs(20);
const RETRIES: u32 = 5;
const FIRST_PAUSE: Duration = Duration::from_millis(20);

/// Where a sandbox's commands are started, and the token for it.
#[derive(Debug, Clone)]
pub(super) struct Access {
    pub(super) url: String,
    pub(super) token: SecretString,
}

/// The router of one sandbox.
#[derive(Debug)]
pub(super) struct Router {
    line: Line,
    control: Arc<Control>,
    name: SandboxName,
    token: tokio::sync::Mutex<SecretString>,
}

impl Router {
    pub(super) fn new(
        control: Arc<Control>,
        name: SandboxName,
        access: Access,
    ) -> Result<Self, SandboxError> {
        let unusable = |detail: &str| {
            SandboxError::Failed(format!("Modal named a router that cannot be used: {detail}"))
        };
        let url = Url::parse(&access.url).map_err(|error| unusable(&error.to_string()))?;
        // only beside a control plane on this computer may it be there as well
        if url.scheme() != "https" && !(control.is_here() && is_loopback(&url)) {
            return Err(unusable("it is not reached by https"));
        }
        Ok(Self { line: Line::new(&url, SERVICE)?, control, name, token: access.token.into() })
    }

    pub(super) fn name(&self) -> &SandboxName {
        &self.name
    }

    /// Asks, and again where that can help.
    pub(super) async fn ask<Question, Answer>(
        &self,
        call: &str,
        question: Question,
    ) -> Result<Answer, SandboxError>
    where
        Question: prost::Message + Clone + 'static,
        Answer: prost::Message + Default + 'static,
    {
        let (mut attempt, mut pause) = (0, FIRST_PAUSE);
        loop {
            match self.ask_once(call, question.clone(), PATIENCE).await {
                Err(status) if is_passing(&status) && attempt < RETRIES => {
                    attempt += 1;
                    tokio::time::sleep(pause).await;
                    pause *= 2;
                }
                answered => return answered.map_err(|status| self.explain(&status)),
            }
        }
    }

    /// Asks once; a token that has ended is exchanged first.
    pub(super) async fn ask_once<Question, Answer>(
        &self,
        call: &str,
        question: Question,
        patience: Duration,
    ) -> Result<Answer, Status>
    where
        Question: prost::Message + Clone + 'static,
        Answer: prost::Message + Default + 'static,
    {
        let (metadata, shown) = self.metadata().await?;
        match self.line.ask(call, question.clone(), metadata, patience).await {
            Err(status) if status.code() == Code::Unauthenticated => {
                self.renew(&shown).await?;
                let (metadata, _) = self.metadata().await?;
                self.line.ask(call, question, metadata, patience).await
            }
            answered => answered,
        }
    }

    /// Asks for a stream of answers; a token that has ended is exchanged first.
    pub(super) async fn follow<Question, Answer>(
        &self,
        call: &str,
        question: Question,
    ) -> Result<Streaming<Answer>, Status>
    where
        Question: prost::Message + Clone + 'static,
        Answer: prost::Message + Default + 'static,
    {
        let (metadata, shown) = self.metadata().await?;
        match self.line.follow(call, question.clone(), metadata).await {
            Err(status) if status.code() == Code::Unauthenticated => {
                self.renew(&shown).await?;
                let (metadata, _) = self.metadata().await?;
                self.line.follow(call, question, metadata).await
            }
            answered => answered,
        }
    }

    pub(super) fn explain(&self, status: &Status) -> SandboxError {
        match status.code() {
            Code::NotFound => SandboxError::Gone { what: "the sandbox at Modal".into() },
            _ => explain(status, &self.line.address),
        }
    }

    async fn metadata(&self) -> Result<(MetadataMap, SecretString), Status> {
        let token = self.token.lock().await.clone();
        let value = format!("Bearer {}", token.expose_secret()).parse();
        let mut value: AsciiMetadataValue =
            value.map_err(|_| Status::invalid_argument("the token has characters that no token has"))?;
        value.set_sensitive(true);
        let mut metadata = MetadataMap::new();
        metadata.insert("authorization", value);
        Ok((metadata, token))
    }

    /// Another token in place of one that is not taken any more. Whoever comes second finds it there.
    async fn renew(&self, shown: &SecretString) -> Result<(), Status> {
        let mut token = self.token.lock().await;
        if token.expose_secret() == shown.expose_secret() {
            *token = access(&self.control, &self.name).await?.token;
        }
        Ok(())
    }
}

/// Asks the control plane where a sandbox's router is.
pub(super) async fn access(control: &Control, name: &SandboxName) -> Result<Access, Status> {
    if name.is_of_first_kind() {
        let question = TaskGetCommandRouterAccessRequest { task_id: name.task.clone() };
        let answer: TaskGetCommandRouterAccessResponse =
            control.ask_for("TaskGetCommandRouterAccess", question, PATIENCE).await?;
        return Ok(Access { url: answer.url, token: answer.jwt.into() });
    }
    let target = Some(Target::SandboxId(name.sandbox.clone()));
    let question = SandboxGetCommandRouterAccessRequest { target };
    let answer: SandboxGetCommandRouterAccessResponse =
        control.ask_for("SandboxGetCommandRouterAccess", question, PATIENCE).await?;
    Ok(Access { url: answer.url, token: answer.jwt.into() })
}
