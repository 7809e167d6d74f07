//! What pages are sent: the document whole, then changes.

use std::{collections::HashMap, time::Instant};

use sandbook_notebook::CellKey;
use sandbook_protocol::{ClientId, DocumentId, DocumentSnapshot, Patch, PatchBatch, Push};

use super::{
    page::{Due, Page, Take},
    state::{State, Viewer, inner},
    text_view,
};
use crate::{outputs::LiveBody, session::Mailbox};

impl State {
    pub(super) fn subscribe(&mut self, mailbox: &std::sync::Arc<Mailbox>) {
        match self.viewers.iter_mut().find(|viewer| viewer.mailbox.id == mailbox.id) {
            Some(viewer) => viewer.page.start_over(),
            None => self.viewers.push(Viewer { mailbox: mailbox.clone(), page: Page::new() }),
        }
        mailbox.wake();
    }

    pub(super) fn unsubscribe(&mut self, client: &ClientId) {
        self.viewers.retain(|viewer| viewer.mailbox.id != *client);
    }

    pub(super) fn acknowledge(&mut self, client: &ClientId, sequence: u32) {
        if let Some(viewer) = self.viewers.iter_mut().find(|viewer| viewer.mailbox.id == *client) {
            viewer.page.acknowledge(sequence);
        }
    }

    /// What a page receives now.
    pub(super) fn take(&mut self, document: &DocumentId, client: &ClientId, now: Instant) -> Take {
        let Some(position) = self.viewers.iter().position(|viewer| viewer.mailbox.id == *client) else {
            return Take::Nothing;
        };
        match self.viewers[position].page.due(now) {
            Due::Nothing => Take::Nothing,
            Due::At(moment) => Take::At(moment),
            Due::Snapshot => {
                let snapshot = self.snapshot(document, position, now);
                Take::Push(Box::new(Push::Snapshot { snapshot }))
            }
            Due::Patches => {
                let batch = self.batch(document, position, now);
                Take::Push(Box::new(Push::Patches { batch }))
            }
        }
    }

    fn snapshot(&mut self, document: &DocumentId, position: usize, now: Instant) -> DocumentSnapshot {
        let keys: Vec<CellKey> = self.notebook.cells().map(|cell| cell.key().clone()).collect();
        let mut seen = HashMap::new();
        let cells = keys.iter().filter_map(|key| self.cell_view(key, &mut seen)).collect();
        let sequence = self.viewers[position].page.snapshot_made(seen, now);
        DocumentSnapshot {
            document: document.clone(),
            sequence,
            status: self.status(),
            cells,
            queue: self.queue.view(),
            input: self.input.clone(),
        }
    }

    fn batch(&mut self, document: &DocumentId, position: usize, now: Instant) -> PatchBatch {
        let page = &mut self.viewers[position].page;
        let (sequence, mut patches, texts) = page.take(now);
        for (output, cell) in texts {
            let Some(live) = self.live.get_mut(&inner(&cell)) else { continue };
            let Some(found) = live.outputs.find_mut(&output) else { continue };
            let LiveBody::Stream { text, .. } = &mut found.body else { continue };
            let Some(change) = text_view::patch(text, page.seen(&output)) else { continue };
            patches.push(Patch::TextChanged {
                cell,
                output,
                keep: change.keep,
                append: change.append,
                tail: change.tail,
                total_lines: change.total_lines,
                total_bytes: change.total_bytes,
            });
        }
        PatchBatch { document: document.clone(), sequence, patches }
    }
}
