//! What every runtime must do, by what it is about.

mod client;
mod create;
mod death;
mod errors;
mod input;
mod interrupt;
mod limits;
mod questions;
mod queue;
mod restart;
mod rich;
mod settings;
mod size;
mod state;
mod stop;
mod text;

use crate::Theme;

/// All of them, in the order of the page.
pub const ALL: &[Theme] = &[
    state::THEME,
    text::THEME,
    rich::THEME,
    errors::THEME,
    input::THEME,
    interrupt::THEME,
    limits::THEME,
    queue::THEME,
    restart::THEME,
    death::THEME,
    size::THEME,
    questions::THEME,
    settings::THEME,
    create::THEME,
    stop::THEME,
    client::THEME,
];
