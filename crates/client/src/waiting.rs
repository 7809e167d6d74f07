//! Which request gets which answer.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use sandbook_protocol::Reply;
use tokio::sync::oneshot;

use crate::{ClientError, Resource};

/// What an owner answers.
pub(crate) enum Answer {
    Reply(Box<Reply>),
    Resource(Resource),
}

/// Where an answer goes.
pub(crate) type AnswerSender = oneshot::Sender<Result<Answer, ClientError>>;

/// Who waits for which answer. After the connection has ended nobody can begin to wait.
#[derive(Default)]
pub(crate) struct Waiting(Mutex<Option<HashMap<u32, AnswerSender>>>);

impl Waiting {
    pub(crate) fn open() -> Self {
        Self(Mutex::new(Some(HashMap::new())))
    }

    pub(crate) fn add(&self, id: u32, sender: AnswerSender) -> Result<(), ClientError> {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.as_mut().ok_or(ClientError::Closed)?.insert(id, sender);
        Ok(())
    }

    pub(crate) fn take(&self, id: u32) -> Option<AnswerSender> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).as_mut()?.remove(&id)
    }

    pub(crate) fn close(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}
