//! Positions in a text: pages count UTF-16 units, kernels count Unicode code points.

/// The number of code points before a position in UTF-16 units. A position inside a pair or behind the end is moved
/// to the next place there is.
pub(crate) fn code_points(text: &str, units: u32) -> usize {
    let mut left = units as usize;
    text.chars()
        .take_while(|character| {
            let before = left > 0;
            left = left.saturating_sub(character.len_utf16());
            before
        })
        .count()
}

/// The number of UTF-16 units before a position in code points.
pub(crate) fn utf16_units(text: &str, points: usize) -> u32 {
    let units: usize = text.chars().take(points).map(char::len_utf16).sum();
    u32::try_from(units).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn positions_go_there_and_back(text in "[a😀é\n]{0,20}", at in 0_usize..25) {
            let at = at.min(text.chars().count());
            prop_assert_eq!(code_points(&text, utf16_units(&text, at)), at);
        }
    }

    #[test]
    fn a_position_behind_the_end_is_the_end() {
        assert_eq!(code_points("ab", 99), 2);
        assert_eq!(utf16_units("😀", 9), 2);
    }
}
