//! Environments and runtimes, as the platform describes them. Two spellings are about, of which the newer one is sent; what
//! is missing is not known, and no reason to give a runtime up that costs something.

use std::time::{Duration, SystemTime};

use sandbook_sandbox::{Amount, Lease, Listed, Offer, Price, PriceSource, Support};
use secrecy::SecretString;
use serde_json::Value;
use url::Url;

use super::settings::Handle;

/// What stands before our own id in the name of a runtime.
const OURS: &str = "sandbook-";
/// What Datalayer sells.
const UNIT: &str = "credits";

/// The name under which a runtime with this id of ours is known to the platform.
pub(super) fn given_name(id: &str) -> String {
    format!("{OURS}{id}")
}

pub(super) fn credits(value: f64) -> Amount {
    Amount::new(value, UNIT)
}

/// An environment: a machine with packages, at a price.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Environment {
    pub(super) name: String,
    title: String,
    about: String,
    /// Credits a second.
    pub(super) rate: f64,
}

impl Environment {
    pub(super) fn read(value: &Value) -> Option<Self> {
        let name = text(value, &["name"])?;
        Some(Self {
            title: text(value, &["title"]).unwrap_or_else(|| name.clone()),
            about: resources(value),
            rate: number(value, &["burning_rate"])?,
            name,
        })
    }

    pub(super) fn offer(&self) -> Offer {
        Offer {
            name: self.name.clone(),
            title: self.title.clone(),
            about: self.about.clone(),
            price: Some(price(self.rate)),
        }
    }
}

fn price(rate: f64) -> Price {
    Price { per_hour: credits(rate * 3_600.0), source: PriceSource::Provider }
}

/// As `1 CPU, 2Gi memory, 1 GPU`.
fn resources(value: &Value) -> String {
    let of = |name: &str| {
        let resource = value.get("resources")?.get(name)?;
        let amount = resource.get("default").or(resource.get("limit")).unwrap_or(resource);
        amount.as_str().map(str::to_owned).or_else(|| amount.as_f64().map(|amount| amount.to_string()))
    };
    let parts = [("cpu", "CPU"), ("memory", "memory"), ("nvidia.com/gpu", "GPU")];
    let parts = parts.iter().filter_map(|(name, word)| Some(format!("{} {word}", of(name)?)));
    parts.collect::<Vec<_>>().join(", ")
}

/// A runtime.
#[derive(Clone)]
pub(super) struct Model {
    pub(super) name: String,
    given_name: String,
    /// Its Jupyter server.
    pub(super) ingress: Option<Url>,
    /// The token of that server.
    pub(super) token: Option<SecretString>,
    pub(super) environment: String,
    /// Credits a second.
    rate: Option<f64>,
    started: Option<SystemTime>,
    expires: Option<SystemTime>,
    limit: Option<f64>,
    state: String,
}

impl Model {
    pub(super) fn read(value: &Value) -> Option<Self> {
        let name = text(value, &["runtime_name", "pod_name"])?;
        let ingress = text(value, &["ingress"]).and_then(|address| {
            let mut url: Url = address.parse().ok()?;
            let path = format!("{}/", url.path().trim_end_matches('/'));
            url.set_path(&path);
            Some(url)
        });
        Some(Self {
            name,
            given_name: text(value, &["given_name"]).unwrap_or_default(),
            ingress,
            token: text(value, &["token"]).map(SecretString::from),
            environment: value
                .pointer("/environment/name")
                .and_then(Value::as_str)
                .map(str::to_owned)
                .or_else(|| text(value, &["environment_name"]))
                .unwrap_or_default(),
            rate: number(value, &["burning_rate"]).filter(|rate| *rate > 0.0),
            started: moment(value, "started_at"),
            expires: moment(value, "expired_at"),
            limit: number(value, &["credits_limit"]).filter(|limit| *limit > 0.0),
            state: text(value, &["state"]).unwrap_or_else(|| "running".into()),
        })
    }

    /// The id of ours that it carries.
    pub(super) fn our_id(&self) -> Option<&str> {
        self.given_name.strip_prefix(OURS)
    }

    pub(super) fn is_called(&self, given_name: &str) -> bool {
        self.given_name == given_name
    }

    /// When it ends: as it is told, or else when its credits are spent.
    fn ends(&self) -> Option<SystemTime> {
        let spent = || {
            let seconds = self.limit? / self.rate?;
            self.started?.checked_add(Duration::try_from_secs_f64(seconds).ok()?)
        };
        self.expires.or_else(spent)
    }

