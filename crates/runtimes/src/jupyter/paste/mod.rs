//! What a pasted text means.
//!
//! People paste what they have: the line a server printed, an address bar, `jupyter server list`, a channels URL from a
//! browser's tools, the fields of another program's settings. The address is cut down to the server, the token is taken
//! out of it, and nothing that shows the result shows the token. Pure: nothing is looked up or connected to.

mod fields;

use sandbook_sandbox::SecretUrl;
use secrecy::SecretString;
use url::Url;

use self::fields::Fields;

/// Which runtime an address belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// Any Jupyter server.
    Jupyter,
    /// A Google Colab runtime's proxy.
    Colab,
    /// A Kaggle session's proxy.
    Kaggle,
}

impl Provider {
    /// The name of its runtime.
    pub const fn runtime(self) -> &'static str {
        match self {
            Self::Jupyter => "jupyter",
            Self::Colab => "colab",
            Self::Kaggle => "kaggle",
        }
    }
}

/// What a pasted text is.
#[derive(Debug, Clone)]
pub struct Recognised {
    /// Whose it is.
    pub provider: Provider,
    /// The server with its base path, which ends with a slash. Free of the token, but a path may hold a secret.
    pub server: SecretUrl,
    /// The token, taken out of the address.
    pub token: Option<SecretString>,
    /// The kernel that the address names.
    pub kernel_id: Option<String>,
    /// The notebook that the address names, relative to the server's root.
    pub notebook: Option<String>,
    /// The address as it was pasted, with every secret as `***`.
    pub display_url: String,
    /// Whether a user name or password stood in it. They are left out: no Jupyter server takes them.
    pub had_userinfo: bool,
    /// Whether something in it is masked.
    pub is_masked: bool,
}

impl Recognised {
    /// Whether there was a secret in it.
    pub fn has_secret(&self) -> bool {
        self.token.is_some() || self.is_masked
    }

    /// Whether a token would travel unencrypted to another machine.
    pub fn is_plain_http_elsewhere(&self) -> bool {
        let url = self.server.expose();
        url.scheme() == "http" && !is_loopback(url)
    }
}

/// Whether an address is this computer.
pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => {
            name.eq_ignore_ascii_case("localhost") || name.ends_with(".localhost")
        }
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// Why a pasted text is nothing that can be connected to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct NotRecognised {
    /// Stable: `not_a_url`, `not_a_server_url` or `hub_page`.
    pub code: &'static str,
    /// What it is, without quoting a secret.
    pub message: String,
    /// What to paste instead.
    pub hint: &'static str,
}

const NOT_A_URL: NotRecognised = NotRecognised {
    code: "not_a_url",
    message: String::new(),
    hint: "Paste the line that the server printed, such as http://localhost:8888/lab?token=…",
};

/// First path segments of the pages of Jupyter's front ends; what stands before them is the base path.
const PAGES: &[&str] = &[
    "lab",
    "tree",
    "notebooks",
    "edit",
    "view",
    "files",
    "terminals",
    "consoles",
    "doc",
    "api",
    "nbclassic",
    "retro",
    "voila",
    "login",
    "logout",
    "kernelspecs",
    "nbconvert",
];

/// Recognises a pasted text.
pub fn parse_pasted(text: &str) -> Result<Recognised, NotRecognised> {
    let text = text.trim().trim_matches(['"', '\'', '<', '>', '`']).trim();
    if let Some(fields) = Fields::read(text) {
        return fields.recognise();
    }
    let address = find_address(text)
        .ok_or_else(|| NotRecognised { message: "This is no address of a server.".into(), ..NOT_A_URL })?;
    recognise(&address, None)
}

/// The first address in a text: with a scheme anywhere, else a lone `host:port`.
fn find_address(text: &str) -> Option<Url> {
    let words = || text.split(|c: char| c.is_whitespace() || "\"'<>`|".contains(c));
    let with_scheme = words().filter_map(|word| {
        let lower = word.to_ascii_lowercase();
        let start = ["https://", "http://", "wss://", "ws://"]
            .iter()
            .filter_map(|scheme| lower.find(scheme))
            .min()?;
        let word = word.get(start..)?.trim_end_matches([',', ';', ')', ']', '.']);
        Url::parse(word).ok().filter(Url::has_host)
    });
    let usable: Vec<Url> = with_scheme.collect();
    // Servers print a file: address and a host name first; the loopback one always works.
    let best = usable.iter().find(|url| is_loopback(url)).or(usable.first());
    best.cloned().or_else(|| without_scheme(text))
}

fn without_scheme(text: &str) -> Option<Url> {
    if text.contains(char::is_whitespace) || text.contains("://") || text.starts_with(['/', '.', '~', '\\']) {
        return None;
    }
    let host = text.split(['/', '?', '#']).next().unwrap_or_default();
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()) => {
            (name, Some(port))
        }
        _ => (host, None),
    };
    let has_query = text.contains("token=");
    let plausible =
        port.is_some() || name.eq_ignore_ascii_case("localhost") || has_query && name.contains('.');
    if !plausible || name.is_empty() || name.contains(['@', ' ']) {
        return None;
    }
    let scheme = if port == Some("443") { "https" } else { "http" };
    Url::parse(&format!("{scheme}://{text}")).ok().filter(Url::has_host)
}

