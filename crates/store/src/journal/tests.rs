use std::fs::OpenOptions;

use proptest::prelude::*;

use super::*;

struct Place {
    folder: tempfile::TempDir,
    synchroniser: Arc<Synchroniser>,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), synchroniser: Synchroniser::start().unwrap() }
    }

    fn journals(&self) -> Journals {
        Journals::open(self.folder.path(), &self.synchroniser).unwrap()
    }

    fn open(&self, content: &str) -> (Journal, Recovered) {
        self.journals().journal("/home/a/n.ipynb", digest(content)).unwrap()
    }

    fn files(&self) -> Vec<PathBuf> {
        let mut files: Vec<_> =
            fs::read_dir(self.folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files
    }
}

fn digest(content: &str) -> Digest {
    Digest::of(content.as_bytes())
}

fn texts(recovered: &Recovered) -> Vec<&str> {
    recovered.operations.iter().map(|operation| std::str::from_utf8(operation).unwrap()).collect()
}

#[test]
fn operations_are_there_again_in_their_order() {
    let place = Place::new();
    let (mut journal, recovered) = place.open("a");
    assert_eq!(recovered, Recovered::default());
    journal.append(b"one").unwrap();
    journal.append(b"").unwrap();
    drop(journal);
    let (mut journal, recovered) = place.open("a");
    assert_eq!((texts(&recovered), recovered.is_foreign), (vec!["one", ""], false));
    journal.append(b"three").unwrap();
    drop(journal);
    assert_eq!(texts(&place.open("a").1), ["one", "", "three"]);
}

#[test]
fn a_document_that_is_only_looked_at_leaves_no_file() {
    let place = Place::new();
    let (journal, _) = place.open("a");
    journal.close().unwrap();
    assert!(place.files().is_empty());
}

#[test]
fn a_saved_document_leaves_no_file_once_closed() {
    let place = Place::new();
    let (mut journal, _) = place.open("a");
    journal.append(b"one").unwrap();
    let save = journal.begin_save(digest("b")).unwrap();
    journal.finish_save(save).unwrap();
    journal.close().unwrap();
    assert!(place.files().is_empty());
}

#[test]
fn a_kill_before_the_file_is_replaced_applies_everything_to_the_old_content() {
    let place = Place::new();
    let (mut journal, _) = place.open("old");
    journal.append(b"one").unwrap();
    let _ = journal.begin_save(digest("new")).unwrap();
    journal.append(b"two").unwrap();
    drop(journal);
    let (_, recovered) = place.open("old");
    assert_eq!((texts(&recovered), recovered.is_foreign), (vec!["one", "two"], false));
}

#[test]
fn a_kill_after_the_file_is_replaced_applies_only_what_came_after() {
    let place = Place::new();
    let (mut journal, _) = place.open("old");
    journal.append(b"one").unwrap();
    let _ = journal.begin_save(digest("new")).unwrap();
    journal.append(b"two").unwrap();
    drop(journal);
    let (journal, recovered) = place.open("new");
    assert_eq!((texts(&recovered), recovered.is_foreign), (vec!["two"], false));
    drop(journal);
    // What was found to be in the file is forgotten for good.
    assert!(place.open("old").1.is_foreign);
}

#[test]
fn a_save_that_failed_needs_no_undoing() {
    let place = Place::new();
    let (mut journal, _) = place.open("old");
    journal.append(b"one").unwrap();
    let _ = journal.begin_save(digest("never written")).unwrap();
    journal.append(b"two").unwrap();
    let save = journal.begin_save(digest("new")).unwrap();
    journal.append(b"three").unwrap();
    assert_eq!(texts(&place.open("old").1), ["one", "two", "three"]);
    journal.finish_save(save).unwrap();
    drop(journal);
    assert_eq!(texts(&place.open("new").1), ["three"]);
    assert_eq!(place.files().len(), 1);
}

#[test]
fn a_save_before_any_edit_can_be_cut_too() {
    let place = Place::new();
    let (mut journal, _) = place.open("old");
    let _ = journal.begin_save(digest("new")).unwrap();
    journal.append(b"one").unwrap();
    drop(journal);
    let (_, recovered) = place.open("old");
    assert_eq!((texts(&recovered), recovered.is_foreign), (vec!["one"], false));
}

