//! Outputs of cells: what events do to them, and how pages see them.

use std::collections::HashMap;

use sandbook_notebook::{CellKey, MimeValue, Operation, Output, Payload, RawJson, StoredOutput};
use sandbook_protocol::{CellView, OutputId, OutputSlice, OutputView, Patch, ProtocolError, ResourceId};
use sandbook_sandbox::{Event, EventKind};

use super::{
    Document,
    journal::Entry,
    resources::{Source, WHOLE_TEXT},
    state::{Live, State, outer, revision_number},
    text_view::{self, Seen},
    view,
};
use crate::{
    ResourceContent,
    outputs::{LiveBody, OutputChange},
};

impl State {
    /// Takes an event of a run in, and tells the pages.
    pub(super) fn output_event(&mut self, key: &CellKey, event: &Event) {
        if let EventKind::DisplayUpdate { data, metadata, display_id } = &event.kind {
            self.update_displays(display_id, data, metadata);
            return;
        }
        let Some(live) = self.live.get_mut(key) else { return };
        let Live { outputs, execution, named, .. } = live;
        let changes = outputs.apply(event, || {
            *named += 1;
            OutputId(format!("{}.{execution}.{named}", key.as_str()))
        });
        if changes.is_empty() {
            return;
        }
        live.uncommitted = true;
        let bytes = match &event.kind {
            EventKind::Stream { text, .. } => text.len(),
            _ => 0,
        };
        for change in changes {
            match change {
                OutputChange::Cleared => self.show_live_cleared(key),
                OutputChange::Appended(index) => self.show_live_appended(key, index, bytes),
                OutputChange::Text(index) => self.text_changed(key, index, bytes),
            }
        }
    }

    fn update_displays(
        &mut self,
        display_id: &str,
        data: &sandbook_sandbox::MimeBundle,
        metadata: &serde_json::value::RawValue,
    ) {
        let keys: Vec<CellKey> = self.live.keys().cloned().collect();
        for key in keys {
            let Some(live) = self.live.get_mut(&key) else { continue };
            let changed = live.outputs.update(display_id, data, metadata);
            live.uncommitted |= !changed.is_empty();
            for index in changed {
                if let Some(output) = self.live_view(&key, index) {
                    self.push(&Patch::OutputChanged { cell: outer(&key), output });
                }
            }
        }
    }

    fn show_live_cleared(&mut self, key: &CellKey) {
        self.forget_outputs(key);
        self.push(&Patch::OutputsReplaced { cell: outer(key), outputs: Vec::new() });
    }

    fn show_live_appended(&mut self, key: &CellKey, index: usize, bytes: usize) {
        let Some(output) = self.live_view(key, index) else { return };
        self.push(&Patch::OutputsAppended { cell: outer(key), outputs: vec![output] });
        self.text_changed(key, index, bytes);
    }

    fn text_changed(&mut self, key: &CellKey, index: usize, bytes: usize) {
        let Some(output) = self.live.get(key).and_then(|live| live.outputs.get(index)) else { return };
        if !matches!(output.body, LiveBody::Stream { .. }) {
            return;
        }
        let (cell, now) = (outer(key), std::time::Instant::now());
        for viewer in &mut self.viewers {
            viewer.page.text_changed(&cell, &output.id, bytes, now);
            viewer.mailbox.wake();
        }
    }

    /// An output of a run, without its text.
    fn live_view(&mut self, key: &CellKey, index: usize) -> Option<OutputView> {
        let output = self.live.get(key)?.outputs.get(index)?;
        let source = Source::Output { cell: key.clone(), output: output.id.clone() };
        Some(view::live_output_without_text(output, &source, &mut self.resources))
    }

    /// All outputs of a cell, whole, for a page that has none of them.
    pub(super) fn output_views(&mut self, key: &CellKey) -> Vec<OutputView> {
        let mut seen = HashMap::new();
        self.output_views_seen(key, &mut seen)
    }

