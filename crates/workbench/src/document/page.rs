//! What one page has of a document, and what it is to be sent next.
//!
//! Changes wait here until the page has credit and the pace allows it: the first few at once, later ones once a frame,
//! in a flood ten times a second. That a run was queued, began or ended may wait for half a frame: what it prints often
//! follows, and a page that draws once shows it sooner than one that draws three times. While changes wait they merge:
//! text is only remembered as changed and is read from the document when the batch is made, so a page that is slow
//! costs nothing. A page that falls too far behind gets the document anew.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use indexmap::IndexMap;
use sandbook_protocol::{CREDIT_WINDOW, CellKey, OutputId, Patch, Push};

use super::text_view::Seen;

/// Time between two batches.
const FRAME: Duration = Duration::from_millis(16);
/// How long changes wait that nobody looks for: less than anybody sees, and most short runs print within it.
const PATIENCE: Duration = Duration::from_millis(8);
/// Time between two batches in a flood.
const FLOOD_FRAME: Duration = Duration::from_millis(100);
/// So many batches may go at once after a pause.
const BURST: u32 = 3;
/// Text at this rate, in bytes a second, is a flood.
const FLOOD_RATE: f64 = 1_000_000.0;
/// More waiting changes than this make a snapshot cheaper.
const MOST_PENDING: usize = 5_000;

/// What a page may be sent now.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub(crate) enum Due {
    /// Nothing waits, or the page has no credit.
    Nothing,
    /// Not before this moment.
    At(Instant),
    /// The whole document.
    Snapshot,
    /// The changes that wait.
    Patches,
}

/// One page's side of a document.
#[derive(Debug)]
pub(crate) struct Page {
    sequence: u32,
    acknowledged: u32,
    snapshot_due: bool,
    pending: Vec<Patch>,
    /// When the changes go that wait, if there is no other reason to wait.
    wanted: Option<Instant>,
    changed_texts: IndexMap<OutputId, CellKey>,
    seen: HashMap<OutputId, Seen>,
    last_sent: Option<Instant>,
    /// Batches that may go before the pace applies.
    allowance: u32,
    text_bytes: usize,
    flood: bool,
}

impl Page {
    /// A page that has nothing yet.
    pub(crate) fn new() -> Self {
        Self {
            sequence: 0,
            acknowledged: 0,
            snapshot_due: true,
            pending: Vec::new(),
            wanted: None,
            changed_texts: IndexMap::new(),
            seen: HashMap::new(),
            last_sent: None,
            allowance: BURST,
            text_bytes: 0,
            flood: false,
        }
    }

    /// A change waits.
    pub(crate) fn push(&mut self, patch: Patch, now: Instant) {
        if self.snapshot_due {
            return;
        }
        self.want(if is_patient(&patch) { now + PATIENCE } else { now });
        if self.pending.len() >= MOST_PENDING {
            self.start_over();
            return;
        }
        match (self.pending.last_mut(), patch) {
            (
                Some(Patch::OutputsAppended { cell: last, outputs }),
                Patch::OutputsAppended { cell, outputs: more },
            ) if *last == cell => outputs.extend(more),
            (Some(Patch::Status { status: last }), Patch::Status { status }) => *last = status,
            (Some(Patch::Queue { queue: last }), Patch::Queue { queue }) => *last = queue,
            (Some(Patch::Run { cell: last, run }), Patch::Run { cell, run: newer }) if *last == cell => {
                *run = newer;
            }
            (_, patch) => self.pending.push(patch),
        }
    }

    fn want(&mut self, moment: Instant) {
        self.wanted = Some(self.wanted.map_or(moment, |known| known.min(moment)));
    }

    /// The text of an output changed by so many bytes.
    pub(crate) fn text_changed(&mut self, cell: &CellKey, output: &OutputId, bytes: usize, now: Instant) {
        if !self.snapshot_due {
            self.want(now);
            self.text_bytes += bytes;
            if !self.changed_texts.contains_key(output) {
                self.changed_texts.insert(output.clone(), cell.clone());
            }
        }
    }

