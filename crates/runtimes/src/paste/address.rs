//! Addresses of servers: cut down to the server, with the token taken out.

use sandbook_sandbox::SecretUrl;
use secrecy::SecretString;
use url::Url;

use super::{NOT_A_URL, NotRecognised, notebook::percent_decoded};

/// Which runtime an address belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// Any Jupyter server.
    Jupyter,
    /// A Google Colab runtime's proxy.
    Colab,
    /// A Kaggle session's proxy.
    Kaggle,
    /// An `OpenSandbox` server.
    OpenSandbox,
}

impl Provider {
    /// The name of its runtime.
    pub const fn runtime(self) -> &'static str {
        match self {
            Self::Jupyter => "jupyter",
            Self::Colab => "colab",
            Self::Kaggle => "kaggle",
            Self::OpenSandbox => "opensandbox",
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
        is_plain_http_elsewhere(self.server.expose())
    }
}

/// Whether what goes to an address travels unencrypted to another machine.
pub fn is_plain_http_elsewhere(url: &Url) -> bool {
    url.scheme() == "http" && !is_loopback(url)
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

/// The first address in a text: with a scheme anywhere, else a lone `host:port`.
pub(super) fn find(text: &str) -> Option<Url> {
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

pub(super) fn recognise(pasted: &Url, given_token: Option<String>) -> Result<Recognised, NotRecognised> {
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
    let base = if provider == Provider::OpenSandbox { 0 } else { base_length(&segments) };
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

/// The server of a line as `OPEN_SANDBOX_DOMAIN=localhost:8080`, or of an `opensandbox://` address.
pub(super) fn opensandbox(text: &str) -> Option<Result<Recognised, NotRecognised>> {
    let line = text.strip_prefix("export ").unwrap_or(text);
    let domain = line.strip_prefix("OPEN_SANDBOX_DOMAIN=").or_else(|| line.strip_prefix("opensandbox://"))?;
    let domain = domain.trim_matches(['"', '\'', ' ']);
    let address = if domain.contains("://") { domain.to_owned() } else { format!("http://{domain}") };
    let not_a_host = || NotRecognised { message: "This names no host of a server.".into(), ..NOT_A_URL };
    let Some(url) = Url::parse(&address).ok().filter(Url::has_host) else { return Some(Err(not_a_host())) };
    Some(recognise(&url, None).map(|found| Recognised { provider: Provider::OpenSandbox, ..found }))
}

fn provider(url: &Url) -> Provider {
    let host = url.host_str().unwrap_or_default().to_ascii_lowercase();
    let is_in = |domain: &str| host == domain || host.ends_with(&format!(".{domain}"));
    let has_colab_token = url.query_pairs().any(|(name, _)| name == "colab-runtime-proxy-token");
    if has_colab_token || is_in("colab.dev") {
        Provider::Colab
    } else if is_in("jupyter-proxy.kaggle.net") || is_session_proxy(url) {
        Provider::Kaggle
    } else if is_opensandbox(url) {
        Provider::OpenSandbox
    } else {
        Provider::Jupyter
    }
}

/// Whether a path is one of the life cycle API, which no other server has.
fn is_opensandbox(url: &Url) -> bool {
    let path = url.path().trim_start_matches("/v1");
    path == "/sandboxes" || path.starts_with("/sandboxes/")
}

/// Whether a path is `/k/NUMBER/SECRET/proxy/…`, which no other proxy has.
fn is_session_proxy(url: &Url) -> bool {
    let mut segments = url.path().split('/').skip(1);
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    segments.next() == Some("k")
        && segments.next().is_some_and(is_number)
        && segments.next().is_some_and(|secret| !secret.is_empty())
        && segments.next() == Some("proxy")
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
