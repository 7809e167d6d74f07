//! The control plane: credentials in every call, calls that are asked again, and the token that newer calls want.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use prost::Message as _;
use sandbook_sandbox::SandboxError;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;
use tonic::{
    Code, Status, Streaming,
    metadata::{AsciiMetadataKey, AsciiMetadataValue, MetadataMap},
};
use uuid::Uuid;

use super::{
    credential::Account,
    line::{Line, explain, is_passing},
    wire::{Details, control as wire},
};

const SERVICE: &str = "modal.client.ModalClient";
/// What Modal's own client of this protocol says of itself; other kinds are other clients of Modal's.
const CLIENT_TYPE: &str = "1";
const CLIENT_VERSION: &str = "1.6.4";
/// How long a call may take.
const PATIENCE: Duration = Duration::from_secs(55);
/// How long somebody waits who only wants to know.
const CHECK_PATIENCE: Duration = Duration::from_secs(15);
/// How often the same is asked again, and after how long at first.
const RETRIES: u32 = 3;
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// How long Modal may let a call wait altogether.
const THROTTLED_FOR: Duration = Duration::from_mins(1);
/// For a token whose end cannot be read.
const GOOD_FOR: Duration = Duration::from_mins(5);

/// The control plane of an account.
#[derive(Debug)]
pub(super) struct Control {
    line: Line,
    account: Account,
    token: tokio::sync::Mutex<Option<Token>>,
}

/// What newer calls want beside the pair.
#[derive(Debug, Clone)]
struct Token {
    secret: SecretString,
    renew_at: SystemTime,
}

impl Control {
    pub(super) fn new(account: Account) -> Result<Arc<Self>, SandboxError> {
        let line = Line::new(&account.server, SERVICE)?;
        Ok(Arc::new(Self { line, account, token: tokio::sync::Mutex::default() }))
    }

    /// Where it is, for a person.
    pub(super) fn address(&self) -> &str {
        &self.line.address
    }

    /// Whether it is on this computer, as a stand-in is.
    pub(super) fn is_here(&self) -> bool {
        crate::paste::is_loopback(&self.account.server)
    }

    /// The environment of Modal's that everything is made in; empty for the account's own.
    pub(super) fn environment(&self) -> String {
        self.account.environment.clone().unwrap_or_default()
    }

    /// Asks, and again where that can help.
    pub(super) async fn ask<Question, Answer>(
        &self,
        call: &str,
        question: Question,
    ) -> Result<Answer, SandboxError>
    where
        Question: prost::Message + Clone + 'static,
        Answer: prost::Message + Default + 'static,
    {
        self.ask_for(call, question, PATIENCE).await.map_err(|status| explain(&status, self.address()))
    }

    /// The same with a limit of its own and Modal's own word for what went wrong.
    pub(super) async fn ask_for<Question, Answer>(
        &self,
        call: &str,
        question: Question,
        patience: Duration,
    ) -> Result<Answer, Status>
    where
        Question: prost::Message + Clone + 'static,
        Answer: prost::Message + Default + 'static,
    {
        let key = Uuid::new_v4().to_string();
        let (mut attempt, mut pause, mut throttled, mut renewed) = (0, FIRST_PAUSE, Duration::ZERO, false);
        loop {
            let metadata = self.metadata(call, Some((&key, attempt))).await?;
            let status = match self.line.ask(call, question.clone(), metadata, patience).await {
                Ok(answer) => return Ok(answer),
                Err(status) => status,
            };
            if let Some(wait) = asked_to_wait(&status).filter(|_| throttled < THROTTLED_FOR) {
                throttled += wait;
                tokio::time::sleep(wait).await;
            } else if status.code() == Code::Unauthenticated && wants_token(call) && !renewed {
                renewed = true;
                *self.token.lock().await = None;
            } else if is_passing(&status) && attempt < RETRIES {
                tokio::time::sleep(pause).await;
                pause *= 2;
            } else {
                return Err(status);
            }
            attempt += 1;
        }
    }

    /// Asks for a stream of answers.
    pub(super) async fn follow<Question, Answer>(
        &self,
        call: &str,
        question: Question,
    ) -> Result<Streaming<Answer>, Status>
    where
        Question: prost::Message + 'static,
        Answer: prost::Message + Default + 'static,
    {
        let metadata = self.metadata(call, None).await?;
        self.line.follow(call, question, metadata).await
    }

    /// Whether the pair is taken. Nothing is started.
    pub(super) async fn check(&self) -> Result<(), SandboxError> {
        let asked = tokio::time::timeout(CHECK_PATIENCE, self.fresh_token()).await;
        let asked = asked.unwrap_or_else(|_| Err(Status::deadline_exceeded("it does not answer")));
        asked.map(drop).map_err(|status| explain(&status, self.address()))
    }

