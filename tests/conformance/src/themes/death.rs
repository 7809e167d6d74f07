//! A kernel that dies.

use std::time::{Duration, Instant};

use sandbook_sandbox::{ExecuteRequest, KernelStatus, SandboxError};

use crate::{Live, Stage, Verdict};

theme!("Death":
    a_death_is_known_soon_and_ends_what_runs,
    the_cause_of_a_death_is_told,
    what_was_printed_before_a_death_is_kept,
    a_dead_kernel_takes_no_code_until_it_is_restarted,
    a_death_between_two_runs_is_known,
);

async fn die(live: &Live, code: &str) -> (String, String) {
    let outcome = live.run(&format!("import os, signal\nprint('before', flush=True)\n{code}")).await;
    match outcome.infrastructure {
        Some(SandboxError::Died { cause }) => (cause, outcome.stdout.text()),
        _ => panic!("{outcome:?}"),
    }
}

async fn a_death_is_known_soon_and_ends_what_runs(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    live.needs_all_of_python()?;
    live.run("import os").await;
    let start = Instant::now();
    let outcome = live.run("os._exit(7)").await;
    assert!(matches!(outcome.infrastructure, Some(SandboxError::Died { .. })), "{outcome:?}");
    assert!(!outcome.success());
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    Ok(())
}

async fn the_cause_of_a_death_is_told(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    live.needs_all_of_python()?;
    let (cause, _) = die(&live, "os._exit(7)").await;
    if cause == "not reported" {
        let reason = "The server does not say why a kernel died.".into();
        return Err(SandboxError::Unsupported { reason });
    }
    assert_eq!(cause, "exit code 7");
    live.restart().await?;
    assert_eq!(die(&live, "os.kill(os.getpid(), signal.SIGKILL)").await.0, "signal 9");
    Ok(())
}

async fn what_was_printed_before_a_death_is_kept(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    live.needs_all_of_python()?;
    let code = "import time; time.sleep(1); os._exit(1)";
    assert_eq!(die(&live, code).await.1, "before\n");
    Ok(())
}

async fn a_dead_kernel_takes_no_code_until_it_is_restarted(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    live.needs_all_of_python()?;
    die(&live, "os._exit(1)").await;
    live.is(|status| matches!(status, KernelStatus::Dead(_) | KernelStatus::Idle)).await;
    match live.execute(ExecuteRequest::new("1")).await {
        Err(SandboxError::Died { .. }) => {}
        // a server may have restarted it by itself
        Ok(_) => live.is(|status| !matches!(status, KernelStatus::Dead(_))).await,
        Err(error) => panic!("{error:?}"),
    }
    live.restart().await?;
    assert_eq!(live.run("1").await.text().as_deref(), Some("1"));
    Ok(())
}

async fn a_death_between_two_runs_is_known(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    live.needs_all_of_python()?;
    let code = "import os, threading, time\ndef die():\n    time.sleep(1)\n    os._exit(3)\nthreading.Thread(target=die).start()";
    assert!(live.run(code).await.success());
    live.is(|status| matches!(status, KernelStatus::Dead(_))).await;
    Ok(())
}
