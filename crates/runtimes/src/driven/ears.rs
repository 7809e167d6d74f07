//! Where an engine speaks into: each word goes to the run or question that it belongs to, and becomes the status.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, Weak},
};

use sandbook_sandbox::{DeathCause, KernelStatus};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::{
    sandbox::{Inner, lock},
    words::Said,
};

/// Who waits for something that the engine says.
#[derive(Default)]
pub(super) struct Waiting {
    pub(super) runs: Mutex<HashMap<String, mpsc::UnboundedSender<Said>>>,
    pub(super) questions: Mutex<HashMap<u64, oneshot::Sender<Result<Value, String>>>>,
}

/// Where an engine speaks into.
pub(crate) struct Ears {
    /// Weak: an engine must not keep a sandbox alive that everybody has dropped.
    pub(super) inner: Weak<Inner>,
    pub(super) waiting: Arc<Waiting>,
    pub(super) generation: u64,
    /// Whose text it is that comes now: the run's that began last.
    pub(super) current: Option<String>,
}

impl Ears {
    /// Takes in what the engine says.
    pub(crate) fn hear(&mut self, said: Said) {
        match said {
            Said::Answer { id, value, failed } => {
                if let Some(asked) = lock(&self.waiting.questions).remove(&id) {
                    // who does not wait any more does not want to know
                    drop(asked.send(failed.map_or(Ok(value), Err)));
                }
            }
            Said::Started { id, count } => {
                self.status(KernelStatus::Busy);
                self.current = Some(id.clone());
                self.to(&id.clone(), Said::Started { id, count });
            }
            Said::End(end) => {
                let ran = self.current.as_ref() == Some(&end.id);
                self.to(&end.id.clone(), Said::End(end));
                if ran {
                    self.status(KernelStatus::Idle);
                }
            }
            said => {
                if let Some(id) = self.current.clone() {
                    self.to(&id, said);
                }
            }
        }
    }

    /// The engine says nothing any more: who reads on reaches the end, and asks for the cause.
    pub(crate) fn close(self, cause: Option<DeathCause>) {
        lock(&self.waiting.runs).clear();
        lock(&self.waiting.questions).clear();
        self.status(KernelStatus::Dead(cause.unwrap_or(DeathCause::NotReported)));
    }

    fn to(&self, id: &str, said: Said) {
        let mut runs = lock(&self.waiting.runs);
        if runs.get(id).is_some_and(|run| run.send(said).is_err()) {
            runs.remove(id);
        }
    }

    fn status(&self, status: KernelStatus) {
        if let Some(inner) = self.inner.upgrade() {
            inner.set_status(self.generation, status);
        }
    }
}
