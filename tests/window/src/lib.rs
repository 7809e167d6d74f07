//! Drives the real window: the built program in WebKitGTK, through WebKit's own driver.
//!
//! Every [`Window`] has a home of its own (settings, data, runtime folder), so its owner process is its own too and
//! nothing a test does reaches the next one. Deliberately absent: knowledge of the page's insides. A test names what a
//! person sees, by role and text.

mod driver;
mod home;
mod listener;
mod notebook;
mod page;
mod screen;

pub use driver::Driver;
pub use home::Home;
pub use listener::Listener;
pub use notebook::notebook;
pub use page::{Key, Window};
pub use screen::Screen;

/// An environment variable that `cargo xtask test` sets.
///
/// # Errors
/// When the variable is not set, with what to do about it.
pub fn given(name: &str) -> anyhow::Result<std::path::PathBuf> {
    std::env::var_os(name).map(Into::into).ok_or_else(|| {
        anyhow::anyhow!("{name} is not set. Run these tests with `cargo xtask test --only window`")
    })
}
