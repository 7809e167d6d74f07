//! The outputs of a cell that runs or ran here, gathered from the events of its execution.
//!
//! The page, the saved file and the command line all see outputs through this one fold, so what is shown and what is
//! saved cannot differ. Text is held as lines with redraws resolved; everything else as the kernel sent it.
//! Deliberately absent: whatever a person sees of a running cell beside its outputs (state, input prompt).

use bytes::Bytes;
use sandbook_notebook::{MimeBundle, MimeValue, Output, RawJson, stream_text::StreamText};
use sandbook_protocol::OutputId;
use sandbook_sandbox::{CodeError, Event, EventKind, MimeBundle as KernelBundle, StreamName};
use serde_json::value::RawValue;

/// One output.
#[derive(Debug)]
pub struct LiveOutput {
    /// Its name.
    pub id: OutputId,
    /// What it holds.
    pub body: LiveBody,
}

/// What an output holds.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "most outputs are text")]
pub enum LiveBody {
    /// Text of one stream.
    Stream {
        /// Which stream.
        name: StreamName,
        /// The text.
        text: StreamText,
    },
    /// Something shown or returned.
    Rich(RichOutput),
    /// An error of the code.
    Error(CodeError),
}

/// Something shown or returned.
#[derive(Debug, Clone)]
pub struct RichOutput {
    /// Its forms.
    pub data: MimeBundle,
    /// What the library says about them.
    pub metadata: RawJson,
    /// A name under which it can be updated.
    pub display_id: Option<String>,
    /// Whether it is the value of the last expression.
    pub result: bool,
    /// The number of a result.
    pub execution_count: Option<u32>,
}

impl LiveOutput {
    /// The output as the file has it.
    fn to_notebook(&self) -> Output {
        match &self.body {
            LiveBody::Stream { name, text } => Output::Stream {
                name: match name {
                    StreamName::Stdout => "stdout".into(),
                    StreamName::Stderr | StreamName::Owner => "stderr".into(),
                    StreamName::Stdin => "stdin".into(),
                },
                text: sandbook_notebook::StreamText::Inline(text.text()),
            },
            LiveBody::Rich(RichOutput { data, metadata, display_id, result: false, .. }) => Output::Display {
                data: data.clone(),
                metadata: metadata.clone(),
                display_id: display_id.clone(),
            },
            LiveBody::Rich(rich) => Output::Result {
                data: rich.data.clone(),
                metadata: rich.metadata.clone(),
                display_id: rich.display_id.clone(),
                execution_count: rich.execution_count.map(u64::from),
            },
            LiveBody::Error(error) => Output::Error {
                ename: error.name.clone(),
                evalue: error.value.clone(),
                traceback: error.traceback.clone(),
            },
        }
    }
}

fn bundle(data: &KernelBundle) -> MimeBundle {
    MimeBundle(data.iter().map(|(name, value)| (name.clone(), MimeValue::Inline(raw_json(value)))).collect())
}

fn raw_json(value: &RawValue) -> RawJson {
    RawJson::new(Bytes::copy_from_slice(value.get().as_bytes()))
        .unwrap_or_else(|| RawJson::from_value(&serde_json::Value::Null))
}

impl<'a> IntoIterator for &'a LiveOutputs {
    type Item = &'a LiveOutput;
    type IntoIter = std::slice::Iter<'a, LiveOutput>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// What an event did to the outputs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutputChange {
    /// An output came at the end.
    Appended(usize),
    /// The text of an output grew or was redrawn.
    Text(usize),
    /// Every output went.
    Cleared,
}

/// The outputs of one cell.
#[derive(Debug, Default)]
pub struct LiveOutputs {
    outputs: Vec<LiveOutput>,
    clear_before_next: bool,
}

