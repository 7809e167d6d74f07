//! Reads how many tests passed and failed from a JUnit report, the one format all three test runners write.

use std::path::Path;

use anyhow::{Context, Result};

use crate::report::Counts;

/// Counts the tests of a report file.
pub(crate) fn read(path: &Path) -> Result<Counts> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("the tests ended without their report {}", path.display()))?;
    Ok(count(&text))
}

/// Sums over the suites. The totals at the root are left alone: not every runner writes all of them there.
fn count(report: &str) -> Counts {
    let mut counts = Counts::default();
    for suite in report.split("<testsuite ").skip(1) {
        let head = suite.split('>').next().unwrap_or_default();
        let failed = attribute(head, "failures") + attribute(head, "errors");
        let skipped = attribute(head, "skipped") + attribute(head, "disabled");
        counts.failed += failed;
        counts.passed += attribute(head, "tests").saturating_sub(failed + skipped);
    }
    counts.again = report.split("<testcase ").filter(|case| case.contains("<flaky")).count();
    counts
}

fn attribute(head: &str, name: &str) -> usize {
    let key = format!(" {name}=\"");
    let head = format!(" {head}");
    let value = head.split_once(&key).and_then(|(_, rest)| rest.split('"').next());
    value.and_then(|value| value.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_errors_and_skipped_tests_are_not_passed() {
        let report = r#"<testsuites name="all" tests="9" failures="9">
            <testsuite name="a" tests="4" disabled="1" errors="1" failures="1"><testcase/></testsuite>
            <testsuite tests="3" name="b" failures="0" skipped="1" errors="0"/></testsuites>"#;
        assert_eq!(count(report), Counts { passed: 3, failed: 2, again: 0 });
    }

    #[test]
    fn a_test_that_passed_only_when_tried_again_is_passed_and_said() {
        let report = r#"<testsuites><testsuite name="a" tests="3" failures="0">
            <testcase name="one"><flakyFailure message="late"/><flakyError/></testcase>
            <testcase name="two"/><testcase name="three"><flakyFailure/></testcase></testsuite></testsuites>"#;
        assert_eq!(count(report), Counts { passed: 3, failed: 0, again: 2 });
    }

    #[test]
    fn a_report_without_suites_counts_nothing() {
        assert_eq!(count("<testsuites tests=\"7\"/>"), Counts::default());
    }
}
