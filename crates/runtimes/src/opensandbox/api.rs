//! The life cycle API of a server: making, finding, pausing and ending sandboxes, and where they can be reached.

use std::time::{Duration, SystemTime};

use reqwest::Method;
use sandbook_sandbox::SandboxError;
use secrecy::SecretString;
use serde_json::{Value, json};
use url::Url;

use super::{
    NAME,
    model::{Model, OURS, moment_of, refusal},
    place::Place,
};
use crate::jupyter::{Server, ServerSettings, manner::Manner};

/// Where the server takes its key.
const KEY: &str = "open-sandbox-api-key";
/// The port of execd in each sandbox.
const EXECD: u16 = 44772;
/// How many sandboxes are listed at once, and the most pages that are read.
const PAGE: usize = 200;
const PAGES: usize = 20;
/// How long making one may take: the server may have to pull the image meanwhile.
const MAKING: Duration = Duration::from_mins(10);
const ANSWER: Duration = Duration::from_secs(20);
/// The most that is repeated of a sandbox's last words.
const WORDS: usize = 400;

/// A server that can be asked.
#[derive(Clone)]
pub(super) struct Lifecycle {
    server: Server,
    url: Url,
}

/// What became of an order.
pub(super) enum Order {
    /// The sandbox is there.
    Made(Box<Model>),
    /// There is none: the server said so.
    Refused(SandboxError),
    /// Nobody knows whether there is one.
    Lost(SandboxError),
}

/// Where something in a sandbox is reached.
pub(super) struct Endpoint {
    pub(super) url: Url,
    /// What has to stand in every request.
    pub(super) headers: Vec<(String, SecretString)>,
}

impl Lifecycle {
    pub(super) fn new(place: &Place) -> Result<Self, SandboxError> {
        let settings = ServerSettings::new(place.url.clone());
        let server = Server::with(&settings, place.key.clone(), Manner::key(KEY))?.expecting(NAME);
        Ok(Self { server, url: place.url.clone() })
    }

    /// The address. Nothing secret is in it.
    pub(super) fn address(&self) -> &str {
        self.server.address()
    }

    /// Whether it is shown a key.
    pub(super) fn shows_a_key(&self) -> bool {
        self.server.token.is_some()
    }

    async fn ask(
        &self,
        method: Method,
        path: &[&str],
        query: &[(&str, &str)],
        body: Option<&Value>,
        patience: Duration,
    ) -> Result<Value, SandboxError> {
        let path: Vec<&str> = ["v1", "sandboxes"].iter().chain(path).copied().collect();
        let (status, answer) = self.server.send_below(method, &path, query, body, Some(patience)).await?;
        self.server.check(status)?;
        if status.is_success() { Ok(answer) } else { Err(refusal(status, &answer)) }
    }

    /// One of them; [`SandboxError::Gone`] where there is none.
    pub(super) async fn sandbox(&self, id: &str) -> Result<Model, SandboxError> {
        let answer = self.ask(Method::GET, &[id], &[], None, ANSWER).await?;
        Model::read(&answer).ok_or_else(|| self.server.wrong_peer("its answer names no sandbox"))
    }

    /// Those that Sandbook made: with this id, or all of them.
    pub(super) async fn ours(&self, id: Option<&str>) -> Result<Vec<Model>, SandboxError> {
        let mut found = Vec::new();
        for page in 1..=PAGES {
            let (page, size) = (page.to_string(), PAGE.to_string());
            let filter = id.map(|id| format!("{OURS}={id}"));
            let mut query = vec![("page", page.as_str()), ("pageSize", size.as_str())];
            query.extend(filter.as_deref().map(|filter| ("metadata", filter)));
            let answer = self.ask(Method::GET, &[], &query, None, ANSWER).await?;
            let items = answer.get("items").and_then(Value::as_array);
            let items = items.ok_or_else(|| self.server.wrong_peer("it listed no sandboxes"))?;
            found.extend(items.iter().filter_map(Model::read).filter(|model| match id {
                Some(id) => model.our_id() == Some(id),
                None => model.our_id().is_some(),
            }));
            if answer.pointer("/pagination/hasNextPage") != Some(&Value::Bool(true)) {
                break;
            }
        }
        Ok(found)
    }

    /// Whether address and key are good. Starts nothing.
    pub(super) async fn check(&self) -> Result<(), SandboxError> {
        let answer = self.ask(Method::GET, &[], &[("pageSize", "1")], None, ANSWER).await?;
        let is_one = answer.get("items").is_some_and(Value::is_array);
        is_one.then_some(()).ok_or_else(|| self.server.wrong_peer("it listed no sandboxes"))
    }

