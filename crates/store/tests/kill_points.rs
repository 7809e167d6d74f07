//! Nothing that was acknowledged is lost when the process is killed in the middle of a flood.
//!
//! Each test starts itself again as a writer, which says after every write what is acknowledged, kills it at a random
//! moment, looks at what is there, and lets the next writer go on from it. `SANDBOOK_TEST_LONG=1` does hundreds of
//! rounds.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a helper that fails fails its test")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rand::Rng as _;
use sandbook_store::blobs::{Blobs, Durability};
use sandbook_store::files::{Digest, Replacement};
use sandbook_store::journal::{Journal, Journals};
use sandbook_store::log::{Appended, Limits, Logs, Position, Priority};
use sandbook_store::records::{Records, SandboxRecord, SandboxState};
use sandbook_store::sync::Synchroniser;

/// Set in the process that writes: the folder to write in.
const WRITER: &str = "SANDBOOK_TEST_WRITER";

fn rounds() -> usize {
    if std::env::var_os("SANDBOOK_TEST_LONG").is_some() { 200 } else { 12 }
}

/// Kills a writer of `test` again and again and hands the folder and the last acknowledged number to `look`. Every few
/// rounds begin with an empty folder, or most of the time would go into reading the same again.
fn kill_again_and_again(test: &str, look: impl Fn(&Path, usize)) {
    let mut folder = tempfile::tempdir().unwrap();
    for round in 0..rounds() {
        if round % 6 == 0 {
            folder = tempfile::tempdir().unwrap();
        }
        let last = flood_and_kill(test, folder.path());
        look(folder.path(), last);
    }
}

/// Killed when dropped, whatever the test does.
struct Writer(Child);