#[test]
fn a_change_by_someone_else_keeps_everything_until_it_is_decided() {
    let place = Place::new();
    let (mut journal, _) = place.open("mine");
    journal.append(b"one").unwrap();
    drop(journal);
    for _ in 0..2 {
        let (mut journal, recovered) = place.open("theirs");
        assert_eq!((texts(&recovered), recovered.is_foreign), (vec!["one"], true));
        assert!(matches!(journal.append(b"two"), Err(Error::Undecided { .. })));
    }
    let (mut journal, _) = place.open("theirs");
    journal.resolve(digest("theirs")).unwrap();
    journal.append(b"two").unwrap();
    drop(journal);
    assert_eq!(texts(&place.open("theirs").1), ["two"]);
}

/// A document on the disk whose journal has one operation, and what it was when it was read.
fn edited(place: &Place, content: &str) -> (Journal, PathBuf, Fingerprint) {
    let file = place.folder.path().join("n.ipynb");
    fs::write(&file, content).unwrap();
    let known = Fingerprint::of_file(&file).unwrap();
    let (mut journal, _) = place.open(content);
    assert_eq!(journal.take_base_copy(&known), None, "nothing was changed yet");
    journal.append(b"one").unwrap();
    (journal, file, known)
}

#[test]
fn a_change_by_someone_else_leaves_the_content_that_the_operations_belong_to() {
    let place = Place::new();
    let (mut journal, file, known) = edited(&place, "mine");
    assert!(journal.take_base_copy(&known).unwrap().make(&file).unwrap());
    assert_eq!(journal.take_base_copy(&known), None, "once");
    drop(journal);
    for _ in 0..2 {
        let (mut journal, recovered) = place.open("theirs");
        assert_eq!((recovered.base.as_deref(), recovered.is_foreign), (Some(b"mine".as_slice()), false));
        assert_eq!(recovered.operations[0], b"one");
        journal.append(b"more").unwrap();
    }
    let (mut journal, recovered) = place.open("theirs");
    assert_eq!(texts(&recovered), ["one", "more", "more"]);
    let save = journal.begin_save(digest("mine, changed")).unwrap();
    journal.finish_save(save).unwrap();
    journal.close().unwrap();
    assert_eq!(place.files(), [file], "the copy went with the generation");
}

#[test]
fn the_last_content_that_was_kept_is_the_one_that_counts() {
    let place = Place::new();
    let (mut journal, file, known) = edited(&place, "first");
    assert!(journal.take_base_copy(&known).unwrap().make(&file).unwrap());
    let _ = journal.begin_save(digest("second")).unwrap();
    journal.append(b"two").unwrap();
    assert_eq!(journal.take_base_copy(&known), None, "the file is not yet the second");
    fs::write(&file, "second").unwrap();
    let known = Fingerprint::of_file(&file).unwrap();
    assert!(journal.take_base_copy(&known).unwrap().make(&file).unwrap());
    drop(journal);
    let (_, recovered) = place.open("theirs");
    assert_eq!((recovered.base.as_deref(), texts(&recovered)), (Some(b"second".as_slice()), vec!["two"]));
}

#[test]
fn a_copy_that_is_not_the_content_counts_as_none() {
    let place = Place::new();
    let (mut journal, file, known) = edited(&place, "mine");
    let copy = journal.take_base_copy(&known).unwrap();
    fs::write(&file, "theirs").unwrap();
    assert!(!copy.make(&file).unwrap(), "someone else was faster");
    fs::write(&file, "mine").unwrap();
    assert!(copy.make(&file).unwrap());
    let kept = place.files().into_iter().find(|path| path.extension().is_some_and(|kind| kind == "base"));
    fs::write(kept.unwrap(), "mi").unwrap();
    drop(journal);
    let (mut journal, recovered) = place.open("theirs");
    assert_eq!((recovered.base, recovered.is_foreign), (None, true));
    journal.resolve(digest("theirs")).unwrap();
    assert!(!copy.make(&file).unwrap(), "its generation is over");
    journal.close().unwrap();
    assert_eq!(place.files(), [file]);
}

#[test]
fn what_was_given_up_for_somebody_elses_content_never_comes_back() {
    let place = Place::new();
    let (mut journal, _) = place.open("mine");
    journal.append(b"one").unwrap();
    journal.resolve(digest("theirs")).unwrap();
    journal.append(b"two").unwrap();
    drop(journal);
    assert_eq!(place.files().len(), 1);
    assert_eq!(texts(&place.open("theirs").1), ["two"]);
    assert!(place.open("mine").1.is_foreign);
}

