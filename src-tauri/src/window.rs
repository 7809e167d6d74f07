//! The window and what its page may not do: it stays where it is, opens no other, and downloads nothing.
//!
//! Nor does it have a network. The page and its outputs come from schemes of our own, so the web view is configured
//! (`proxyUrl`) to ask a proxy that cannot exist for everything else. The policies already refuse what an output tries,
//! but WebKit connects ahead of a navigation that a policy then refuses, and a connection alone can tell something.

use std::path::PathBuf;

use tauri::webview::NewWindowResponse;
use tauri::{AppHandle, Url, WebviewUrl, WebviewWindowBuilder};

use crate::outputs;

/// The name by which the configuration and the capabilities know the window.
pub(crate) const LABEL: &str = "main";

/// Opens the window that the configuration describes, with the page at an address of its own.
pub(crate) fn open(app: &AppHandle, page: PathBuf) -> tauri::Result<()> {
    let configuration = app.config().app.windows.iter().find(|window| window.label == LABEL);
    let mut configuration = configuration.ok_or(tauri::Error::WindowNotFound)?.clone();
    configuration.url = WebviewUrl::App(page);
    let window = WebviewWindowBuilder::from_config(app, &configuration)?
        .on_navigation(is_own)
        .on_new_window(|_, _| NewWindowResponse::Deny)
        .on_download(|_, _| false)
        .on_document_title_changed(|window, title| {
            // The title bar is the system's; a title it does not take is no loss.
            let _ = window.set_title(&title);
        })
        .build()?;
    platform::paint_as_the_machine_can(&window)?;
    platform::show_again_after_a_crash(&window)
}

#[cfg(target_os = "linux")]
mod platform {
    use std::path::Path;

    use tauri::WebviewWindow;
    use webkit2gtk::{HardwareAccelerationPolicy, SettingsExt, WebViewExt};

    /// Has the page painted by the processor where no graphics card could do it: WebKit would have a card imitated in
    /// software, and compile that imitation's programs before the first picture, which takes half a second.
    pub(super) fn paint_as_the_machine_can(window: &WebviewWindow) -> tauri::Result<()> {
        if has_graphics_card(Path::new("/dev")) {
            return Ok(());
        }
        window.with_webview(|view| {
            if let Some(settings) = view.inner().settings() {
                settings.set_hardware_acceleration_policy(HardwareAccelerationPolicy::Never);
            }
        })
    }

    /// Whether there is a card that draws: one of the kernel's own, NVIDIA's, or the one that Windows lends to Linux.
    fn has_graphics_card(devices: &Path) -> bool {
        let draws = |entry: std::fs::DirEntry| entry.file_name().to_string_lossy().starts_with("renderD");
        let own = std::fs::read_dir(devices.join("dri"));
        own.is_ok_and(|entries| entries.flatten().any(draws))
            || ["nvidia0", "dxg"].iter().any(|name| devices.join(name).exists())
    }

    /// Loads the page anew when the process that draws it has died. The owner still holds everything it showed.
    pub(super) fn show_again_after_a_crash(window: &WebviewWindow) -> tauri::Result<()> {
        window.with_webview(|view| {
            view.inner().connect_web_process_terminated(|view, _| view.reload());
        })
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_card_is_one_that_draws_and_not_one_that_only_shows() {
            let devices = tempfile::tempdir().unwrap();
            assert!(!has_graphics_card(devices.path()));
            std::fs::create_dir(devices.path().join("dri")).unwrap();
            std::fs::write(devices.path().join("dri/card0"), "").unwrap();
            assert!(!has_graphics_card(devices.path()));
            std::fs::write(devices.path().join("dri/renderD128"), "").unwrap();
            assert!(has_graphics_card(devices.path()));
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod platform {
    use tauri::WebviewWindow;

    /// The web views of other systems see to it themselves.
    #[allow(clippy::unnecessary_wraps, reason = "the other platform's can fail")]
    pub(super) fn paint_as_the_machine_can(_window: &WebviewWindow) -> tauri::Result<()> {
        Ok(())
    }

    /// Not done here: after such a crash the window has to be closed and opened again.
    #[allow(clippy::unnecessary_wraps, reason = "the other platform's can fail")]
    pub(super) fn show_again_after_a_crash(_window: &WebviewWindow) -> tauri::Result<()> {
        Ok(())
    }
}

/// Whether an address is the page's own or an output's. Systems spell custom schemes differently.
fn is_own(address: &Url) -> bool {
    let scheme = address.scheme();
    let host = address.host_str().unwrap_or_default();
    match scheme {
        "tauri" | outputs::SCHEME => host == "localhost",
        "http" | "https" => host == "tauri.localhost" || host == outputs::HOST_ELSEWHERE,
        "about" => true,
        _ => false,
    }
}

/// Opens a web page in the person's browser.
#[tauri::command]
pub(crate) fn open_external(url: &str) -> Result<(), String> {
    let address = Url::parse(url).map_err(|_| format!("{url} is not an address."))?;
    if !is_web_page(&address) {
        return Err(
            "Only web pages are opened outside Sandbook: addresses that begin with https or http.".into()
        );
    }
    open::that_detached(address.as_str())
        .map_err(|error| format!("The browser could not be started: {error}."))
}

/// Whether an address may leave the window.
fn is_web_page(address: &Url) -> bool {
    matches!(address.scheme(), "http" | "https") && address.host().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn the_page_goes_nowhere_else() {
        for own in
            ["tauri://localhost/", "out://localhost/abc#dark", "about:srcdoc", "http://tauri.localhost/"]
        {
            assert!(is_own(&url(own)), "{own}");
        }
        for other in [
            "https://example.org/",
            "http://127.0.0.1:8888/",
            "file:///etc/passwd",
            "data:text/html,x",
            "tauri://other/",
        ] {
            assert!(!is_own(&url(other)), "{other}");
        }
    }

    #[test]
    fn only_web_pages_leave_the_window() {
        assert!(is_web_page(&url("https://example.org/a?b#c")));
        for other in
            ["javascript:alert(1)", "file:///etc/passwd", "mailto:a@b.c", "vscode://x", "data:text/html,x"]
        {
            assert!(!is_web_page(&url(other)), "{other}");
        }
    }
}
