//! What a command made for itself and could not end, because it was killed.

use std::time::Duration;

use sandbook_sandbox::{
    AttachHandle, CreateRequest, Progress, Runtime, SandboxError, SandboxSettings, StopChoice,
};
use sandbook_store::records::SandboxRecord;
use secrecy::SecretString;
use tokio_util::sync::CancellationToken;

/// Ends the sandbox of a record, as its command would have done. One that was still being made is looked for by our own id;
/// a place that does not keep our id cannot tell which one that would be.
///
/// # Errors
/// What stood in the way. [`SandboxError::Gone`] means that there is nothing any more.
pub async fn end_left_behind(
    runtime: &dyn Runtime,
    settings: SandboxSettings,
    credential: Option<SecretString>,
    record: &SandboxRecord,
    grace: Duration,
) -> Result<(), SandboxError> {
    if record.handle.is_null() {
        let listed = runtime.list(&settings, credential.as_ref()).await?;
        if let Some(left) = listed.into_iter().find(|listed| listed.id.as_ref() == Some(&record.id)) {
            runtime.remove(&settings, credential.as_ref(), &left.handle).await?;
        }
        return Ok(());
    }
    let request =
        CreateRequest { settings, credential, progress: Progress::none(), cancel: CancellationToken::new() };
    let sandbox = runtime.attach(AttachHandle(record.handle.clone()), request).await?;
    sandbox.stop(StopChoice::Default, grace).await.map(drop)
}
