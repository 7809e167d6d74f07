//! Which lines changed since somebody last looked.
//!
//! Every view of a stream keeps a [`Mark`]. What is needed from the past is only, for each mark, the first line
//! that changed after it, so records that a later, lower change covers are dropped. Past 64 records the oldest
//! two become one, which can only report a line too many.

use std::collections::VecDeque;

const RECORDS: usize = 64;

/// A moment in the life of a stream, made by [`StreamText::mark`](super::StreamText::mark).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark(u64);

#[derive(Debug, Default)]
pub(super) struct Changes {
    now: u64,
    /// `(moment, line)`: both strictly increasing.
    records: VecDeque<(u64, usize)>,
}

impl Changes {
    /// Line `line`, and perhaps any after it, changed.
    pub(super) fn note(&mut self, line: usize) {
        while let Some(&(moment, first_line)) = self.records.back() {
            if first_line < line {
                if moment == self.now {
                    return;
                }
                break;
            }
            self.records.pop_back();
        }
        self.records.push_back((self.now, line));
        if self.records.len() > RECORDS
            && let (Some((_, line)), Some(second)) = (self.records.pop_front(), self.records.front_mut())
        {
            second.1 = line;
        }
    }

    pub(super) fn mark(&mut self) -> Mark {
        self.now += 1;
        Mark(self.now)
    }

    pub(super) fn first_since(&self, mark: Mark) -> Option<usize> {
        self.records.iter().find(|(moment, _)| *moment >= mark.0).map(|&(_, line)| line)
    }
}
