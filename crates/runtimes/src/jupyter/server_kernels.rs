//! What a server is asked about kernels, and how it describes them.

use std::time::{Duration, SystemTime};

use reqwest::{Method, StatusCode};
use sandbook_sandbox::SandboxError;
use serde_json::{Value, json};

use super::{explain::said, rest::Server};

/// A kernel as a server describes it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct KernelModel {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) state: String,
    pub(crate) connections: Option<u32>,
    pub(crate) last_activity: Option<SystemTime>,
}

/// A kernelspec as a server describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerKernelSpec {
    /// Its name.
    pub name: String,
    /// What a person sees.
    pub display_name: String,
    /// As `python`.
    pub language: String,
    /// Whether the server takes it when none is named.
    pub default: bool,
}

impl Server {
    /// Whether a folder is there: a server starts a kernel in the next folder above one that is not, and says nothing. One
    /// that does not show files cannot tell.
    async fn may_have_folder(&self, folder: &str) -> bool {
        let parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
        let path: Vec<&str> = ["contents"].into_iter().chain(parts).collect();
        self.may_show(&path).await || !self.may_show(&["contents"]).await
    }

    async fn may_show(&self, path: &[&str]) -> bool {
        match self.call(Method::GET, path, None).await {
            Ok((status, _)) => status != StatusCode::NOT_FOUND,
            // the answer for a file that is not there is a bare sentence
            Err(SandboxError::WrongPeer { detail, .. }) => !detail.starts_with("HTTP 404"),
            Err(_) => true,
        }
    }

    /// Starts a kernel; `folder` is relative to the server's root, and none is the root itself: a server that is told no
    /// path starts the kernel wherever the server was started.
    pub(crate) async fn start_kernel(
        &self,
        name: Option<&str>,
        folder: Option<&str>,
    ) -> Result<KernelModel, SandboxError> {
        if let Some(folder) = folder
            && !self.may_have_folder(folder).await
        {
            return Err(SandboxError::FolderMissing { folder: folder.to_owned() });
        }
        let mut body = json!({ "path": folder.unwrap_or_default() });
        if let Some(name) = name {
            body["name"] = name.into();
        }
        let (status, answer) = tokio::select! {
            started = self.call(Method::POST, &["kernels"], Some(&body)) => started?,
            silence = self.fallen_silent() => return Err(silence),
        };
        if !status.is_success() {
            let what = name.map_or_else(|| "the kernel".to_owned(), |name| format!("the kernel {name}"));
            let detail = match name {
                Some(name) => self.other_kernels(name).await,
                None => None,
            };
            let detail = detail.unwrap_or_else(|| said(status, &answer));
            return Err(SandboxError::StartFailed { what, detail });
        }
        KernelModel::read(&answer).ok_or_else(|| self.wrong_peer("its answer names no kernel"))
    }

    /// What a server has instead of a kernel that it does not have.
    async fn other_kernels(&self, name: &str) -> Option<String> {
        let specs = self.kernelspecs().await.ok()?;
        if specs.iter().any(|spec| spec.name == name) {
            return None;
        }
        let names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
        Some(format!("the server has no such kernel; it has {}", names.join(", ")))
    }

    pub(crate) async fn kernel(&self, id: &str) -> Result<KernelModel, SandboxError> {
        let answer = self.of_kernel(Method::GET, id, &[]).await?;
        KernelModel::read(&answer).ok_or_else(|| self.wrong_peer("its answer names no kernel"))
    }

    pub(crate) async fn interrupt(&self, id: &str) -> Result<(), SandboxError> {
        self.of_kernel(Method::POST, id, &["interrupt"]).await.map(drop)
    }

    pub(crate) async fn restart(&self, id: &str) -> Result<(), SandboxError> {
        self.of_kernel(Method::POST, id, &["restart"]).await.map(drop)
    }

    /// Shuts a kernel down; one that is gone already is [`SandboxError::Gone`].
    pub(crate) async fn remove(&self, id: &str) -> Result<(), SandboxError> {
        self.of_kernel(Method::DELETE, id, &[]).await.map(drop)
    }

