//! Pages that look like what is wanted and are not: the address bar of a cloud's notebook, a notebook on the web.

use url::Url;

use super::NotRecognised;

const COLAB: &str = "1. In the Colab tab press F12, choose Network, then WS. 2. Run a cell and click the entry that begins with channels. 3. Right-click it, copy its URL, and paste that here.";
const KAGGLE: &str = "1. On the Kaggle page, with its session started, press F12, choose Network, then WS. 2. Run a cell and click the entry that begins with channels. 3. Right-click it, copy its URL, and paste that here.";
const ON_THE_WEB: &str = "Download the notebook and paste the path of the file.";

/// What an address is instead of one that can be connected to.
pub(super) fn instead(address: &Url) -> Option<NotRecognised> {
    let host = address.host_str().unwrap_or_default().to_ascii_lowercase();
    let is_in =
        |domain: &str| host == domain || host.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.'));
    let is_socket = address.path().contains("/api/kernels/") || address.path().starts_with("/tun/m/");
    let page = |whose: &str, hint| NotRecognised {
        code: "page_not_socket",
        message: format!("This is the address of a {whose} page, and its kernel has another one."),
        hint,
    };
    if is_in("colab.research.google.com") || is_in("colab.google") || is_in("colab.google.com") {
        return (!is_socket).then(|| page("Google Colab", COLAB));
    }
    if is_in("kaggle.com") {
        return Some(page("Kaggle", KAGGLE));
    }
    let shows_notebooks =
        ["github.com", "githubusercontent.com", "gitlab.com", "nbviewer.org", "huggingface.co"];
    let names_one = address.path().to_ascii_lowercase().ends_with(".ipynb");
    (names_one && shows_notebooks.into_iter().any(is_in)).then(|| NotRecognised {
        code: "notebook_on_the_web",
        message: "This is a notebook on the web, not a server that runs one.".into(),
        hint: ON_THE_WEB,
    })
}
