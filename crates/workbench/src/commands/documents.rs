//! Opening, saving and closing documents.

use std::path::Path;

use sandbook_protocol::{Command, DocumentId, ErrorCode, ProtocolError, Reply};

use super::{Caller, misplaced};
use crate::time::millis;

pub(super) async fn handle(caller: &Caller<'_>, command: Command) -> Result<Reply, ProtocolError> {
    let owner = caller.owner;
    match command {
        Command::OpenDocument { path } => {
            let document = owner.open_document(&path).await?;
            Ok(Reply::Document { document: document.id.clone(), status: document.status() })
        }
        Command::RequestOpen { path } if owner.request_open(&path) => Ok(Reply::Done),
        Command::RequestOpen { .. } => Err(ProtocolError::not_found("open window")),
        Command::NewDocument => {
            let document = owner.new_document().await?;
            Ok(Reply::Document { document: document.id.clone(), status: document.status() })
        }
        Command::ListDocuments => {
            let documents = owner.documents();
            Ok(Reply::Documents {
                documents: documents
                    .iter()
                    .map(|document| (document.id.clone(), document.status()))
                    .collect(),
            })
        }
        Command::CloseDocument { document, discard } => {
            owner.close_document(&document, discard).await?;
            Ok(Reply::Done)
        }
        Command::Subscribe { document } => {
            let document = owner.document(&document)?;
            document.subscribe(caller.mailbox);
            caller.mailbox.subscribe(&document);
            Ok(Reply::Done)
        }
        Command::Unsubscribe { document } => {
            caller.mailbox.unsubscribe(&document);
            if let Ok(document) = owner.document(&document) {
                document.unsubscribe(&caller.mailbox.id);
            }
            Ok(Reply::Done)
        }
        Command::Save { document, path, choice } => {
            let document = owner.document(&document)?;
            refuse_open_target(caller, &document.id, path.as_deref())?;
            let saved = document.save(path.as_deref(), choice).await?;
            if path.is_some() {
                owner.note_recent(&document, None);
            }
            owner.workspace_changed();
            Ok(Reply::Saved { at: millis(saved.at), path: saved.path.display().to_string() })
        }
        Command::CompareWithDisk { document } => {
            let (theirs, mine) = owner.document(&document)?.compare_with_disk().await?;
            Ok(Reply::Comparison { theirs, mine })
        }
        Command::DismissNotices { document } => {
            owner.document(&document)?.dismiss_notices();
            Ok(Reply::Done)
        }
        _ => Err(misplaced()),
    }
}

/// A file that another tab has open belongs to that tab.
fn refuse_open_target(
    caller: &Caller<'_>,
    document: &DocumentId,
    path: Option<&str>,
) -> Result<(), ProtocolError> {
    let Some(target) = path.map(Path::new) else { return Ok(()) };
    let target = std::fs::canonicalize(target).unwrap_or_else(|_| target.to_owned());
    let open = caller.owner.documents().into_iter().filter(|other| other.id != *document);
    if open.into_iter().any(|other| other.path().as_ref() == Some(&target)) {
        return Err(ProtocolError::new(
            ErrorCode::FileUnwritable,
            format!("{} is open in another tab. It was not replaced.", target.display()),
            "Close that tab first, or choose another name.",
        ));
    }
    Ok(())
}
