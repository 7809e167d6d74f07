//! Which known name somebody may have meant.

/// The known name closest to `name`, if it is close enough to be a slip.
pub(super) fn nearest(name: &str, known: impl IntoIterator<Item = &'static str>) -> Option<&'static str> {
    let limit = (name.chars().count() / 3).max(2);
    let folded = fold(name);
    known
        .into_iter()
        .map(|candidate| (distance(&folded, &fold(candidate)), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Case and the choice of word separator are no difference.
fn fold(name: &str) -> Vec<char> {
    name.chars().filter(|character| !"-_ ".contains(*character)).flat_map(char::to_lowercase).collect()
}

/// How many characters must be added, removed, replaced or swapped with their neighbour.
fn distance(one: &[char], two: &[char]) -> usize {
    let mut before = vec![0; two.len() + 1];
    let mut last: Vec<usize> = (0..=two.len()).collect();
    for (row, first) in one.iter().enumerate() {
        let mut next = vec![row + 1];
        for (column, second) in two.iter().enumerate() {
            let replaced = last[column] + usize::from(first != second);
            let mut cost = replaced.min(last[column + 1] + 1).min(next[column] + 1);
            if row > 0 && column > 0 && *first == two[column - 1] && one[row - 1] == *second {
                cost = cost.min(before[column - 1] + 1);
            }
            next.push(cost);
        }
        before = std::mem::replace(&mut last, next);
    }
    last.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_recognised_and_another_word_is_not() {
        let known = ["font_size", "theme", "line_numbers"];
        for (name, expected) in [
            ("fontsize", Some("font_size")),
            ("Font-Size", Some("font_size")),
            ("font_szie", Some("font_size")),
            ("tehme", Some("theme")),
            ("colour", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(nearest(name, known), expected, "{name}");
        }
    }
}