fn recognise(pasted: &Url, given_token: Option<String>) -> Result<Recognised, NotRecognised> {
    let shown = SecretUrl::new(pasted.clone());
    let (display_url, is_masked) = (shown.masked(), shown.has_secret());
    let mut server = pasted.clone();
    let scheme = match pasted.scheme() {
        "ws" => "http",
        "wss" => "https",
        other => other,
    };
    if server.set_scheme(scheme).is_err() || !matches!(scheme, "http" | "https") {
        return Err(NotRecognised { message: format!("{scheme}: is no address of a server."), ..NOT_A_URL });
    }
    let provider = provider(pasted);
    let token = given_token.or_else(|| token_of(pasted, provider)).filter(|token| !token.is_empty());
    let segments: Vec<&str> = pasted.path().split('/').filter(|segment| !segment.is_empty()).collect();
    let base = base_length(&segments);
    if segments.get(base) == Some(&"hub") && base == 0 {
        return Err(NotRecognised {
            code: "hub_page",
            message: "This is a page of a JupyterHub, not of a server on it.".into(),
            hint: "Start your server there, then paste its address: it has /user/ and your name in it.",
        });
    }
    let (base_segments, page) = segments.split_at(base);
    let path: String = base_segments.iter().flat_map(|segment| ["/", segment]).chain(["/"]).collect();
    server.set_path(&path);
    server.set_query(None);
    server.set_fragment(None);
    let had_userinfo = !server.username().is_empty() || server.password().is_some();
    if had_userinfo && (server.set_username("").is_err() || server.set_password(None).is_err()) {
        return Err(NotRecognised { message: "This address cannot be read.".into(), ..NOT_A_URL });
    }
    let kernel_id = match page {
        ["api", "kernels", id, ..] => Some((*id).to_owned()),
        _ => None,
    };
    Ok(Recognised {
        provider,
        server: SecretUrl::new(server),
        token: token.map(SecretString::from),
        kernel_id,
        notebook: notebook_of(page),
        display_url,
        had_userinfo,
        is_masked,
    })
}

fn provider(url: &Url) -> Provider {
    let host = url.host_str().unwrap_or_default().to_ascii_lowercase();
    let is_in = |domain: &str| host == domain || host.ends_with(&format!(".{domain}"));
    let has_colab_token = url.query_pairs().any(|(name, _)| name == "colab-runtime-proxy-token");
    if has_colab_token || is_in("colab.dev") {
        Provider::Colab
    } else if is_in("jupyter-proxy.kaggle.net") {
        Provider::Kaggle
    } else {
        Provider::Jupyter
    }
}

fn token_of(url: &Url, provider: Provider) -> Option<String> {
    let name = if provider == Provider::Colab { "colab-runtime-proxy-token" } else { "token" };
    let in_query = url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned());
    in_query.or_else(|| {
        let fragment = url.fragment().unwrap_or_default();
        let mut pairs = url::form_urlencoded::parse(fragment.as_bytes());
        pairs.find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
    })
}

/// How many leading segments belong to the server: up to the first page, but a user of a Hub may be called `lab`.
fn base_length(segments: &[&str]) -> usize {
    let start = if segments.first() == Some(&"user") { 2.min(segments.len()) } else { 0 };
    if segments.first() == Some(&"hub") {
        return 0;
    }
    let page = (start..segments.len()).find(|&index| match segments[index] {
        "api" => matches!(
            segments.get(index + 1),
            None | Some(&("kernels" | "sessions" | "status" | "contents" | "kernelspecs"))
        ),
        segment => PAGES.contains(&segment),
    });
    page.unwrap_or(segments.len())
}

#[allow(clippy::unnested_or_patterns, clippy::match_same_arms, clippy::manual_let_else)] // one front end a line
fn notebook_of(page: &[&str]) -> Option<String> {
    let path = match page {
        ["lab", "workspaces", _, "tree", path @ ..] => path,
        ["lab" | "doc" | "retro" | "nbclassic", "tree" | "notebooks", path @ ..] => path,
        ["notebooks" | "tree", path @ ..] => path,
        _ => return None,
    };
    let path = path.join("/");
    let path = percent_decoded(&path);
    path.to_ascii_lowercase().ends_with(".ipynb").then_some(path)
}

fn percent_decoded(text: &str) -> String {
    // form decoding also turns + into a space, which a path means literally
    let guarded = format!("p={}", text.replace('+', "%2B").replace('&', "%26").replace('=', "%3D"));
    let decoded = url::form_urlencoded::parse(guarded.as_bytes()).next().map(|(_, value)| value.into_owned());
    decoded.unwrap_or_else(|| text.to_owned())
}

#[cfg(test)]
mod tests;
