//! One session: its runs, what they come back to, its answers.

use std::{collections::VecDeque, time::Duration};

use monty_pool::{PoolError, on_print_sync};
use monty_types::{ExcType, MontyException, MontyObject, PrintStream};
use sandbook_sandbox::{CodeError, DeathCause, StreamName};
use serde_json::{json, value::to_raw_value};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::{
    engine::{Worker, Workers},
    host::Host,
};
use crate::driven::{Ears, Ended, Order, Question, Said};

/// A session in a worker.
pub(super) struct Session {
    ears: Ears,
    workers: Workers,
    worker: Worker,
    host: Host,
    /// The longest that one run may take.
    longest: Option<Duration>,
    interrupted: watch::Receiver<u64>,
    count: u32,
    history: Vec<String>,
    /// The last result, for the name `_`, until code has been given it.
    last: Option<MontyObject>,
    /// Orders that were looked at and not carried out yet.
    waiting: VecDeque<Order>,
}

/// What ended a run.
enum Ran {
    To(MontyObject),
    Error(CodeError),
    Exit(i32),
    /// The worker cannot go on: the run is taken back.
    TakenBack(CodeError),
    /// The worker died.
    Died(DeathCause),
}

impl Session {
    pub(super) fn new(
        ears: Ears,
        workers: Workers,
        worker: Worker,
        host: Host,
        longest: Option<Duration>,
        interrupted: watch::Receiver<u64>,
    ) -> Self {
        Self {
            ears,
            workers,
            worker,
            host,
            longest,
            interrupted,
            count: 0,
            history: Vec::new(),
            last: None,
            waiting: VecDeque::new(),
        }
    }

    /// Carries orders out until it is told to stop or dies; dropping it kills its worker.
    pub(super) async fn serve(
        mut self,
        mut orders: mpsc::UnboundedReceiver<Order>,
        stop: CancellationToken,
    ) -> DeathCause {
        let served = async {
            loop {
                let order = match self.waiting.pop_front() {
                    Some(order) => Some(order),
                    None => orders.recv().await,
                };
                match order {
                    Some(Order::Execute { id, code, silent, stop_on_error, .. }) => {
                        let failed = self.execute(id, code, silent).await?;
                        if failed && stop_on_error {
                            self.drop_waiting(&mut orders);
                        }
                    }
                    Some(Order::Ask { id, question }) => self.answer(id, &question),
                    Some(Order::AnswerInput { .. }) => {}
                    Some(Order::Quit {}) | None => return Err(DeathCause::ExitCode(0)),
                }
            }
        };
        let ended: Result<std::convert::Infallible, DeathCause> = tokio::select! {
            ended = served => ended,
            () = stop.cancelled() => Err(DeathCause::ExitCode(0)),
        };
        let Err(cause) = ended;
        self.ears.close(Some(cause.clone()));
        cause
    }

    /// Runs some code. Answers whether it failed.
    async fn execute(&mut self, id: String, code: String, silent: bool) -> Result<bool, DeathCause> {
        if !silent {
            self.count += 1;
            self.history.push(code.clone());
        }
        let count = self.count;
        self.interrupted.borrow_and_update();
        self.ears.hear(Said::Started { id: id.clone(), count });
        let before = self.worker.checkout.dump().await.map_err(|error| cause_of(&error))?;
        let ran = self.attempt(&code).await;
        let mut ended = Ended { id, count: Some(count), ..Ended::default() };
        let failed = match ran {
            Ran::To(MontyObject::None) => false,
            Ran::To(value) => {
                if !silent && !code.trim_end().ends_with(';') {
                    self.show(&value);
                    self.last = Some(value).filter(can_be_given_back);
                }
                false
            }
            Ran::Error(error) => {
                self.ears.hear(Said::Error(error));
                true
            }
            Ran::Exit(code) => {
                ended.exit_code = Some(code);
                code != 0
            }
            Ran::TakenBack(error) => {
                self.worker = self.workers.restore(before).await.map_err(|error| cause_of(&error))?;
                self.ears.hear(Said::Error(error));
                true
            }
            Ran::Died(cause) => return Err(cause),
        };
        self.ears.hear(Said::End(ended));
        Ok(failed)
    }

