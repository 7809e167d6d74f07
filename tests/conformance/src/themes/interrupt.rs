//! Code that is interrupted.

use sandbook_sandbox::KernelStatus;

use crate::{Stage, Verdict};

theme!("Interrupt":
    an_interrupt_ends_a_loop_and_says_so,
    an_interrupt_ends_code_that_sleeps,
    state_from_before_the_interrupted_code_is_kept,
    an_interrupt_between_two_runs_is_harmless,
    code_may_catch_its_interrupt,
);

async fn an_interrupt_ends_a_loop_and_says_so(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    let mut running = live.start("print('on', flush=True)\nwhile True: pass").await;
    running.until_text("on").await;
    live.interrupt().await?;
    let outcome = running.finish().await;
    assert!(outcome.interrupted && !outcome.timed_out && !outcome.success(), "{outcome:?}");
    assert_eq!(outcome.stdout.text(), "on\n");
    Ok(())
}

async fn an_interrupt_ends_code_that_sleeps(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    live.needs_all_of_python()?;
    let mut running = live.start("import time\nprint('on', flush=True)\ntime.sleep(600)").await;
    running.until_text("on").await;
    live.interrupt().await?;
    assert!(running.finish().await.interrupted);
    Ok(())
}

async fn state_from_before_the_interrupted_code_is_kept(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    live.run("kept = [1, 2]").await;
    let mut running = live.start("print('on', flush=True)\nwhile True: pass").await;
    running.until_text("on").await;
    live.interrupt().await?;
    running.finish().await;
    assert_eq!(live.run("kept").await.text().as_deref(), Some("[1, 2]"));
    live.is(|status| *status == KernelStatus::Idle).await;
    Ok(())
}

async fn an_interrupt_between_two_runs_is_harmless(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    live.run("x = 1").await;
    live.interrupt().await?;
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    let outcome = live.run("x").await;
    assert!(outcome.success() && outcome.text().as_deref() == Some("1"), "{outcome:?}");
    Ok(())
}

async fn code_may_catch_its_interrupt(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    live.needs_all_of_python()?;
    let code = "import time\ntry:\n    print('on', flush=True)\n    time.sleep(600)\nexcept KeyboardInterrupt:\n    print('caught')";
    let mut running = live.start(code).await;
    running.until_text("on").await;
    live.interrupt().await?;
    let outcome = running.finish().await;
    assert!(outcome.success() && outcome.stdout.text() == "on\ncaught\n", "{outcome:?}");
    Ok(())
}
