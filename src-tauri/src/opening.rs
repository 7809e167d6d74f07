//! Notebooks that the page shall open: the one this program was started with, and those of later starts.
//!
//! The first stands in the page's own address, as in web mode, so that the page knows of it before it has drawn
//! anything. Later ones wait here until a page is there to be told. It learns of them as it would from the owner, by
//! the same push.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use sandbook_protocol::{Push, ServerMessage};
use tauri::{AppHandle, Manager, Url};
use tokio::sync::Notify;

/// The page's address, with the notebook that it shall open first.
pub(crate) fn address(notebook: Option<&Path>) -> PathBuf {
    let mut page = PathBuf::from("index.html");
    if let (Some(notebook), Ok(mut root)) = (notebook, Url::parse("tauri://localhost/")) {
        root.query_pairs_mut().append_pair("open", &whole(notebook));
        page.set_file_name(format!("index.html?{}", root.query().unwrap_or_default()));
    }
    page
}

/// The notebook's path as every other program writes it.
fn whole(notebook: &Path) -> String {
    notebook.canonicalize().unwrap_or_else(|_| notebook.to_path_buf()).to_string_lossy().into_owned()
}

/// The notebooks that no page was told of yet.
#[derive(Default)]
pub(crate) struct Opening {
    paths: Mutex<Vec<String>>,
    asked: Notify,
}

impl Opening {
    /// Asks for a notebook.
    pub(crate) fn ask_for(&self, path: &Path) {
        self.paths.lock().unwrap_or_else(PoisonError::into_inner).push(whole(path));
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

    #[test]
    fn the_page_s_address_names_the_first_notebook_whatever_its_path_holds() {
        assert_eq!(address(None), Path::new("index.html"));
        let odd = address(Some(Path::new("/nowhere/a b&c#d?é.ipynb")));
        assert_eq!(odd, Path::new("index.html?open=%2Fnowhere%2Fa+b%26c%23d%3F%C3%A9.ipynb"));
    }

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
