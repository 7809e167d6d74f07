//! The page that says what every runtime does: `docs/runtimes.md`.

use std::{fmt::Write as _, path::PathBuf};

use crate::{Table, places, themes};

const HEAD: &str = "\
# Runtimes

What every runtime must do, and where one cannot. Each row is a scenario of `tests/conformance`, written once against the
contract and run in every place; `yes` means that it passes there, `no` that it is refused for the reason of that number below.
Where it says “as there”, a long run asks it, and the gate only in the place whose way it goes. This page is made by that test.
";

/// Where the page is.
pub fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/runtimes.md")
}

/// The page as it has to be.
pub fn page(table: &Table) -> String {
    let mut page = HEAD.to_owned();
    let mut reasons: Vec<&str> = Vec::new();
    page.push_str("\n| place | what it is |\n| --- | --- |\n");
    for place in places::ALL {
        let _ = write!(page, "| {} | {}", place.title, place.about);
        if let Some((_, other)) = place.only {
            let title =
                places::ALL.iter().find(|place| place.name == other).map_or(other, |place| place.title);
            let _ = write!(page, "; where it says “as there”, its kernel is that of “{title}”");
        }
        page.push_str(" |\n");
    }
    for theme in themes::ALL {
        let titles: Vec<&str> = places::ALL.iter().map(|place| place.title).collect();
        let _ = writeln!(page, "\n## {}\n\n| | {} |", theme.name, titles.join(" | "));
        let _ = writeln!(page, "| --- |{}", " --- |".repeat(titles.len()));
        for scenario in theme.scenarios {
            let cells = places::ALL.iter().map(|place| match table.exception(place, scenario.name) {
                None if !place.differs(theme) => "as there".to_owned(),
                None => "yes".to_owned(),
                Some(reason) => {
                    let known = reasons.iter().position(|known| *known == reason);
                    let number = known.unwrap_or_else(|| {
                        reasons.push(reason);
                        reasons.len() - 1
                    });
                    format!("no ({})", number + 1)
                }
            });
            let _ = writeln!(
                page,
                "| {} | {} |",
                scenario.name.replace('_', " "),
                cells.collect::<Vec<_>>().join(" | ")
            );
        }
    }
    page.push_str("\n## Reasons\n\n");
    for (number, reason) in reasons.iter().enumerate() {
        let _ = writeln!(page, "{}. {reason}", number + 1);
    }
    page
}
