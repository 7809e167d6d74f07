//! Letting a sandbox go.

use std::time::{Duration, Instant};

use sandbook_sandbox::{ExecuteRequest, KernelStatus, SandboxError, StopReport};

use crate::{Stage, Verdict};

theme!("Stop":
    stopping_an_idle_sandbox_ends_it_when_asked,
    stopping_ends_what_runs,
    stopping_may_be_repeated,
    a_stopped_sandbox_takes_no_code,
    a_sandbox_that_is_dropped_while_code_runs_ends,
);

async fn stopping_an_idle_sandbox_ends_it_when_asked(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    assert!(live.run("1").await.success());
    assert_eq!(live.end().await, StopReport::Ended);
    assert_eq!(*live.status().borrow(), KernelStatus::Stopped);
    stage.is_left_empty().await.expect("nothing is left behind, though the sandbox is still held");
    Ok(())
}

async fn stopping_ends_what_runs(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    let mut running = live.start("print('on', flush=True)\nwhile True: pass").await;
    running.until_text("on").await;
    let start = Instant::now();
    assert_ne!(live.end().await, StopReport::WasGone);
    assert!(start.elapsed() < Duration::from_secs(12), "{:?}", start.elapsed());
    assert!(!running.finish().await.success());
    Ok(())
}

async fn stopping_may_be_repeated(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    live.end().await;
    assert_eq!(live.end().await, StopReport::WasGone);
    Ok(())
}

async fn a_stopped_sandbox_takes_no_code(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    live.end().await;
    let refused = live.execute(ExecuteRequest::new("1")).await;
    assert!(
        matches!(refused, Err(SandboxError::Disconnected { .. } | SandboxError::Died { .. })),
        "{refused:?}"
    );
    Ok(())
}

async fn a_sandbox_that_is_dropped_while_code_runs_ends(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    let mut running = live.start("print('on', flush=True)\nwhile True: pass").await;
    running.until_text("on").await;
    drop(live);
    drop(running);
    Ok(())
}