#[test]
fn documents_do_not_mix_and_are_listed_by_name() {
    let place = Place::new();
    let journals = place.journals();
    for document in ["/a", "/b"] {
        let (mut journal, _) = journals.journal(document, digest("x")).unwrap();
        journal.append(document.as_bytes()).unwrap();
    }
    let (_, recovered) = journals.journal("/b", digest("x")).unwrap();
    assert_eq!(texts(&recovered), ["/b"]);
    let mut listed = journals.list().unwrap();
    listed.sort_by(|one, two| one.document.cmp(&two.document));
    let expected = ["/a", "/b"].map(|document| Listed { document: document.into(), operations: 1 });
    assert_eq!(listed, expected);
    journals.remove("/a").unwrap();
    assert_eq!(journals.list().unwrap().len(), 1);
}

#[test]
fn a_newer_format_is_refused_and_not_touched() {
    let place = Place::new();
    let (mut journal, _) = place.open("a");
    journal.append(b"one").unwrap();
    drop(journal);
    let path = place.files().remove(0);
    let mut bytes = fs::read(&path).unwrap();
    bytes[7] = 2;
    fs::write(&path, &bytes).unwrap();
    let error = place.journals().journal("/home/a/n.ipynb", digest("a")).unwrap_err();
    assert!(matches!(error, Error::Newer { found: 2, known: 1, .. }));
    assert_eq!(fs::read(&path).unwrap(), bytes);
}

#[test]
fn a_journal_cut_at_any_byte_gives_the_whole_operations_before_it() {
    let place = Place::new();
    let (mut journal, _) = place.open("a");
    let operations: Vec<Vec<u8>> = (0..6).map(|size| vec![b'x'; size * 3]).collect();
    let mut ends = vec![];
    for operation in &operations {
        journal.append(operation).unwrap();
        ends.push(journal.end);
    }
    drop(journal);
    let path = place.files().remove(0);
    let whole = fs::read(&path).unwrap();
    for length in 0..=whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        let (mut journal, recovered) = place.open("a");
        let kept = ends.iter().filter(|end| **end <= length as u64).count();
        assert_eq!(recovered.operations, operations[..kept], "cut at {length}");
        // It goes on behind the cut.
        journal.append(b"after").unwrap();
        drop(journal);
        let after = place.open("a").1;
        assert_eq!(after.operations.len(), kept + 1);
        assert_eq!((after.operations[kept].as_slice(), after.dropped_bytes), (b"after".as_slice(), 0));
        for file in place.files().into_iter().filter(|file| *file != path) {
            fs::remove_file(file).unwrap();
        }
    }
}

#[test]
fn a_tail_of_zeros_is_no_operation() {
    let place = Place::new();
    let (mut journal, _) = place.open("a");
    journal.append(b"one").unwrap();
    drop(journal);
    let file = OpenOptions::new().append(true).open(place.files().remove(0)).unwrap();
    (&file).write_all(&[0; 4096]).unwrap();
    let (_, recovered) = place.open("a");
    assert_eq!((texts(&recovered), recovered.dropped_bytes), (vec!["one"], 4096));
}

#[derive(Clone, Debug)]
enum Step {
    Edit,
    /// A save that is cut after this many of its three stages.
    Save(usize),
    Crash,
}

proptest! {
    /// The document is the list of its edits; the file holds those of the last save.
    #[test]
    fn no_edit_is_lost_or_applied_twice_wherever_saves_are_cut(
        steps in prop::collection::vec(
            prop_oneof![4 => Just(Step::Edit), 3 => (0usize..4).prop_map(Step::Save), 2 => Just(Step::Crash)], 1..30
        )
    ) {
        let place = Place::new();
        let mut file = String::new();
        let mut state = String::new();
        let mut journal = Some(place.open(&file).0);
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Step::Edit => {
                    let edit = format!("{number} ");
                    journal.as_mut().unwrap().append(edit.as_bytes()).unwrap();
                    state.push_str(&edit);
                }
                Step::Save(stages) => {
                    let journal = journal.as_mut().unwrap();
                    if stages > 0 {
                        let save = journal.begin_save(digest(&state)).unwrap();
                        if stages > 1 {
                            file.clone_from(&state);
                        }
                        if stages > 2 {
                            journal.finish_save(save).unwrap();
                        }
                    }
                }
                Step::Crash => {
                    drop(journal.take());
                    let (opened, recovered) = place.open(&file);
                    prop_assert!(!recovered.is_foreign);
                    prop_assert_eq!(file.clone() + &texts(&recovered).concat(), state.clone());
                    journal = Some(opened);
                }
            }
        }
    }
}
