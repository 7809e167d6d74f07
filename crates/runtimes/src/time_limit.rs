//! The time limit of an execution: an interrupt first, then a restart where that was asked for, then the word that it
//! timed out, whether or not the code has ended. State only, but for the waiting.

use std::time::Duration;

use tokio::time::Instant;

/// How long code that was interrupted for its time limit may take to end before its outcome is told without it.
const AFTER_TIMEOUT: Duration = Duration::from_secs(5);

/// What has to be done now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Due {
    /// Interrupt the code.
    Interrupt,
    /// Restart its kernel.
    Restart,
    /// Tell the outcome without the end.
    Outcome,
}

/// Where an execution stands with its time.
#[derive(Debug)]
pub(crate) struct TimeLimit {
    next: Option<(Due, Instant)>,
    restart_after: Option<Duration>,
    reached: bool,
}

impl TimeLimit {
    /// One that counts from now.
    pub(crate) fn new(timeout: Option<Duration>, restart_after: Option<Duration>) -> Self {
        let next = timeout.map(|timeout| (Due::Interrupt, Instant::now() + timeout));
        Self { next, restart_after, reached: false }
    }

    /// Whether the time was up.
    pub(crate) const fn reached(&self) -> bool {
        self.reached
    }

    /// Waits until something has to be done; for ever where nothing has.
    pub(crate) async fn due(&mut self) -> Due {
        let Some((due, at)) = self.next else { return std::future::pending().await };
        tokio::time::sleep_until(at).await;
        self.reached = true;
        self.next = next(due, self.restart_after).map(|(due, pause)| (due, Instant::now() + pause));
        due
    }
}

/// What has to be done after this, and when.
fn next(due: Due, restart_after: Option<Duration>) -> Option<(Due, Duration)> {
    match (due, restart_after) {
        (Due::Interrupt, Some(grace)) => Some((Due::Restart, grace)),
        (Due::Interrupt, None) | (Due::Restart, _) => Some((Due::Outcome, AFTER_TIMEOUT)),
        (Due::Outcome, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupt_comes_first_then_a_restart_where_it_was_asked_for_then_the_outcome() {
        let grace = Duration::from_secs(1);
        assert_eq!(next(Due::Interrupt, Some(grace)), Some((Due::Restart, grace)));
        assert_eq!(next(Due::Interrupt, None), Some((Due::Outcome, AFTER_TIMEOUT)));
        assert_eq!(next(Due::Restart, Some(grace)), Some((Due::Outcome, AFTER_TIMEOUT)));
        assert_eq!(next(Due::Outcome, Some(grace)), None);
    }

    #[tokio::test]
    async fn a_limit_is_reached_when_its_time_is_up_and_never_where_there_is_none() {
        let mut limit = TimeLimit::new(Some(Duration::from_millis(10)), None);
        assert!(!limit.reached());
        assert_eq!((limit.due().await, limit.reached()), (Due::Interrupt, true));
        let mut none = TimeLimit::new(None, Some(Duration::ZERO));
        assert!(tokio::time::timeout(Duration::from_millis(50), none.due()).await.is_err());
    }
}
