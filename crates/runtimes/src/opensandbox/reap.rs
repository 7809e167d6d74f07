//! Ending a sandbox that was asked for in vain, by the id in its metadata.

use std::time::Duration;

use sandbook_sandbox::SandboxError;

use super::{api::Lifecycle, model::OURS};
use crate::reap::{InVain, Patience};

/// What a server may have made with one id.
#[derive(Clone)]
pub(super) struct Asked {
    pub(super) lifecycle: Lifecycle,
    pub(super) id: String,
}

impl InVain for Asked {
    /// After half an hour a sandbox ends by its own time.
    const PATIENCE: Patience =
        Patience { pause: Duration::from_millis(500), looks: 4, later: Duration::from_secs(20), times: 90 };

    async fn end_all(&self) -> Result<usize, SandboxError> {
        let found = self.lifecycle.ours(Some(&self.id)).await?;
        for model in &found {
            self.lifecycle.remove(&model.id).await?;
        }
        Ok(found.len())
    }

    fn what(&self) -> String {
        format!("the sandbox with the metadata {OURS}={} at {}", self.id, self.lifecycle.address())
    }
}
