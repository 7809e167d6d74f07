//! One HTTP/2 connection to one of Modal's services, opened when something is asked and again after it was lost.

use std::{str::FromStr as _, time::Duration};

use sandbook_sandbox::SandboxError;
use tonic::{
    Code, Request, Response, Status, Streaming,
    client::Grpc,
    codegen::http::uri::PathAndQuery,
    metadata::MetadataMap,
    transport::{Channel, ClientTlsConfig, Endpoint},
};
use tonic_prost::ProstCodec;
use url::Url;

use crate::paste::is_loopback;

/// As Modal's own client has it.
const PING_EVERY: Duration = Duration::from_secs(30);
const PING_PATIENCE: Duration = Duration::from_secs(10);
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);
const WINDOW: u32 = 64 << 20;
const LARGEST_MESSAGE: usize = 100 << 20;

/// A connection.
#[derive(Debug, Clone)]
pub(super) struct Line {
    channel: Channel,
    service: &'static str,
    /// Host and port, for a person.
    pub(super) address: String,
}

impl Line {
    /// To a service at an address. Nothing is sent yet. What is not encrypted stays on this computer.
    pub(super) fn new(url: &Url, service: &'static str) -> Result<Self, SandboxError> {
        let host = url.host_str().unwrap_or_default();
        let address = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        let refused = |reason: String| SandboxError::Setting { setting: "server_url".into(), reason };
        let encrypted = match url.scheme() {
            "https" => true,
            "http" if is_loopback(url) => false,
            _ => return Err(refused(format!("a token is sent to {address} by https only"))),
        };
        let unusable = |error: tonic::transport::Error| refused(error.to_string());
        let mut endpoint = Endpoint::from_shared(url.to_string()).map_err(unusable)?;
        if encrypted {
            endpoint = endpoint.tls_config(ClientTlsConfig::new().with_native_roots()).map_err(unusable)?;
        }
        let endpoint = endpoint
            .connect_timeout(CONNECT_PATIENCE)
            .http2_keep_alive_interval(PING_EVERY)
            .keep_alive_timeout(PING_PATIENCE)
            .keep_alive_while_idle(true)
            .initial_stream_window_size(WINDOW)
            .initial_connection_window_size(WINDOW)
            .tcp_nodelay(true);
        Ok(Self { channel: endpoint.connect_lazy(), service, address })
    }

    /// Asks for one answer.
    pub(super) async fn ask<Question, Answer>(
        &self,
        call: &str,
        question: Question,
        metadata: MetadataMap,
        patience: Duration,
    ) -> Result<Answer, Status>
    where
        Question: prost::Message + 'static,
        Answer: prost::Message + Default + 'static,
    {
        let (mut grpc, path, mut request) = self.prepare(call, question, metadata)?;
        request.set_timeout(patience);
        let asking = async {
            grpc.ready().await.map_err(|error| Status::unavailable(cause(&error)))?;
            grpc.unary(request, path, ProstCodec::default()).await.map(Response::into_inner)
        };
        let answered = tokio::time::timeout(patience, asking).await;
        answered.unwrap_or_else(|_| Err(Status::deadline_exceeded(format!("no answer to {call}"))))
    }

    /// Asks for a stream of answers.
    pub(super) async fn follow<Question, Answer>(
        &self,
        call: &str,
        question: Question,
        metadata: MetadataMap,
    ) -> Result<Streaming<Answer>, Status>
    where
        Question: prost::Message + 'static,
        Answer: prost::Message + Default + 'static,
    {
        let (mut grpc, path, request) = self.prepare(call, question, metadata)?;
        let asking = async {
            grpc.ready().await.map_err(|error| Status::unavailable(cause(&error)))?;
            grpc.server_streaming(request, path, ProstCodec::default()).await.map(Response::into_inner)
        };
        let answered = tokio::time::timeout(CONNECT_PATIENCE * 2, asking).await;
        answered.unwrap_or_else(|_| Err(Status::deadline_exceeded(format!("no answer to {call}"))))
    }

    fn prepare<Question>(
        &self,
        call: &str,
        question: Question,
        metadata: MetadataMap,
    ) -> Result<(Grpc<Channel>, PathAndQuery, Request<Question>), Status> {
        let path = PathAndQuery::from_str(&format!("/{}/{call}", self.service));
        let path = path.map_err(|error| Status::internal(error.to_string()))?;
        let mut request = Request::new(question);
        *request.metadata_mut() = metadata;
        let grpc = Grpc::new(self.channel.clone()).max_decoding_message_size(LARGEST_MESSAGE);
        Ok((grpc, path, request))
    }
}

/// The innermost words of an error of the connection.
fn cause(error: &(dyn std::error::Error + 'static)) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

/// Whether the same may go well when it is asked again.
pub(super) fn is_passing(status: &Status) -> bool {
    matches!(
        status.code(),
        Code::DeadlineExceeded | Code::Unavailable | Code::Cancelled | Code::Internal | Code::Unknown
    )
}

/// What a status means, in the contract's errors.
pub(super) fn explain(status: &Status, address: &str) -> SandboxError {
    let message = match status.message() {
        "" => status.code().description().to_owned(),
        message => message.to_owned(),
    };
    let address = address.to_owned();
    match status.code() {
        Code::Unauthenticated => SandboxError::Refused { address, status: 401 },
        Code::PermissionDenied => SandboxError::Refused { address, status: 403 },
        Code::Unavailable | Code::DeadlineExceeded => {
            let source = std::error::Error::source(status).map(cause);
            SandboxError::Unreachable { address, detail: source.unwrap_or(message) }
        }
        Code::ResourceExhausted => SandboxError::NotReady {
            what: "Modal".into(),
            reason: message,
            next: "Wait a little, or look at the limits of the account.".into(),
        },
        Code::Unimplemented => SandboxError::WrongPeer {
            address,
            expected: "the Modal that this Sandbook knows".into(),
            detail: message,
        },
        Code::NotFound => SandboxError::Gone { what: message },
        _ => SandboxError::Failed(format!("Modal refused it: {message}")),
    }
}
