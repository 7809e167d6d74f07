//! Running: where a document runs, its queue, its kernel.

use std::time::Duration;

use sandbook_protocol::{
    Command, Completion, DeathOfKernel, DocumentId, ErrorCode, Inspection, ProtocolError, Reply,
    SandboxChoice,
};
use sandbook_sandbox::StopChoice;

use super::{Caller, misplaced};
use crate::{document::Document, error::sandbox_error, positions};

pub(super) async fn handle(caller: &Caller<'_>, command: Command) -> Result<Reply, ProtocolError> {
    let owner = caller.owner;
    match command {
        Command::SurveyRuntime { runtime, document, settings, connection } => {
            let survey = owner.survey(runtime, document.as_ref(), settings, connection.as_ref());
            let survey = caller.asking(survey).await?;
            Ok(Reply::Survey { survey: Box::new(survey) })
        }
        Command::ChooseSandbox { document, choice } => choose(caller, &document, choice).await,
        Command::Detach { document, keep } => {
            let document = owner.document(&document)?;
            owner.detach(&document, if keep { StopChoice::Keep } else { StopChoice::Default });
            Ok(Reply::Done)
        }
        Command::Run { document, selection } => {
            let document = owner.document(&document)?;
            document.enqueue(&selection)?;
            owner.start_default_sandbox(&document, caller.progress(), caller.cancel.clone()).await?;
            Ok(Reply::Done)
        }
        Command::ContinueQueue { document } => {
            owner.document(&document)?.continue_queue();
            Ok(Reply::Done)
        }
        Command::ClearQueue { document } => {
            owner.document(&document)?.clear_queue();
            Ok(Reply::Done)
        }
        Command::Interrupt { document } => interrupt(&*owner.document(&document)?).await,
        Command::Restart { document, run_all } => {
            let document = owner.document(&document)?;
            owner.restart(&document).await?;
            if run_all {
                document.enqueue(&sandbook_protocol::CellSelection::All)?;
            }
            Ok(Reply::Done)
        }
        Command::AfterDeath { document, choice } => after_death(caller, &document, choice).await,
        Command::Reconnect { sandbox, now } => {
            owner.live_sandbox(&sandbox)?.sandbox.reconnect(now);
            Ok(Reply::Done)
        }
        Command::PauseSandbox { sandbox, pause } => {
            let live = owner.live_sandbox(&sandbox)?;
            let done = if pause { live.sandbox.pause().await } else { live.sandbox.resume().await };
            owner.workspace_changed();
            done.map(|()| Reply::Done).map_err(|error| sandbox_error(&error))
        }
        Command::ProlongSandbox { sandbox, seconds } => {
            let live = owner.live_sandbox(&sandbox)?;
            let done = live.sandbox.prolong(Duration::from_secs(seconds.into())).await;
            owner.workspace_changed();
            done.map(|()| Reply::Done).map_err(|error| sandbox_error(&error))
        }
        Command::StopSandbox { sandbox } => {
            let sandbox = owner.live_sandbox(&sandbox)?;
            owner.stop_in_background(&sandbox, StopChoice::ShutDown);
            Ok(Reply::Done)
        }
        Command::KeepSandbox { sandbox, keep } => {
            owner.live_sandbox(&sandbox)?.keep(keep);
            owner.workspace_changed();
            Ok(Reply::Done)
        }
        Command::AnswerInput { document, value } => {
            owner.document(&document)?.answer_input(value.into_inner())?;
            Ok(Reply::Done)
        }
        Command::Complete { document, code, position } => complete(caller, &document, &code, position).await,
        Command::Inspect { document, code, position, detail } => {
            let sandbox = owner.document(&document)?.sandbox().ok_or_else(no_sandbox)?;
            let position = positions::code_points(&code, position);
            let detail = u8::from(detail > 0);
            let reply = sandbox
                .sandbox
                .inspect(&code, position, detail)
                .await
                .map_err(|error| sandbox_error(&error))?;
            let text = reply.data.get("text/plain").and_then(|raw| serde_json::from_str(raw.get()).ok());
            Ok(Reply::Inspection {
                inspection: Inspection { found: reply.found, text: text.unwrap_or_default() },
            })
        }
        _ => Err(misplaced()),
    }
}

async fn choose(
    caller: &Caller<'_>,
    document: &DocumentId,
    choice: SandboxChoice,
) -> Result<Reply, ProtocolError> {
    let document = caller.owner.document(document)?;
    let sandbox =
        caller.owner.choose_sandbox(&document, choice, caller.progress(), caller.cancel.clone()).await?;
    Ok(Reply::Sandbox { sandbox: Box::new(sandbox.view(std::time::SystemTime::now())) })
}

async fn interrupt(document: &Document) -> Result<Reply, ProtocolError> {
    // What waits does not wait for the kernel: it may be starting still, or end its cell before the interrupt arrives.
    if !document.stop_waiting() {
        return Ok(Reply::Done);
    }
    let sandbox = document.sandbox().ok_or_else(no_sandbox)?;
    sandbox.sandbox.interrupt().await.map_err(|error| sandbox_error(&error))?;
    Ok(Reply::Done)
}

async fn after_death(
    caller: &Caller<'_>,
    document: &DocumentId,
    choice: DeathOfKernel,
) -> Result<Reply, ProtocolError> {
    let document = caller.owner.document(document)?;
    let selection = document.up_to_death();
    match choice {
        DeathOfKernel::Dismiss => {}
        DeathOfKernel::Restart => caller.owner.restart(&document).await?,
        DeathOfKernel::RestartAndRun => {
            caller.owner.restart(&document).await?;
            document.enqueue(&selection)?;
        }
    }
    document.dismiss_death();
    Ok(Reply::Done)
}

async fn complete(
    caller: &Caller<'_>,
    document: &DocumentId,
    code: &str,
    position: u32,
) -> Result<Reply, ProtocolError> {
    let sandbox = caller.owner.document(document)?.sandbox().ok_or_else(no_sandbox)?;
    let reply = sandbox
        .sandbox
        .complete(code, positions::code_points(code, position))
        .await
        .map_err(|error| sandbox_error(&error))?;
    Ok(Reply::Completion {
        completion: Completion {
            from: positions::utf16_units(code, reply.start),
            to: positions::utf16_units(code, reply.end),
            matches: reply.matches.into_iter().map(|found| (found.text, found.kind)).collect(),
        },
    })
}

/// The document runs nowhere yet.
pub(crate) fn no_sandbox() -> ProtocolError {
    ProtocolError::new(
        ErrorCode::NoSandbox,
        "This notebook has no sandbox yet.",
        "Choose where it shall run. Cells that were asked for stay in the queue.",
    )
}