    async fn of_kernel(&self, method: Method, id: &str, action: &[&str]) -> Result<Value, SandboxError> {
        let path: Vec<&str> = ["kernels", id].iter().chain(action).copied().collect();
        let body = (method == Method::POST).then(|| json!({}));
        let answer = match self.call(method, &path, body.as_ref()).await {
            // To an id that can be none, a Jupyter server answers with the page of an address that it does not have.
            Err(SandboxError::WrongPeer { .. }) if self.is_jupyter().await => {
                return Err(SandboxError::Gone { what: format!("the kernel {id}") });
            }
            answer => answer?,
        };
        match answer {
            (StatusCode::NOT_FOUND, _) => Err(SandboxError::Gone { what: format!("the kernel {id}") }),
            (status, answer) if status.is_success() => Ok(answer),
            (status, answer) => {
                Err(SandboxError::Failed(format!("{} answered: {}", self.address, said(status, &answer))))
            }
        }
    }

    /// Whether a Jupyter server says what it is.
    async fn is_jupyter(&self) -> bool {
        let told = self.send(Method::GET, &[], None).await;
        told.is_ok_and(|(status, answer)| status.is_success() && answer.get("version").is_some())
    }

    /// The kernels that run there. A Kernel Gateway tells only when it was started so.
    pub(crate) async fn kernels(&self) -> Result<Vec<KernelModel>, SandboxError> {
        let (status, answer) = self.send(Method::GET, &["kernels"], None).await?;
        // A gateway answers a wrong token with 401, and names a reason with 403.
        if status == StatusCode::FORBIDDEN && answer.get("reason").is_some_and(Value::is_string) {
            let reason = "This Kernel Gateway does not list its kernels (it was started without list_kernels). Starting one works.";
            return Err(SandboxError::Unsupported { reason: reason.into() });
        }
        self.check(status)?;
        let list = answer.as_array().ok_or_else(|| self.wrong_peer(&said(status, &answer)))?;
        Ok(list.iter().filter_map(KernelModel::read).collect())
    }

    /// Which document each kernel runs for, where the server tells.
    pub(crate) async fn documents(&self) -> Vec<(String, String)> {
        let Ok((_, Value::Array(sessions))) = self.call(Method::GET, &["sessions"], None).await else {
            return Vec::new();
        };
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let read = |session: &Value| Some((text(session.pointer("/kernel/id"))?, text(session.get("path"))?));
        sessions.iter().filter_map(read).collect()
    }

    /// The kernels that it can start. Also the way to find out, in one request, whether server and token are right.
    pub(crate) async fn kernelspecs(&self) -> Result<Vec<ServerKernelSpec>, SandboxError> {
        let (status, answer) = self.call(Method::GET, &["kernelspecs"], None).await?;
        let specs = answer.get("kernelspecs").and_then(Value::as_object);
        let specs = specs.ok_or_else(|| self.wrong_peer(&said(status, &answer)))?;
        let default = answer.get("default").and_then(Value::as_str).unwrap_or_default();
        let text = |spec: &Value, name: &str| {
            spec.pointer(&format!("/spec/{name}")).and_then(Value::as_str).map(str::to_owned)
        };
        let read = |(name, spec): (&String, &Value)| ServerKernelSpec {
            display_name: text(spec, "display_name").unwrap_or_else(|| name.clone()),
            language: text(spec, "language").unwrap_or_default(),
            default: name == default,
            name: name.clone(),
        };
        Ok(specs.iter().map(read).collect())
    }
}

fn read_time(text: &str) -> Option<SystemTime> {
    let time = text.parse::<jiff::Timestamp>().ok()?;
    Some(SystemTime::UNIX_EPOCH + Duration::from_millis(time.as_millisecond().try_into().ok()?))
}

impl KernelModel {
    /// One that only its WebSocket tells of.
    pub(super) fn unseen(id: &str) -> Self {
        let state = "unknown".into();
        Self { id: id.to_owned(), name: String::new(), state, connections: None, last_activity: None }
    }

    fn read(value: &Value) -> Option<Self> {
        let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
        Some(Self {
            id: text("id")?,
            name: text("name").unwrap_or_default(),
            state: text("execution_state").unwrap_or_else(|| "unknown".into()),
            connections: value
                .get("connections")
                .and_then(Value::as_u64)
                .and_then(|count| count.try_into().ok()),
            last_activity: text("last_activity").as_deref().and_then(read_time),
        })
    }
}
