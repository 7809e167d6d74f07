//! Which server is meant where nobody says, and what is known of it beforehand: by the variables of OpenSandbox's own tools,
//! and by the file that its server itself reads.
//!
//! A key that is found there goes to the address that it stands beside, and to no other.

use std::{fmt, path::PathBuf};

use sandbook_sandbox::{Problem, SandboxError};
use secrecy::SecretString;
use serde::Deserialize;
use url::Url;

use super::settings::OpenSandboxSettings;
use crate::paste::is_loopback;

/// The server where nothing says otherwise.
const DOMAIN: &str = "localhost:8080";
const PORT: u16 = 8080;
/// All interfaces: where the server listens, and its engine publishes ports, unless its file says otherwise.
const EVERYWHERE: &str = "0.0.0.0";

/// What the process and the person's files say of servers.
#[derive(Debug, Clone, Default)]
pub struct Defaults {
    /// `OPEN_SANDBOX_DOMAIN`.
    pub domain: Option<String>,
    /// `OPEN_SANDBOX_API_KEY`.
    pub key: Option<SecretString>,
    /// The server's own file: `SANDBOX_CONFIG_PATH`, or `~/.sandbox.toml`.
    pub file: Option<PathBuf>,
}

impl Defaults {
    /// Those of this process.
    pub fn of_process() -> Self {
        let text = |name: &str| std::env::var(name).ok().filter(|text| !text.trim().is_empty());
        let home = || std::env::home_dir().map(|home| home.join(".sandbox.toml"));
        Self {
            domain: text("OPEN_SANDBOX_DOMAIN"),
            key: text("OPEN_SANDBOX_API_KEY").map(SecretString::from),
            file: text("SANDBOX_CONFIG_PATH").map(PathBuf::from).or_else(home),
        }
    }

    /// The server's own file, where there is one and it can be read.
    fn described(&self) -> Option<File> {
        let text = std::fs::read_to_string(self.file.as_ref()?).ok()?;
        // its text may hold a key, and so may the parser's word on it
        toml::from_str(&text)
            .inspect_err(|_| tracing::warn!("the file of the OpenSandbox server cannot be read"))
            .ok()
    }

    /// Whether that file is there.
    pub(super) fn has_file(&self) -> bool {
        self.file.as_ref().is_some_and(|file| file.exists())
    }

    /// The server of some settings.
    pub(super) fn place(
        &self,
        settings: &OpenSandboxSettings,
        credential: Option<&SecretString>,
    ) -> Result<Place, SandboxError> {
        let file = self.described();
        let of_file = || file.as_ref().map(|file| format!("localhost:{}", file.server.port.unwrap_or(PORT)));
        let by_itself = self.domain.clone().or_else(of_file).unwrap_or_else(|| DOMAIN.to_owned());
        let url = address(settings.domain.as_deref().unwrap_or(&by_itself))?;
        let file = file.filter(|file| {
            is_loopback(&url) && url.port_or_known_default() == Some(file.server.port.unwrap_or(PORT))
        });
        let of_process =
            || self.key.clone().filter(|_| address(&by_itself).is_ok_and(|by_itself| by_itself == url));
        let of_file = || file.as_ref().and_then(|file| file.server.api_key.clone());
        let key = credential.cloned().or_else(of_process).or_else(of_file);
        Ok(Place { url, key: key.filter(is_a_key), file })
    }
}

fn is_a_key(key: &SecretString) -> bool {
    use secrecy::ExposeSecret as _;
    !key.expose_secret().trim().is_empty()
}

/// A server, with the key that it is shown.
pub(super) struct Place {
    pub(super) url: Url,
    pub(super) key: Option<SecretString>,
    /// Its own file, where it is the one that is described there.
    file: Option<File>,
}

