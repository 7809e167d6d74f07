//! A command in a sandbox: its output from any place on, its input at the place that was reached. Both go on after a
//! lost connection without a hole and without anything twice, because every byte has its place.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use futures::stream::BoxStream;
use sandbook_jupyter::bridge::Piece;
use sandbook_sandbox::SandboxError;
use tokio::sync::{Notify, mpsc};
use tonic::{Code, Status, Streaming};
use uuid::Uuid;

use super::{
    output::Output,
    remote::Remote,
    wire::router::{
        TaskExecStartRequest, TaskExecStartResponse, TaskExecStderrConfig, TaskExecStdinStatusRequest,
        TaskExecStdinStatusResponse, TaskExecStdinWriteRequest, TaskExecStdinWriteResponse,
        TaskExecStdioFileDescriptor, TaskExecStdioReadRequest, TaskExecStdioReadResponse,
        TaskExecStdoutConfig, TaskExecWaitRequest, TaskExecWaitResponse,
    },
};

const WRITE_PATIENCE: Duration = Duration::from_secs(20);
/// How much input goes in one call.
const MOST_AT_ONCE: usize = 4 << 20;
/// The pause before input is sent again, at first and at the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(15);
/// How much of the error stream is shown when it ends at once.
const LAST_WORDS: usize = 2_000;
const LAST_WORDS_PATIENCE: Duration = Duration::from_secs(2);

/// A command that was started in a sandbox.
#[derive(Debug)]
pub(super) struct Command {
    pub(super) remote: Arc<Remote>,
    pub(super) id: String,
    /// Why it ended, by its own word.
    why_ended: Mutex<Option<String>>,
}

/// Where lines for a command's input go. An empty one is the end of the input.
pub(super) type Input = mpsc::UnboundedSender<Bytes>;

