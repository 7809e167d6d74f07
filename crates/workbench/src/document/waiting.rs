//! What waited in the queue when the owner was killed.
//!
//! The journal knows which cells wait, so that the next owner can say which were not run. It runs none of them: nobody
//! looked at what came before, and code may do things that must not happen twice.

use sandbook_notebook::CellKey;
use sandbook_protocol::RunView;

use super::{
    journal::Entry,
    state::{State, inner},
};

impl State {
    /// Puts on record which cells wait, where that differs from what the journal says.
    pub(super) fn record_waiting(&mut self) {
        let waiting: Vec<CellKey> = self.queue.pending().map(inner).collect();
        if waiting == self.waiting_on_record {
            return;
        }
        match self.journal.append(&Entry::Waiting { cells: waiting.clone() }) {
            Ok(()) => self.waiting_on_record = waiting,
            Err(error) => tracing::warn!(%error, "the run queue was not put on record"),
        }
    }

    /// The cells that an earlier owner did not come to count as not run, and a notice says which they are.
    pub(super) fn tell_not_run(&mut self) {
        self.waiting_on_record.retain(|key| self.notebook.cell(key).is_some());
        for key in &self.waiting_on_record {
            self.runs.insert(key.clone(), RunView::default());
        }
        let places = self.waiting_on_record.iter().filter_map(|key| self.notebook.index(key));
        let mut places: Vec<usize> = places.map(|index| index + 1).collect();
        places.sort_unstable();
        match places.as_slice() {
            [] => {}
            [place] => self.notices.push(format!(
                "Cell {place} waited to be run when Sandbook ended, and was not run. Run it yourself if you still want it."
            )),
            places => self.notices.push(format!(
                "Cells {} waited to be run when Sandbook ended, and were not run. Run them yourself if you still want them.",
                listed(places)
            )),
        }
    }
}

/// `1, 2, 3, 7` as `1 to 3 and 7`.
fn listed(places: &[usize]) -> String {
    let parts: Vec<String> = places
        .chunk_by(|one, next| one + 1 == *next)
        .flat_map(|run| match run {
            [first, _, .., last] => vec![format!("{first} to {last}")],
            few => few.iter().map(ToString::to_string).collect(),
        })
        .collect();
    match parts.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => parts.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_said_as_a_range_where_that_is_shorter() {
        assert_eq!(listed(&[3]), "3");
        assert_eq!(listed(&[3, 4]), "3 and 4");
        assert_eq!(listed(&[3, 4, 5]), "3 to 5");
        assert_eq!(listed(&[1, 3, 4, 5, 9, 10]), "1, 3 to 5, 9 and 10");
    }
}
