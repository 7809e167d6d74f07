//! What clients ask, sorted by what it is about. Each module turns a command into calls of the owner's parts.

mod cells;
mod connections;
mod credentials;
mod documents;
mod imports;
mod outputs;
mod runs;
mod workspace;

pub(crate) use runs::no_sandbox;

use std::sync::Arc;

use sandbook_protocol::{Command, ProtocolError, Push, Reply};
use sandbook_sandbox::{Progress, SandboxError};
use tokio_util::sync::CancellationToken;

use crate::{error::sandbox_error, owner::Workbench, session::Mailbox};

/// Who asks, and for how long.
pub(crate) struct Caller<'a> {
    pub(crate) owner: &'a Workbench,
    pub(crate) mailbox: &'a Arc<Mailbox>,
    pub(crate) request: u32,
    pub(crate) cancel: CancellationToken,
}

impl Caller<'_> {
    /// Asks somebody, as long as the client wants to know. Only for what may break off anywhere.
    pub(crate) async fn asking<T>(
        &self,
        question: impl Future<Output = Result<T, ProtocolError>>,
    ) -> Result<T, ProtocolError> {
        tokio::select! {
            answer = question => answer,
            () = self.cancel.cancelled() => Err(sandbox_error(&SandboxError::Cancelled)),
        }
    }

    /// Sends how far the call has come to the client that made it.
    pub(crate) fn progress(&self) -> Progress {
        let (mailbox, request) = (self.mailbox.clone(), self.request);
        Progress::new(move |message, fraction| {
            let progress = sandbook_protocol::Progress { request, message, fraction };
            mailbox.push(Push::Progress { progress });
        })
    }
}

/// Does what a client asks.
pub(crate) async fn handle(
    owner: &Workbench,
    mailbox: &Arc<Mailbox>,
    request: u32,
    command: Command,
    cancel: CancellationToken,
) -> Result<Reply, ProtocolError> {
    let caller = Caller { owner, mailbox, request, cancel };
    let result = dispatch(&caller, command).await;
    if let Err(error) = &result {
        tracing::info!(code = ?error.code, reason = error.message, client = %mailbox.id, "a request was refused");
    }
    result
}

async fn dispatch(caller: &Caller<'_>, command: Command) -> Result<Reply, ProtocolError> {
    match command {
        Command::WatchWorkspace
        | Command::RefreshRuntimes
        | Command::WatchLogs
        | Command::ListFolder { .. }
        | Command::ChangeSettings { .. }
        | Command::OpenWebDoor { .. }
        | Command::Quit { .. } => workspace::handle(caller, command).await,
        Command::OpenDocument { .. }
        | Command::RequestOpen { .. }
        | Command::NewDocument
        | Command::ListDocuments
        | Command::CloseDocument { .. }
        | Command::Subscribe { .. }
        | Command::Unsubscribe { .. }
        | Command::Save { .. }
        | Command::CompareWithDisk { .. }
        | Command::DismissNotices { .. } => documents::handle(caller, command).await,
        Command::EditSource { .. }
        | Command::ReplaceSources { .. }
        | Command::InsertCell { .. }
        | Command::DeleteCells { .. }
        | Command::MoveCells { .. }
        | Command::SplitCell { .. }
        | Command::MergeCells { .. }
        | Command::ChangeKind { .. }
        | Command::Fold { .. }
        | Command::ClearOutputs { .. }
        | Command::CopyCells { .. }
        | Command::PasteCells { .. }
        | Command::Undo { .. }
        | Command::Redo { .. } => cells::handle(caller, command),
        Command::SurveyRuntime { .. }
        | Command::ChooseSandbox { .. }
        | Command::Detach { .. }
        | Command::Run { .. }
        | Command::ContinueQueue { .. }
        | Command::ClearQueue { .. }
        | Command::Interrupt { .. }
        | Command::Restart { .. }
        | Command::AfterDeath { .. }
        | Command::Reconnect { .. }
        | Command::PauseSandbox { .. }
        | Command::ProlongSandbox { .. }
        | Command::StopSandbox { .. }
        | Command::KeepSandbox { .. }
        | Command::AnswerInput { .. }
        | Command::Complete { .. }
        | Command::Inspect { .. } => runs::handle(caller, command).await,
        Command::OutputLines { .. }
        | Command::SearchOutputs { .. }
        | Command::OutputText { .. }
        | Command::ResourceText { .. }
        | Command::SaveResource { .. } => outputs::handle(caller, command).await,
        Command::AddCredential { .. }
        | Command::ReplaceCredential { .. }
        | Command::KeepCredential { .. }
        | Command::TestCredential { .. }
        | Command::DeleteCredential { .. }
        | Command::LookAtKeyring
        | Command::UnlockKeyring
        | Command::ListCredentialImports
        | Command::ImportCredential { .. } => credentials::handle(caller, command).await,
        Command::ReadPasted { .. }
        | Command::DismissPasted { .. }
        | Command::Connect { .. }
        | Command::ConnectAccount { .. }
        | Command::RemoveConnection { .. }
        | Command::StoreCredential { .. }
        | Command::RenewLink { .. }
        | Command::TrustCertificate { .. }
        | Command::ListServerKernels { .. }
        | Command::DeleteServerKernel { .. }
        | Command::CreateEnvironment { .. } => connections::handle(caller, command).await,
    }
}

/// A command that reached a module it is not for: a fault of the table above.
fn misplaced() -> ProtocolError {
    ProtocolError::internal("A request took a wrong turn inside Sandbook.")
}
