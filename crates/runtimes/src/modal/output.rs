//! Output of a command that is being read. A lost connection is taken up where it broke: at once the first time, which nobody
//! has to know; after that it says so.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use futures::{StreamExt as _, stream::BoxStream};
use sandbook_jupyter::{End, Link, bridge::Piece};
use tokio::sync::Notify;
use tonic::{Code, Status, Streaming};

use super::{
    command::{Command, is_over},
    wire::router::{TaskExecStdioFileDescriptor, TaskExecStdioReadResponse},
};

/// The pause before the second attempt to read on, and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(15);
/// A connection that lasted so long was a good one, whether or not anything came over it.
const LASTED: Duration = Duration::from_secs(10);
const NOT_THERE: &str = "the sandbox is not there any more";

/// Output that is being read.
pub(super) struct Output {
    command: Arc<Command>,
    retry: Arc<Notify>,
    place: u64,
    stream: Option<Streaming<TaskExecStdioReadResponse>>,
    /// How many attempts to read on have failed.
    attempt: u32,
    opened: Instant,
    over: bool,
}

impl Output {
    pub(super) fn new(command: Arc<Command>, place: u64, retry: Arc<Notify>) -> Self {
        Self { command, retry, place, stream: None, attempt: 0, opened: Instant::now(), over: false }
    }

    /// Piece by piece, as it is asked for.
    pub(super) fn pieces(self) -> BoxStream<'static, Piece> {
        futures::stream::unfold(self, |mut output| async {
            if output.over {
                return None;
            }
            let piece = output.next().await;
            output.over = matches!(piece, Piece::End(_));
            Some((piece, output))
        })
        .boxed()
    }

    async fn next(&mut self) -> Piece {
        loop {
            let told = match &mut self.stream {
                None => self.open().await,
                Some(stream) => match stream.message().await {
                    Ok(Some(TaskExecStdioReadResponse { data })) => {
                        self.place += data.len() as u64;
                        self.attempt = 0;
                        return Piece::Bytes(data);
                    }
                    Ok(None) => return self.over().await,
                    Err(status) => {
                        self.stream = None;
                        if self.opened.elapsed() > LASTED {
                            self.attempt = 0;
                        }
                        self.broken(&status).await
                    }
                },
            };
            if let Some(piece) = told {
                return piece;
            }
        }
    }

    /// Reads on from the place that was reached.
    async fn open(&mut self) -> Option<Piece> {
        if self.attempt > 1 {
            tokio::select! {
                () = tokio::time::sleep(self.pause()) => {}
                () = self.retry.notified() => {}
            }
        }
        match self.command.read(self.place, TaskExecStdioFileDescriptor::Stdout).await {
            Ok(stream) => {
                (self.stream, self.opened) = (Some(stream), Instant::now());
                (self.attempt > 1).then_some(Piece::Link(Link::Connected))
            }
            Err(status) => self.broken(&status).await,
        }
    }

    /// What is to be told of it that a connection broke or was not opened.
    async fn broken(&mut self, status: &Status) -> Option<Piece> {
        if let Some(end) = self.end(status).await {
            return Some(end);
        }
        self.attempt += 1;
        (self.attempt > 1).then(|| {
            Piece::Link(Link::Reconnecting {
                attempt: self.attempt - 2,
                pause: self.pause(),
                silent: false,
                quiet: Duration::ZERO,
                reason: status.message().to_owned(),
            })
        })
    }

    /// The output has ended, and nobody was told before that what ran had died.
    async fn over(&self) -> Piece {
        let why = match self.command.why_ended() {
            Some(why) => Some(why),
            None => self.command.remote.why_ending().await.map(|why| format!("{NOT_THERE}: {why}")),
        };
        Piece::End(End::Broken(why.unwrap_or_else(|| "the command that keeps it ended".into())))
    }

    fn pause(&self) -> Duration {
        (FIRST_PAUSE * 2_u32.pow(self.attempt.saturating_sub(2).min(10))).min(LONGEST_PAUSE)
    }

    /// The end, where a word means one.
    async fn end(&self, status: &Status) -> Option<Piece> {
        if status.code() == Code::Unauthenticated {
            return Some(Piece::End(End::Broken("Modal does not take the token pair any more".into())));
        }
        if !is_over(status) {
            return None;
        }
        let why = self.command.remote.why_ended().await;
        let why = why.map(|why| format!("{NOT_THERE}: {why}"));
        Some(Piece::End(End::Broken(why.unwrap_or_else(|| status.message().to_owned()))))
    }
}
