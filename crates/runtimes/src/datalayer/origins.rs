//! Where a platform is: Datalayer's own cloud, or an installation of it.

use url::Url;

use sandbook_sandbox::{Problem, SandboxError, SecretUrl};

use super::settings::DatalayerSettings;
use crate::paste::is_plain_http_elsewhere;

/// The address of the cloud's accounts, and the one that stands for all of it.
pub const CLOUD: &str = "https://prod1.datalayer.run/";
/// Where the cloud's runtimes are.
const CLOUD_RUNTIMES: &str = "https://r1.datalayer.run/";
/// The environment that Datalayer's own clients take.
const ENVIRONMENT: &str = "ai-agents-env";

/// What holds where the settings say nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Defaults {
    /// The platform; Datalayer's own cloud if absent.
    pub run_url: Option<String>,
    /// The environment; the one that Datalayer's own clients take if absent.
    pub environment: Option<String>,
}

/// The addresses of a platform.
#[derive(Debug, Clone)]
pub(super) struct Origins {
    /// Accounts and credits.
    pub(super) accounts: Url,
    /// Environments and runtimes.
    pub(super) runtimes: Url,
}

impl Defaults {
    /// By the variables of this process.
    pub fn of_process() -> Self {
        let of = |name| std::env::var(name).ok().map(|text| text.trim().to_owned());
        let of = |name| of(name).filter(|text| !text.is_empty());
        Self { run_url: of("DATALAYER_RUN_URL"), environment: of("DATALAYER_ENVIRONMENT") }
    }

    pub(super) fn environment<'a>(&'a self, settings: &'a DatalayerSettings) -> &'a str {
        settings.environment.as_deref().or(self.environment.as_deref()).unwrap_or(ENVIRONMENT)
    }

    /// The platform of these settings. Its key goes there, so it has to be encrypted unless it is this computer.
    pub(super) fn origins(&self, settings: &DatalayerSettings) -> Result<Origins, SandboxError> {
        let (given, name) = match (&settings.run_url, &self.run_url) {
            (Some(url), _) => (url.as_str(), "run_url"),
            (None, Some(url)) => (url.as_str(), "DATALAYER_RUN_URL"),
            (None, None) => (CLOUD, "run_url"),
        };
        let bad = |reason: &str| SandboxError::from(Problem::new(name, reason));
        let mut url: Url = given.parse().map_err(|_| bad("it is no address; write https:// before it"))?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(bad("it is no http or https address"));
        }
        if SecretUrl::new(url.clone()).has_secret() {
            return Err(bad("it holds a secret; give the key as the credential"));
        }
        if is_plain_http_elsewhere(&url) {
            return Err(bad("it is not encrypted, so whoever is in between could read the account's key"));
        }
        // the address of its API, as some have it, means the platform
        let path = url.path().trim_end_matches('/').trim_end_matches("/api").to_owned();
        url.set_path(&format!("{path}/"));
        url.set_query(None);
        url.set_fragment(None);
        let is_cloud = [CLOUD, CLOUD_RUNTIMES].contains(&url.as_str());
        let of_cloud = |address: &str| address.parse().map_err(|_| bad("it is no address"));
        if is_cloud {
            return Ok(Origins { accounts: of_cloud(CLOUD)?, runtimes: of_cloud(CLOUD_RUNTIMES)? });
        }
        Ok(Origins { accounts: url.clone(), runtimes: url })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origins(setting: Option<&str>, variable: Option<&str>) -> Result<(String, String), String> {
        let defaults = Defaults { run_url: variable.map(str::to_owned), environment: None };
        let settings =
            DatalayerSettings { run_url: setting.map(str::to_owned), ..DatalayerSettings::default() };
        let origins = defaults.origins(&settings).map_err(|error| error.to_string())?;
        Ok((origins.accounts.to_string(), origins.runtimes.to_string()))
    }

    #[test]
    fn the_cloud_has_two_addresses_and_an_installation_one() {
        let cloud = Ok((CLOUD.to_owned(), CLOUD_RUNTIMES.to_owned()));
        assert_eq!(origins(None, None), cloud);
        assert_eq!(origins(Some("https://r1.datalayer.run/api"), None), cloud);
        let own = |url: &str| Ok((url.to_owned(), url.to_owned()));
        assert_eq!(origins(None, Some("https://run.example.org")), own("https://run.example.org/"));
        assert_eq!(origins(Some("https://a.b/x/api/"), Some("https://c.d")), own("https://a.b/x/"));
        assert_eq!(origins(Some("http://127.0.0.1:99"), None), own("http://127.0.0.1:99/"));
    }

    #[test]
    fn an_address_to_which_no_key_may_go_is_refused_by_the_name_of_where_it_stands() {
        for bad in
            ["", "run.example.org", "ftp://a.b/", "http://a.b/", "https://me:pw@a.b/", "https://a.b/?token=x"]
        {
            assert!(origins(Some(bad), None).unwrap_err().contains("`run_url`"), "{bad}");
            let told = origins(None, Some(bad)).unwrap_err();
            assert!(told.contains("`DATALAYER_RUN_URL`"), "{told}");
        }
    }
}