    /// The same, with what the page has of texts that may still grow.
    fn output_views_seen(&mut self, key: &CellKey, seen: &mut HashMap<OutputId, Seen>) -> Vec<OutputView> {
        if let Some(live) = self.live.get_mut(key) {
            let ids: Vec<OutputId> = live.outputs.iter().map(|output| output.id.clone()).collect();
            let mut views = Vec::with_capacity(ids.len());
            for id in ids {
                let source = Source::Output { cell: key.clone(), output: id.clone() };
                let Some(output) = live.outputs.find_mut(&id) else { continue };
                let (view, text) = view::live_output(output, &source, &mut self.resources);
                if let Some(text) = text {
                    seen.insert(id, text);
                }
                views.push(view);
            }
            return views;
        }
        let Some(cell) = self.notebook.cell(key) else { return Vec::new() };
        if cell.kind() != sandbook_notebook::CellKind::Code {
            return Vec::new();
        }
        let outputs = cell.outputs();
        let ids: Vec<OutputId> = (0..outputs.len()).map(|index| view::file_output_id(cell, index)).collect();
        outputs
            .iter()
            .zip(ids)
            .map(|(output, id)| {
                let source = Source::Output { cell: key.clone(), output: id.clone() };
                view::file_output(output, id, &source, &mut self.resources)
            })
            .collect()
    }

    /// A cell, whole.
    pub(super) fn cell_view(
        &mut self,
        key: &CellKey,
        seen: &mut HashMap<OutputId, Seen>,
    ) -> Option<CellView> {
        let outputs = self.output_views_seen(key, seen);
        let run = self.run_view(key);
        let cell = self.notebook.cell(key)?;
        let attachments: Vec<String> = cell
            .attachments()
            .and_then(|attachments| attachments.parse::<serde_json::Map<String, serde_json::Value>>())
            .map(|attachments| attachments.into_iter().map(|(name, _)| name).collect())
            .unwrap_or_default();
        let source = Source::Attachments { cell: key.clone() };
        let attachments = attachments
            .into_iter()
            .map(|name| {
                let resource = self.resources.name(&source, &name);
                (name, resource)
            })
            .collect();
        let (source_hidden, outputs_hidden) = view::folding(cell);
        Some(CellView {
            key: outer(key),
            kind: view::kind(cell.kind()),
            source: cell.source().into_owned(),
            revision: revision_number(cell.revision()),
            execution_count: cell.execution_count().and_then(|count| count.try_into().ok()),
            source_hidden,
            outputs_hidden,
            run,
            outputs,
            attachments,
        })
    }

    /// Tells the pages of cells that came in.
    pub(super) fn show_inserted(&mut self, index: usize, keys: &[CellKey]) {
        let mut seen = HashMap::new();
        let cells = keys.iter().filter_map(|key| self.cell_view(key, &mut seen)).collect();
        let index = u32::try_from(index).unwrap_or(u32::MAX);
        self.push(&Patch::CellsInserted { index, cells });
        for viewer in &mut self.viewers {
            for (output, text) in &seen {
                *viewer.page.seen(output) = *text;
            }
        }
    }

    /// Gives the notebook the outputs that runs left and that it does not have yet.
    pub(super) fn commit_live(&mut self) {
        let keys: Vec<CellKey> =
            self.live.iter().filter(|(_, live)| live.uncommitted).map(|(key, _)| key.clone()).collect();
        for key in keys {
            let Some(live) = self.live.get_mut(&key) else { continue };
            live.uncommitted = false;
            let outputs = live.outputs.to_notebook().into_iter().map(StoredOutput::Held).collect();
            let execution_count = self.notebook.cell(&key).and_then(sandbook_notebook::Cell::execution_count);
            let operation = Operation::ReplaceOutputs { cell: key.clone(), outputs, execution_count };
            if let Err(fault) = self.notebook.apply(operation) {
                tracing::warn!(cell = %key, %fault, "the outputs of a run have no cell any more");
            }
        }
    }

    /// A person clears what a run left, perhaps while it goes on.
    pub(super) fn clear_live(&mut self, key: &CellKey) -> Result<(), ProtocolError> {
        let Some(live) = self.live.get_mut(key) else { return Ok(()) };
        if !live.active {
            self.commit_live();
            return Ok(());
        }
        live.outputs.clear();
        live.uncommitted = true;
        let entry = Entry::OutputsCleared { execution: live.execution.clone(), at: live.written };
        self.journal.append(&entry).map_err(|error| ProtocolError::internal(error.to_string()))?;
        self.show_live_cleared(key);
        Ok(())
    }

