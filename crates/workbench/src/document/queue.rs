//! The run queue of a document: pure state, no clock, no kernel.
//!
//! Cells run one after the other in the order in which they were asked for. Each entry holds the source as it was at
//! that moment: a later edit shows the cell as edited, and never changes what runs. A failure holds the rest back
//! until the person continues or clears.

use std::collections::VecDeque;

use sandbook_protocol::{CellKey, QueueView};

/// A cell that was asked to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Which cell.
    pub(crate) cell: CellKey,
    /// Its source at that moment.
    pub(crate) source: String,
    /// The revision of that source.
    pub(crate) revision: u32,
}

/// The queue.
#[derive(Debug, Default)]
pub(crate) struct RunQueue {
    running: Option<Entry>,
    waiting: VecDeque<Entry>,
    held: VecDeque<Entry>,
    held_by: Option<CellKey>,
    /// How many restarts of the kernel are under way.
    restarts: u32,
}

impl RunQueue {
    /// Puts cells at the end. One that waits already takes the newer source and keeps its place. Cells that a failure
    /// held are dropped: the person chose anew. Answers which cells these were.
    pub(crate) fn push(&mut self, entries: impl IntoIterator<Item = Entry>) -> Vec<CellKey> {
        let dropped = std::mem::take(&mut self.held);
        self.held_by = None;
        for entry in entries {
            match self.waiting.iter_mut().find(|waiting| waiting.cell == entry.cell) {
                Some(waiting) => *waiting = entry,
                None => self.waiting.push_back(entry),
            }
        }
        dropped.into_iter().map(|entry| entry.cell).collect()
    }

    /// The next cell to run, if none runs. It counts as running from now on.
    pub(crate) fn start_next(&mut self) -> Option<Entry> {
        if self.running.is_some() || self.is_restarting() {
            return None;
        }
        self.running = self.waiting.pop_front();
        self.running.clone()
    }

    /// The running cell ended. Where it failed, the cells behind it are held.
    pub(crate) fn end(&mut self, failed: bool) -> Option<Entry> {
        if failed {
            self.hold();
        }
        self.running.take()
    }

    /// Holds what waits behind the running cell.
    pub(crate) fn hold(&mut self) {
        if !self.waiting.is_empty() {
            self.held.append(&mut self.waiting);
            self.held_by = self.running.as_ref().map(|entry| entry.cell.clone());
        }
    }

    /// The kernel is being restarted: nothing starts until [`Self::restart_is_over`], what is asked for meanwhile waits.
    pub(crate) fn restart_begins(&mut self) {
        self.restarts += 1;
    }

    /// A restart ended, whether it came to it or not.
    pub(crate) fn restart_is_over(&mut self) {
        self.restarts = self.restarts.saturating_sub(1);
    }

    /// Whether the kernel is being restarted.
    pub(crate) const fn is_restarting(&self) -> bool {
        self.restarts > 0
    }

    /// Goes on with what was held.
    pub(crate) fn resume(&mut self) {
        let mut held = std::mem::take(&mut self.held);
        held.append(&mut self.waiting);
        self.waiting = held;
        self.held_by = None;
    }

    /// Drops all that waits or is held. Answers which cells these were.
    pub(crate) fn clear(&mut self) -> Vec<CellKey> {
        self.held_by = None;
        self.waiting.drain(..).chain(self.held.drain(..)).map(|entry| entry.cell).collect()
    }

    /// Drops cells that do not exist any more. The running one goes on.
    pub(crate) fn forget(&mut self, cells: &[CellKey]) {
        self.waiting.retain(|entry| !cells.contains(&entry.cell));
        self.held.retain(|entry| !cells.contains(&entry.cell));
        if self.held.is_empty() {
            self.held_by = None;
        }
    }

    /// The running cell.
    pub(crate) const fn running(&self) -> Option<&Entry> {
        self.running.as_ref()
    }

    /// Whether nothing runs and nothing waits.
    pub(crate) fn is_idle(&self) -> bool {
        self.running.is_none() && self.waiting.is_empty()
    }

    /// The place of a waiting cell, from 1.
    pub(crate) fn place(&self, cell: &CellKey) -> Option<u32> {
        let index = self.waiting.iter().position(|entry| entry.cell == *cell)?;
        u32::try_from(index + 1).ok()
    }

