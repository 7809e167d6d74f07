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
        Command::SaveResource { resource, path, replace } => {
            let content = owner.resource(&resource).await?;
            let written = tokio::task::spawn_blocking(move || write(&content.bytes, &path, replace)).await;
            written.unwrap_or_else(|_| Err(ProtocolError::internal("Writing the output broke off.")))
        }
        _ => Err(misplaced()),
    }
}

/// A page cannot know whether a file is there: its list shows notebooks only, and may be old.
fn write(content: &[u8], path: &str, replace: bool) -> Result<Reply, ProtocolError> {
    let target = std::path::Path::new(path);
    if !replace && target.symlink_metadata().is_ok() {
        return Err(ProtocolError::new(
            ErrorCode::FileExists,
            format!("There is a file at {path} already. Nothing was written."),
            "Agree that it is replaced, or choose another name.",
        ));
    }
    match sandbook_store::files::write_atomically(target, [content]) {
        Ok(_) => Ok(Reply::Done),
        Err(error) => Err(ProtocolError::new(
            ErrorCode::FileUnwritable,
            format!("The output could not be written to {path}: {error}."),
            "Choose another place. The output is still here.",
        )),
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
