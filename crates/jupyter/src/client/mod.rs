//! A client of one kernel, over any transport.
//!
//! The task that reads the wire hands every message straight to its execution's queue, which is not bounded: its only
//! reader is the execution's log, and a kernel must never be slowed down (or drop output) because a reader is slow.

mod arriving;
mod event;
mod request;
mod router;
mod step;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use secrecy::SecretString;
use serde::Serialize;
use tokio::sync::{broadcast, mpsc, watch};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

pub use self::event::{Activity, ExecutionEnd, ExecutionEvent, Origin, SessionEvent};
use self::{request::Waiting, router::Router};
use crate::{
    content::{ExecuteRequest, InputReply, KernelInfo},
    error::{Error, Result},
    message::{Channel, Message, SessionId},
    transport::{Link, Transport},
};

/// How many messages may wait for the wire, as while it reconnects.
const OUTGOING: usize = 4_096;
/// How far a reader of raw messages may fall behind.
const RAW: usize = 4_096;

/// A client of one kernel. Clones share the connection; [`KernelClient::stop`] ends it.
#[derive(Clone)]
pub struct KernelClient(Arc<Shared>);

struct Shared {
    session: SessionId,
    router: Mutex<Router>,
    outgoing: mpsc::Sender<Message>,
    link: watch::Sender<Link>,
    activity: watch::Sender<Activity>,
    info: watch::Sender<Option<KernelInfo>>,
    raw: broadcast::Sender<Message>,
    log: mpsc::UnboundedSender<SessionEvent>,
    stop: CancellationToken,
    /// Stops the present attempt to get in step.
    stepping: Mutex<CancellationToken>,
}

/// What happens outside of executions. For one reader; dropping it is fine.
pub type SessionLog = mpsc::UnboundedReceiver<SessionEvent>;

/// A running execution. Dropping it stops listening, not the code.
#[derive(Debug)]
pub struct Execution {
    id: String,
    events: mpsc::UnboundedReceiver<ExecutionEvent>,
}

impl Execution {
    /// The id of the request, which every message of this execution has as its parent.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The next event; `None` after [`ExecutionEvent::Ended`].
    pub async fn next(&mut self) -> Option<ExecutionEvent> {
        self.events.recv().await
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl KernelClient {
    /// Starts carrying messages in a task of its own, in the present span, until [`KernelClient::stop`] or until every clone is dropped.
    pub fn start(transport: impl Transport) -> (Self, SessionLog) {
        let (outgoing, to_send) = mpsc::channel(OUTGOING);
        let (log, session_log) = mpsc::unbounded_channel();
        let session = transport.session().clone();
        let shared = Arc::new(Shared {
            router: Mutex::new(Router::new(session.as_str().to_owned(), log.clone())),
            session,
            outgoing,
            link: watch::Sender::new(Link::Connecting),
            activity: watch::Sender::new(Activity::Unknown),
            info: watch::Sender::new(None),
            raw: broadcast::Sender::new(RAW),
            log,
            stop: CancellationToken::new(),
            stepping: Mutex::new(CancellationToken::new()),
        });
        let (weak, stop) = (Arc::downgrade(&shared), shared.stop.clone());
        let deliver = {
            let weak = weak.clone();
            Box::new(move |incoming| {
                if let Some(shared) = weak.upgrade() {
                    shared.take(incoming);
                }
            })
        };
        let carry = async move {
            let end = Box::new(transport).run(to_send, deliver, stop).await;
            if let Some(shared) = weak.upgrade() {
                shared.ended(end);
            }
        };
        tokio::spawn(carry.in_current_span());
        (Self(shared), session_log)
    }

    /// The session that our messages carry.
    pub fn session(&self) -> &SessionId {
        &self.0.session
    }

    /// The state of the connection.
    pub fn link(&self) -> watch::Receiver<Link> {
        self.0.link.subscribe()
    }

    /// What the kernel says that it is doing.
    pub fn activity(&self) -> watch::Receiver<Activity> {
        self.0.activity.subscribe()
    }

    /// Waits until the kernel has answered, and says what it is.
    pub async fn ready(&self, patience: Duration) -> Result<KernelInfo> {
        let (mut info, mut link) = (self.0.info.subscribe(), self.0.link.subscribe());
        let wait = async {
            tokio::select! {
                info = info.wait_for(Option::is_some) => info.ok().and_then(|info| info.clone()),
                _ = link.wait_for(|link| matches!(link, Link::Ended(_))) => None,
            }
        };
        match tokio::time::timeout(patience, wait).await {
            Ok(Some(info)) => Ok(info),
            Ok(None) => Err(self.0.why_ended()),
            Err(_) => Err(Error::TimedOut { what: "the kernel", after: patience }),
        }
    }

    /// Runs code. While the connection is not up it waits its turn; its events say how it went.
    pub fn execute(&self, request: &ExecuteRequest) -> Result<Execution> {
        let message = Message::new(Channel::Shell, "execute_request", &self.0.session, request);
        let id = message.id().to_owned();
        let (sender, events) = mpsc::unbounded_channel();
        let mut router = lock(&self.0.router);
        if let Link::Ended(_) = &*self.0.link.borrow() {
            return Err(self.0.why_ended());
        }
        if let Some(message) = router.execution(message, sender)
            && let Err(error) = self.0.send(message)
        {
            router.end(&id, ExecutionEnd::Lost { seen: false });
            return Err(error);
        }
        drop(router);
        Ok(Execution { id, events })
    }

    /// Answers an [`ExecutionEvent::InputRequest`].
    pub fn reply_input(&self, request: &Message, value: SecretString) -> Result<()> {
        let reply = Message::new(Channel::Stdin, "input_reply", &self.0.session, &InputReply::new(value));
        self.0.send(reply.in_reply_to(request))
    }

    /// Sends a request and waits for its reply. Without end: wrap it in a timeout.
    pub async fn request(
        &self,
        channel: Channel,
        msg_type: &str,
        content: &(impl Serialize + Sync),
    ) -> Result<Message> {
        let message = Message::new(channel, msg_type, &self.0.session, content);
        let waiting = Waiting::new(&self.0, message.id());
        self.0.send(message)?;
        waiting.reply().await.ok_or_else(|| self.0.why_ended())
    }

    /// Sends a message as it is, as of a comm.
    pub fn send_raw(&self, message: Message) -> Result<()> {
        self.0.send(message)
    }

    /// Every message that arrives from now on, for comms and recordings. A reader that falls 4,096 messages behind is
    /// told that it lost some.
    pub fn raw(&self) -> broadcast::Receiver<Message> {
        self.0.raw.subscribe()
    }

    /// The kernel was restarted by other means: what was running has ended, what waits goes to the new kernel.
    pub fn kernel_restarted(&self) {
        self.0.restarted(&ExecutionEnd::Restarted);
    }

    /// The kernel's process has died: what was running has ended.
    pub fn kernel_died(&self) {
        lock(&self.0.router).disconnected(&ExecutionEnd::Died);
    }

    /// Ends the connection and every execution on it. The kernel goes on.
    pub fn stop(&self) {
        self.0.stop.cancel();
    }
}

impl Shared {
    fn send(&self, message: Message) -> Result<()> {
        self.outgoing.try_send(message).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => Error::QueueFull,
            mpsc::error::TrySendError::Closed(_) => self.why_ended(),
        })
    }

    fn why_ended(&self) -> Error {
        match &*self.link.borrow() {
            Link::Ended(end) => Error::Ended(end.to_string()),
            _ => Error::Ended("the kernel that was asked is gone".into()),
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