    /// Finds an output by name: its cell, and whether a run left it.
    pub(super) fn find_output(&self, id: &OutputId) -> Option<CellKey> {
        let key = id.as_str().split('.').next()?;
        let key = CellKey::new(key);
        self.notebook.cell(&key).map(|_| key)
    }

    /// Does something with the lines of a text output.
    pub(super) fn with_lines<T>(
        &self,
        id: &OutputId,
        call: impl FnOnce(&sandbook_notebook::stream_text::StreamText) -> T,
    ) -> Result<T, ProtocolError> {
        let gone = || ProtocolError::not_found("text output");
        let key = self.find_output(id).ok_or_else(gone)?;
        if let Some(live) = self.live.get(&key) {
            let output = live.outputs.find(id).ok_or_else(gone)?;
            return match &output.body {
                LiveBody::Stream { text, .. } => Ok(call(text)),
                _ => Err(gone()),
            };
        }
        let held = self.notebook.cell(&key).ok_or_else(gone)?;
        let index = view::file_output_index(held, id).ok_or_else(gone)?;
        match held.output(index) {
            Some(sandbook_notebook::Output::Stream { text, .. }) => Ok(call(&view::lines_of(&text))),
            _ => Err(gone()),
        }
    }
}

impl State {
    /// The content of a resource.
    pub(super) fn resource(&self, id: &ResourceId) -> Option<ResourceContent> {
        let (source, form) = self.resources.place(id)?;
        match source {
            Source::Attachments { cell } => {
                let attachments: serde_json::Value = self.notebook.cell(cell)?.attachments()?.parse()?;
                let (media_type, data) = attachments[form.as_str()].as_object()?.iter().next()?;
                content(media_type, &MimeValue::Inline(RawJson::from_value(data)))
            }
            Source::Output { output, .. } if form == WHOLE_TEXT => {
                let text = self.with_lines(output, sandbook_notebook::stream_text::StreamText::text).ok()?;
                Some(ResourceContent {
                    media_type: "text/plain; charset=utf-8".into(),
                    bytes: text.into(),
                    framed: false,
                })
            }
            Source::Output { cell, output } => {
                if let Some(live) = self.live.get(cell) {
                    return match &live.outputs.find(output)?.body {
                        LiveBody::Rich(rich) => content(form, rich.data.get(form)?),
                        _ => None,
                    };
                }
                let cell = self.notebook.cell(cell)?;
                let found = cell.output(view::file_output_index(cell, output)?)?;
                let (Output::Display { data, .. } | Output::Result { data, .. }) = found else { return None };
                content(form, data.get(form)?)
            }
        }
    }
}

fn content(media_type: &str, value: &MimeValue) -> Option<ResourceContent> {
    let bytes = match value.payload(media_type)? {
        Payload::Text(text) => text.into_owned().into(),
        Payload::Binary(bytes) => bytes.into(),
        Payload::Json(text) => text.to_owned().into(),
    };
    Some(ResourceContent {
        media_type: media_type.to_owned(),
        bytes,
        framed: sandbook_protocol::is_framed(media_type),
    })
}

impl Document {
    /// Lines of a text output.
    pub(crate) fn output_lines(
        &self,
        output: &OutputId,
        from: u32,
        count: u32,
        offset: u32,
    ) -> Result<OutputSlice, ProtocolError> {
        self.state().with_lines(output, |text| OutputSlice {
            from,
            lines: text_view::lines(text, from as usize, count as usize, offset as usize),
            total_lines: u32::try_from(text.total_lines()).unwrap_or(u32::MAX),
        })
    }

    /// The name under which the whole text of an output is fetched, and its size.
    pub(crate) fn output_text(&self, output: &OutputId) -> Result<(ResourceId, u64), ProtocolError> {
        let mut state = self.state();
        let size = state.with_lines(output, |text| text.total_bytes() as u64)?;
        let cell = state.find_output(output).ok_or_else(|| ProtocolError::not_found("output"))?;
        let source = Source::Output { cell, output: output.clone() };
        Ok((state.resources.name(&source, WHOLE_TEXT), size))
    }
}
