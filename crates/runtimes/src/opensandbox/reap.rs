//! Ending what was made in vain, by the id that it was given before it was asked for: whether the answer came or not.

use std::time::Duration;

use sandbook_sandbox::SandboxError;

use super::api::Lifecycle;

/// How often a server is asked that does not answer.
const TRIES: u32 = 5;
/// The pause between.
const PAUSE: Duration = Duration::from_millis(500);
/// How often it is looked for again where nobody knows whether it was made: it may be shown late.
const LOOKS: u32 = 4;
/// How long a server that could not be reached is asked again in the background, and how often. After that a sandbox ends
/// by its own time.
const LATER: (Duration, u32) = (Duration::from_secs(20), 90);

/// Ends every sandbox with this id. Where that cannot be done now, it is tried for half an hour more, and the error says that
/// one may be left.
pub(super) async fn reap(
    lifecycle: &Lifecycle,
    id: &str,
    is_unsure: bool,
    why: &SandboxError,
) -> Result<(), SandboxError> {
    let Err(error) = sweep(lifecycle, id, is_unsure).await else { return Ok(()) };
    tracing::warn!(%error, id, "a sandbox that was made in vain may be left");
    let (server, kept) = (lifecycle.clone(), id.to_owned());
    tokio::spawn(async move {
        for _ in 0..LATER.1 {
            tokio::time::sleep(LATER.0).await;
            if sweep(&server, &kept, false).await.is_ok() {
                tracing::info!(id = kept, "a sandbox that was made in vain is not there any more");
                return;
            }
        }
    });
    Err(SandboxError::LeftRunning {
        what: format!("the sandbox with the metadata {}={id} at {}", super::model::OURS, lifecycle.address()),
        detail: format!("{why}; and it could not be ended: {error}"),
    })
}

async fn sweep(lifecycle: &Lifecycle, id: &str, is_unsure: bool) -> Result<(), SandboxError> {
    let (mut failures, mut looks) = (0, 0);
    loop {
        match end_all(lifecycle, id).await {
            // a server may still be at what it was asked for
            Ok(0) if is_unsure && looks < LOOKS => looks += 1,
            Ok(0) => return Ok(()),
            Ok(_) => looks = LOOKS,
            Err(error @ (SandboxError::Refused { .. } | SandboxError::CredentialMissing { .. })) => {
                return Err(error);
            }
            Err(error) => {
                failures += 1;
                if failures == TRIES {
                    return Err(error);
                }
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Ends those that are there, and says how many they were.
async fn end_all(lifecycle: &Lifecycle, id: &str) -> Result<usize, SandboxError> {
    let found = lifecycle.ours(Some(id)).await?;
    for model in &found {
        lifecycle.remove(&model.id).await?;
    }
    Ok(found.len())
}