    async fn metadata(&self, call: &str, attempt: Option<(&str, u32)>) -> Result<MetadataMap, Status> {
        let mut metadata = self.pair()?;
        if let Some((key, attempt)) = attempt {
            put(&mut metadata, "x-idempotency-key", key)?;
            put(&mut metadata, "x-retry-attempt", &attempt.to_string())?;
        }
        if wants_token(call) {
            let mut kept = self.token.lock().await;
            let token = match kept.take().filter(|token| token.renew_at > SystemTime::now()) {
                Some(token) => token,
                None => self.fresh_token().await?,
            };
            put_secret(&mut metadata, "x-modal-auth-token", &token.secret)?;
            *kept = Some(token);
        }
        Ok(metadata)
    }

    fn pair(&self) -> Result<MetadataMap, Status> {
        let mut metadata = MetadataMap::new();
        put(&mut metadata, "x-modal-client-type", CLIENT_TYPE)?;
        put(&mut metadata, "x-modal-client-version", CLIENT_VERSION)?;
        put(&mut metadata, "x-modal-token-id", &self.account.pair.id)?;
        put_secret(&mut metadata, "x-modal-token-secret", &self.account.pair.secret)?;
        Ok(metadata)
    }

    async fn fresh_token(&self) -> Result<Token, Status> {
        let (mut attempt, mut pause) = (0, FIRST_PAUSE);
        let answer = loop {
            let question = wire::AuthTokenGetRequest {};
            match self.line.ask("AuthTokenGet", question, self.pair()?, PATIENCE).await {
                Ok(answer) => break answer,
                Err(status) if is_passing(&status) && attempt < RETRIES => {
                    attempt += 1;
                    tokio::time::sleep(pause).await;
                    pause *= 2;
                }
                Err(status) => return Err(status),
            }
        };
        let wire::AuthTokenGetResponse { token } = answer;
        let now = SystemTime::now();
        let left = expiry(&token).and_then(|end| end.duration_since(now).ok()).unwrap_or(GOOD_FOR);
        Ok(Token { secret: token.into(), renew_at: now + left / 2 })
    }
}

/// Whether a call wants the token beside the pair.
fn wants_token(call: &str) -> bool {
    call.ends_with("V2") || call == "SandboxGetCommandRouterAccess"
}

fn put(metadata: &mut MetadataMap, name: &'static str, value: &str) -> Result<(), Status> {
    let value = value
        .parse()
        .map_err(|_| Status::invalid_argument(format!("{name} has characters that no value has")))?;
    metadata.insert(AsciiMetadataKey::from_static(name), value);
    Ok(())
}

fn put_secret(metadata: &mut MetadataMap, name: &'static str, secret: &SecretString) -> Result<(), Status> {
    let value = secret.expose_secret().parse();
    let mut value: AsciiMetadataValue =
        value.map_err(|_| Status::invalid_argument("the token has characters that no token has"))?;
    value.set_sensitive(true);
    metadata.insert(AsciiMetadataKey::from_static(name), value);
    Ok(())
}

/// How long Modal asks to wait before the same is asked again.
fn asked_to_wait(status: &Status) -> Option<Duration> {
    let details = Details::decode(status.details()).ok()?.details;
    let policy = details.iter().find(|packed| packed.type_url.ends_with("RPCRetryPolicy"))?;
    let seconds = wire::RpcRetryPolicy::decode(&policy.value[..]).ok()?.retry_after_secs;
    Duration::try_from_secs_f32(seconds).ok()
}

/// When a token ends, by its own word, which nobody here can verify and nobody has to.
fn expiry(token: &str) -> Option<SystemTime> {
    let claims = token.split('.').nth(1)?;
    let claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).ok()?).ok()?;
    Some(
        SystemTime::UNIX_EPOCH
            + Duration::from_secs_f64(claims.get("exp")?.as_f64().filter(|end| *end > 0.0)?),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_token_is_read_and_a_token_without_one_has_none() {
        let claims = URL_SAFE_NO_PAD.encode(br#"{"exp": 1800000000}"#);
        let end = expiry(&format!("x.{claims}.y")).unwrap();
        assert_eq!(end.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs(), 1_800_000_000);
        for odd in ["", "a", "a.b.c", "..", &format!("x.{}.y", URL_SAFE_NO_PAD.encode(br#"{"exp": -1}"#))] {
            assert_eq!(expiry(odd), None, "{odd}");
        }
    }

    #[test]
    fn how_long_to_wait_is_read_from_the_details_of_an_error() {
        let policy = wire::RpcRetryPolicy { retry_after_secs: 0.5 }.encode_to_vec();
        let packed =
            crate::modal::wire::Packed { type_url: "t/modal.client.RPCRetryPolicy".into(), value: policy };
        let details = Details { details: vec![packed] }.encode_to_vec();
        let status = Status::with_details(Code::ResourceExhausted, "", details.into());
        assert_eq!(asked_to_wait(&status), Some(Duration::from_millis(500)));
        assert_eq!(asked_to_wait(&Status::resource_exhausted("")), None);
    }
}
