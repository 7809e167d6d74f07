//! The path of a notebook.

/// The path that a text is. Nothing says that it is there.
pub(super) fn path(text: &str) -> Option<String> {
    let path = match text.strip_prefix("file://") {
        // of this computer, whose name may stand there
        Some(rest) => percent_decoded(rest.strip_prefix("localhost").unwrap_or(rest)),
        None if text.contains("://") => return None,
        None => text.replace("\\ ", " "),
    };
    let one_line = !path.contains(['\n', '\r', '\t', '\0', '?', '#']);
    // an address without its scheme has a port before its path
    let is_address = path.split('/').next().is_some_and(|first| {
        first
            .rsplit_once(':')
            .is_some_and(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()) && !port.is_empty())
    });
    let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
    let is_notebook =
        name.len() > 6 && name.get(name.len() - 6..).is_some_and(|end| end.eq_ignore_ascii_case(".ipynb"));
    (is_notebook && one_line && !is_address).then_some(path)
}

/// What `%20` and its like stand for.
pub(super) fn percent_decoded(text: &str) -> String {
    // form decoding also turns + into a space, which a path means literally
    let guarded = format!("p={}", text.replace('+', "%2B").replace('&', "%26").replace('=', "%3D"));
    let decoded = url::form_urlencoded::parse(guarded.as_bytes()).next().map(|(_, value)| value.into_owned());
    decoded.unwrap_or_else(|| text.to_owned())
}