/// What stands in the server's own file and matters here.
#[derive(Default, Deserialize)]
#[serde(default)]
struct File {
    server: ServerPart,
    docker: DockerPart,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ServerPart {
    host: Option<String>,
    port: Option<u16>,
    api_key: Option<SecretString>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct DockerPart {
    network_mode: Option<String>,
    publish_host: Option<String>,
}

impl Place {
    /// One of which nothing more is known.
    pub(super) const fn at(url: Url, key: Option<SecretString>) -> Self {
        Self { url, key, file: None }
    }

    /// Host and port, as a person writes it.
    pub(super) fn domain(&self) -> String {
        let port = self.url.port_or_known_default().unwrap_or(PORT);
        format!("{}:{port}", self.url.host_str().unwrap_or_default())
    }

    /// What lays the server or its sandboxes open, each as a sentence. `is_open` is whether it takes orders without a key.
    pub(super) fn exposures(&self, is_open: bool) -> Vec<String> {
        let mut said = Vec::new();
        let is_here = is_loopback(&self.url);
        let listens = self.file.as_ref().map(|file| file.server.host.as_deref().unwrap_or(EVERYWHERE));
        let is_heard = !is_here || listens.is_some_and(|host| !is_this_computer(host));
        if is_open && is_heard {
            said.push(format!(
                "Whoever reaches {} can run code there: the server has no key. Set api_key in the [server] part of its file.",
                self.domain()
            ));
        } else if is_open {
            said.push("The server has no key: every program on this computer can use it.".into());
        }
        if !is_here && self.url.scheme() == "http" {
            said.push("Key, code and results travel unencrypted to this server.".into());
        }
        let published = self.file.as_ref().map(|file| &file.docker).filter(|docker| {
            docker.network_mode.as_deref() == Some("host")
                || !is_this_computer(docker.publish_host.as_deref().unwrap_or(EVERYWHERE))
        });
        if published.is_some() {
            said.push(
                "Ports of its sandboxes are open to the network around this computer; Sandbook's own tokens guard them. \
                 Set network_mode = \"bridge\" and publish_host = \"127.0.0.1\" in the [docker] part of its file."
                    .into(),
            );
        }
        said
    }
}

fn is_this_computer(host: &str) -> bool {
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

impl fmt::Debug for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Place").field("domain", &self.domain()).finish_non_exhaustive()
    }
}

/// The address that a domain means. One that ends in the API's version means the same without it.
pub(super) fn address(domain: &str) -> Result<Url, SandboxError> {
    let bad = |reason: &str| SandboxError::from(Problem::new("domain", reason));
    let domain = domain.trim();
    let whole = if domain.contains("://") { domain.to_owned() } else { format!("http://{domain}") };
    let mut url = Url::parse(&whole)
        .ok()
        .filter(Url::has_host)
        .ok_or_else(|| bad("it is HOST:PORT, or an address with http or https"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(bad("it is no http or https address"));
    }
    if !url.username().is_empty() || url.password().is_some() || url.query().is_some() {
        return Err(bad("it holds more than an address; give the key as the connection's key"));
    }
    let path = url.path().trim_end_matches('/').trim_end_matches("/v1").to_owned();
    url.set_path(&format!("{path}/"));
    url.set_fragment(None);
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_file(text: &str) -> (tempfile::TempDir, Defaults) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("sandbox.toml");
        std::fs::write(&file, text).unwrap();
        (folder, Defaults { file: Some(file), ..Defaults::default() })
    }

    fn place(defaults: &Defaults, domain: Option<&str>, key: Option<&str>) -> Place {
        let settings =
            OpenSandboxSettings { domain: domain.map(str::to_owned), ..OpenSandboxSettings::default() };
        let key = key.map(|key| SecretString::from(key.to_owned()));
        defaults.place(&settings, key.as_ref()).unwrap()
    }

    fn key(place: &Place) -> Option<&str> {
        place.key.as_ref().map(secrecy::ExposeSecret::expose_secret)
    }

    #[test]
    fn a_domain_is_a_host_with_or_without_its_scheme_and_the_version_of_the_api() {
        for (domain, address) in [
            ("localhost:8080", "http://localhost:8080/"),
            (" sandbox.lan:9000 ", "http://sandbox.lan:9000/"),
            ("https://sandbox.example.org/", "https://sandbox.example.org/"),
            ("http://h:8080/v1/", "http://h:8080/"),
            ("https://h/team/v1", "https://h/team/"),
        ] {
            assert_eq!(super::address(domain).unwrap().as_str(), address, "{domain}");
        }
        for bad in ["", "ftp://h", "http://", "http://me:s3cr3t@h:1", "http://h/?key=s3cr3t"] {
            let error = super::address(bad).unwrap_err();
            assert!(!error.to_string().contains("s3cr3t"), "{error}");
        }
    }

    #[test]
    fn the_server_of_the_file_is_meant_where_nobody_says_and_its_key_goes_to_it_alone() {
        let (_folder, mut defaults) = with_file("[server]\nport = 9123\napi_key = \"of-the-file\"");
        let known = place(&defaults, None, None);
        assert_eq!((known.url.as_str(), key(&known)), ("http://localhost:9123/", Some("of-the-file")));
        assert_eq!(key(&place(&defaults, Some("127.0.0.1:9123"), None)), Some("of-the-file"));
        assert_eq!(key(&place(&defaults, Some("sandbox.lan:9123"), None)), None);
        assert_eq!(key(&place(&defaults, Some("localhost:9124"), None)), None);
        assert_eq!(key(&place(&defaults, None, Some("given"))), Some("given"));
        defaults.domain = Some("sandbox.lan:80".into());
        defaults.key = Some("of-the-process".to_owned().into());
        assert_eq!(key(&place(&defaults, None, None)), Some("of-the-process"));
        assert_eq!(key(&place(&defaults, Some("other.lan:80"), None)), None);
        assert_eq!(place(&Defaults::default(), None, None).url.as_str(), "http://localhost:8080/");
    }

    #[test]
    fn what_lays_a_server_open_is_said() {
        let told = |file: &str, domain: Option<&str>, is_open: bool| {
            let (_folder, defaults) = with_file(file);
            place(&defaults, domain, None).exposures(is_open).len()
        };
        let safe = "[server]\nhost = \"127.0.0.1\"\n[docker]\nnetwork_mode = \"bridge\"\npublish_host = \"127.0.0.1\"";
        assert_eq!(told(safe, None, false), 0);
        assert_eq!(told(safe, None, true), 1, "no key");
        assert_eq!(told("[server]\nhost = \"127.0.0.1\"", None, false), 1, "ports are published everywhere");
        let open = "[docker]\nnetwork_mode = \"bridge\"\npublish_host = \"127.0.0.1\"";
        let (_folder, defaults) = with_file(open);
        let said = place(&defaults, None, None).exposures(true);
        assert!(said.len() == 1 && said[0].contains("Whoever reaches"), "{said:?}");
        assert_eq!(told(safe, Some("sandbox.lan:8080"), true), 2, "no key, and no encryption");
        assert_eq!(told(safe, Some("https://sandbox.lan"), false), 0);
    }
}
