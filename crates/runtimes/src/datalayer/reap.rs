//! Ending what was made in vain, by the name that was given to it before it was asked for: whether the answer came or not.

use std::time::Duration;

use sandbook_sandbox::SandboxError;

use super::api::Platform;

/// How often a platform is asked that does not answer.
const TRIES: u32 = 5;
/// The pause between.
const PAUSE: Duration = Duration::from_secs(1);
/// How often it is looked for again where nobody knows whether it was made: it may be shown late.
const LOOKS: u32 = 3;
/// How long a platform that could not be reached is asked again in the background, and how often.
const LATER: (Duration, u32) = (Duration::from_mins(1), 60);

/// Ends every runtime with this name. Where that cannot be done now, it is tried for an hour more, and the error says that it
/// may be left: whoever has it on record looks for it again.
pub(super) async fn reap(
    platform: &Platform,
    given_name: &str,
    is_unsure: bool,
    why: &SandboxError,
) -> Result<(), SandboxError> {
    let Err(error) = sweep(platform, given_name, is_unsure).await else { return Ok(()) };
    tracing::warn!(%error, runtime = given_name, "a runtime that was made in vain may be left");
    let (platform, name) = (platform.clone(), given_name.to_owned());
    tokio::spawn(async move {
        for _ in 0..LATER.1 {
            tokio::time::sleep(LATER.0).await;
            if sweep(&platform, &name, false).await.is_ok() {
                tracing::info!(runtime = name, "a runtime that was made in vain is not there any more");
                return;
            }
        }
    });
    Err(SandboxError::LeftRunning {
        what: format!("the Datalayer runtime {given_name}"),
        detail: format!("{why}; and it could not be ended: {error}"),
    })
}

async fn sweep(platform: &Platform, given_name: &str, is_unsure: bool) -> Result<(), SandboxError> {
    let (mut failures, mut looks) = (0, 0);
    loop {
        match end_all(platform, given_name).await {
            // a platform may still be at what it was asked for
            Ok(0) if is_unsure && looks < LOOKS => looks += 1,
            Ok(0) => return Ok(()),
            Ok(_) => looks = if is_unsure { 1 } else { LOOKS },
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
async fn end_all(platform: &Platform, given_name: &str) -> Result<usize, SandboxError> {
    let found = platform.called(given_name).await?;
    for model in &found {
        platform.remove(&model.name).await?;
    }
    Ok(found.len())
}
