//! First contact with a Jupyter server, or a proxy in front of one: the way there, encryption, what answers, the
//! credential, kernels, files. Only `GET` requests, and nothing is started.

use std::time::{Duration, Instant};

use reqwest::{Method, StatusCode};
use sandbook_sandbox::{Check, Checks, Finding, SandboxError};
use serde_json::Value;

use super::rest::Server;
use crate::paste::{is_loopback, is_plain_http_elsewhere};

/// How long an address may take to take a connection.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is known of a provider, to be compared with what it does.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Notes {
    /// What answers there, for a person.
    pub(crate) what: &'static str,
    /// How a wrong credential is refused.
    pub(crate) refusals: &'static [u16],
    /// Whether the API beside the WebSocket is certain. Where it is not, its absence is a difference and no failure.
    pub(crate) api_is_certain: bool,
}

impl Notes {
    /// What is known of Jupyter servers.
    pub(crate) const JUPYTER: Self =
        Self { what: "a Jupyter server", refusals: &[401, 403], api_is_certain: true };
}

/// Looks at a server, and at one of its kernels where one is meant. Steps after one that failed are not tried.
pub(crate) async fn look(server: &Server, kernel: Option<&str>, notes: Notes, checks: &Checks) {
    let look = Look { server, notes, checks };
    for step in STEPS {
        let (name, goes_on) = match step {
            Step::Address => ("address", look.address().await),
            Step::Encryption => ("encryption", look.encryption().await),
            Step::Answer => ("answer", look.answer().await),
            Step::Credential => ("credential", look.credential(kernel).await),
            Step::Kernels => ("kernels", look.kernels(kernel).await),
            Step::Files => ("files", look.files().await),
        };
        if !goes_on {
            tracing::info!(step = name, "first contact ends here");
            return;
        }
    }
}

#[derive(Clone, Copy)]
enum Step {
    Address,
    Encryption,
    Answer,
    Credential,
    Kernels,
    Files,
}

const STEPS: [Step; 6] =
    [Step::Address, Step::Encryption, Step::Answer, Step::Credential, Step::Kernels, Step::Files];

struct Look<'a> {
    server: &'a Server,
    notes: Notes,
    checks: &'a Checks,
}

