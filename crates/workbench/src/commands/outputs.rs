//! More of an output than a page holds.

use sandbook_protocol::{Command, ErrorCode, ProtocolError, Reply, ResourceId};

use super::{Caller, misplaced};
use crate::document::FETCH_LIMIT;

pub(super) async fn handle(caller: &Caller<'_>, command: Command) -> Result<Reply, ProtocolError> {
    let owner = caller.owner;
    match command {
        Command::OutputLines { document, output, from, count, offset } => {
            let slice = owner.document(&document)?.output_lines(&output, from, count, offset)?;
            Ok(Reply::Lines { slice })
        }
        Command::SearchOutputs { document, search } => {
            let document = owner.document(&document)?;
            let found = tokio::task::spawn_blocking(move || document.search_outputs(&search)).await;
            let (matches, more) = found.map_err(|_| ProtocolError::internal("The search broke off."))??;
            Ok(Reply::Matches { matches, more })
        }
        Command::OutputText { document, output } => {
            let (resource, size) = owner.document(&document)?.output_text(&output)?;
            Ok(Reply::Resource { resource, size })
        }
        Command::ResourceText { resource } => text(caller, &resource).await,
        Command::SaveResource { resource, path } => {
            let content = owner.resource(&resource).await?;
            let target = std::path::PathBuf::from(&path);
            let written = tokio::task::spawn_blocking(move || {
                sandbook_store::files::write_atomically(&target, [content.bytes.as_ref()])
            });
            match written.await {
                Ok(Ok(_)) => Ok(Reply::Done),
                Ok(Err(error)) => Err(ProtocolError::new(
                    ErrorCode::FileUnwritable,
                    format!("The output could not be written to {path}: {error}."),
                    "Choose another place. The output is still here.",
                )),
                Err(_) => Err(ProtocolError::internal("Writing the output broke off.")),
            }
        }
        _ => Err(misplaced()),
    }
}

async fn text(caller: &Caller<'_>, resource: &ResourceId) -> Result<Reply, ProtocolError> {
    let content = caller.owner.resource(resource).await?;
    if content.bytes.len() > FETCH_LIMIT {
        return Err(ProtocolError::new(
            ErrorCode::BadRequest,
            "This output is too long to be shown in the page.",
            "Save it as a file. All of it is still here.",
        ));
    }
    String::from_utf8(content.bytes.into()).map(|text| Reply::Text { text }).map_err(|_| {
        ProtocolError::new(ErrorCode::BadRequest, "This output is not text.", "Save it as a file.")
    })
}
