//! Every scenario in every place, a test each: `eval::state::variables_are_kept_between_runs`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests stop where something is wrong"
)]

use std::{process::ExitCode, time::Duration};

use libtest_mimic::{Arguments, Failed, Trial};
use sandbook_conformance::{Place, Scenario, Table, page, places, themes};

/// The longest that one scenario may take.
const LONGEST: Duration = Duration::from_secs(150);

fn main() -> ExitCode {
    let mut trials = vec![Trial::test("the_page_is_up_to_date", the_page_is_up_to_date)];
    for place in places::ALL {
        for theme in themes::ALL.iter().filter(|theme| place.asks(theme)) {
            for scenario in theme.scenarios {
                let name = format!("{}::{}::{}", place.name, theme.name.replace(' ', "_"), scenario.name);
                trials.push(Trial::test(name.to_lowercase(), move || judge(place, scenario)));
            }
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn judge(place: &Place, scenario: &Scenario) -> Result<(), Failed> {
    let table = Table::read();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let judged = scenario.judge(place, table.exception(place, scenario.name));
    let judged = runtime.block_on(async { tokio::time::timeout(LONGEST, judged).await });
    runtime.shutdown_timeout(Duration::from_secs(1));
    judged.map_err(|_| format!("it took longer than {LONGEST:?}"))?.map_err(Failed::from)
}

fn the_page_is_up_to_date() -> Result<(), Failed> {
    let wanted = page::page(&Table::read());
    if std::env::var_os("SANDBOOK_WRITE_DOCS").is_some() {
        std::fs::write(page::path(), &wanted)?;
    }
    if std::fs::read_to_string(page::path()).unwrap_or_default() == wanted {
        Ok(())
    } else {
        Err("docs/runtimes.md is not what the scenarios say: run this test with SANDBOOK_WRITE_DOCS=1".into())
    }
}
