//! Ending a runtime that was ordered in vain, by the name that the order gave it.

use std::time::Duration;

use sandbook_sandbox::SandboxError;

use super::api::Platform;
use crate::reap::{InVain, Patience};

/// What a platform may have made for one order.
#[derive(Clone)]
pub(super) struct Ordered {
    pub(super) platform: Platform,
    pub(super) given_name: String,
}

impl InVain for Ordered {
    const PATIENCE: Patience =
        Patience { pause: Duration::from_secs(1), looks: 3, later: Duration::from_mins(1), times: 60 };

    async fn end_all(&self) -> Result<usize, SandboxError> {
        let found = self.platform.called(&self.given_name).await?;
        for model in &found {
            self.platform.remove(&model.name).await?;
        }
        Ok(found.len())
    }

    fn what(&self) -> String {
        format!("the Datalayer runtime {}", self.given_name)
    }
}
