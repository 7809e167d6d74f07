//! The files of the page.

use std::path::{Component, Path, PathBuf};

use bytes::Bytes;

/// Where the files of the page come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PageSource {
    /// Out of this program.
    Embedded,
    /// Out of a folder, read again at every request: for work on the page.
    Folder(PathBuf),
}

mod embedded {
    include!(concat!(env!("OUT_DIR"), "/page.rs"));
}

/// A file of the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PageFile {
    pub(crate) media_type: &'static str,
    pub(crate) bytes: Bytes,
    /// Whether its name changes with its content.
    pub(crate) immutable: bool,
}

impl PageSource {
    /// The file under a path without its leading slash; the page itself under the empty one.
    pub(crate) async fn file(&self, path: &str) -> Option<PageFile> {
        let path = if path.is_empty() { "index.html" } else { path };
        let bytes = match self {
            Self::Embedded => embedded::FILES
                .binary_search_by_key(&path, |(name, _)| name)
                .ok()
                .map(|index| Bytes::from_static(embedded::FILES[index].1)),
            Self::Folder(folder) => inside(folder, path).await,
        }?;
        Some(PageFile { media_type: media_type(path), bytes, immutable: path.starts_with("assets/") })
    }
}

/// A file inside a folder. Neither `..` nor a link leads out of it.
async fn inside(folder: &Path, path: &str) -> Option<Bytes> {
    let plain = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    if !plain || path.contains('\\') {
        return None;
    }
    let folder = tokio::fs::canonicalize(folder).await.ok()?;
    let file = tokio::fs::canonicalize(folder.join(path)).await.ok()?;
    if !file.starts_with(&folder) {
        return None;
    }
    tokio::fs::read(file).await.ok().map(Bytes::from)
}

fn media_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, extension)| extension) {
        Some("html") => "text/html; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("json" | "map") => "application/json",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("woff2") => "font/woff2",
        Some("wasm") => "application/wasm",
        Some("txt") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn nothing_outside_the_folder_is_given() {
        let root = tempfile::tempdir().unwrap();
        let page = root.path().join("page");
        std::fs::create_dir_all(page.join("assets")).unwrap();
        std::fs::write(root.path().join("secret"), "secret").unwrap();
        std::fs::write(page.join("index.html"), "page").unwrap();
        std::fs::write(page.join("assets/a.js"), "script").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(root.path().join("secret"), page.join("link")).unwrap();
        let source = PageSource::Folder(page.clone());

        let index = source.file("").await.unwrap();
        assert_eq!((index.media_type, index.immutable), ("text/html; charset=utf-8", false));
        assert!(source.file("assets/a.js").await.unwrap().immutable);
        let absolute = root.path().join("secret").display().to_string();
        for path in
            ["../secret", "assets/../../secret", "..\\secret", "link", &absolute, ".", "assets", "none"]
        {
            assert_eq!(source.file(path).await, None, "{path}");
        }
    }
}
