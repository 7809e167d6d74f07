//! Notebooks that the page shall open: the one this program was started with, and those of later starts.
//!
//! They wait here until a page is there to be told. The page learns of them as it would from the owner, by the same
//! push, so it has one way to open a notebook from outside.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use sandbook_protocol::{Push, ServerMessage};
use tauri::{AppHandle, Manager};
use tokio::sync::Notify;

/// The notebooks that no page was told of yet.
#[derive(Default)]
pub(crate) struct Opening {
    paths: Mutex<Vec<String>>,
    asked: Notify,
}

impl Opening {
    /// Asks for a notebook.
    pub(crate) fn ask_for(&self, path: &Path) {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        let path = path.to_string_lossy().into_owned();
        self.paths.lock().unwrap_or_else(PoisonError::into_inner).push(path);
        self.asked.notify_one();
    }

    /// Waits until something was asked for, and gives the messages that tell a page.
    pub(crate) async fn next(&self) -> Vec<ServerMessage> {
        loop {
            let paths = std::mem::take(&mut *self.paths.lock().unwrap_or_else(PoisonError::into_inner));
            if !paths.is_empty() {
                return paths.into_iter().map(told).collect();
            }
            self.asked.notified().await;
        }
    }
}

fn told(path: String) -> ServerMessage {
    ServerMessage::Push { push: Box::new(Push::OpenRequested { path }) }
}

/// A second start of this program: shows the window and takes over the notebook.
#[allow(clippy::needless_pass_by_value, reason = "the plugin hands them over by value")]
pub(crate) fn second_start(app: &AppHandle, words: Vec<String>, folder: String) {
    if let Some(notebook) = words.into_iter().skip(1).find(|word| !word.starts_with('-')) {
        app.state::<Opening>().ask_for(&Path::new(&folder).join(notebook));
    }
    if let Some(window) = app.get_webview_window(crate::window::LABEL) {
        // A window that cannot be raised still opens the notebook.
        let _ = window.unminimize();
        let _ = window.set_focus();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_was_asked_for_before_a_page_was_there_is_told_once() {
        let opening = Opening::default();
        opening.ask_for(Path::new("/nowhere/a.ipynb"));
        opening.ask_for(Path::new("/nowhere/b.ipynb"));
        let told = serde_json::to_value(opening.next().await).unwrap();
        assert_eq!(told[0]["push"]["path"], "/nowhere/a.ipynb");
        assert_eq!(told[1]["push"]["path"], "/nowhere/b.ipynb");
        let again = tokio::time::timeout(std::time::Duration::from_millis(50), opening.next()).await;
        assert!(again.is_err(), "nothing more was asked for");
    }
}