    /// Its release, where it says so.
    pub(super) async fn version(&self) -> Option<String> {
        let (_, answer) =
            self.server.send_below(Method::GET, &["version"], &[], None, Some(ANSWER)).await.ok()?;
        answer.get("version").and_then(Value::as_str).map(str::to_owned)
    }

    /// Whether it takes orders of anybody, without a key.
    pub(super) async fn is_open(&self) -> bool {
        if !self.shows_a_key() {
            return self.check().await.is_ok();
        }
        let settings = ServerSettings::new(self.url.clone());
        let Ok(server) = Server::with(&settings, None, Manner::key(KEY)) else { return false };
        Self { server, url: self.url.clone() }.check().await.is_ok()
    }

    /// Gives an order, once.
    pub(super) async fn make(&self, order: &Value) -> Order {
        let path = ["v1", "sandboxes"];
        let sent = self.server.send_below(Method::POST, &path, &[], Some(order), Some(MAKING)).await;
        let (status, answer) = match sent {
            Ok(answered) => answered,
            Err(error @ SandboxError::Certificate { .. }) => return Order::Refused(error),
            Err(error) => return Order::Lost(error),
        };
        if let Err(error) = self.server.check(status) {
            return Order::Refused(error);
        }
        match (status.is_success(), Model::read(&answer)) {
            (true, Some(model)) => Order::Made(Box::new(model)),
            (true, None) => Order::Lost(self.server.wrong_peer("its answer names no sandbox")),
            (false, _) if status.is_server_error() => Order::Lost(refusal(status, &answer)),
            (false, _) => Order::Refused(refusal(status, &answer)),
        }
    }

    /// Ends one. `false` where it was gone already.
    pub(super) async fn remove(&self, id: &str) -> Result<bool, SandboxError> {
        match self.ask(Method::DELETE, &[id], &[], None, ANSWER).await {
            Ok(_) => Ok(true),
            Err(SandboxError::Gone { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn pause(&self, id: &str) -> Result<(), SandboxError> {
        self.ask(Method::POST, &[id, "pause"], &[], None, ANSWER).await.map(drop)
    }

    pub(super) async fn resume(&self, id: &str) -> Result<(), SandboxError> {
        self.ask(Method::POST, &[id, "resume"], &[], None, ANSWER).await.map(drop)
    }

    /// Moves the end of one to a moment. Answers when it is by the server's word.
    pub(super) async fn renew(&self, id: &str, ends: SystemTime) -> Result<SystemTime, SandboxError> {
        let failed = |error: jiff::Error| SandboxError::Failed(error.to_string());
        let moment = jiff::Timestamp::try_from(ends).map_err(failed)?;
        let body = json!({ "expiresAt": moment.to_string() });
        let answer = self.ask(Method::POST, &[id, "renew-expiration"], &[], Some(&body), ANSWER).await?;
        Ok(moment_of(answer.get("expiresAt")).unwrap_or(ends))
    }

    /// Where execd of one is reached, by itself or through the server.
    pub(super) async fn execd(&self, id: &str, through_server: bool) -> Result<Endpoint, SandboxError> {
        let port = EXECD.to_string();
        let through = [("use_server_proxy", if through_server { "true" } else { "false" })];
        let answer = self.ask(Method::GET, &[id, "endpoints", &port], &through, None, ANSWER).await?;
        let endpoint = answer.get("endpoint").and_then(Value::as_str);
        let url = endpoint.and_then(|endpoint| {
            let whole = if endpoint.contains("://") {
                endpoint.to_owned()
            } else {
                format!("{}://{endpoint}", self.url.scheme())
            };
            Url::parse(&whole).ok().filter(Url::has_host)
        });
        let url = url.ok_or_else(|| self.server.wrong_peer("it told no address for the sandbox"))?;
        let headers = answer.get("headers").and_then(Value::as_object).into_iter().flatten();
        let headers = headers
            .filter_map(|(name, value)| Some((name.clone(), SecretString::from(value.as_str()?.to_owned()))));
        Ok(Endpoint { url, headers: headers.collect() })
    }

    /// What one said last, in one line; empty where it said nothing or the server does not tell.
    pub(super) async fn last_words(&self, id: &str) -> String {
        let path = [id, "diagnostics", "logs"];
        let told = self.ask(Method::GET, &path, &[("scope", "container")], None, ANSWER).await;
        let Ok(Value::Object(told)) = told else { return String::new() };
        let text = told.get("content").and_then(Value::as_str).unwrap_or_default();
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let text = lines.join(" ");
        let from = text.char_indices().rev().nth(WORDS - 1).map_or(0, |(index, _)| index);
        text[from..].to_owned()
    }
}

impl std::fmt::Debug for Lifecycle {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Lifecycle").field("address", &self.address()).finish_non_exhaustive()
    }
}
