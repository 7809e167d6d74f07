//! The platform's API: what is asked, with the account's key in every request, and what the answers mean.

use std::time::Duration;

use reqwest::{Method, StatusCode};
use sandbook_sandbox::{Problem, SandboxError};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};

use super::{
    NAME,
    model::{Environment, Model, number},
    origins::Origins,
};
use crate::jupyter::{Server, ServerSettings, manner::Manner, said};

/// The most that a platform may ask to be waited for.
const LONGEST_WAIT: Duration = Duration::from_secs(20);

/// A platform with the key of an account.
#[derive(Clone)]
pub(super) struct Platform {
    origins: Origins,
    accounts: Server,
    runtimes: Server,
}

/// A runtime to be made.
#[derive(Debug, Clone)]
pub(super) struct Order {
    /// What it is found by whatever becomes of the answer.
    pub(super) given_name: String,
    pub(super) environment: String,
    /// After how many credits it ends.
    pub(super) limit: f64,
    /// The id of a snapshot to begin with.
    pub(super) snapshot: Option<String>,
}

/// What an order came to.
pub(super) enum Answer {
    Made(Box<Model>),
    /// The platform said no.
    Refused(SandboxError),
    /// It has no room now, and makes nothing. Worth trying again after this time.
    NotNow(SandboxError, Duration),
    /// Nobody knows whether it was made.
    Lost(SandboxError),
}

impl Platform {
    pub(super) fn new(origins: &Origins, key: Option<&SecretString>) -> Result<Self, SandboxError> {
        let key = key.map(|key| SecretString::from(key.expose_secret().trim()));
        let key = key.filter(|key| !key.expose_secret().is_empty());
        let key = key.ok_or_else(|| SandboxError::CredentialMissing { address: NAME.into() })?;
        let server = |url: &url::Url| {
            let settings = ServerSettings::new(url.clone());
            Ok::<_, SandboxError>(
                Server::with(&settings, Some(key.clone()), Manner::bearer())?.expecting("Datalayer"),
            )
        };
        Ok(Self {
            origins: origins.clone(),
            accounts: server(&origins.accounts)?,
            runtimes: server(&origins.runtimes)?,
        })
    }

    /// The same platform with another key.
    pub(super) fn with_key(&self, key: &SecretString) -> Result<Self, SandboxError> {
        Self::new(&self.origins, Some(key))
    }

    /// The platform's address, for people.
    pub(super) fn address(&self) -> &str {
        self.runtimes.address()
    }

    /// Whether an address is in plain http as the platform's own is.
    pub(super) fn is_plain_http(&self) -> bool {
        self.runtimes.address().starts_with("http:")
    }

    /// The credits of the account that nothing is reserved for.
    pub(super) async fn available(&self) -> Result<f64, SandboxError> {
        let (status, answer) =
            self.accounts.call(Method::GET, &["iam", "v1", "usage", "credits"], None).await?;
        let answer = accepted(status, answer)?;
        let has = answer.get("credits").and_then(|of| number(of, &["credits", "available", "remaining"]));
        let has = has.ok_or_else(|| self.accounts.wrong_peer("it told no credits"))?;
        let reservations = answer.get("reservations").and_then(Value::as_array);
        let reserved = reservations.into_iter().flatten().filter_map(|of| number(of, &["credits"]));
        Ok((has - reserved.sum::<f64>()).max(0.0))
    }

    pub(super) async fn environments(&self) -> Result<Vec<Environment>, SandboxError> {
        let answer = self.ask(Method::GET, &["environments"], None).await?;
        let all = answer.get("environments").and_then(Value::as_array);
        let all = all.ok_or_else(|| self.runtimes.wrong_peer("it told no environments"))?;
        Ok(all.iter().filter_map(Environment::read).collect())
    }

    /// All of the account, whoever made them. One that is paused may be missing.
    pub(super) async fn runtimes(&self) -> Result<Vec<Model>, SandboxError> {
        let answer = self.ask(Method::GET, &["runtimes"], None).await?;
        let all = answer.get("runtimes").and_then(Value::as_array);
        let all = all.ok_or_else(|| self.runtimes.wrong_peer("it told no runtimes"))?;
        Ok(all.iter().filter_map(Model::read).collect())
    }

    /// Those that are called so: one, or none, or more where a platform took an order twice.
    pub(super) async fn called(&self, given_name: &str) -> Result<Vec<Model>, SandboxError> {
        let mut all = self.runtimes().await?;
        all.retain(|model| model.is_called(given_name));
        Ok(all)
    }

    /// One by the platform's name; [`SandboxError::Gone`] where there is none.
    pub(super) async fn runtime(&self, name: &str) -> Result<Model, SandboxError> {
        let answer = self.ask(Method::GET, &["runtimes", name], None).await?;
        let model = answer.get("runtime").and_then(Model::read);
        model.ok_or_else(|| self.runtimes.wrong_peer("it told no runtime"))
    }

