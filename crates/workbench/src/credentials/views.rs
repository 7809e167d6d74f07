//! What a page sees of credentials: everything but themselves.

use jiff::Timestamp;
use sandbook_protocol::{ConnectionId, CredentialId, CredentialKind, CredentialPlace, CredentialView};
use sandbook_store::records::CredentialRecord;

use super::{
    kinds::{self, rotate_after},
    of_runtime, place_name, variable,
};
use crate::{connections::Connection, owner::Workbench};

/// In milliseconds.
const DAY: u64 = 86_400_000;

impl Workbench {
    /// Every credential: those on record, and those that connections name and an older Sandbook stored.
    pub(crate) fn credential_views(&self) -> Vec<CredentialView> {
        let connections = self.0.connections.all();
        let records = self.0.credentials.records();
        let mut views: Vec<_> = records
            .iter()
            .filter_map(|record| view(record, &connections, self.0.credentials.is_in_memory(&record.name)))
            .collect();
        for connection in &connections {
            let Some(name) = connection.credential.as_deref() else { continue };
            if !views.iter().any(|view| view.id.as_str() == name) {
                views.push(without_record(name, connection, &connections));
            }
        }
        views
    }
}

fn view(record: &CredentialRecord, connections: &[Connection], in_memory: bool) -> Option<CredentialView> {
    let kind = CredentialKind::named(&record.kind)?;
    let since = record.replaced.unwrap_or(record.added);
    let place = if in_memory {
        CredentialPlace::Memory
    } else if let Some(name) = &record.variable {
        if variable(name).is_some() { CredentialPlace::Environment } else { CredentialPlace::Gone }
    } else if record.place == place_name(CredentialPlace::Memory) {
        CredentialPlace::Gone
    } else {
        CredentialPlace::Keyring
    };
    let milliseconds = |time: Timestamp| u64::try_from(time.as_millisecond()).unwrap_or_default();
    let rotate_by = rotate_after(kind).map(|days| milliseconds(since) + u64::from(days) * DAY);
    Some(CredentialView {
        id: CredentialId(record.name.clone()),
        name: record.title.clone(),
        kind,
        place,
        variable: record.variable.clone(),
        added_at: Some(milliseconds(record.added)),
        replaced_at: record.replaced.map(milliseconds),
        used_at: record.used.map(milliseconds),
        expires_at: record.expires.map(milliseconds),
        rotate_by,
        connections: users(&record.name, connections),
    })
}

/// One of which nothing is known but who uses it.
fn without_record(name: &str, connection: &Connection, connections: &[Connection]) -> CredentialView {
    CredentialView {
        id: CredentialId(name.to_owned()),
        name: connection.name.clone(),
        kind: of_runtime(connection.kind),
        place: CredentialPlace::Keyring,
        variable: None,
        added_at: None,
        replaced_at: None,
        used_at: None,
        expires_at: None,
        rotate_by: None,
        connections: users(name, connections),
    }
}

fn users(name: &str, connections: &[Connection]) -> Vec<ConnectionId> {
    let users = connections.iter().filter(|connection| connection.credential.as_deref() == Some(name));
    users.map(|connection| connection.id.clone()).collect()
}

/// What one is called where the person says nothing.
pub(crate) fn usual_name(kind: CredentialKind) -> String {
    kinds::title(kind).to_owned()
}
