//! Tells a replayed message from a new one after a reconnect.
//!
//! Only messages of earlier connections count as seen: some kernels reuse ids, which does no harm while connected.

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
}

impl Delivered {
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
    }
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