impl Command {
    /// Starts one.
    pub(super) async fn start(
        remote: Arc<Remote>,
        words: Vec<String>,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Arc<Self>, SandboxError> {
        // its id makes a second start of the same a no-op
        let id = Uuid::new_v4().to_string();
        let question = TaskExecStartRequest {
            task_id: remote.name().task.clone(),
            exec_id: id.clone(),
            command_args: words,
            stdout_config: TaskExecStdoutConfig::Pipe.into(),
            stderr_config: TaskExecStderrConfig::Pipe.into(),
            workdir: None,
            env: environment.into_iter().collect(),
        };
        let TaskExecStartResponse {} = remote.router.ask("TaskExecStart", question).await?;
        Ok(Self::known(remote, id))
    }

    /// One that runs already.
    pub(super) fn known(remote: Arc<Remote>, id: String) -> Arc<Self> {
        Arc::new(Self { remote, id, why_ended: Mutex::default() })
    }

    /// It said why it ends. Called before its output does.
    pub(super) fn ends_because(&self, why: String) {
        *self.why_ended.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
    }

    /// Why it ended, where it said so.
    pub(super) fn why_ended(&self) -> Option<String> {
        self.why_ended.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Waits until it has ended, at most so long. Whether it has.
    pub(super) async fn wait(&self, patience: Duration) -> bool {
        let question = TaskExecWaitRequest { task_id: self.task(), exec_id: self.id.clone() };
        let answer = self.remote.router.ask_once("TaskExecWait", question, patience).await;
        let answer: Result<TaskExecWaitResponse, _> = answer;
        answer.map_or_else(|status| status.code() == Code::NotFound, |_| true)
    }

    fn task(&self) -> String {
        self.remote.name().task.clone()
    }

    /// How much of the input it has taken.
    pub(super) async fn input_taken(&self) -> Result<u64, SandboxError> {
        self.input_status().await.map_err(|status| self.remote.router.explain(&status))
    }

    async fn input_status(&self) -> Result<u64, Status> {
        let question = TaskExecStdinStatusRequest { task_id: self.task(), exec_id: self.id.clone() };
        let answer = self.remote.router.ask_once("TaskExecStdinStatus", question, WRITE_PATIENCE).await?;
        let TaskExecStdinStatusResponse { num_bytes_written, .. } = answer;
        Ok(num_bytes_written)
    }

    /// The door to its input, from this place on.
    pub(super) fn input(self: &Arc<Self>, place: u64) -> Input {
        let (input, lines) = mpsc::unbounded_channel();
        tokio::spawn(self.clone().write(lines, place));
        input
    }

    async fn write(self: Arc<Self>, mut lines: mpsc::UnboundedReceiver<Bytes>, mut place: u64) {
        let mut closed = false;
        while let Some(line) = lines.recv().await.filter(|_| !closed) {
            closed = line.is_empty();
            let mut data = BytesMut::from(&line[..]);
            while !closed && data.len() < MOST_AT_ONCE {
                let Ok(line) = lines.try_recv() else { break };
                closed = line.is_empty();
                data.extend_from_slice(&line);
            }
            match self.write_whole(data.freeze(), place, closed).await {
                Ok(next) => place = next,
                Err(status) => {
                    tracing::debug!(%status, "a command takes no input any more");
                    return;
                }
            }
        }
    }

    /// Writes at a place until it is taken. The place behind it.
    async fn write_whole(&self, mut data: Bytes, mut place: u64, end: bool) -> Result<u64, Status> {
        let mut pause = FIRST_PAUSE;
        let mut looked = false;
        loop {
            let question = TaskExecStdinWriteRequest {
                task_id: self.task(),
                exec_id: self.id.clone(),
                offset: place,
                data: data.clone(),
                eof: end,
            };
            let answer = self.remote.router.ask_once("TaskExecStdinWrite", question, WRITE_PATIENCE).await;
            match answer {
                Ok(TaskExecStdinWriteResponse {}) => return Ok(place + data.len() as u64),
                // it may have taken some of it without saying so
                Err(status) if status.code() == Code::FailedPrecondition && !looked => {
                    looked = true;
                    let taken = self.input_status().await?.saturating_sub(place);
                    let taken = usize::try_from(taken).unwrap_or(usize::MAX).min(data.len());
                    place += taken as u64;
                    data = data.slice(taken..);
                }
                Err(status) if is_over(&status) => return Err(status),
                Err(status) => {
                    tracing::debug!(%status, "input of a command is sent again");
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
            }
        }
    }

    /// Its output from a place on. `retry` makes the next attempt to read on come at once.
    pub(super) fn output(self: &Arc<Self>, place: u64, retry: Arc<Notify>) -> BoxStream<'static, Piece> {
        Output::new(self.clone(), place, retry).pieces()
    }

    /// The last of its error stream, where it has ended.
    pub(super) async fn last_words(&self) -> String {
        let mut said = BytesMut::new();
        let read = async {
            let mut answers = self.read(0, TaskExecStdioFileDescriptor::Stderr).await?;
            while let Some(TaskExecStdioReadResponse { data }) = answers.message().await? {
                said.extend_from_slice(&data);
            }
            Ok::<_, Status>(())
        };
        drop(tokio::time::timeout(LAST_WORDS_PATIENCE, read).await);
        let text = String::from_utf8_lossy(&said);
        let from = text.len().saturating_sub(LAST_WORDS);
        let from = (from..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or_default();
        text[from..].trim().to_owned()
    }

    pub(super) async fn read(
        &self,
        place: u64,
        of: TaskExecStdioFileDescriptor,
    ) -> Result<Streaming<TaskExecStdioReadResponse>, Status> {
        let question = TaskExecStdioReadRequest {
            task_id: self.task(),
            exec_id: self.id.clone(),
            offset: place,
            file_descriptor: of.into(),
        };
        self.remote.router.follow("TaskExecStdioRead", question).await
    }
}

/// Whether nothing more can come of a command after this word.
pub(super) fn is_over(status: &Status) -> bool {
    matches!(
        status.code(),
        Code::NotFound
            | Code::FailedPrecondition
            | Code::InvalidArgument
            | Code::PermissionDenied
            | Code::Unimplemented
    )
}