    /// Ends one. `false` where it was gone already.
    pub(super) async fn remove(&self, name: &str) -> Result<bool, SandboxError> {
        match self.ask(Method::DELETE, &["runtimes", name], None).await {
            Ok(_) => Ok(true),
            Err(SandboxError::Gone { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn pause(&self, name: &str) -> Result<(), SandboxError> {
        self.ask(Method::POST, &["runtimes", name, "pause"], Some(&json!({}))).await.map(drop)
    }

    pub(super) async fn resume(&self, name: &str) -> Result<(), SandboxError> {
        self.ask(Method::POST, &["runtimes", name, "resume"], Some(&json!({}))).await.map(drop)
    }

    /// The id of the snapshot with this name; the newest where several have it.
    pub(super) async fn snapshot(&self, name: &str) -> Result<String, SandboxError> {
        let answer = self.ask(Method::GET, &["sandbox-snapshots"], None).await?;
        let text = |value: &Value, of: &str| value.get(of).and_then(Value::as_str).map(str::to_owned);
        let all = answer.get("snapshots").and_then(Value::as_array).cloned().unwrap_or_default();
        let mut found: Vec<&Value> =
            all.iter().filter(|snapshot| text(snapshot, "name").as_deref() == Some(name)).collect();
        found.sort_by_key(|snapshot| text(snapshot, "updated_at"));
        found.last().and_then(|snapshot| text(snapshot, "uid")).ok_or_else(|| {
            let names: Vec<String> = all.iter().filter_map(|snapshot| text(snapshot, "name")).collect();
            let has = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            Problem::new("snapshot", format!("the account has no snapshot {name}; it has {has}")).into()
        })
    }

    /// Gives an order, once.
    pub(super) async fn make(&self, order: &Order) -> Answer {
        let mut body = json!({
            "type": "notebook",
            "environment": { "name": order.environment },
            "given_name": order.given_name,
            "credits_limit": order.limit,
        });
        if let Some(snapshot) = &order.snapshot {
            body["from"] = snapshot.as_str().into();
        }
        let sent = self.runtimes.send(Method::POST, &["runtimes", "v1", "runtimes"], Some(&body)).await;
        let (status, answer) = match sent {
            Ok(answered) => answered,
            Err(error @ SandboxError::Certificate { .. }) => return Answer::Refused(error),
            // also where something in between answered for the platform: it may have been asked by then
            Err(error) => return Answer::Lost(error),
        };
        let wait =
            number(&answer, &["retry_after_seconds"]).and_then(|wait| Duration::try_from_secs_f64(wait).ok());
        match accepted(status, answer) {
            Ok(answer) => match answer.get("runtime").and_then(Model::read) {
                Some(model) => Answer::Made(Box::new(model)),
                None => Answer::Lost(self.runtimes.wrong_peer("its answer names no runtime")),
            },
            Err(error) if wait.is_some() || status == StatusCode::SERVICE_UNAVAILABLE => {
                Answer::NotNow(error, wait.unwrap_or(Duration::from_secs(1)).min(LONGEST_WAIT))
            }
            Err(error) if status.is_server_error() => Answer::Lost(error),
            Err(_) if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => {
                let address = self.address().to_owned();
                Answer::Refused(SandboxError::Refused { address, status: status.as_u16() })
            }
            Err(SandboxError::Failed(detail)) => {
                Answer::Refused(SandboxError::StartFailed { what: "the Datalayer runtime".into(), detail })
            }
            Err(error) => Answer::Refused(error),
        }
    }

    async fn ask(&self, method: Method, path: &[&str], body: Option<&Value>) -> Result<Value, SandboxError> {
        let path: Vec<&str> = ["runtimes", "v1"].iter().chain(path).copied().collect();
        let (status, answer) = self.runtimes.call(method, &path, body).await?;
        if status == StatusCode::NOT_FOUND {
            return Err(SandboxError::Gone { what: "the Datalayer runtime".into() });
        }
        accepted(status, answer)
    }
}

/// An answer that says yes: by its status, and by its own word, which may differ.
fn accepted(status: StatusCode, answer: Value) -> Result<Value, SandboxError> {
    if status.is_success() && answer.get("success") != Some(&Value::Bool(false)) {
        return Ok(answer);
    }
    let said = said(status, &answer);
    if status == StatusCode::PAYMENT_REQUIRED {
        return Err(SandboxError::NotReady {
            what: NAME.into(),
            reason: said,
            next: "Add credits to the account, or ask for fewer minutes or a cheaper environment.".into(),
        });
    }
    Err(SandboxError::Failed(format!("{NAME} answered: {said}")))
}
