//! A sandbox in a scenario, with what scenarios do to one.

use std::{ops::Deref, sync::Arc, time::Duration};

use sandbook_sandbox::{
    Capability, Event, EventKind, ExecuteRequest, Execution, KernelStatus, Outcome, OutcomeBuilder, Sandbox,
    SandboxError, StopChoice, StopReport, StreamName, Support,
};
use sandbook_test_support::PATIENCE;

use crate::Verdict;

/// A sandbox in a scenario.
pub struct Live(pub Arc<dyn Sandbox>);

impl Deref for Live {
    type Target = dyn Sandbox;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl Live {
    /// Around a sandbox.
    pub fn new(sandbox: Arc<dyn Sandbox>) -> Self {
        Self(sandbox)
    }

    /// Refuses a scenario about something that this sandbox cannot do, in the words of its record.
    pub fn needs(&self, capability: Capability) -> Verdict {
        let capabilities = self.capabilities();
        if capabilities.has(capability) { Ok(()) } else { Err(capabilities.refusal(capability)) }
    }

    /// Refuses a scenario whose code is not for a part of Python.
    pub fn needs_all_of_python(&self) -> Verdict {
        let capabilities = self.capabilities();
        match capabilities.get(Capability::Language) {
            Some(Support::Yes(_)) => Ok(()),
            _ => Err(capabilities.refusal(Capability::Language)),
        }
    }

    /// Runs code to its end.
    pub async fn run(&self, code: &str) -> Outcome {
        self.run_request(ExecuteRequest::new(code)).await
    }

    /// Runs code to its end.
    pub async fn run_request(&self, request: ExecuteRequest) -> Outcome {
        let mut running = self.begin(request).await.expect("the code is taken");
        running.finish().await
    }

    /// Begins with some code.
    pub async fn start(&self, code: &str) -> Running {
        self.begin(ExecuteRequest::new(code)).await.expect("the code is taken")
    }

    /// Begins with some code.
    pub async fn begin(&self, request: ExecuteRequest) -> Result<Running, SandboxError> {
        Ok(Running {
            execution: self.execute(request).await?,
            builder: OutcomeBuilder::default(),
            seen: Vec::new(),
        })
    }

    /// Waits until the kernel does this.
    pub async fn is(&self, wanted: impl Fn(&KernelStatus) -> bool) {
        let mut status = self.status();
        let reached = status.wait_for(|status| wanted(status));
        drop(tokio::time::timeout(PATIENCE, reached).await.expect("the status comes").expect("it is told"));
    }

    /// Ends it as it ends by itself, and one that would be left to its owner by asking for it.
    pub async fn end(&self) -> StopReport {
        let choice = if self.info().owned { StopChoice::Default } else { StopChoice::ShutDown };
        self.stop(choice, Duration::from_secs(10)).await.expect("it ends")
    }
}

/// Code that runs.
pub struct Running {
    /// The execution.
    pub execution: Execution,
    builder: OutcomeBuilder,
    /// Every event so far.
    pub seen: Vec<Event>,
}

impl Running {
    /// Reads on until such an event.
    pub async fn until(&mut self, wanted: impl Fn(&EventKind) -> bool) -> Event {
        let found = async {
            loop {
                let event = self.execution.next().await.expect("the run goes on");
                self.builder.push(&event);
                self.seen.push(event.clone());
                if wanted(&event.kind) {
                    return event;
                }
            }
        };
        tokio::time::timeout(PATIENCE, found).await.expect("such an event comes")
    }

    /// Reads on until the code has printed this to one of its streams.
    pub async fn until_text(&mut self, wanted: &str) -> Event {
        let mut texts = [String::new(), String::new()];
        loop {
            let event = self.until(|kind| matches!(kind, EventKind::Stream { .. })).await;
            if let EventKind::Stream { name, text } = &event.kind {
                let told = &mut texts[usize::from(*name == StreamName::Stderr)];
                told.push_str(text);
                if told.contains(wanted) {
                    return event;
                }
            }
        }
    }

    /// Reads to the end.
    pub async fn finish(&mut self) -> Outcome {
        self.until(|kind| matches!(kind, EventKind::End(_))).await;
        std::mem::take(&mut self.builder).finish()
    }
}
