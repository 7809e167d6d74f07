//! The places where scenarios run.

mod clouds;
mod datalayer;
#[cfg(unix)]
mod docker;
#[cfg(unix)]
mod eval;
mod jupyter;
#[cfg(unix)]
mod modal;
mod monty;
mod opensandbox;

use std::{future::Future, pin::Pin};

use crate::{Stage, Theme};

/// A runtime with settings and what has to be started for it.
pub struct Place {
    /// Its name in the table and in test names.
    pub name: &'static str,
    /// Its column on the page.
    pub title: &'static str,
    /// What it is, in one line.
    pub about: &'static str,
    /// The only themes that the gate asks of it, where the rest goes the way of another place, and that place's name. A long
    /// run asks all.
    pub only: Option<(&'static [&'static str], &'static str)>,
    prepare: fn() -> Pin<Box<dyn Future<Output = Stage> + Send>>,
}

/// All of them.
pub const ALL: &[Place] = &[
    jupyter::LOCAL,
    jupyter::SERVER,
    jupyter::MANAGED,
    #[cfg(unix)]
    eval::PLACE,
    monty::PLACE,
    #[cfg(unix)]
    docker::PLACE,
    clouds::COLAB,
    clouds::KAGGLE,
    datalayer::PLACE,
    #[cfg(unix)]
    modal::PLACE,
    opensandbox::PLACE,
];

impl Place {
    /// Whether a theme is asked of it in this run.
    pub fn asks(&self, theme: &Theme) -> bool {
        std::env::var_os("SANDBOOK_TEST_LONG").is_some() || self.differs(theme)
    }

    /// Whether a theme tells it from other places.
    pub fn differs(&self, theme: &Theme) -> bool {
        self.only.is_none_or(|(themes, _)| themes.contains(&theme.name))
    }

    /// A stage for one scenario.
    pub async fn prepare(&self) -> Stage {
        (self.prepare)().await
    }
}
