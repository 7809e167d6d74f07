//! How long to wait between attempts to reconnect.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(15);

/// The pause before attempt `attempt` (0 is the first, which is made at once): doubling from 250 ms to 15 s, shortened
/// by up to half. `dice` is a random number, so that many clients do not come back together.
pub(super) fn pause(attempt: u32, dice: u32) -> Duration {
    let Some(doublings) = attempt.checked_sub(1) else { return Duration::ZERO };
    let full = FIRST.saturating_mul(1 << doublings.min(16)).min(LONGEST);
    full.mul_f64(1.0 - f64::from(dice) / f64::from(u32::MAX) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_attempt_is_made_at_once_and_the_pauses_grow_to_fifteen_seconds() {
        let pauses: Vec<_> = (0..9).map(|attempt| pause(attempt, 0)).collect();
        assert_eq!(pauses[0], Duration::ZERO);
        assert_eq!(pauses[1], FIRST);
        assert!(pauses.is_sorted());
        assert_eq!(pause(u32::MAX, 0), LONGEST);
    }

    #[test]
    fn chance_shortens_a_pause_by_half_at_most() {
        assert_eq!(pause(9, u32::MAX), LONGEST / 2);
    }
}
