//! The sandboxes of ours that run.

use std::{collections::BTreeSet, time::Duration};

use sandbook_sandbox::{Listed, SandboxError};
use tonic::Status;

use super::{
    control::Control,
    line::explain,
    made::{ID, OURS, tag},
    settings::Handle,
    wire::control::{SandboxInfo, SandboxListRequest, SandboxListResponse},
};

const PATIENCE: Duration = Duration::from_secs(20);

/// Those of ours that run, newest first, whichever app they belong to.
pub(super) async fn list(control: &Control) -> Result<Vec<Listed>, SandboxError> {
    let (mut listed, mut seen, mut before) = (Vec::new(), BTreeSet::new(), 0.0);
    loop {
        let found = page(control, "", &[(OURS, "1")], before).await;
        let found = found.map_err(|status| explain(&status, control.address()))?;
        let Some(last) = found.last() else { return Ok(listed) };
        before = last.created_at;
        let new: Vec<SandboxInfo> = found.into_iter().filter(|info| seen.insert(info.id.clone())).collect();
        if new.is_empty() {
            return Ok(listed);
        }
        listed.extend(new.into_iter().map(as_listed));
    }
}

/// One page of those with these tags, of one app or of all where it is empty.
pub(super) async fn page(
    control: &Control,
    app: &str,
    tags: &[(&str, &str)],
    before: f64,
) -> Result<Vec<SandboxInfo>, Status> {
    let question = SandboxListRequest {
        app_id: app.to_owned(),
        before_timestamp: before,
        environment_name: if app.is_empty() { control.environment() } else { String::new() },
        include_finished: false,
        tags: tags.iter().map(|(name, value)| tag(name, value)).collect(),
    };
    let SandboxListResponse { sandboxes } = control.ask_for("SandboxListV2", question, PATIENCE).await?;
    Ok(sandboxes)
}

fn as_listed(info: SandboxInfo) -> Listed {
    let id = info.tags.into_iter().find(|tag| tag.tag_name == ID).map(|tag| tag.tag_value);
    let handle = Handle { sandbox: info.id.clone(), ..Handle::default() };
    Listed {
        handle: handle.keep(),
        id,
        title: if info.name.is_empty() { info.id } else { info.name },
        state: "running".into(),
        connections: None,
        last_activity: None,
    }
}