    async fn attempt(&mut self, code: &str) -> Ran {
        let (ears, checkout, host) = (&mut self.ears, &mut self.worker.checkout, &self.host);
        let mut print = on_print_sync(|stream, text| {
            let name = match stream {
                PrintStream::Stdout => StreamName::Stdout,
                PrintStream::Stderr => StreamName::Stderr,
            };
            ears.hear(Said::Text { name, text: text.to_owned() });
        });
        let longest = self.longest;
        let names = self.last.take().map(|value| ("_".to_owned(), value)).into_iter().collect();
        let turned = tokio::select! {
            turned = host.run(checkout, code, names, &mut print) => turned,
            _ = self.interrupted.changed() => return Ran::TakenBack(error("KeyboardInterrupt", "")),
            limit = after(longest) => {
                let value = format!("the run took longer than {} s", limit.as_secs_f64());
                return Ran::TakenBack(error("TimeoutError", &value));
            }
        };
        match turned {
            Ok(value) => Ran::To(value),
            Err(PoolError::Runtime(exception)) if exception.exc_type() == ExcType::SystemExit => {
                Ran::Exit(exit_code(&exception))
            }
            Err(PoolError::Runtime(exception)) => {
                let lost =
                    self.worker.checkout.pid().is_none() || exception.exc_type() == ExcType::MemoryError;
                let error = error_of(&exception);
                if lost { Ran::TakenBack(error) } else { Ran::Error(error) }
            }
            Err(PoolError::Typing(diagnostics)) => {
                let mut error = error("TypeCheckError", diagnostics.lines().next().unwrap_or_default());
                error.traceback.splice(0..0, diagnostics.lines().map(str::to_owned));
                Ran::Error(error)
            }
            Err(error) => Ran::Died(cause_of(&error)),
        }
    }

    fn show(&mut self, value: &MontyObject) {
        let forms = [("text/plain", value.py_repr())];
        let data = forms
            .into_iter()
            .filter_map(|(media_type, text)| Some((media_type.to_owned(), to_raw_value(&text).ok()?.into())));
        let Ok(metadata) = to_raw_value(&json!({})) else { return };
        self.ears.hear(Said::Result { data: data.collect(), metadata: metadata.into(), count: self.count });
    }

    /// What waits is never run, because what came before it failed.
    fn drop_waiting(&mut self, orders: &mut mpsc::UnboundedReceiver<Order>) {
        while let Ok(order) = orders.try_recv() {
            self.waiting.push_back(order);
        }
        for order in std::mem::take(&mut self.waiting) {
            match order {
                Order::Execute { id, .. } => {
                    self.ears.hear(Said::End(Ended { id, aborted: true, ..Ended::default() }));
                }
                order => self.waiting.push_back(order),
            }
        }
    }

    fn answer(&mut self, id: u64, question: &Question) {
        let value = match question {
            Question::Complete { position, .. } => json!([position, position, []]),
            Question::Inspect { .. } => json!(null),
            Question::IsComplete { .. } => json!(["unknown", ""]),
            Question::History { count } => {
                let first = self.history.len().saturating_sub(usize::try_from(*count).unwrap_or(usize::MAX));
                let entries = self.history.iter().enumerate().skip(first);
                entries.map(|(line, source)| json!([0, line + 1, source])).collect()
            }
        };
        self.ears.hear(Said::Answer { id, value, failed: None });
    }
}

/// Whether a value can be given to code again: one that lives in the worker cannot, nor what may hold such a one.
const fn can_be_given_back(value: &MontyObject) -> bool {
    matches!(
        value,
        MontyObject::Bool(_)
            | MontyObject::Int(_)
            | MontyObject::BigInt(_)
            | MontyObject::Float(_)
            | MontyObject::String(_)
            | MontyObject::Bytes(_)
    )
}

/// Comes when the time is up; never where there is no limit.
async fn after(limit: Option<Duration>) -> Duration {
    match limit {
        Some(limit) => {
            tokio::time::sleep(limit).await;
            limit
        }
        None => std::future::pending().await,
    }
}

fn error(name: &str, value: &str) -> CodeError {
    let summary = if value.is_empty() { name.to_owned() } else { format!("{name}: {value}") };
    CodeError { name: name.into(), value: value.into(), traceback: vec![summary] }
}

fn error_of(exception: &MontyException) -> CodeError {
    CodeError {
        name: exception.exc_type().to_string(),
        value: exception.message().unwrap_or_default().to_owned(),
        traceback: exception.to_string().lines().map(str::to_owned).collect(),
    }
}

/// As Python has it: nothing is 0, a text is 1.
fn exit_code(exception: &MontyException) -> i32 {
    match exception.message() {
        None | Some("" | "None") => 0,
        Some(code) => code.parse().unwrap_or(1),
    }
}

fn cause_of(error: &PoolError) -> DeathCause {
    tracing::warn!(%error, "a worker of Monty is lost");
    match error {
        PoolError::Crashed { status: Some(status), .. } => platform::cause(*status),
        _ => DeathCause::NotReported,
    }
}

mod platform {
    use std::process::ExitStatus;

    use sandbook_sandbox::DeathCause;

    pub(super) fn cause(status: ExitStatus) -> DeathCause {
        #[cfg(unix)]
        if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
            return DeathCause::Signal(signal);
        }
        status.code().map_or(DeathCause::NotReported, DeathCause::ExitCode)
    }
}
