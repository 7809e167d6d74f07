//! What Enter does: run what was typed, or begin another line.

use sandbook_sandbox::Completeness;

/// The words that are not code.
pub(super) const WORDS: [&str; 4] = [":exit", ":quit", ":help", ":restart"];

/// How far the next line is indented where a kernel does not say it.
const STEP: &str = "    ";

/// What Enter does.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum AtEnter {
    /// The text is run.
    Run,
    /// A line begins, indented by this.
    Line(String),
}

/// What Enter does in a text with the cursor at a byte. `ask` asks the kernel whether a text is complete.
///
/// A block goes on until an empty line, also for kernels that call it complete after its first line: otherwise no second
/// line could be typed. Where a kernel cannot tell, the shape of the text says whether more has to come, and an empty
/// line always ends it.
pub(super) fn at_enter(text: &str, cursor: usize, ask: impl FnOnce(&str) -> Completeness) -> AtEnter {
    let typed = text.trim();
    if typed.is_empty() || WORDS.contains(&typed) {
        return AtEnter::Run;
    }
    let has_lines = text.contains('\n');
    if has_lines && text.get(cursor..).is_some_and(|rest| !rest.trim().is_empty()) {
        return AtEnter::Line(String::new());
    }
    let last = text.rsplit('\n').next().unwrap_or_default();
    let indent = &last[..last.len() - last.trim_start().len()];
    let ends_with_empty = has_lines && last.trim().is_empty();
    match ask(text) {
        Completeness::Incomplete(indent) => AtEnter::Line(indent),
        _ if ends_with_empty => AtEnter::Run,
        Completeness::Complete if !indent.is_empty() && opens_block(text) => AtEnter::Line(indent.to_owned()),
        Completeness::Unknown if opens_block(last) => AtEnter::Line(format!("{indent}{STEP}")),
        Completeness::Unknown if !indent.is_empty() || is_open(text) => AtEnter::Line(indent.to_owned()),
        _ => AtEnter::Run,
    }
}

/// Whether a line of it ends as one that opens a block does.
fn opens_block(text: &str) -> bool {
    text.lines().any(|line| line.trim_end().ends_with(':'))
}

/// Whether a bracket or a line is left open.
fn is_open(text: &str) -> bool {
    let count = |of: &[char]| text.chars().filter(|c| of.contains(c)).count();
    count(&['(', '[', '{']) > count(&[')', ']', '}']) || text.trim_end_matches(' ').ends_with('\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enter(text: &str, kernel: Completeness) -> AtEnter {
        at_enter(text, text.len(), |_| kernel)
    }

    fn line(indent: &str) -> AtEnter {
        AtEnter::Line(indent.into())
    }

    #[test]
    fn what_a_kernel_calls_complete_is_run_and_what_lacks_something_gets_a_line() {
        assert_eq!(enter("1 + 1", Completeness::Complete), AtEnter::Run);
        assert_eq!(enter("1 +* 1", Completeness::Invalid), AtEnter::Run);
        assert_eq!(enter("if x:", Completeness::Incomplete("  ".into())), line("  "));
        assert_eq!(enter("f(\n    ", Completeness::Incomplete(String::new())), line(""));
        assert_eq!(enter("if x:\n    y\n    ", Completeness::Complete), AtEnter::Run);
    }

    #[test]
    fn a_block_goes_on_until_an_empty_line_whatever_a_kernel_says() {
        assert_eq!(enter("if x:\n    y", Completeness::Complete), line("    "));
        assert_eq!(enter("x = [\n    1]", Completeness::Complete), AtEnter::Run);
        assert_eq!(enter("if x: y", Completeness::Complete), AtEnter::Run);
    }

    #[test]
    fn where_a_kernel_cannot_tell_the_shape_of_the_text_does() {
        for (text, expected) in [
            ("1", AtEnter::Run),
            ("def f():", line("    ")),
            ("def f():\n    if x:", line("        ")),
            ("def f():\n    return 1", line("    ")),
            ("def f():\n    return 1\n    ", AtEnter::Run),
            ("x = (1,", line("")),
            ("x = (1,\n", AtEnter::Run),
            ("a \\", line("")),
        ] {
            assert_eq!(enter(text, Completeness::Unknown), expected, "{text:?}");
        }
    }

    #[test]
    fn words_and_nothing_are_never_asked_about_and_enter_inside_a_text_breaks_the_line() {
        let never = |_: &str| -> Completeness { panic!("the kernel was asked") };
        for text in ["", "  ", ":exit", " :help "] {
            assert_eq!(at_enter(text, text.len(), never), AtEnter::Run);
        }
        assert_eq!(at_enter("a\nb", 1, never), line(""));
    }
}