    /// Whether a cell is held.
    pub(crate) fn is_held(&self, cell: &CellKey) -> bool {
        self.held.iter().any(|entry| entry.cell == *cell)
    }

    /// Every cell that waits or is held.
    pub(crate) fn pending(&self) -> impl Iterator<Item = &CellKey> {
        self.waiting.iter().chain(&self.held).map(|entry| &entry.cell)
    }

    /// What a page sees.
    pub(crate) fn view(&self) -> QueueView {
        let keys = |entries: &VecDeque<Entry>| entries.iter().map(|entry| entry.cell.clone()).collect();
        QueueView {
            running: self.running.as_ref().map(|entry| entry.cell.clone()),
            waiting: keys(&self.waiting),
            held: keys(&self.held),
            held_by: self.held_by.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(cell: &str, source: &str) -> Entry {
        Entry { cell: cell.into(), source: source.into(), revision: 1 }
    }

    fn keys(keys: &[CellKey]) -> Vec<&str> {
        keys.iter().map(CellKey::as_str).collect()
    }

    #[test]
    fn what_is_asked_for_during_a_restart_waits_for_its_end() {
        let mut queue = RunQueue::default();
        queue.push([entry("a", "1")]);
        queue.start_next();
        queue.restart_begins();
        queue.push([entry("b", "2")]);
        queue.end(false);
        assert_eq!(queue.start_next(), None, "there is no kernel yet");
        queue.restart_is_over();
        assert_eq!(queue.start_next().unwrap().cell.as_str(), "b");
    }

    #[test]
    fn cells_run_in_the_order_in_which_they_were_asked_for() {
        let mut queue = RunQueue::default();
        queue.push([entry("a", "1"), entry("b", "2")]);
        assert_eq!(queue.start_next().unwrap().cell.as_str(), "a");
        assert_eq!(queue.start_next(), None, "one at a time");
        queue.end(false);
        assert_eq!(queue.start_next().unwrap().cell.as_str(), "b");
    }

    #[test]
    fn a_cell_asked_for_twice_keeps_its_place_and_takes_the_newer_source() {
        let mut queue = RunQueue::default();
        queue.push([entry("a", "old"), entry("b", "2")]);
        queue.push([entry("a", "new")]);
        assert_eq!(keys(&queue.view().waiting), ["a", "b"]);
        assert_eq!(queue.start_next().unwrap().source, "new");
    }

    #[test]
    fn a_failure_holds_the_rest_until_continue_or_clear() {
        let mut queue = RunQueue::default();
        queue.push([entry("a", ""), entry("b", ""), entry("c", "")]);
        queue.start_next();
        queue.end(true);
        assert_eq!(queue.start_next(), None);
        assert_eq!(keys(&queue.view().held), ["b", "c"]);
        assert_eq!(queue.view().held_by.unwrap().as_str(), "a");
        queue.resume();
        assert_eq!(queue.start_next().unwrap().cell.as_str(), "b");
        queue.end(true);
        assert_eq!(keys(&queue.clear()), ["c"]);
        assert!(queue.is_idle());
    }

    #[test]
    fn what_is_held_while_a_cell_runs_stays_held_when_it_ends_well() {
        let mut queue = RunQueue::default();
        queue.push([entry("a", ""), entry("b", "")]);
        queue.start_next();
        queue.hold();
        queue.end(false);
        assert_eq!(queue.start_next(), None);
        assert_eq!(queue.view().held_by.unwrap().as_str(), "a");
        queue.resume();
        assert_eq!(queue.start_next().unwrap().cell.as_str(), "b");
    }

    #[test]
    fn running_another_cell_drops_what_was_held() {
        let mut queue = RunQueue::default();
        queue.push([entry("a", ""), entry("b", "")]);
        queue.start_next();
        queue.end(true);
        queue.push([entry("z", "")]);
        assert_eq!(keys(&queue.view().waiting), ["z"]);
        assert!(queue.view().held.is_empty());
    }

    #[test]
    fn deleted_cells_leave_the_queue() {
        let mut queue = RunQueue::default();
        queue.push([entry("a", ""), entry("b", "")]);
        queue.forget(&["a".into()]);
        assert_eq!(queue.place(&"b".into()), Some(1));
        assert_eq!(queue.start_next().unwrap().cell.as_str(), "b");
    }
}
