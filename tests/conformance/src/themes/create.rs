//! Making and joining sandboxes.

use std::sync::{Arc, Mutex};

use sandbook_sandbox::{CreateRequest, Progress, SandboxError, StopChoice, StopReport};

use crate::{Live, Stage, Verdict};

theme!("Create and join":
    a_sandbox_is_ready_when_it_is_made,
    how_far_a_start_has_come_is_told,
    a_start_that_was_cancelled_leaves_nothing,
    a_start_can_be_cancelled_while_it_goes_on,
    a_kept_sandbox_lives_on_and_can_be_joined,
    listing_starts_nothing,
);

async fn a_sandbox_is_ready_when_it_is_made(stage: &Stage) -> Verdict {
    use sandbook_sandbox::Readiness;
    let readiness = stage.runtime.readiness(&stage.settings, stage.credential.as_ref()).await;
    assert!(matches!(readiness, Readiness::Ready(_)), "{readiness:?}");
    let live = stage.sandbox().await?;
    assert_eq!(live.info().owned, !stage.shared);
    assert!(live.run("1").await.success());
    Ok(())
}

async fn how_far_a_start_has_come_is_told(stage: &Stage) -> Verdict {
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let keep = told.clone();
    let progress = Progress::new(move |message, _| keep.lock().expect("a list").push(message));
    let made = stage.runtime.create(CreateRequest { progress, ..stage.request(|_| {}) }).await?;
    drop(made);
    assert!(!told.lock().expect("a list").is_empty());
    Ok(())
}

async fn a_start_that_was_cancelled_leaves_nothing(stage: &Stage) -> Verdict {
    let request = stage.request(|_| {});
    request.cancel.cancel();
    match stage.runtime.create(request).await.err() {
        Some(SandboxError::Cancelled) => Ok(()),
        other => panic!("{other:?}"),
    }
}

async fn a_start_can_be_cancelled_while_it_goes_on(stage: &Stage) -> Verdict {
    for pause in [5, 40, 150] {
        let request = stage.request(|_| {});
        let cancel = request.cancel.clone();
        let cancelling = async {
            tokio::time::sleep(std::time::Duration::from_millis(pause)).await;
            cancel.cancel();
        };
        let (made, ()) = tokio::join!(stage.runtime.create(request), cancelling);
        match made {
            Ok(quick) => drop(quick),
            Err(SandboxError::Cancelled) => {}
            Err(error) => panic!("{error:?}"),
        }
        stage.is_left_empty().await.expect("nothing is left behind");
    }
    Ok(())
}

async fn a_kept_sandbox_lives_on_and_can_be_joined(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    live.run("x = 41").await;
    let handle = live.info().handle;
    let report = live.stop(StopChoice::Keep, std::time::Duration::from_secs(5)).await?;
    assert_eq!(report, StopReport::LeftRunning);
    drop(live);
    let joined = Live::new(stage.runtime.attach(handle, stage.request(|_| {})).await?);
    assert_eq!(joined.run("x + 1").await.text().as_deref(), Some("42"));
    joined.stop(StopChoice::ShutDown, std::time::Duration::from_secs(10)).await?;
    Ok(())
}

async fn listing_starts_nothing(stage: &Stage) -> Verdict {
    let before = stage.runtime.list(&stage.settings, stage.credential.as_ref()).await?;
    let after = stage.runtime.list(&stage.settings, stage.credential.as_ref()).await?;
    assert_eq!(before.len(), after.len());
    Ok(())
}
