//! The kinds of places where code runs, as a page sees them: what each is called, and whether it can be used now.
//!
//! A runtime of `sandbook-runtimes` that has a [`RuntimeKind`] is offered with its own settings. What a jupyter runtime
//! has beyond that (kernels that were found, servers) is in `kernels` and `servers`.

use std::{collections::HashMap, path::Path, sync::Mutex};

use sandbook_protocol::{
    Capability, ErrorCode, ProtocolError, Readiness, ReadinessState, RuntimeKind, RuntimeView,
};
use sandbook_runtimes::Runtimes;
use sandbook_sandbox::SandboxSettings;
use serde_json::Value;

use crate::{accounts, kernels::Plan, owner::lock, sandboxes};

/// What a kind is called, and its two letters.
pub(crate) const fn label(kind: RuntimeKind) -> (&'static str, &'static str) {
    match kind {
        RuntimeKind::Jupyter => ("Jupyter kernel", "Jy"),
        RuntimeKind::Eval => ("Plain Python", "Ev"),
        RuntimeKind::Docker => ("Docker container", "Dk"),
        RuntimeKind::Monty => ("Monty", "Mt"),
        RuntimeKind::Colab => ("Google Colab", "Co"),
        RuntimeKind::Kaggle => ("Kaggle", "Ka"),
        RuntimeKind::Datalayer => ("Datalayer", "Dl"),
        RuntimeKind::Opensandbox => ("OpenSandbox", "Os"),
        RuntimeKind::Modal => ("Modal", "Mo"),
    }
}

/// Whether its kernels are those of pages that are open elsewhere: nothing can be started, only a connection joined.
pub(crate) const fn is_reached_by_link(kind: RuntimeKind) -> bool {
    matches!(kind, RuntimeKind::Colab | RuntimeKind::Kaggle)
}

/// The runtimes, and what was found out about them.
pub(crate) struct Offered {
    pub(crate) runtimes: Runtimes,
    readiness: Mutex<HashMap<RuntimeKind, Readiness>>,
}

impl Offered {
    pub(crate) fn new(runtimes: Runtimes) -> Self {
        Self { runtimes, readiness: Mutex::default() }
    }

    /// Asks each whether it can be used in a folder with what it does by itself. The jupyter runtime looks for kernels
    /// instead.
    pub(crate) async fn look(&self, folder: &Path) {
        for (kind, runtime) in self.kinds() {
            let readiness = runtime.readiness(&settings(kind, folder, Value::Null), None).await;
            lock(&self.readiness).insert(kind, self::readiness(readiness));
        }
    }

    /// Whether one could be started now with what it does by itself.
    pub(crate) async fn is_ready(&self, kind: RuntimeKind, folder: &Path) -> bool {
        let Some(runtime) = self.runtimes.get(kind.name()) else { return false };
        let readiness = runtime.readiness(&settings(kind, folder, Value::Null), None).await;
        matches!(readiness, sandbook_sandbox::Readiness::Ready(_))
    }

    /// What a page sees of them.
    pub(crate) fn views(&self, folder: &Path) -> Vec<RuntimeView> {
        let views = self.kinds().map(|(kind, runtime)| {
            let (title, mark) = label(kind);
            let known = lock(&self.readiness).get(&kind).cloned();
            RuntimeView {
                kind,
                title: title.into(),
                mark: mark.into(),
                readiness: known.unwrap_or_else(|| Readiness {
                    state: ReadinessState::Checking,
                    reason: "Looking whether it can be used".into(),
                }),
                isolation: isolation(&*runtime, &settings(kind, folder, Value::Null)),
                kernels: Vec::new(),
            }
        });
        views.collect()
    }

    /// What has to be asked for a new sandbox of a kind.
    pub(crate) fn plan(
        &self,
        kind: RuntimeKind,
        own: Value,
        folder: &Path,
        kept: bool,
    ) -> Result<Plan, ProtocolError> {
        Ok(Plan {
            runtime: self.runtimes.get(kind.name()).ok_or_else(|| not_built(kind))?,
            settings: settings(kind, folder, own),
            credential: None,
            display_name: label(kind).0.into(),
            connection: None,
            kept,
        })
    }

    fn kinds(&self) -> impl Iterator<Item = (RuntimeKind, std::sync::Arc<dyn sandbook_sandbox::Runtime>)> {
        let named = self.runtimes.iter();
        let named =
            named.filter_map(|runtime| Some((RuntimeKind::named(runtime.variant())?, runtime.clone())));
        let elsewhere = |kind| is_reached_by_link(kind) || accounts::is_account(kind);
        named.filter(move |(kind, _)| *kind != RuntimeKind::Jupyter && !elsewhere(*kind))
    }
}

/// How far a runtime keeps its code away from this computer.
pub(crate) fn isolation(
    runtime: &dyn sandbook_sandbox::Runtime,
    settings: &SandboxSettings,
) -> Option<Capability> {
    let capabilities = runtime.capabilities(settings).ok()?;
    let isolation = sandbook_sandbox::Capability::Isolation;
    capabilities.get(isolation).map(|support| sandboxes::capability((isolation, support)))
}

fn settings(kind: RuntimeKind, folder: &Path, own: Value) -> SandboxSettings {
    SandboxSettings {
        working_directory: kind.has_folder(&own).then(|| folder.to_owned()),
        runtime: own,
        ..SandboxSettings::default()
    }
}

pub(crate) fn not_built(kind: RuntimeKind) -> ProtocolError {
    ProtocolError::new(
        ErrorCode::Unsupported,
        format!("This Sandbook was built without the runtime {}.", kind.name()),
        "Choose another one.",
    )
}

/// A runtime's word on whether it can be used, as a page has it.
pub(crate) fn readiness(readiness: sandbook_sandbox::Readiness) -> Readiness {
    let (state, reason) = match readiness {
        sandbook_sandbox::Readiness::Ready(reason) => (ReadinessState::Ready, reason),
        sandbook_sandbox::Readiness::NeedsSetup(reason) => (ReadinessState::NeedsSetup, reason),
        sandbook_sandbox::Readiness::NeedsCredential(reason) => (ReadinessState::NeedsCredential, reason),
        sandbook_sandbox::Readiness::NotReachable(reason) => (ReadinessState::NotReachable, reason),
    };
    Readiness { state, reason }
}
