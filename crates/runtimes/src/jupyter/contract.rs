//! What a sandbox can be asked, in the words of the contract; the kernel is asked in its own.

use std::time::Duration;

use sandbook_jupyter::{Link, RawJson};
use sandbook_sandbox::{
    BoxFuture, Capabilities, Completeness, CompletionMatch, CompletionReply, CredentialStatus,
    ExecuteRequest, Execution, HistoryEntry, InspectReply, KernelInfo, KernelStatus, Lease, Sandbox,
    SandboxError, SandboxInfo, StopChoice, StopReport,
};
use secrecy::SecretString;
use serde_json::Value;
use tokio::sync::watch;

use super::{
    sandbox::{JupyterSandbox, lock},
    translate,
};

/// How long a kernel may take to say what it is.
const READY_PATIENCE: Duration = Duration::from_mins(1);

impl Sandbox for JupyterSandbox {
    fn info(&self) -> SandboxInfo {
        SandboxInfo { handle: self.0.host.handle(), ..self.0.info.clone() }
    }

    fn capabilities(&self) -> Capabilities {
        self.0.capabilities.clone()
    }

    fn kernel_info(&self) -> BoxFuture<'_, Result<KernelInfo, SandboxError>> {
        Box::pin(async move {
            let info = self.0.client().ready(READY_PATIENCE).await.map_err(|error| self.0.explain(&error))?;
            let language_info = info.language_info.as_ref();
            let details = language_info.map(RawJson::to_value).unwrap_or_default();
            let detail = |name: &str| details.get(name).and_then(Value::as_str).map(str::to_owned);
            Ok(KernelInfo {
                language: info.language(),
                language_version: detail("version").unwrap_or_default(),
                highlighter: detail("pygments_lexer"),
                language_info: language_info.and_then(|raw| raw.as_str()).map(str::to_owned),
                implementation: info.implementation,
                banner: info.banner,
            })
        })
    }

    fn status(&self) -> watch::Receiver<KernelStatus> {
        self.0.status.subscribe()
    }

    fn credential(&self) -> watch::Receiver<CredentialStatus> {
        self.0.credential.subscribe()
    }

    fn renew(&self, credential: SecretString) -> BoxFuture<'_, Result<(), SandboxError>> {
        Box::pin(self.0.renew(credential))
    }

    fn lease(&self) -> Option<Lease> {
        self.0.host.lease()
    }

    fn prolong(&self, life: Duration) -> BoxFuture<'_, Result<(), SandboxError>> {
        let not_here = "Nobody can put off when this sandbox ends.";
        self.0
            .host
            .prolong(life)
            .unwrap_or_else(|| Box::pin(async { Err(SandboxError::Unsupported { reason: not_here.into() }) }))
    }

    fn pause(&self) -> BoxFuture<'_, Result<(), SandboxError>> {
        Box::pin(self.0.pause())
    }

    fn resume(&self) -> BoxFuture<'_, Result<(), SandboxError>> {
        Box::pin(self.0.resume())
    }

    fn execute(&self, request: ExecuteRequest) -> BoxFuture<'_, Result<Execution, SandboxError>> {
        Box::pin(self.0.execute(request))
    }

    fn interrupt(&self) -> BoxFuture<'_, Result<(), SandboxError>> {
        Box::pin(self.0.interrupt())
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
            let reply =
                self.0.client().complete(code, position).await.map_err(|error| self.0.explain(&error))?;
            let kinds = reply.metadata.as_ref().map(RawJson::to_value).unwrap_or_default();
            let kind = |text: &str| {
                let types = kinds.get("_jupyter_types_experimental")?.as_array()?;
                let found =
                    types.iter().find(|entry| entry.get("text").and_then(Value::as_str) == Some(text))?;
                found
                    .get("type")
                    .and_then(Value::as_str)
                    .filter(|kind| *kind != "<unknown>")
                    .map(str::to_owned)
            };
            let matches =
                reply.matches.iter().map(|text| CompletionMatch { text: text.clone(), kind: kind(text) });
            let position = |place: u64| usize::try_from(place).unwrap_or(position);
            Ok(CompletionReply {
                start: position(reply.cursor_start),
                end: position(reply.cursor_end),
                matches: matches.collect(),
            })
        })
    }

    fn inspect<'a>(
        &'a self,
        code: &'a str,
        position: usize,
        detail: u8,
    ) -> BoxFuture<'a, Result<InspectReply, SandboxError>> {
        Box::pin(async move {
            let reply = self
                .0
                .client()
                .inspect(code, position, detail)
                .await
                .map_err(|error| self.0.explain(&error))?;
            Ok(InspectReply { found: reply.found, data: translate::bundle(reply.data) })
        })
    }

    fn is_complete<'a>(&'a self, code: &'a str) -> BoxFuture<'a, Result<Completeness, SandboxError>> {
        Box::pin(async move {
            let reply = self.0.client().is_complete(code).await.map_err(|error| self.0.explain(&error))?;
            Ok(match reply.status.as_str() {
                "complete" => Completeness::Complete,
                "incomplete" => Completeness::Incomplete(reply.indent),
                "invalid" => Completeness::Invalid,
                _ => Completeness::Unknown,
            })
        })
    }

    fn history(&self, count: u32) -> BoxFuture<'_, Result<Vec<HistoryEntry>, SandboxError>> {
        Box::pin(async move {
            let count = usize::try_from(count).unwrap_or(usize::MAX);
            let reply = self.0.client().history(count).await.map_err(|error| self.0.explain(&error))?;
            let number =
                |entry: &Value, index: usize| entry.get(index).and_then(Value::as_i64).unwrap_or_default();
            let places = reply.history.iter().map(RawJson::to_value);
            let entry = |(place, source): (Value, String)| HistoryEntry {
                session: number(&place, 0),
                line: number(&place, 1),
                source,
            };
            Ok(places.zip(reply.sources()).map(entry).collect())
        })
    }

    fn reconnect(&self, now: bool) {
        let mut live = lock(&self.0.live);
        if now {
            if let Some(retry) = &live.retry {
                retry.notify_one();
            }
        } else if matches!(*live.client.link().borrow(), Link::Reconnecting { .. }) {
            live.gone = Some("reconnecting was given up");
            live.client.stop();
        }
    }

    fn stop(&self, choice: StopChoice, grace: Duration) -> BoxFuture<'_, Result<StopReport, SandboxError>> {
        Box::pin(self.0.stop(choice, grace))
    }
}