    /// Whatever waits is dropped, and the document is sent anew.
    pub(crate) fn start_over(&mut self) {
        self.pending.clear();
        self.wanted = None;
        self.changed_texts.clear();
        self.seen.clear();
        self.snapshot_due = true;
    }

    /// The page drew a batch.
    pub(crate) fn acknowledge(&mut self, sequence: u32) {
        if sequence <= self.sequence {
            self.acknowledged = self.acknowledged.max(sequence);
        }
    }

    /// What may be sent now.
    pub(crate) fn due(&self, now: Instant) -> Due {
        let waits = self.snapshot_due || !self.pending.is_empty() || !self.changed_texts.is_empty();
        if !waits || self.sequence - self.acknowledged >= CREDIT_WINDOW {
            return Due::Nothing;
        }
        let paced = self.last_sent.filter(|_| self.allowance == 0).map(|last| last + self.pause());
        match paced.max(self.wanted) {
            Some(moment) if moment > now => Due::At(moment),
            _ if self.snapshot_due => Due::Snapshot,
            _ => Due::Patches,
        }
    }

    const fn pause(&self) -> Duration {
        if self.flood { FLOOD_FRAME } else { FRAME }
    }

    /// A batch goes now: what that does to the pace.
    fn sent(&mut self, now: Instant) {
        let rested = self.last_sent.map_or(BURST, |last| {
            let frames = now.duration_since(last).as_millis() / self.pause().as_millis();
            u32::try_from(frames).unwrap_or(BURST)
        });
        self.allowance = (self.allowance + rested).min(BURST).saturating_sub(1);
        if self.flood {
            self.allowance = 0;
        }
        self.last_sent = Some(now);
    }

    /// The snapshot is made. Answers the sequence that it carries.
    pub(crate) fn snapshot_made(&mut self, seen: HashMap<OutputId, Seen>, now: Instant) -> u32 {
        self.snapshot_due = false;
        self.seen = seen;
        self.acknowledged = self.sequence;
        self.sent(now);
        self.sequence
    }

    /// The changes that wait, the texts among them as names, and the sequence of the batch.
    pub(crate) fn take(&mut self, now: Instant) -> (u32, Vec<Patch>, IndexMap<OutputId, CellKey>) {
        self.sequence += 1;
        self.wanted = None;
        let elapsed = self.last_sent.map_or(FLOOD_FRAME, |last| now.duration_since(last)).max(FRAME);
        #[allow(clippy::cast_precision_loss, reason = "a rate needs no exact bytes")]
        let rate = std::mem::take(&mut self.text_bytes) as f64 / elapsed.as_secs_f64();
        self.flood = rate > FLOOD_RATE;
        self.sent(now);
        (self.sequence, std::mem::take(&mut self.pending), std::mem::take(&mut self.changed_texts))
    }

    /// How much of a text the page has.
    pub(crate) fn seen(&mut self, output: &OutputId) -> &mut Seen {
        self.seen.entry(output.clone()).or_default()
    }

    /// Outputs went; what the page had of them does not matter any more.
    pub(crate) fn forget(&mut self, gone: impl Fn(&OutputId) -> bool) {
        self.seen.retain(|output, _| !gone(output));
        self.changed_texts.retain(|output, _| !gone(output));
    }
}

/// Whether nobody looks for this change: it only says how a run stands, or makes room for what it will print.
fn is_patient(patch: &Patch) -> bool {
    match patch {
        Patch::Run { .. } | Patch::Queue { .. } | Patch::Status { .. } | Patch::CellChanged { .. } => true,
        Patch::OutputsReplaced { outputs, .. } => outputs.is_empty(),
        _ => false,
    }
}

