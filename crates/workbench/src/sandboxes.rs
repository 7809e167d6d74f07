//! The live sandboxes that the owner holds.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::SystemTime,
};

use sandbook_protocol::{
    Capability, CapabilityState, ConnectionId, DocumentId, KernelState, PillState, RuntimeKind, SandboxId,
    SandboxView,
};
use sandbook_sandbox::{KernelInfo, KernelStatus, Sandbox, Support};
use tokio::sync::watch;

use crate::{clouds, lease, runtimes::label, time::millis};

/// One live sandbox and what the owner knows about it.
pub(crate) struct LiveSandbox {
    pub(crate) id: SandboxId,
    pub(crate) sandbox: Arc<dyn Sandbox>,
    pub(crate) status: watch::Receiver<KernelStatus>,
    pub(crate) connection: Option<ConnectionId>,
    pub(crate) created_at: SystemTime,
    /// What was chosen to make it, to name it as the last used one.
    pub(crate) display_name: String,
    pub(crate) kernel_info: OnceLock<KernelInfo>,
    kept: AtomicBool,
    documents: Mutex<BTreeSet<DocumentId>>,
    waits_for_input: AtomicBool,
    pill: Mutex<(PillState, u64)>,
}

impl std::fmt::Debug for LiveSandbox {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("LiveSandbox").field("id", &self.id).finish_non_exhaustive()
    }
}

impl LiveSandbox {
    pub(crate) fn new(
        id: SandboxId,
        sandbox: Arc<dyn Sandbox>,
        connection: Option<ConnectionId>,
        display_name: String,
        kept: bool,
        now: SystemTime,
    ) -> Self {
        Self {
            id,
            status: sandbox.status(),
            sandbox,
            connection,
            created_at: now,
            display_name,
            kernel_info: OnceLock::new(),
            kept: AtomicBool::new(kept),
            documents: Mutex::default(),
            waits_for_input: AtomicBool::new(false),
            pill: Mutex::new((PillState::Starting, millis(now))),
        }
    }

    pub(crate) fn kept(&self) -> bool {
        self.kept.load(Ordering::Relaxed)
    }

    pub(crate) fn keep(&self, keep: bool) {
        self.kept.store(keep, Ordering::Relaxed);
    }

    pub(crate) fn waits_for_input(&self, waits: bool) {
        self.waits_for_input.store(waits, Ordering::Relaxed);
    }

    /// A document runs here now.
    pub(crate) fn join(&self, document: &DocumentId) {
        self.documents.lock().unwrap_or_else(PoisonError::into_inner).insert(document.clone());
    }

    /// A document left. Answers whether none is left.
    pub(crate) fn leave(&self, document: &DocumentId) -> bool {
        let mut documents = self.documents.lock().unwrap_or_else(PoisonError::into_inner);
        documents.remove(document);
        documents.is_empty()
    }

    pub(crate) fn documents(&self) -> Vec<DocumentId> {
        self.documents.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// Whether code can be sent to it.
    pub(crate) fn is_usable(&self) -> bool {
        !matches!(
            *self.status.borrow(),
            KernelStatus::Dead(_) | KernelStatus::Gone { .. } | KernelStatus::Stopped
        )
    }

    /// What a page sees.
    pub(crate) fn view(&self, now: SystemTime) -> SandboxView {
        let info = self.sandbox.info();
        let kind = RuntimeKind::named(info.variant).unwrap_or(RuntimeKind::Jupyter);
        let of_server = kind == RuntimeKind::Jupyter && self.connection.is_some();
        let mark = if of_server { "Js" } else { label(kind).1 };
        SandboxView {
            id: self.id.clone(),
            kind,
            mark: mark.into(),
            title: info.title,
            subtitle: info.subtitle,
            connection: self.connection.clone(),
            documents: self.documents(),
            kernel: self.kernel_state(now),
            capabilities: self.sandbox.capabilities().iter().map(capability).collect(),
            created_at: millis(self.created_at),
            owned: info.owned,
            kept: self.kept(),
            working_directory: info.working_directory,
            link: clouds::link(kind, *self.sandbox.credential().borrow()),
            lease: self.sandbox.lease().map(lease::lease),
        }
    }

    fn kernel_state(&self, now: SystemTime) -> KernelState {
        let status = self.status.borrow().clone();
        let state = match &status {
            KernelStatus::Starting => PillState::Starting,
            KernelStatus::Busy if self.waits_for_input.load(Ordering::Relaxed) => PillState::Input,
            KernelStatus::Idle => PillState::Idle,
            KernelStatus::Busy => PillState::Busy,
            KernelStatus::Reconnecting { .. } => PillState::Reconnecting,
            KernelStatus::Refused { .. } => PillState::Expired,
            KernelStatus::Dead(_) | KernelStatus::Gone { .. } => PillState::Died,
            KernelStatus::Paused => PillState::Paused,
            KernelStatus::Stopped => PillState::Stopped,
        };
        let (attempt, next_attempt_at, away_since) = match &status {
            KernelStatus::Reconnecting { since, attempt, next_attempt } => {
                (*attempt, Some(millis(*next_attempt)), Some(millis(*since)))
            }
            KernelStatus::Refused { since } => (0, None, Some(millis(*since))),
            _ => (0, None, None),
        };
        let cause = match &status {
            KernelStatus::Dead(cause) => Some(cause.to_string()),
            KernelStatus::Gone { reason } => Some(reason.clone()),
            KernelStatus::Refused { .. } => Some("the server asks for a fresh link".into()),
            _ => None,
        };
        let info = self.kernel_info.get();
        KernelState {
            state,
            since: away_since.unwrap_or_else(|| self.since(state, now)),
            display_name: self.display_name.clone(),
            language_version: info
                .map(|info| format!("{} {}", capitalised(&info.language), info.language_version)),
            cause,
            attempt,
            next_attempt_at,
        }
    }

    /// Since when the pill shows this state.
    fn since(&self, state: PillState, now: SystemTime) -> u64 {
        let mut pill = self.pill.lock().unwrap_or_else(PoisonError::into_inner);
        if pill.0 != state {
            *pill = (state, millis(now));
        }
        pill.1
    }
}

fn capitalised(word: &str) -> String {
    let mut characters = word.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

pub(crate) fn capability((capability, support): (sandbook_sandbox::Capability, &Support)) -> Capability {
    let (state, note) = match support {
        Support::Yes(note) => (CapabilityState::Yes, note),
        Support::Limited(note) => (CapabilityState::Limited, note),
        Support::No(note) => (CapabilityState::No, note),
    };
    let name = serde_json::to_value(capability).ok().and_then(|name| name.as_str().map(str::to_owned));
    Capability { name: name.unwrap_or_default(), state, note: note.clone() }
}
