//! One way to run code, the same on every runtime: to an outcome, as a stream of events, or as a blocking iterator.

use std::{sync::Arc, time::Duration};

use futures::Stream;

use crate::{Event, EventKind, ExecuteRequest, Execution, Outcome, OutcomeBuilder, Sandbox, SandboxError};

/// The time limit of a run in the library, where the caller sets none.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

/// Runs code in a sandbox.
#[derive(Clone)]
pub struct Client {
    sandbox: Arc<dyn Sandbox>,
    timeout: Option<Duration>,
}

impl Client {
    /// A client with [`DEFAULT_TIMEOUT`].
    pub fn new(sandbox: Arc<dyn Sandbox>) -> Self {
        Self { sandbox, timeout: Some(DEFAULT_TIMEOUT) }
    }

    /// The same client with another time limit for each run, or none.
    pub fn with_timeout(mut self, timeout: Option<Duration>) -> Self {
        self.timeout = timeout;
        self
    }

    /// The time limit of each run; none lets it go on as long as it wants.
    pub fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    /// The sandbox behind it.
    pub fn sandbox(&self) -> &Arc<dyn Sandbox> {
        &self.sandbox
    }

    /// Runs code to its end. Input is refused: nobody is there to type it.
    pub async fn run(&self, code: &str) -> Result<Outcome, SandboxError> {
        let mut execution = self.sandbox.execute(self.request(code)).await?;
        let mut builder = OutcomeBuilder::default();
        while let Some(event) = execution.next().await {
            if builder.push(&event) {
                return Ok(builder.finish());
            }
        }
        let mut outcome = builder.finish();
        outcome.infrastructure =
            Some(SandboxError::Disconnected { detail: "the sandbox ended before the run did".into() });
        Ok(outcome)
    }

    /// Runs code and gives its events as they come, the end last.
    pub async fn stream(&self, code: &str) -> Result<impl Stream<Item = Event> + Send + use<>, SandboxError> {
        let execution = self.sandbox.execute(self.request(code)).await?;
        Ok(futures::stream::unfold((execution, false), |(mut execution, ended)| async move {
            if ended {
                return None;
            }
            let event = execution.next().await?;
            let ended = matches!(event.kind, EventKind::End(_));
            Some((event, (execution, ended)))
        }))
    }

    /// Runs code and gives its events to a thread that may block. It must not be called from an async task.
    pub fn iterate(
        &self,
        handle: tokio::runtime::Handle,
        code: &str,
    ) -> Result<BlockingEvents, SandboxError> {
        let execution = handle.block_on(self.sandbox.execute(self.request(code)))?;
        Ok(BlockingEvents { handle, execution, ended: false })
    }

    fn request(&self, code: &str) -> ExecuteRequest {
        ExecuteRequest { allow_input: false, timeout: self.timeout, ..ExecuteRequest::new(code) }
    }
}

/// Events of one run, for a thread that may block. The end is the last.
pub struct BlockingEvents {
    handle: tokio::runtime::Handle,
    execution: Execution,
    ended: bool,
}

impl Iterator for BlockingEvents {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        if self.ended {
            return None;
        }
        let event = self.handle.block_on(self.execution.next())?;
        self.ended = matches!(event.kind, EventKind::End(_));
        Some(event)
    }
}
