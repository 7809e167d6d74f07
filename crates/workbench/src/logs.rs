//! The owner's log lines, for the Logs panel: the newest are kept in memory, whoever watches is told of new ones.
//!
//! The same lines go to the log files; those are set up where the process starts.

use std::{
    collections::VecDeque,
    fmt::Write as _,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::{SystemTime, UNIX_EPOCH},
};

use sandbook_protocol::{LogLevel, LogLine};
use tracing::{
    Event, Level, Subscriber,
    field::Visit,
    span::{Attributes, Id},
};
use tracing_subscriber::{Layer, layer::Context, registry::LookupSpan};

use crate::session::Mailbox;

/// How many lines are kept.
const KEPT: usize = 2_000;

/// The newest log lines. Cloning shares them.
#[derive(Debug, Clone, Default)]
pub struct LogLines(Arc<Mutex<Shared>>);

#[derive(Debug, Default)]
struct Shared {
    lines: VecDeque<LogLine>,
    watchers: Vec<Weak<Mailbox>>,
}

impl LogLines {
    /// The lines that are kept, oldest first; from now on `mailbox` is told of new ones.
    pub(crate) fn watch(&self, mailbox: &Arc<Mailbox>) -> Vec<LogLine> {
        let mut shared = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        mailbox.watch_logs();
        shared.watchers.retain(|watcher| watcher.strong_count() > 0);
        shared.watchers.push(Arc::downgrade(mailbox));
        shared.lines.iter().cloned().collect()
    }

    fn add(&self, line: LogLine) {
        let mut shared = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for watcher in shared.watchers.iter().filter_map(Weak::upgrade) {
            watcher.log(&line);
        }
        if shared.lines.len() >= KEPT {
            shared.lines.pop_front();
        }
        shared.lines.push_back(line);
    }
}

/// What a span is called, with its fields: which execution or connection a line is about.
struct Named(String);

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for LogLines {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if let Some(span) = context.span(id) {
            let mut fields = Text::default();
            attributes.record(&mut fields);
            span.extensions_mut().insert(Named(format!("[{}{}]", span.name(), fields.0)));
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut text = Text::default();
        event.record(&mut text);
        for span in context.event_scope(event).into_iter().flatten() {
            if let Some(named) = span.extensions().get::<Named>() {
                text.0.push(' ');
                text.0.push_str(&named.0);
            }
        }
        let level = match *event.metadata().level() {
            Level::ERROR => LogLevel::Error,
            Level::WARN => LogLevel::Warn,
            Level::INFO => LogLevel::Info,
            Level::DEBUG | Level::TRACE => LogLevel::Debug,
        };
        let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        self.add(LogLine {
            at: u64::try_from(at).unwrap_or(u64::MAX),
            level,
            target: event.metadata().target().to_owned(),
            message: sandbook_store::redact::redact(&text.0).into_owned(),
        });
    }
}

/// An event's message, its other fields behind it.
#[derive(Default)]
struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
        // Writing to a string does not fail.
        let _ = if field.name() == "message" {
            let fields = std::mem::take(&mut self.0);
            write!(self.0, "{value:?}{fields}")
        } else {
            write!(self.0, ", {} {value:?}", field.name())
        };
    }

    fn record_str(&mut self, field: &tracing::field::Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    #[test]
    fn a_line_says_which_connection_it_is_about_and_no_secret() {
        let lines = LogLines::default();
        let subscriber = tracing_subscriber::registry().with(lines.clone());
        tracing::subscriber::with_default(subscriber, || {
            let span = tracing::info_span!("connection", kind = "server", host = "lab:8888");
            let _entered = span.enter();
            tracing::warn!(reason = "https://lab/?token=abc was closed", "the connection is away");
        });
        let shared = lines.0.lock().unwrap();
        let told: Vec<&str> = shared.lines.iter().map(|line| line.message.as_str()).collect();
        assert_eq!(
            told,
            [
                "the connection is away, reason https://lab/?token=*** was closed [connection, kind server, host lab:8888]"
            ]
        );
    }
}