/// Each step hands itself in and says whether the next can be tried.
impl Look<'_> {
    fn take(&self, check: Check) -> bool {
        let goes_on = check.finding != Finding::Failed;
        self.checks.take(check);
        goes_on
    }

    async fn address(&self) -> bool {
        let expected = format!("{} takes connections", self.server.host());
        if goes_by_proxy(self.server) {
            let found = "the way leads through a proxy of this computer";
            return self.take(Check::new("address", Finding::Skipped, expected, found));
        }
        let started = Instant::now();
        let connected =
            tokio::time::timeout(PATIENCE, tokio::net::TcpStream::connect(self.server.socket_name())).await;
        let detail = match connected {
            Ok(Ok(_)) => {
                let found = format!("it does, after {} ms", started.elapsed().as_millis());
                return self.take(Check::new("address", Finding::AsExpected, expected, found));
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => "no answer".into(),
        };
        let address = self.server.address().to_owned();
        self.take(Check::failed("address", expected, SandboxError::Unreachable { address, detail }))
    }

    async fn encryption(&self) -> bool {
        let url = self.server.url();
        if url.scheme() != "https" {
            let (finding, found) = if is_plain_http_elsewhere(url) {
                (Finding::Differs, "nothing is encrypted: whoever is in between reads token and code")
            } else {
                (Finding::AsExpected, "none, and it stays on this computer")
            };
            return self.take(Check::new("encryption", finding, "https, or this computer", found));
        }
        let expected = "a certificate that is trusted";
        match self.ask(&[]).await {
            Err(error @ (SandboxError::Certificate { .. } | SandboxError::Unreachable { .. })) => {
                self.take(Check::failed("encryption", expected, error))
            }
            _ => self.take(Check::new("encryption", Finding::AsExpected, expected, "it is trusted")),
        }
    }

    async fn answer(&self) -> bool {
        let expected = format!("{} that says its version", self.notes.what);
        match self.ask(&[]).await {
            Ok((status, said)) if status.is_success() => match said.get("version").and_then(Value::as_str) {
                Some(version) => {
                    let found = format!("version {version}");
                    self.take(Check::new("answer", Finding::AsExpected, expected, found))
                }
                None => self.take(Check::new("answer", Finding::Differs, expected, "no version is said")),
            },
            Ok((status, _)) if is_refusal(status) => {
                let found = format!("HTTP {}: nothing is said without a good credential", status.as_u16());
                self.take(Check::new("answer", Finding::Differs, expected, found))
            }
            Ok((status, _)) => {
                let found = format!("HTTP {}", status.as_u16());
                self.take(Check::new("answer", self.absent(), expected, found))
            }
            Err(error) => self.no_api("answer", expected, error),
        }
    }

    /// Asks for what is served to who shows a good credential only.
    async fn credential(&self, kernel: Option<&str>) -> bool {
        let expected = "the credential is taken";
        let asked = match kernel {
            Some(kernel) => self.ask(&["kernels", kernel]).await,
            None => self.ask(&["kernelspecs"]).await,
        };
        match asked {
            Ok((status, _)) if is_refusal(status) => {
                let number = status.as_u16();
                let error = self.server.check(status).err();
                let known = self.notes.refusals.contains(&number);
                let unlike = if known { "" } else { ", which is not how a wrong one was refused so far" };
                let found = format!("it is refused with HTTP {number}{unlike}");
                let check = Check::new("credential", Finding::Failed, expected, found);
                self.take(Check { error, ..check })
            }
            Ok((status, _)) => {
                let found = format!("it is (HTTP {})", status.as_u16());
                self.take(Check::new("credential", Finding::AsExpected, expected, found))
            }
            Err(error) => self.no_api("credential", expected.into(), error),
        }
    }

    async fn kernels(&self, kernel: Option<&str>) -> bool {
        if let Some(id) = kernel {
            let expected = "the kernel of the address is there";
            return match self.server.kernel(id).await {
                Ok(model) => {
                    let clients = model.connections.map_or_else(String::new, |n| format!(", {n} connected"));
                    let found = format!("it is {}{clients}", model.state);
                    self.take(Check::new("kernels", Finding::AsExpected, expected, found))
                }
                Err(error) => self.no_api("kernels", expected.into(), error),
            };
        }
        let expected = "it lists kernels, and what can be started";
        match (self.server.kernels().await, self.server.kernelspecs().await) {
            (Ok(running), Ok(specs)) => {
                let names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
                let found = format!("{} running; can start {}", running.len(), names.join(", "));
                let finding = if specs.is_empty() { Finding::Differs } else { Finding::AsExpected };
                self.take(Check::new("kernels", finding, expected, found))
            }
            (Err(SandboxError::Unsupported { reason }), Ok(_)) => {
                self.take(Check::new("kernels", Finding::Differs, expected, reason))
            }
            (Err(error), _) | (_, Err(error)) => self.no_api("kernels", expected.into(), error),
        }
    }

    /// Files are in no sandbox of this kind yet, so none that are served is a difference at most.
    async fn files(&self) -> bool {
        let expected = "the folder is listed";
        let (finding, found) = match self.ask(&["contents"]).await {
            Ok((status, listing)) if status.is_success() => {
                let count = listing.get("content").and_then(Value::as_array).map_or(0, Vec::len);
                (Finding::AsExpected, format!("{count} entries"))
            }
            Ok((status, _)) => (Finding::Differs, format!("HTTP {}", status.as_u16())),
            Err(error) => (Finding::Differs, error.to_string()),
        };
        self.take(Check::new("files", finding, expected, found))
    }

    async fn ask(&self, path: &[&str]) -> Result<(StatusCode, Value), SandboxError> {
        self.server.send(Method::GET, path, None).await
    }

    /// What it means that something else answers than the API.
    fn no_api(&self, step: &'static str, expected: String, error: SandboxError) -> bool {
        let check = Check::failed(step, expected, error);
        let is_other = matches!(check.error, Some(SandboxError::WrongPeer { .. }));
        let finding = if is_other { self.absent() } else { Finding::Failed };
        self.take(Check { finding, ..check })
    }

    const fn absent(&self) -> Finding {
        if self.notes.api_is_certain { Finding::Failed } else { Finding::Differs }
    }
}

const fn is_refusal(status: StatusCode) -> bool {
    matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
}

/// Whether requests go through a proxy that the environment names, which reaches what this computer may not.
fn goes_by_proxy(server: &Server) -> bool {
    let names: &[&str] = match server.url().scheme() {
        "https" => &["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"],
        _ => &["http_proxy", "ALL_PROXY", "all_proxy"],
    };
    !is_loopback(server.url()) && names.iter().any(|name| std::env::var_os(name).is_some())
}
