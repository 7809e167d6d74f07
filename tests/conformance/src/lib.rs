//! What every runtime must do, written once against the contract and run for each of them.
//!
//! A [`Scenario`] is a sentence and the code that shows it true; [`themes`] hold them, one file for what belongs
//! together. A [`Place`] is where they run: a runtime with settings and what has to be started for it. Every scenario
//! must pass in every place, but for the exceptions in `table.toml`, each with its reason: there the contract's
//! refusal must come, in those words. A refusal that is not in the table fails, and so does a scenario that passes though
//! the table says that it cannot.
//!
//! A new runtime is a file in `places`, a line in [`places::ALL`], and its exceptions. `docs/runtimes.md` is made from
//! all of this; the test `the_page_is_up_to_date` compares it, and writes it where `SANDBOOK_WRITE_DOCS` is set.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "tests stop where something is wrong"
)]

/// The scenarios of a theme, by the names of their functions.
macro_rules! theme {
    ($name:literal: $($scenario:ident),+ $(,)?) => {
        /// The theme.
        pub(super) const THEME: $crate::Theme = $crate::Theme {
            name: $name,
            scenarios: &[$($crate::Scenario::new(stringify!($scenario), |stage| Box::pin($scenario(stage)))),+],
        };
    };
}

pub mod live;
pub mod page;
pub mod places;
pub mod stage;
pub mod table;
pub mod themes;

use std::{future::Future, pin::Pin};

use sandbook_sandbox::SandboxError;

pub use self::{live::Live, places::Place, stage::Stage, table::Table};

/// What a scenario came to: it passed, or the runtime refused. What is wrong panics.
pub type Verdict = Result<(), SandboxError>;

/// Something that every runtime must do.
pub struct Scenario {
    /// The sentence, as a name.
    pub name: &'static str,
    run: for<'a> fn(&'a Stage) -> Pin<Box<dyn Future<Output = Verdict> + Send + 'a>>,
}

/// Scenarios that belong together.
pub struct Theme {
    /// What they are about.
    pub name: &'static str,
    /// In the order of the page.
    pub scenarios: &'static [Scenario],
}

impl Scenario {
    /// One, under the name of its function.
    pub const fn new(
        name: &'static str,
        run: for<'a> fn(&'a Stage) -> Pin<Box<dyn Future<Output = Verdict> + Send + 'a>>,
    ) -> Self {
        Self { name, run }
    }

    /// Runs it in a place and compares what it came to with the table; an error says what differs.
    pub async fn judge(&self, place: &Place, exception: Option<&str>) -> Result<(), String> {
        let stage = place.prepare().await;
        let verdict = (self.run)(&stage).await;
        stage.is_left_empty().await?;
        match (verdict, exception) {
            (Ok(()), None) => Ok(()),
            (
                Err(SandboxError::Unsupported { reason } | SandboxError::Setting { reason, .. }),
                Some(expected),
            ) => {
                if reason.contains(expected) {
                    Ok(())
                } else {
                    Err(format!("it refused because “{reason}”, the table says “{expected}”"))
                }
            }
            (Ok(()), Some(expected)) => Err(format!("it passed, though the table says “{expected}”")),
            (Err(error), _) => Err(format!("{}: {error}", error.code())),
        }
    }
}
