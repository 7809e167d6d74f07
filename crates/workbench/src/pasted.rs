//! x
#[derive(Debug, Default)]
pub(crate) struct PastedTexts;
