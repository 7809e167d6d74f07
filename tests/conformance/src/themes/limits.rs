//! Time limits.

use std::time::{Duration, Instant};

use sandbook_sandbox::{ExecuteRequest, KernelStatus};

use crate::{Stage, Verdict};

theme!("Time limits":
    a_timeout_keeps_what_came_and_is_no_success,
    code_that_ends_in_time_is_not_touched,
    code_that_ignores_the_interrupt_is_told_as_timed_out,
    code_that_ignores_the_interrupt_is_ended_by_a_restart_when_asked,
);

/// Code that cannot be interrupted, for a while.
const STUBBORN: &str = "import time\nend = time.time() + 14\nwhile time.time() < end:\n    try:\n        time.sleep(1)\n    except KeyboardInterrupt:\n        pass";

fn limited(code: &str) -> ExecuteRequest {
    ExecuteRequest { timeout: Some(Duration::from_secs(1)), ..ExecuteRequest::new(code) }
}

async fn a_timeout_keeps_what_came_and_is_no_success(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    let outcome = live.run_request(limited("print('part', flush=True)\nwhile True: pass")).await;
    assert!(outcome.timed_out && !outcome.success() && outcome.infrastructure.is_none(), "{outcome:?}");
    assert_eq!(outcome.stdout.text(), "part\n");
    assert!(live.run("1").await.success(), "the kernel is free again");
    Ok(())
}

async fn code_that_ends_in_time_is_not_touched(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    let request = ExecuteRequest { timeout: Some(Duration::from_mins(1)), ..ExecuteRequest::new("1") };
    let outcome = live.run_request(request).await;
    assert!(outcome.success() && !outcome.timed_out, "{outcome:?}");
    Ok(())
}

async fn code_that_ignores_the_interrupt_is_told_as_timed_out(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    live.needs_all_of_python()?;
    let start = Instant::now();
    let outcome = live.run_request(limited(STUBBORN)).await;
    assert!(outcome.timed_out && !outcome.success(), "{outcome:?}");
    assert!(start.elapsed() < Duration::from_secs(13), "{:?}", start.elapsed());
    Ok(())
}

async fn code_that_ignores_the_interrupt_is_ended_by_a_restart_when_asked(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    live.needs_all_of_python()?;
    live.run("kept = 1").await;
    let request = ExecuteRequest { restart_after: Some(Duration::from_secs(1)), ..limited(STUBBORN) };
    let outcome = live.run_request(request).await;
    assert!(outcome.timed_out && outcome.infrastructure.is_none(), "{outcome:?}");
    live.is(|status| *status == KernelStatus::Idle).await;
    let error = live.run("kept").await.code_error.map(|error| error.name);
    assert_eq!(error.as_deref(), Some("NameError"));
    Ok(())
}
