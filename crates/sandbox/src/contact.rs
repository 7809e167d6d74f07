//! A first contact with a place, step by step: what answered as expected and what did not. Looking starts nothing and
//! changes nothing.

use std::sync::Arc;

use crate::{Readiness, SandboxError};

/// What a step came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finding {
    /// It answered as expected.
    AsExpected,
    /// It answered, but not as expected; the way on is open.
    Differs,
    /// It failed.
    Failed,
    /// It was not tried.
    Skipped,
}

/// One step. Nothing in it is a secret; addresses are masked.
#[derive(Debug, Clone)]
pub struct Check {
    /// Its name, such as `address` or `credential`.
    pub step: &'static str,
    /// What it came to.
    pub finding: Finding,
    /// What was expected, in one line.
    pub expected: String,
    /// What was found, in one line.
    pub found: String,
    /// The error, where there was one.
    pub error: Option<SandboxError>,
}

impl Check {
    /// A step that came to this.
    pub fn new(
        step: &'static str,
        finding: Finding,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        Self { step, finding, expected: expected.into(), found: found.into(), error: None }
    }

    /// A step that ended with an error.
    pub fn failed(step: &'static str, expected: impl Into<String>, error: SandboxError) -> Self {
        let found = error.to_string();
        Self { error: Some(error), ..Self::new(step, Finding::Failed, expected, found) }
    }

    /// What a place says of itself, where it has no closer look to offer.
    pub fn of_readiness(readiness: Readiness) -> Self {
        let (finding, found) = match readiness {
            Readiness::Ready(what) => (Finding::AsExpected, what),
            Readiness::NeedsSetup(why) | Readiness::NeedsCredential(why) | Readiness::NotReachable(why) => {
                (Finding::Failed, why)
            }
        };
        Self::new("readiness", finding, "it can be used", found)
    }
}

/// Takes in each step when it is done. It never blocks.
#[derive(Clone)]
pub struct Checks(Arc<dyn Fn(Check) + Send + Sync>);

impl Checks {
    /// Hands every step to a function.
    pub fn new(take: impl Fn(Check) + Send + Sync + 'static) -> Self {
        Self(Arc::new(take))
    }

    /// Takes one in.
    pub fn take(&self, check: Check) {
        (self.0)(check);
    }
}

impl std::fmt::Debug for Checks {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Checks")
    }
}
