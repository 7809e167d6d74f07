//! The library's client: three ways to run code, the same everywhere.

use std::time::Duration;

use futures::StreamExt;
use sandbook_sandbox::{Client, DEFAULT_TIMEOUT, Event, EventKind, Outcome, OutcomeBuilder};

use crate::{Stage, Verdict};

theme!("The library's client":
    a_run_a_stream_and_a_blocking_iterator_tell_the_same,
    the_client_s_time_limit_counts_for_each_run,
);

const CODE: &str = "import sys\nfor line in 'abc':\n    print(line)\nprint('aside', file=sys.stderr)\n40 + 2";

fn outcome(events: &[Event]) -> Outcome {
    let mut builder = OutcomeBuilder::default();
    for event in events {
        builder.push(event);
    }
    builder.finish()
}

/// What a run came to, but for its number and its times.
fn told(outcome: &Outcome) -> (String, String, Option<String>, bool) {
    (outcome.stdout.text(), outcome.stderr.text(), outcome.text(), outcome.success())
}

async fn a_run_a_stream_and_a_blocking_iterator_tell_the_same(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    live.needs_all_of_python()?;
    let client = Client::new(live.0.clone());
    let run = client.run(CODE).await?;
    assert_eq!(told(&run), ("a\nb\nc\n".into(), "aside\n".into(), Some("42".into()), true));
    assert!(run.started_at.is_some() && run.duration > Duration::ZERO, "{run:?}");

    let streamed: Vec<Event> = client.stream(CODE).await?.collect().await;
    let handle = tokio::runtime::Handle::current();
    let blocking = client.clone();
    let thread = tokio::task::spawn_blocking(move || Ok(blocking.iterate(handle, CODE)?.collect()));
    let iterated: Result<Vec<Event>, sandbook_sandbox::SandboxError> = thread.await.expect("it ends");
    for events in [streamed, iterated?] {
        let ends: Vec<bool> = events.iter().map(|event| matches!(event.kind, EventKind::End(_))).collect();
        assert_eq!(ends.iter().position(|end| *end), Some(ends.len() - 1), "the end is the last: {events:?}");
        assert_eq!(told(&outcome(&events)), told(&run));
    }
    Ok(())
}

async fn the_client_s_time_limit_counts_for_each_run(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    let client = Client::new(live.0.clone());
    assert_eq!((client.timeout(), DEFAULT_TIMEOUT), (Some(Duration::from_secs(30)), Duration::from_secs(30)));
    let client = client.with_timeout(Some(Duration::from_secs(1)));
    let outcome = client.run("while True: pass").await?;
    assert!(outcome.timed_out && !outcome.success(), "{outcome:?}");
    assert!(client.run("1").await?.success(), "the next has its own second");
    Ok(())
}
