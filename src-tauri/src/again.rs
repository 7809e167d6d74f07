//! Starting anew when this start was handed to a window that was just ending.
//!
//! A second start hands its notebook to the window that is open and leaves. A window that crashed or was killed holds its
//! place for a moment longer, on a busy machine for seconds, and takes nothing any more: the start behind it would end in
//! an error, and the person would press again. This does it for them, a bounded number of times.

use std::io;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// How often it is tried. With [`PAUSE`] this is ten seconds.
const MOST: u32 = 50;

/// Time for the other window to be gone.
const PAUSE: Duration = Duration::from_millis(200);

/// Whether a window could not open because the one that was asked to take over the notebook did not answer, and this was
/// not the reason too often already.
pub(crate) fn helps(error: &tauri::Error, starts: u32) -> bool {
    matches!(error, tauri::Error::PluginInitialization(plugin, _) if plugin == "single-instance")
        && starts < MOST
}

/// Waits a moment and becomes this program again, with the same notebook. Returns only when that fails.
pub(crate) fn start(starts: u32, notebook: Option<&Path>) -> io::Error {
    std::thread::sleep(PAUSE);
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(error) => return error,
    };
    let mut command = Command::new(program);
    command.arg(format!("--started-anew={}", starts + 1)).args(notebook);
    platform::become_it(command)
}

#[cfg(unix)]
mod platform {
    use std::os::unix::process::CommandExt;

    pub(super) fn become_it(mut command: std::process::Command) -> std::io::Error {
        command.exec()
    }
}

#[cfg(not(unix))]
mod platform {
    pub(super) fn become_it(mut command: std::process::Command) -> std::io::Error {
        match command.spawn() {
            Ok(_) => std::process::exit(0),
            Err(error) => error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_window_that_took_nothing_over_is_a_reason_to_start_anew() {
        let said = |plugin: &str| tauri::Error::PluginInitialization(plugin.into(), "no reply".into());
        assert!(helps(&said("single-instance"), 0));
        assert!(!helps(&said("single-instance"), MOST), "not for ever");
        assert!(!helps(&said("window-state"), 0));
        assert!(!helps(&tauri::Error::WebviewNotFound, 0));
    }
}
