//! The fields of another program's settings, as `AutoGen`'s `JupyterConnectionInfo`.

use serde_json::Value;
use url::Url;

use super::{
    NOT_A_URL, NotRecognised,
    address::{Recognised, recognise},
};

/// Host, port and token by name.
#[derive(Default)]
pub(super) struct Fields {
    host: Option<String>,
    port: Option<u16>,
    https: bool,
    token: Option<String>,
}

impl Fields {
    /// From JSON, from `name=value` in a constructor call, or from `name: value` lines. `None` unless there is a host.
    pub(super) fn read(text: &str) -> Option<Self> {
        let mut fields = Self::default();
        if let Ok(Value::Object(object)) = serde_json::from_str(text) {
            for (name, value) in object {
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                fields.set(&name, &value);
            }
        } else {
            let inner = text
                .split_once('(')
                .and_then(|(_, rest)| rest.rsplit_once(')'))
                .map_or(text, |(inner, _)| inner);
            let inner = inner.trim().trim_start_matches('{').trim_end_matches('}');
            for pair in inner.split([',', '\n', ';']) {
                let (name, value) = pair.split_once(['=', ':'])?;
                fields.set(name, value);
            }
        }
        fields.host.is_some().then_some(fields)
    }

    fn set(&mut self, name: &str, value: &str) {
        let clean = |text: &str| text.trim().trim_matches(['"', '\'']).trim().to_owned();
        let value = clean(value);
        if value.is_empty() || value == "None" || value == "null" {
            return;
        }
        match clean(name).to_ascii_lowercase().as_str() {
            "host" | "hostname" | "ip" => self.host = Some(value),
            "port" => self.port = value.parse().ok(),
            "https" | "use_https" | "secure" | "ssl" => {
                self.https = matches!(value.to_ascii_lowercase().as_str(), "true" | "1" | "yes");
            }
            "token" => self.token = Some(value),
            _ => {}
        }
    }

    pub(super) fn recognise(self) -> Result<Recognised, NotRecognised> {
        let host = self.host.unwrap_or_default();
        let scheme = if self.https { "https" } else { "http" };
        let host = if host.contains("://") { host } else { format!("{scheme}://{host}") };
        let not_a_host = || NotRecognised { message: "The field `host` holds no host.".into(), ..NOT_A_URL };
        let mut url = Url::parse(&host).ok().filter(Url::has_host).ok_or_else(not_a_host)?;
        if self.port.is_some() && url.set_port(self.port).is_err() {
            return Err(not_a_host());
        }
        recognise(&url, self.token)
    }
}
