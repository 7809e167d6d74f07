//! Code that is given while other code runs.

use sandbook_sandbox::ExecuteRequest;

use crate::{Stage, Verdict};

theme!("Queue":
    code_given_at_once_runs_one_after_the_other,
    a_failure_drops_what_waits_where_that_was_asked,
    a_failure_leaves_what_waits_where_that_was_not_asked,
);

async fn code_given_at_once_runs_one_after_the_other(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    live.needs_all_of_python()?;
    live.run("import time\norder = []").await;
    let mut runs = Vec::new();
    for number in 0..4 {
        runs.push(live.start(&format!("time.sleep(0.2)\norder.append({number})\nprint({number})")).await);
    }
    for (number, run) in runs.iter_mut().enumerate() {
        let outcome = run.finish().await;
        assert!(outcome.success(), "{outcome:?}");
        assert_eq!(outcome.stdout.text(), format!("{number}\n"), "each has its own output");
    }
    assert_eq!(live.run("order").await.text().as_deref(), Some("[0, 1, 2, 3]"));
    Ok(())
}

async fn a_failure_drops_what_waits_where_that_was_asked(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    live.needs_all_of_python()?;
    live.run("import time").await;
    let stopping = |code: &str| ExecuteRequest { stop_on_error: true, ..ExecuteRequest::new(code) };
    let mut failing = live.begin(stopping("time.sleep(1)\n1/0")).await?;
    let mut waiting = live.begin(stopping("ran = True")).await?;
    assert!(failing.finish().await.code_error.is_some());
    let dropped = waiting.finish().await;
    assert!(dropped.aborted && !dropped.success(), "{dropped:?}");
    let error = live.run("ran").await.code_error.map(|error| error.name);
    assert_eq!(error.as_deref(), Some("NameError"));
    Ok(())
}

async fn a_failure_leaves_what_waits_where_that_was_not_asked(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    live.needs_all_of_python()?;
    live.run("import time").await;
    let mut failing = live.start("time.sleep(0.5)\n1/0").await;
    let mut waiting = live.start("'ran'").await;
    assert!(failing.finish().await.code_error.is_some());
    assert_eq!(waiting.finish().await.text().as_deref(), Some("'ran'"));
    Ok(())
}
