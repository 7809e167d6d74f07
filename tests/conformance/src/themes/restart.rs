//! Restarts.

use sandbook_sandbox::{KernelStatus, SandboxError};

use crate::{Stage, Verdict};

theme!("Restart":
    a_restart_forgets_variables_and_begins_to_count_anew,
    a_restart_ends_what_runs,
    code_given_during_a_restart_runs_afterwards,
);

async fn a_restart_forgets_variables_and_begins_to_count_anew(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    live.run("x = 1").await;
    live.restart().await?;
    let outcome = live.run("x").await;
    assert_eq!(outcome.code_error.map(|error| error.name).as_deref(), Some("NameError"));
    assert_eq!(outcome.execution_count, Some(1));
    Ok(())
}

async fn a_restart_ends_what_runs(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    let mut running = live.start("print('on', flush=True)\nwhile True: pass").await;
    running.until_text("on").await;
    live.restart().await?;
    let outcome = running.finish().await;
    assert!(matches!(outcome.infrastructure, Some(SandboxError::Died { .. })), "{outcome:?}");
    assert!(live.run("1").await.success());
    Ok(())
}

async fn code_given_during_a_restart_runs_afterwards(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    live.run("x = 1").await;
    let (restarted, outcome) = tokio::join!(live.restart(), async {
        live.is(|status| *status == KernelStatus::Starting).await;
        live.run("x").await
    });
    restarted?;
    assert_eq!(outcome.code_error.map(|error| error.name).as_deref(), Some("NameError"));
    Ok(())
}