/// What a page receives, or when to ask again.
#[derive(Debug)]
pub(crate) enum Take {
    /// Nothing now.
    Nothing,
    /// Nothing before this moment.
    At(Instant),
    /// This.
    Push(Box<Push>),
}

#[cfg(test)]
mod tests {
    use sandbook_protocol::{QueueView, RunView};

    use super::*;

    fn ready(now: Instant) -> Page {
        let mut page = Page::new();
        page.snapshot_made(HashMap::new(), now);
        page
    }

    fn run(cell: &str) -> Patch {
        Patch::Run { cell: cell.into(), run: RunView::default() }
    }

    fn printed(cell: &str) -> Patch {
        Patch::OutputsAppended { cell: cell.into(), outputs: Vec::new() }
    }

    #[test]
    fn the_first_few_changes_go_at_once_and_the_next_wait_for_a_frame() {
        let start = Instant::now();
        let mut page = ready(start);
        let mut now = start + Duration::from_secs(1);
        for change in ["a", "b", "c"] {
            page.push(printed(change), now);
            assert_eq!(page.due(now), Due::Patches, "{change}");
            page.take(now);
            page.acknowledge(page.sequence);
        }
        for change in ["d", "e"] {
            page.push(printed(change), now);
            assert_eq!(page.due(now), Due::At(now + FRAME), "{change}");
            now += FRAME;
            assert_eq!(page.due(now), Due::Patches, "{change}");
            page.take(now);
            page.acknowledge(page.sequence);
        }
    }

    #[test]
    fn how_a_run_stands_waits_for_what_it_prints_and_not_longer_than_half_a_frame() {
        let start = Instant::now();
        let mut page = ready(start);
        let now = start + Duration::from_secs(1);
        page.push(run("a"), now);
        assert_eq!(page.due(now), Due::At(now + PATIENCE));
        page.push(printed("a"), now);
        assert_eq!(page.due(now), Due::Patches);
        assert_eq!(page.take(now).1.len(), 2);

        page.push(run("b"), now);
        page.push(run("c"), now + PATIENCE / 2);
        assert_eq!(page.due(now + PATIENCE / 2), Due::At(now + PATIENCE));
        assert_eq!(page.due(now + PATIENCE), Due::Patches);
    }

    #[test]
    fn a_flood_of_text_slows_the_page_to_ten_batches_a_second() {
        let start = Instant::now();
        let mut page = ready(start);
        let later = start + Duration::from_secs(1);
        page.text_changed(&"c".into(), &"o".into(), 50_000_000, later);
        page.take(later);
        page.text_changed(&"c".into(), &"o".into(), 10, later);
        assert_eq!(page.due(later + FRAME), Due::At(later + FLOOD_FRAME));
    }

    #[test]
    fn a_page_without_credit_gets_nothing_until_it_acknowledges() {
        let start = Instant::now();
        let mut page = ready(start);
        let mut now = start;
        for _ in 0..CREDIT_WINDOW {
            now += Duration::from_secs(1);
            page.push(printed("a"), now);
            assert_eq!(page.due(now), Due::Patches);
            page.take(now);
        }
        page.push(printed("a"), now);
        now += Duration::from_secs(1);
        assert_eq!(page.due(now), Due::Nothing);
        page.acknowledge(1);
        assert_eq!(page.due(now), Due::Patches);
    }

    #[test]
    fn changes_that_wait_merge_and_a_page_too_far_behind_starts_over() {
        let start = Instant::now();
        let mut page = ready(start);
        for _ in 0..10 {
            page.push(Patch::Queue { queue: QueueView::default() }, start);
            page.push(run("a"), start);
            page.push(run("a"), start);
        }
        assert_eq!(page.take(start).1.len(), 20);
        for index in 0..=MOST_PENDING {
            page.push(run(&index.to_string()), start);
        }
        assert_eq!(page.due(start + Duration::from_secs(1)), Due::Snapshot);
    }
}