    pub(super) fn lease(&self) -> Lease {
        let whole = || {
            let life = self.ends()?.duration_since(self.started?).ok()?;
            Some(life.as_secs_f64() * self.rate?)
        };
        Lease {
            ends: self.ends(),
            price: self.rate.map(price),
            at_most: self.limit.or_else(whole).map(credits),
            renewable: Support::No("Datalayer sets the end of a runtime when it makes it.".into()),
        }
    }

    pub(super) fn listed(&self) -> Listed {
        let handle = Handle { runtime: self.name.clone(), kernel: None, session: None };
        Listed {
            handle: handle.keep(),
            id: self.our_id().map(str::to_owned),
            title: format!("{}, {}", self.given_name, self.environment),
            state: self.state.clone(),
            connections: None,
            last_activity: None,
        }
    }
}

fn text(value: &Value, names: &[&str]) -> Option<String> {
    let found = names.iter().find_map(|name| value.get(name)?.as_str());
    found.filter(|text| !text.is_empty()).map(str::to_owned)
}

/// A number, which may be written as text.
pub(super) fn number(value: &Value, names: &[&str]) -> Option<f64> {
    let of = |value: &Value| value.as_f64().or_else(|| value.as_str()?.trim().parse().ok());
    names.iter().find_map(|name| of(value.get(name)?)).filter(|number: &f64| number.is_finite())
}

/// Seconds since 1970, or a moment in words.
fn moment(value: &Value, name: &str) -> Option<SystemTime> {
    if let Some(seconds) = number(value, &[name]) {
        let since = Duration::try_from_secs_f64(seconds).ok().filter(|since| !since.is_zero())?;
        return SystemTime::UNIX_EPOCH.checked_add(since);
    }
    let time = text(value, &[name])?.parse::<jiff::Timestamp>().ok()?;
    Some(SystemTime::UNIX_EPOCH + Duration::from_millis(time.as_millisecond().try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn both_spellings_of_a_runtime_are_read() {
        let new = json!({"runtime_name": "a", "given_name": "sandbook-7", "ingress": "https://h/jupyter/server/p/a",
            "token": "t", "environment": {"name": "e"}, "burning_rate": 0.5, "started_at": "100.25", "expired_at": "160"});
        let old = json!({"pod_name": "a", "given_name": "sandbook-7", "ingress": "https://h/jupyter/server/p/a/",
            "token": "t", "environment_name": "e", "burning_rate": "0.5", "started_at": 100.25,
            "expired_at": "1970-01-01T00:02:40Z"});
        for value in [new, old] {
            let model = Model::read(&value).unwrap();
            assert_eq!(
                (model.name.as_str(), model.our_id(), model.environment.as_str()),
                ("a", Some("7"), "e")
            );
            assert_eq!(model.ingress.as_ref().unwrap().as_str(), "https://h/jupyter/server/p/a/");
            let lease = model.lease();
            assert_eq!(lease.ends, Some(at(160)));
            assert_eq!(lease.price.unwrap().per_hour, credits(1_800.0));
            assert_eq!(lease.at_most, Some(credits(29.875)));
        }
    }

    #[test]
    fn the_end_of_a_runtime_follows_from_its_credits_where_it_is_not_told() {
        let value = json!({"runtime_name": "a", "burning_rate": 2, "started_at": "100", "credits_limit": 120, "expired_at": ""});
        assert_eq!(Model::read(&value).unwrap().lease().ends, Some(at(160)));
        let unknown = Model::read(&json!({"runtime_name": "a", "burning_rate": 0})).unwrap().lease();
        assert_eq!((unknown.ends, unknown.price, unknown.at_most), (None, None, None));
        assert!(Model::read(&json!({"given_name": "a"})).is_none(), "one without a name cannot be ended");
    }

    #[test]
    fn an_environment_without_a_price_is_not_offered() {
        let value = json!({"name": "e", "title": "E", "burning_rate": 0.01,
            "resources": {"cpu": {"default": "2"}, "memory": {"default": "4Gi"}, "nvidia.com/gpu": 1}});
        let environment = Environment::read(&value).unwrap();
        assert_eq!(environment.about, "2 CPU, 4Gi memory, 1 GPU");
        assert!(Environment::read(&json!({"name": "e"})).is_none());
    }
}
