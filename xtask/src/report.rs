//! What a run says at its end: one row a step with its time, then the sums.

use std::fmt;
use std::time::{Duration, Instant};

use anyhow::Result;

/// How many checks held.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Tests that passed; a step that is one check counts as one.
    pub(crate) passed: usize,
    /// Tests that failed, or could not run.
    pub(crate) failed: usize,
    /// Those of the passed that failed at first.
    pub(crate) again: usize,
}

impl Counts {
    /// A step that is one check.
    pub(crate) fn one(held: bool) -> Self {
        Self { passed: usize::from(held), failed: usize::from(!held), again: 0 }
    }
}

struct Row {
    part: &'static str,
    step: &'static str,
    counts: Counts,
    took: Duration,
}

/// The steps of a run so far.
#[derive(Default)]
pub(crate) struct Report {
    rows: Vec<Row>,
}

impl Report {
    /// Does one step. A step that could not be done counts as failed and does not stop the others. Returns whether
    /// everything in it held.
    pub(crate) fn step(
        &mut self,
        part: &'static str,
        step: &'static str,
        action: impl FnOnce() -> Result<Counts>,
    ) -> bool {
        println!("\n── {part}: {step}");
        let started = Instant::now();
        let mut counts = action().unwrap_or_else(|error| {
            eprintln!("error: {error:#}");
            Counts::one(false)
        });
        for stray in crate::process::end_strays() {
            eprintln!("error: left running, and ended now: {stray}");
            counts.failed += 1;
        }
        self.rows.push(Row { part, step, counts, took: started.elapsed() });
        counts.failed == 0
    }

    /// Notes a step that cannot be done because an earlier one failed.
    pub(crate) fn unreachable(&mut self, part: &'static str, step: &'static str, reason: &str) {
        println!("\n── {part}: {step}\nerror: not run, {reason}");
        self.rows.push(Row { part, step, counts: Counts::one(false), took: Duration::ZERO });
    }

    /// Whether nothing failed.
    pub(crate) fn is_clean(&self) -> bool {
        self.rows.iter().all(|row| row.counts.failed == 0)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            out,
            "{:<9} {:<22} {:>7} {:>7} {:>7} {:>8}",
            "part", "step", "passed", "again", "failed", "time"
        )?;
        let mut sum = Counts::default();
        for row in &self.rows {
            let Counts { passed, failed, again } = row.counts;
            let took = format!("{}:{:02}", row.took.as_secs() / 60, row.took.as_secs() % 60);
            writeln!(out, "{:<9} {:<22} {passed:>7} {again:>7} {failed:>7} {took:>8}", row.part, row.step)?;
            sum.passed += passed;
            sum.failed += failed;
            sum.again += again;
        }
        if sum.again > 0 {
            writeln!(out, "{} of the passed failed at first and passed when tried again", sum.again)?;
        }
        write!(out, "{} passed, {} failed", sum.passed, sum.failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_sums_over_all_steps() {
        let mut report = Report::default();
        assert!(report.step("rust", "tests", || Ok(Counts { passed: 40, failed: 0, again: 1 })));
        assert!(!report.step("page", "tests", || Ok(Counts { passed: 2, failed: 1, again: 0 })));
        let text = report.to_string();
        assert_eq!(text.lines().last(), Some("42 passed, 1 failed"));
        assert!(text.contains("1 of the passed failed at first"));
        assert!(!report.is_clean());
    }

    #[test]
    fn a_step_that_cannot_be_done_counts_as_failed() {
        let mut report = Report::default();
        assert!(!report.step("window", "tests", || anyhow::bail!("no display")));
        report.unreachable("browser", "tests", "the page was not built");
        assert_eq!(report.to_string().lines().last(), Some("0 passed, 2 failed"));
    }
}