impl LiveOutputs {
    /// The outputs, in order.
    pub fn iter(&self) -> std::slice::Iter<'_, LiveOutput> {
        self.outputs.iter()
    }

    /// The output at a position.
    pub fn get(&self, index: usize) -> Option<&LiveOutput> {
        self.outputs.get(index)
    }

    /// An output by name, to mark its text.
    pub fn find_mut(&mut self, id: &OutputId) -> Option<&mut LiveOutput> {
        self.outputs.iter_mut().find(|output| output.id == *id)
    }

    /// An output by name.
    pub fn find(&self, id: &OutputId) -> Option<&LiveOutput> {
        self.outputs.iter().find(|output| output.id == *id)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.outputs.is_empty()
    }

    /// Drops every output.
    pub fn clear(&mut self) {
        self.outputs.clear();
        self.clear_before_next = false;
    }

    /// The outputs as the file has them.
    pub fn to_notebook(&self) -> Vec<Output> {
        self.outputs.iter().map(LiveOutput::to_notebook).collect()
    }

    /// Takes an event in, with names for new outputs. Display updates are not for one cell alone: see
    /// [`LiveOutputs::update`].
    pub fn apply(&mut self, event: &Event, mut name: impl FnMut() -> OutputId) -> Vec<OutputChange> {
        let mut changes = Vec::new();
        match &event.kind {
            EventKind::Stream { name: stream, text } => {
                self.clear_if_due(&mut changes);
                self.stream(*stream, text, &mut name, &mut changes);
            }
            EventKind::Display { data, metadata, display_id } => {
                let rich = RichOutput {
                    data: bundle(data),
                    metadata: raw_json(metadata),
                    display_id: display_id.clone(),
                    result: false,
                    execution_count: None,
                };
                self.append(name(), LiveBody::Rich(rich), &mut changes);
            }
            EventKind::Result { data, metadata, display_id, execution_count } => {
                let rich = RichOutput {
                    data: bundle(data),
                    metadata: raw_json(metadata),
                    display_id: display_id.clone(),
                    result: true,
                    execution_count: *execution_count,
                };
                self.append(name(), LiveBody::Rich(rich), &mut changes);
            }
            EventKind::Error(error) => self.append(name(), LiveBody::Error(error.clone()), &mut changes),
            EventKind::Clear { wait: true } => self.clear_before_next = true,
            EventKind::Clear { wait: false } => {
                self.clear();
                changes.push(OutputChange::Cleared);
            }
            _ => {}
        }
        changes
    }

    /// Changes everything shown under a display id. Answers which outputs these were.
    pub fn update(&mut self, display_id: &str, data: &KernelBundle, metadata: &RawValue) -> Vec<usize> {
        let mut changed = Vec::new();
        for (index, output) in self.outputs.iter_mut().enumerate() {
            if let LiveBody::Rich(rich) = &mut output.body
                && rich.display_id.as_deref() == Some(display_id)
            {
                rich.data = bundle(data);
                rich.metadata = raw_json(metadata);
                changed.push(index);
            }
        }
        changed
    }

    fn stream(
        &mut self,
        stream: StreamName,
        text: &str,
        name: &mut impl FnMut() -> OutputId,
        changes: &mut Vec<OutputChange>,
    ) {
        if let Some(LiveOutput { body: LiveBody::Stream { name: last, text: lines }, .. }) =
            self.outputs.last_mut()
            && *last == stream
        {
            lines.push(text.as_bytes());
            changes.push(OutputChange::Text(self.outputs.len() - 1));
            return;
        }
        let mut lines = StreamText::new();
        lines.push(text.as_bytes());
        self.append(name(), LiveBody::Stream { name: stream, text: lines }, changes);
    }

    fn append(&mut self, id: OutputId, body: LiveBody, changes: &mut Vec<OutputChange>) {
        self.clear_if_due(changes);
        self.outputs.push(LiveOutput { id, body });
        changes.push(OutputChange::Appended(self.outputs.len() - 1));
    }

    fn clear_if_due(&mut self, changes: &mut Vec<OutputChange>) {
        if self.clear_before_next {
            self.clear();
            changes.push(OutputChange::Cleared);
        }
    }
}
