//! What is to be looked at: a saved connection by its name, or a runtime.

use sandbook_protocol::RuntimeKind;
use sandbook_store::folders::Folders;
use sandbook_workbench::own::{self, SavedConnection};

use crate::{
    arguments::{Doctor, Place},
    error::CommandError,
    sandbox::{self, Plan},
};

pub(super) async fn plan(doctor: &mut Doctor, folders: &Folders) -> Result<Plan, CommandError> {
    let saved = own::saved_connections(folders)?;
    let name = doctor.connection.trim();
    let named = saved.iter().find(|saved| saved.name == name || saved.id == name);
    let mut place = std::mem::replace(&mut doctor.place, Place::nowhere());
    if place.runtime.is_some() {
        return Err(CommandError::usage(
            "bad_setting",
            "--runtime says the same as the name of a connection or runtime.",
            "Leave it out: sandbook doctor RUNTIME.",
        ));
    }
    let folder = std::env::current_dir().unwrap_or_default();
    match (named, RuntimeKind::named(name)) {
        (Some(saved), _) => of_saved(saved, place, folders, &folder).await,
        (None, Some(kind)) => {
            place.runtime = Some(kind);
            sandbox::plan(folders, place, &folder, None).await
        }
        (None, None) => Err(unknown(name, &saved)),
    }
}

async fn of_saved(
    saved: &SavedConnection,
    mut place: Place,
    folders: &Folders,
    folder: &std::path::Path,
) -> Result<Plan, CommandError> {
    if saved.kind == RuntimeKind::Jupyter {
        place.server = Some(saved.id.clone());
        return sandbox::plan(folders, place, folder, None).await;
    }
    place.runtime = Some(saved.kind);
    let plan = sandbox::plan(folders, place, folder, None).await?;
    let Some(link) = saved.link.clone() else { return Ok(plan) };
    let credential = match (plan.credential, saved.credential.as_deref()) {
        (Some(given), _) => Some(given),
        (None, Some(stored)) => own::stored_credential(folders, stored).await,
        (None, None) => None,
    };
    let (name, connection) = (saved.name.clone(), Some(saved.id.clone()));
    Ok(Plan { settings: link, credential, connection, name, runtime: plan.runtime })
}

fn unknown(name: &str, saved: &[SavedConnection]) -> CommandError {
    let runtimes = RuntimeKind::ALL.iter().map(|kind| kind.name());
    let known: Vec<&str> = saved.iter().map(|saved| saved.name.as_str()).chain(runtimes).collect();
    CommandError::usage(
        "not_found",
        format!("`{name}` is no saved connection and no runtime."),
        &format!("There are {}.", known.join(", ")),
    )
}
