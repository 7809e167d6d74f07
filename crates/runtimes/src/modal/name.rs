//! How Modal names a sandbox, and which of its two kinds it is.

/// The letters and digits after `sb-` in the name of a sandbox of the first kind, which alone have graphics cards.
const FIRST_KIND: usize = 22;

/// A sandbox by Modal's names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SandboxName {
    /// The sandbox.
    pub(super) sandbox: String,
    /// What runs in it.
    pub(super) task: String,
}

impl SandboxName {
    pub(super) fn is_of_first_kind(&self) -> bool {
        is_of_first_kind(&self.sandbox)
    }
}

/// Whether a sandbox is of the first kind, whose calls have no `V2` at their end.
pub(super) fn is_of_first_kind(sandbox: &str) -> bool {
    let id = sandbox.strip_prefix("sb-").unwrap_or_default();
    id.len() == FIRST_KIND && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// The name of a call for a sandbox.
pub(super) fn call(name: &str, sandbox: &str) -> String {
    if is_of_first_kind(sandbox) { name.to_owned() } else { format!("{name}V2") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_kinds_are_told_apart_by_their_names() {
        assert!(is_of_first_kind("sb-0123456789abcdefghijkL"));
        assert!(
            !is_of_first_kind("sb-01J9ZZZZZZZZZZZZZZZZZZZZZZ")
                && !is_of_first_kind("im-0123456789abcdefghijkL")
        );
        assert_eq!(call("SandboxWait", "sb-01J9ZZZZZZZZZZZZZZZZZZZZZZ"), "SandboxWaitV2");
    }
}