impl Drop for Writer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs `test` in another process as a writer, kills it after a random time, and returns the last number that it
/// acknowledged.
fn flood_and_kill(test: &str, folder: &Path) -> usize {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(WRITER, folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let mut writer = Writer(child);
    let mut lines = BufReader::new(writer.0.stdout.take().unwrap()).lines();
    let number = |line: String| line.strip_prefix("acknowledged ").map(|number| number.parse().unwrap());
    // The writer is at work once it has acknowledged something.
    let first: Option<usize> = lines.by_ref().find_map(|line| number(line.unwrap()));
    let mut last = first.expect("the writer ended by itself");
    std::thread::scope(|scope| {
        let acknowledged = scope.spawn(|| lines.map_while(Result::ok).filter_map(number).last());
        std::thread::sleep(Duration::from_micros(rand::rng().random_range(0..60_000)));
        writer.0.kill().unwrap();
        last = acknowledged.join().unwrap().unwrap_or(last);
    });
    last
}

fn writer_folder() -> Option<PathBuf> {
    std::env::var_os(WRITER).map(PathBuf::from)
}

fn acknowledge(number: usize) {
    // Written straight to the pipe, so that what was said is known after the kill.
    let mut out = std::io::stdout().lock();
    writeln!(out, "acknowledged {number}").unwrap();
    out.flush().unwrap();
}

/// Number `number` as a payload of varying size.
fn payload(number: usize) -> Vec<u8> {
    let mut payload = format!("{number} ").into_bytes();
    let size = if number.is_multiple_of(97) { 300_000 } else { number % 300 };
    payload.resize(payload.len() + size, b'.');
    payload
}

fn number_of(payload: &[u8]) -> usize {
    let text = std::str::from_utf8(payload).unwrap();
    let number = text.split(' ').next().unwrap().parse().unwrap();
    assert_eq!(payload, self::payload(number), "a payload is not what was written");
    number
}

/// A document whose content is the numbers of its edits, one a line.
struct Document {
    path: PathBuf,
    journal: Journal,
    edits: usize,
}

fn open_document(folder: &Path, synchroniser: &Arc<Synchroniser>) -> Document {
    let path = folder.join("document");
    let content = std::fs::read(&path).unwrap_or_default();
    let journals = Journals::open(&folder.join("journals"), synchroniser).unwrap();
    let (journal, recovered) = journals.journal("document", Digest::of(&content)).unwrap();
    assert!(!recovered.is_foreign);
    let mut edits = 0;
    for line in std::str::from_utf8(&content).unwrap().lines() {
        assert_eq!(line, edits.to_string());
        edits += 1;
    }
    for operation in recovered.operations {
        assert_eq!(number_of(&operation), edits, "an edit is missing or applied twice");
        edits += 1;
    }
    Document { path, journal, edits }
}

#[test]
fn no_edit_is_lost_or_doubled_when_killed_in_edits_and_saves() {
    let synchroniser = Synchroniser::start().unwrap();
    if let Some(folder) = writer_folder() {
        let mut document = open_document(&folder, &synchroniser);
        loop {
            document.journal.append(&payload(document.edits)).unwrap();
            acknowledge(document.edits);
            document.edits += 1;
            if document.edits.is_multiple_of(7) {
                let content: Vec<u8> =
                    (0..document.edits).flat_map(|edit| format!("{edit}\n").into_bytes()).collect();
                let replacement = Replacement::prepare(&document.path, [content.as_slice()]).unwrap();
                let save = document.journal.begin_save(replacement.digest()).unwrap();
                // Edits go on while the file is replaced.
                document.journal.append(&payload(document.edits)).unwrap();
                acknowledge(document.edits);
                document.edits += 1;
                replacement.commit().unwrap();
                document.journal.finish_save(save).unwrap();
            }
        }
    }
    kill_again_and_again("no_edit_is_lost_or_doubled_when_killed_in_edits_and_saves", |folder, last| {
        let edits = open_document(folder, &synchroniser).edits;
        assert!(edits > last, "{last} was acknowledged, {edits} are there");
    });
}

#[test]
fn no_output_is_lost_when_killed_in_a_flood() {
    let synchroniser = Synchroniser::start().unwrap();
    let count = |logs: &Logs| {
        let mut reader = logs.reader("run", Position(0)).unwrap();
        let mut count = 0;
        loop {
            let records = reader.read(1 << 20).unwrap();
            if records.is_empty() {
                return count;
            }
            for record in records {
                assert_eq!(number_of(&record.payload), count);
                count += 1;
            }
        }
    };
    if let Some(folder) = writer_folder() {
        let logs = Logs::open(&folder, Limits::default(), &synchroniser).unwrap();
        let mut writer = logs.writer("run").unwrap();
        let start = count(&logs);
        for number in start.. {
            let appended = writer.append(0, false, Priority::Ordinary, &payload(number)).unwrap();
            assert!(matches!(appended, Appended::Kept(_)));
            acknowledge(number);
        }
    }
    kill_again_and_again("no_output_is_lost_when_killed_in_a_flood", |folder, last| {
        let logs = Logs::open(folder, Limits::default(), &synchroniser).unwrap();
        let count = count(&logs);
        assert!(count > last, "{last} was acknowledged, {count} are there");
    });
}

#[test]
fn no_payload_is_lost_when_killed_while_it_is_brought() {
    let synchroniser = Synchroniser::start().unwrap();
    if let Some(folder) = writer_folder() {
        let blobs = Blobs::open(&folder, &synchroniser).unwrap();
        let known = |number: &usize| blobs.size(Digest::of(&payload(*number))).is_some();
        let start = (0..usize::MAX).find(|number| !known(number)).unwrap();
        for number in start.. {
            blobs.put("run", &payload(number), Durability::Soon).unwrap();
            acknowledge(number);
        }
    }
    kill_again_and_again("no_payload_is_lost_when_killed_while_it_is_brought", |folder, last| {
        let blobs = Blobs::open(folder, &synchroniser).unwrap();
        for number in 0..=last {
            let payload = payload(number);
            assert_eq!(blobs.read(Digest::of(&payload)).unwrap(), payload);
        }
        assert!(blobs.references(Digest::of(&payload(last))).unwrap() > 0);
    });
}

#[test]
fn no_record_is_lost_when_killed_while_it_is_made() {
    let synchroniser = Synchroniser::start().unwrap();
    let open = |folder: &Path| Records::open(&folder.join("records.sqlite3"), &synchroniser).unwrap();
    if let Some(folder) = writer_folder() {
        let records = open(&folder);
        let start = records.sandboxes().unwrap().len();
        for number in start.. {
            let created = jiff::Timestamp::UNIX_EPOCH;
            let record = SandboxRecord {
                id: number.to_string(),
                runtime: "jupyter".into(),
                connection: None,
                name: String::new(),
                handle: serde_json::Value::Null,
                state: SandboxState::Creating,
                created,
                ended: None,
            };
            records.put_sandbox(&record).unwrap();
            acknowledge(number);
        }
    }
    kill_again_and_again("no_record_is_lost_when_killed_while_it_is_made", |folder, last| {
        let count = open(folder).living_sandboxes().unwrap().len();
        assert!(count > last, "{last} was acknowledged, {count} are there");
    });
}
