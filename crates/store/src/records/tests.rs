use serde_json::json;

use super::*;

fn open() -> (tempfile::TempDir, Records) {
    let folder = tempfile::tempdir().unwrap();
    let records = Records::open(&folder.path().join("r.sqlite3"), &Synchroniser::start().unwrap()).unwrap();
    (folder, records)
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn sandbox(id: &str, created: i64) -> SandboxRecord {
    SandboxRecord {
        id: id.into(),
        runtime: "jupyter".into(),
        connection: Some("c1".into()),
        name: "My server".into(),
        handle: json!({ "kernel": "k" }),
        state: SandboxState::Creating,
        created: at(created),
        ended: None,
    }
}

#[test]
fn a_sandbox_goes_through_its_life() {
    let (_folder, records) = open();
    records.put_sandbox(&sandbox("s1", 10)).unwrap();
    assert_eq!(records.sandbox("s1").unwrap(), Some(sandbox("s1", 10)));
    assert!(records.set_sandbox_state("s1", SandboxState::Running, at(11)).unwrap());
    assert!(records.set_sandbox_handle("s1", &json!([1])).unwrap());
    assert_eq!(records.living_sandboxes().unwrap().len(), 1);
    assert!(records.set_sandbox_state("s1", SandboxState::Ended, at(12)).unwrap());
    let ended = records.sandbox("s1").unwrap().unwrap();
    assert_eq!((ended.state, ended.ended, ended.handle), (SandboxState::Ended, Some(at(12)), json!([1])));
    assert!(records.living_sandboxes().unwrap().is_empty());
    records.forget_ended_sandboxes(at(13)).unwrap();
    assert!(records.sandboxes().unwrap().is_empty());
    assert!(!records.set_sandbox_state("s1", SandboxState::Lost, at(14)).unwrap());
}

#[test]
fn kept_kernels_go_with_their_sandbox() {
    let (_folder, records) = open();
    records.put_sandbox(&sandbox("s1", 10)).unwrap();
    let kernel = |id: &str, kept| KeptKernel {
        id: id.into(),
        sandbox: "s1".into(),
        name: "python3".into(),
        document: None,
        handle: json!(null),
        kept: at(kept),
    };
    records.put_kept_kernel(&kernel("k2", 2)).unwrap();
    records.put_kept_kernel(&kernel("k1", 1)).unwrap();
    assert_eq!(records.kept_kernels().unwrap(), [kernel("k1", 1), kernel("k2", 2)]);
    // Putting the sandbox again must not throw them away.
    records.put_sandbox(&sandbox("s1", 10)).unwrap();
    assert!(records.remove_kept_kernel("k1").unwrap());
    assert_eq!(records.kept_kernels().unwrap().len(), 1);
    records.set_sandbox_state("s1", SandboxState::Ended, at(3)).unwrap();
    records.forget_ended_sandboxes(at(4)).unwrap();
    assert!(records.kept_kernels().unwrap().is_empty());
}

#[test]
fn recent_notebooks_are_newest_first_and_remember_their_runtime() {
    let (_folder, records) = open();
    records.note_recent_notebook("/a", Some("Python 3 here"), at(1)).unwrap();
    records.note_recent_notebook("/b", None, at(2)).unwrap();
    records.note_recent_notebook("/a", None, at(3)).unwrap();
    let recent = records.recent_notebooks(10).unwrap();
    let names: Vec<_> = recent.iter().map(|notebook| notebook.path.as_str()).collect();
    assert_eq!((names, recent[0].runtime.as_deref()), (vec!["/a", "/b"], Some("Python 3 here")));
    assert_eq!(records.recent_notebooks(1).unwrap().len(), 1);
    assert!(records.remove_recent_notebook("/a").unwrap());
}

#[test]
fn open_documents_are_found_again() {
    let (folder, records) = open();
    let document = |session| DocumentRecord {
        path: "/a".into(),
        session,
        opened: Timestamp::from_millisecond(1234).unwrap(),
    };
    records.put_document(&document(json!({ "sandbox": "s1" }))).unwrap();
    records.put_document(&document(json!({ "sandbox": "s2" }))).unwrap();
    drop(records);
    let path = folder.path().join("r.sqlite3");
    let records = Records::open(&path, &Synchroniser::start().unwrap()).unwrap();
    assert_eq!(records.documents().unwrap(), [document(json!({ "sandbox": "s2" }))]);
    assert!(records.remove_document("/a").unwrap() && !records.remove_document("/a").unwrap());
}

#[test]
fn a_run_whose_end_nobody_saw_is_found() {
    let (_folder, records) = open();
    let run = |id: &str, started| ExecutionRecord {
        id: id.into(),
        sandbox: "s1".into(),
        document: Some("/a".into()),
        cell: Some("c".into()),
        code: "1 + 1".into(),
        started: at(started),
        ended: None,
        outcome: json!(null),
    };
    records.put_execution(&run("e2", 2)).unwrap();
    records.put_execution(&run("e1", 1)).unwrap();
    assert!(records.end_execution("e1", at(3), &json!({ "success": true })).unwrap());
    assert_eq!(records.unfinished_executions().unwrap(), [run("e2", 2)]);
    assert_eq!(records.executions_of_document("/a").unwrap().len(), 2);
    let ended = records.execution("e1").unwrap().unwrap();
    assert_eq!((ended.ended, ended.outcome), (Some(at(3)), json!({ "success": true })));
    assert_eq!(records.forget_executions(at(2)).unwrap(), ["e1"]);
}

#[test]
fn a_record_that_makes_no_sense_is_an_error_and_no_panic() {
    let (folder, records) = open();
    records.put_sandbox(&sandbox("s1", 10)).unwrap();
    let other = rusqlite::Connection::open(folder.path().join("r.sqlite3")).unwrap();
    other.execute("UPDATE sandbox SET state = 'dreaming'", []).unwrap();
    let error = records.sandbox("s1").unwrap_err();
    assert!(error.to_string().contains("dreaming"), "{error}");
    other.execute("UPDATE sandbox SET state = 'lost', handle = '{'", []).unwrap();
    assert!(records.sandbox("s1").is_err());
}

#[test]
fn a_credential_is_known_by_its_name_with_its_age_and_its_last_use() {
    let (_folder, records) = open();
    let credential = CredentialRecord {
        name: "c1".into(),
        title: "lab".into(),
        kind: "jupyter_token".into(),
        place: "keyring".into(),
        variable: None,
        added: at(10),
        replaced: None,
        used: None,
        expires: Some(at(50)),
    };
    records.put_credential(&credential).unwrap();
    assert!(records.note_credential_used("c1", at(20)).unwrap());
    assert!(!records.note_credential_used("c2", at(20)).unwrap());
    let used = CredentialRecord { used: Some(at(20)), ..credential };
    assert_eq!(records.credentials().unwrap(), std::slice::from_ref(&used));
    let replaced = CredentialRecord { replaced: Some(at(30)), expires: None, ..used };
    records.put_credential(&replaced).unwrap();
    assert_eq!(records.credentials().unwrap(), [replaced]);
    assert!(records.remove_credential("c1").unwrap());
    assert!(!records.remove_credential("c1").unwrap());
}
