//! Tells a replayed message from a new one after a reconnect.
//!
//! Only messages of earlier connections count as seen: some kernels reuse ids, which does no harm while connected.
//!
//! A server replays what it could not send, but what it had sent into a line that was cut already is nowhere. Kernels that
//! number their messages (ipykernel and all that are made with `jupyter_client`: session, process, number) show by the first
//! number after a reconnect whether that happened. Where others use the kernel too, answers to them are numbered as well,
//! so this may say that something is missing where nothing is; it never says the opposite of what it knows.

use std::{
    collections::{HashSet, VecDeque, hash_map::RandomState},
    hash::BuildHasher,
};

/// How many of the last messages are remembered; a server replays what it could not send, which is far less.
const REMEMBERED: usize = 20_000;

/// The messages that have been delivered.
#[derive(Default)]
pub(super) struct Delivered {
    hasher: RandomState,
    order: VecDeque<u64>,
    this_connection: usize,
    earlier: HashSet<u64>,
    /// Who numbers the messages, and the highest number that came.
    numbered: Option<(String, u64)>,
    /// Whether the first number after a reconnect is still to come.
    is_first: bool,
}

impl Delivered {
    /// Whether messages are missing between the connection of before and this message, which is a new one.
    pub(super) fn misses(&mut self, msg_id: &str) -> bool {
        let Some((kernel, number)) = numbered(msg_id) else { return false };
        let known = match &mut self.numbered {
            Some((known, highest)) if known == kernel => highest,
            other => {
                // another kernel, or the same after a restart: nothing is known of what came before
                *other = Some((kernel.to_owned(), number));
                self.is_first = false;
                return false;
            }
        };
        if number <= *known {
            return false;
        }
        let is_missed = self.is_first && number > *known + 1;
        (*known, self.is_first) = (number, false);
        is_missed
    }

    /// Notes a message; `false` when an earlier connection delivered it already.
    pub(super) fn is_new(&mut self, msg_id: &str) -> bool {
        if msg_id.is_empty() {
            return true;
        }
        let hash = self.hasher.hash_one(msg_id);
        if self.earlier.contains(&hash) {
            return false;
        }
        self.order.push_back(hash);
        self.this_connection += 1;
        if self.order.len() > REMEMBERED {
            if let Some(old) = self.order.pop_front() {
                self.earlier.remove(&old);
            }
            self.this_connection = self.this_connection.min(self.order.len());
        }
        true
    }

    /// What has been delivered so far now counts as seen.
    pub(super) fn connection_ended(&mut self) {
        let known = self.order.len() - self.this_connection;
        self.earlier.extend(self.order.range(known..));
        self.this_connection = 0;
        self.is_first = self.numbered.is_some();
    }
}

/// A message id of the form `session_process_number`: who numbers, and the number.
fn numbered(msg_id: &str) -> Option<(&str, u64)> {
    let (kernel, number) = msg_id.rsplit_once('_')?;
    let (_, process) = kernel.rsplit_once('_')?;
    process.bytes().all(|byte| byte.is_ascii_digit()).then_some(())?;
    Some((kernel, number.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replayed_message_is_known_and_a_reused_id_within_one_connection_is_not() {
        let mut delivered = Delivered::default();
        assert!(delivered.is_new("a") && delivered.is_new("a"));
        delivered.connection_ended();
        assert!(!delivered.is_new("a") && delivered.is_new("b"));
        delivered.connection_ended();
        assert!(!delivered.is_new("a") && !delivered.is_new("b"));
    }

    #[test]
    fn a_hole_in_the_numbers_across_a_reconnect_is_seen_and_one_elsewhere_is_not() {
        let mut delivered = Delivered::default();
        for number in [4, 5, 9] {
            assert!(!delivered.misses(&format!("a-b_77_{number}")), "answers to others are numbered too");
        }
        delivered.connection_ended();
        assert!(!delivered.misses("a-b_77_8"), "it came late and says nothing");
        assert!(!delivered.misses("a-b_77_10"));
        delivered.connection_ended();
        assert!(delivered.misses("a-b_77_12"));
        assert!(!delivered.misses("a-b_77_20"), "it is said once");
        delivered.connection_ended();
        assert!(!delivered.misses("c-d_78_90"), "the kernel was started again");
    }

    #[test]
    fn ids_without_numbers_tell_nothing_is_missing() {
        let mut delivered = Delivered::default();
        for id in ["", "_", "x_1", "67c0-11", "a_b_c", "a_1_99999999999999999999999"] {
            assert!(!delivered.misses(id), "{id}");
            delivered.connection_ended();
        }
    }

    #[test]
    fn memory_is_bounded() {
        let mut delivered = Delivered::default();
        for id in 0..REMEMBERED * 2 {
            delivered.is_new(&id.to_string());
            if id % 7_000 == 0 {
                delivered.connection_ended();
            }
        }
        assert!(delivered.order.len() <= REMEMBERED && delivered.earlier.len() <= REMEMBERED);
    }
}
