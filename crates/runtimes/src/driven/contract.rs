//! What a sandbox can be asked, in the words of the contract; the engine is asked in its own.

use std::{sync::Arc, time::Duration};

use sandbook_sandbox::{
    BoxFuture, Capabilities, Completeness, CompletionMatch, CompletionReply, ExecuteRequest, Execution,
    HistoryEntry, InspectReply, KernelInfo, KernelStatus, Lease, MimeBundle, Sandbox, SandboxError,
    SandboxInfo, StopChoice, StopReport,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, value::to_raw_value};
use tokio::sync::watch;

use super::{sandbox::DrivenSandbox, words::Question};

impl DrivenSandbox {
    async fn ask<Answer: DeserializeOwned>(&self, question: Question) -> Result<Answer, SandboxError> {
        let answer = self.0.ask(question).await?;
        serde_json::from_value(answer)
            .map_err(|error| SandboxError::Failed(format!("the answer cannot be read: {error}")))
    }
}

impl Sandbox for DrivenSandbox {
    fn info(&self) -> SandboxInfo {
        self.0.info.clone()
    }

    fn capabilities(&self) -> Capabilities {
        self.0.engine.capabilities()
    }

    fn kernel_info(&self) -> BoxFuture<'_, Result<KernelInfo, SandboxError>> {
        let info = self.0.kernel_info();
        Box::pin(async { Ok(info) })
    }

    fn status(&self) -> watch::Receiver<KernelStatus> {
        self.0.status.subscribe()
    }

    fn lease(&self) -> Option<Lease> {
        self.0.engine.lease()
    }

    fn execute(&self, request: ExecuteRequest) -> BoxFuture<'_, Result<Execution, SandboxError>> {
        Box::pin(self.0.execute(request))
    }

    fn interrupt(&self) -> BoxFuture<'_, Result<(), SandboxError>> {
        self.0.interrupt();
        Box::pin(async { Ok(()) })
    }

    fn restart(&self) -> BoxFuture<'_, Result<(), SandboxError>> {
        Box::pin(self.0.restart())
    }

    fn complete<'a>(
        &'a self,
        code: &'a str,
        position: usize,
    ) -> BoxFuture<'a, Result<CompletionReply, SandboxError>> {
        Box::pin(async move {
            let question = Question::Complete { code: code.to_owned(), position };
            let (start, end, found): (usize, usize, Vec<(String, Option<String>)>) =
                self.ask(question).await?;
            let matches = found.into_iter().map(|(text, kind)| CompletionMatch { text, kind });
            Ok(CompletionReply { start, end, matches: matches.collect() })
        })
    }

    fn inspect<'a>(
        &'a self,
        code: &'a str,
        position: usize,
        detail: u8,
    ) -> BoxFuture<'a, Result<InspectReply, SandboxError>> {
        Box::pin(async move {
            let question = Question::Inspect { code: code.to_owned(), position, detail };
            let text: Option<Value> = self.ask(question).await?;
            let raw = text.and_then(|text| to_raw_value(&text).ok());
            let data: MimeBundle =
                raw.map(|raw| ("text/plain".to_owned(), Arc::from(raw))).into_iter().collect();
            Ok(InspectReply { found: !data.is_empty(), data })
        })
    }

    fn is_complete<'a>(&'a self, code: &'a str) -> BoxFuture<'a, Result<Completeness, SandboxError>> {
        Box::pin(async move {
            let (status, indent): (String, String) =
                self.ask(Question::IsComplete { code: code.to_owned() }).await?;
            Ok(match status.as_str() {
                "complete" => Completeness::Complete,
                "incomplete" => Completeness::Incomplete(indent),
                "invalid" => Completeness::Invalid,
                _ => Completeness::Unknown,
            })
        })
    }

    fn history(&self, count: u32) -> BoxFuture<'_, Result<Vec<HistoryEntry>, SandboxError>> {
        Box::pin(async move {
            let entries: Vec<(i64, i64, String)> = self.ask(Question::History { count }).await?;
            let entry = |(session, line, source)| HistoryEntry { session, line, source };
            Ok(entries.into_iter().map(entry).collect())
        })
    }

    fn reconnect(&self, _now: bool) {
        // the connection to an engine of this computer is not lost
    }

    fn stop(&self, choice: StopChoice, grace: Duration) -> BoxFuture<'_, Result<StopReport, SandboxError>> {
        Box::pin(self.0.stop(choice, grace))
    }
}
