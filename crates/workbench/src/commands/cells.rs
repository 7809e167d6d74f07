//! Changes of cells. Each is one operation of the document: it is in the journal before anyone sees it.

use sandbook_protocol::{Command, ProtocolError, Reply};

use super::{Caller, misplaced};

pub(super) fn handle(caller: &Caller<'_>, command: Command) -> Result<Reply, ProtocolError> {
    let owner = caller.owner;
    match command {
        Command::EditSource { document, cell, base_revision, edits } => {
            let author = &caller.mailbox.id;
            let revision = owner.document(&document)?.edit_source(author, &cell, base_revision, &edits)?;
            Ok(Reply::Edited { revision })
        }
        Command::ReplaceSources { document, sources } => {
            done(owner.document(&document)?.replace_sources(sources))
        }
        Command::InsertCell { document, index, kind, source } => {
            let cell = owner.document(&document)?.insert_cell(index, kind, &source)?;
            Ok(Reply::Cells { cells: vec![cell] })
        }
        Command::DeleteCells { document, cells } => done(owner.document(&document)?.delete_cells(&cells)),
        Command::MoveCells { document, cells, index } => {
            done(owner.document(&document)?.move_cells(&cells, index))
        }
        Command::SplitCell { document, cell, position } => {
            let cell = owner.document(&document)?.split_cell(&cell, position)?;
            Ok(Reply::Cells { cells: vec![cell] })
        }
        Command::MergeCells { document, cells } => done(owner.document(&document)?.merge_cells(&cells)),
        Command::ChangeKind { document, cells, kind } => {
            done(owner.document(&document)?.change_kind(&cells, kind))
        }
        Command::Fold { document, cells, source_hidden, outputs_hidden } => {
            done(owner.document(&document)?.fold(&cells, source_hidden, outputs_hidden))
        }
        Command::ClearOutputs { document, cells } => {
            done(owner.document(&document)?.clear_outputs(cells.as_deref()))
        }
        Command::CopyCells { document, cells } => {
            let text = owner.document(&document)?.copy_cells(&cells)?;
            Ok(Reply::Text { text })
        }
        Command::PasteCells { document, index, text } => {
            let cells = owner.document(&document)?.paste_cells(index, &text)?;
            Ok(Reply::Cells { cells })
        }
        Command::Undo { document } => {
            let cells = owner.document(&document)?.undo()?;
            Ok(Reply::Cells { cells })
        }
        Command::Redo { document } => {
            let cells = owner.document(&document)?.redo()?;
            Ok(Reply::Cells { cells })
        }
        _ => Err(misplaced()),
    }
}

fn done(result: Result<(), ProtocolError>) -> Result<Reply, ProtocolError> {
    result.map(|()| Reply::Done)
}
