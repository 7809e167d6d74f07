//! A sandbox as its server describes it, and what the server's refusals mean.
//!
//! A server has three forms of errors: its own, those of the framework that checks what it is asked, and bare text where
//! its proxy failed. States are not checked against a list: a later release may have more.

use std::time::{Duration, SystemTime};

use reqwest::StatusCode;
use sandbook_sandbox::{Listed, Problem, SandboxError};
use serde_json::Value;

use super::settings::Handle;

/// The metadata under which a sandbox of ours carries the id that it has on record here.
pub(super) const OURS: &str = "sandbook-id";

/// A sandbox as the server describes it. Its metadata may hold its tokens, so it is never printed.
#[derive(Clone)]
pub(super) struct Model {
    pub(super) id: String,
    /// In the server's words: `Running`, `Paused` …
    pub(super) state: String,
    reason: String,
    pub(super) ends: Option<SystemTime>,
    image: Option<String>,
    metadata: Value,
}

impl Model {
    pub(super) fn read(value: &Value) -> Option<Self> {
        let text = |path: &str| value.pointer(path).and_then(Value::as_str).map(str::to_owned);
        Some(Self {
            id: text("/id")?,
            state: text("/status/state").unwrap_or_else(|| "Unknown".into()),
            reason: text("/status/message").or_else(|| text("/status/reason")).unwrap_or_default(),
            ends: moment_of(value.get("expiresAt")),
            image: text("/image/uri"),
            metadata: value.get("metadata").cloned().unwrap_or_default(),
        })
    }

    pub(super) fn label(&self, name: &str) -> Option<&str> {
        self.metadata.get(name).and_then(Value::as_str)
    }

    pub(super) fn our_id(&self) -> Option<&str> {
        self.label(OURS)
    }

    /// Why it does not run and never will again by itself, where that is so.
    pub(super) fn ended(&self) -> Option<String> {
        matches!(self.state.as_str(), "Terminated" | "Failed" | "Stopping")
            .then(|| format!("it is {}: {}", self.state.to_lowercase(), self.reason))
    }

    pub(super) fn is_paused(&self) -> bool {
        matches!(self.state.as_str(), "Paused" | "Pausing")
    }

    pub(super) fn listed(&self, server: &str, through_server: bool) -> Listed {
        let handle = Handle {
            sandbox: self.id.clone(),
            server: server.to_owned(),
            through_server,
            kernel: None,
            session: None,
        };
        Listed {
            handle: handle.keep(),
            id: self.our_id().map(str::to_owned),
            title: self.image.clone().unwrap_or_else(|| self.id.clone()),
            state: self.state.to_lowercase(),
            connections: None,
            last_activity: None,
        }
    }
}

/// A moment as the server writes one.
pub(super) fn moment_of(value: Option<&Value>) -> Option<SystemTime> {
    let moment: jiff::Timestamp = value?.as_str()?.parse().ok()?;
    Some(SystemTime::UNIX_EPOCH + Duration::from_micros(moment.as_microsecond().try_into().ok()?))
}

/// What a refusal means.
pub(super) fn refusal(status: StatusCode, answer: &Value) -> SandboxError {
    let text = |name: &str| answer.get(name).and_then(Value::as_str).unwrap_or_default();
    let code = text("code");
    if status == StatusCode::NOT_FOUND && code.ends_with("SANDBOX_NOT_FOUND") {
        return SandboxError::Gone { what: "the sandbox of OpenSandbox".into() };
    }
    // the framework's own, which names the place in what was sent
    if let Some(first) = answer.get("detail").and_then(Value::as_array).and_then(|all| all.first()) {
        let place = first.get("loc").and_then(Value::as_array);
        let place: Vec<&str> = place.into_iter().flatten().filter_map(Value::as_str).collect();
        let reason = first.get("msg").and_then(Value::as_str).unwrap_or("the server does not take it");
        return Problem::new(setting(&place), format!("the server says: {reason}")).into();
    }
    let said = [text("message"), text("error"), text("detail")];
    let said = said.into_iter().find(|text| !text.is_empty()).unwrap_or_default();
    let detail = format!("the server says: {said} (HTTP {})", status.as_u16());
    SandboxError::StartFailed { what: "the sandbox".into(), detail }
}

/// Our name of what the API has at a place.
fn setting(place: &[&str]) -> String {
    let of_api = place.iter().find(|part| **part != "body").copied().unwrap_or("runtime");
    match of_api {
        "timeout" => "minutes".into(),
        "resourceLimits" => place.last().map_or_else(|| "cpu".into(), |last| (*last).to_owned()),
        "env" => "environment".into(),
        other => other.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_of_the_three_forms_of_an_error_is_understood() {
        let own = json!({"code": "DOCKER::SANDBOX_NOT_FOUND", "message": "Sandbox x not found."});
        assert!(matches!(refusal(StatusCode::NOT_FOUND, &own), SandboxError::Gone { .. }));
        let of_framework = json!({"detail": [{"loc": ["body", "timeout"], "msg": "too small"}]});
        let error = refusal(StatusCode::UNPROCESSABLE_ENTITY, &of_framework);
        assert!(matches!(&error, SandboxError::Setting { setting, .. } if setting == "minutes"), "{error:?}");
        let bare = refusal(StatusCode::BAD_GATEWAY, &Value::Null);
        assert!(bare.to_string().contains("HTTP 502"), "{bare}");
        let pull = json!({"code": "DOCKER::SANDBOX_IMAGE_PULL_FAILED", "message": "Failed to pull image x"});
        assert!(
            refusal(StatusCode::INTERNAL_SERVER_ERROR, &pull).to_string().contains("Failed to pull image x")
        );
    }

    #[test]
    fn a_state_of_a_later_release_is_taken_as_it_is_and_a_sandbox_without_an_end_has_none() {
        let model = Model::read(&json!({"id": "a", "status": {"state": "Hibernating"}})).unwrap();
        assert!(model.ended().is_none() && !model.is_paused() && model.ends.is_none());
        assert_eq!(model.listed("http://h/", false).state, "hibernating");
        assert!(Model::read(&json!({"status": {}})).is_none());
    }
}
